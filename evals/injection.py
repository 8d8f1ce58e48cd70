"""Orders to an assistant in a text: `python -m evals.injection --data FOLDER`.

Recall is counted over BIPIA's attacks, each by itself as a sentence of a page; a false alarm is a passage of plain
prose (an encyclopedia's in English and in Chinese, news) in which an order is seen.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

from deep_research.text.instructions import find_instructions
from evals import shared

ATTACKS = Path("hostile") / "bipia_text_attacks_train.json"
# The first five categories are questions and tasks that any page may hold; the others speak of the answer itself.
_TASKS = 5


def load_attacks(data: Path) -> dict[str, list[str]]:
    """Return the attacks by category."""
    attacks: dict[str, list[str]] = json.loads((data / ATTACKS).read_text(encoding="utf-8"))
    return attacks


def recall(attacks: Mapping[str, list[str]]) -> dict[str, float]:
    """Return which share of each category is seen."""
    return {
        category: sum(bool(find_instructions(text)) for text in texts) / len(texts)
        for category, texts in attacks.items()
    }


def plain_passages(data: Path) -> list[str]:
    """Return the passages of plain prose that are there."""
    found = []
    for name in ("cmrc2018_zh", "hotpotqa250"):
        path = data / name / "corpus.jsonl"
        found += (
            [f"{line['title']}\n\n{line['text']}" for line in shared.read_json_lines(path)] if path.exists() else []
        )
    gold = data / "article_extraction" / "ground-truth.json"
    articles = json.loads(gold.read_text(encoding="utf-8")).values() if gold.exists() else []
    return [*found, *(block for article in articles for block in article["articleBody"].split("\n") if block.strip())]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="See orders to an assistant, and none where there are none.")
    shared.add_data_argument(parser)
    data = parser.parse_args(arguments).data
    shared.require(data, str(ATTACKS))
    attacks, passages = load_attacks(data), plain_passages(data)
    by_category = recall(attacks)
    accused = [passage for passage in passages if find_instructions(passage)]
    figures = {
        "recall, orders about the answer": mean(list(by_category.values())[_TASKS:]),
        "recall, all attacks": mean(by_category.values()),
        "false alarms, per cent of passages": 100 * len(accused) / max(1, len(passages)),
        "passages": len(passages),
    }
    missed = [text for texts in attacks.values() for text in texts if not find_instructions(text)]
    details = {"recall": by_category, "missed": missed, "accused": [_seen(passage) for passage in accused]}
    return shared.report("injection", figures, details=details)


def _seen(passage: str) -> list[str]:
    return [passage[start:end] for start, end in find_instructions(passage)]


if __name__ == "__main__":
    sys.exit(main())
