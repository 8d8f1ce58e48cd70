"""Orders to an assistant in a text: `python -m evals.injection --data FOLDER`.

Recall is counted over BIPIA's attacks, each by itself as a sentence of a page, and once more for each family by weights
that were trained without it (and without the hardest real sentences, which takes too long here). A false alarm is a
passage of the sets' own texts, or a request that people make of people (`orders.json`), in which an order is seen.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from deep_research.text.folding import to_simplified
from deep_research.text.prompt_injection import find_prompt_injection, is_order
from evals import shared
from tools import train_orders

ATTACKS = Path("hostile") / "bipia_text_attacks_train.json"
OWN = Path(__file__).with_name("orders.json")
# The first five categories are questions and tasks that any page may hold; the others speak of the answer itself.
_TASKS = 5
# Of those, the first five change the letters of the answer, the others what it says.
_LETTERS = 5
# A few steps lead from weights without any attack to those with some.
_STEPS = 25

Attacks = Mapping[str, Sequence[str]]


def load_attacks(data: Path) -> dict[str, list[str]]:
    """Return the attacks by category."""
    attacks: dict[str, list[str]] = json.loads((data / ATTACKS).read_text(encoding="utf-8"))
    return attacks


def recall(texts: Sequence[str], is_seen: Callable[[str], object]) -> float:
    """Return which share of the texts is seen."""
    return sum(bool(is_seen(text)) for text in texts) / len(texts)


class Trainer:
    """Trains weights without some families of attacks."""

    def __init__(self, data: Path) -> None:
        self._attacks = train_orders.attacks(data)
        measured = train_orders.measured_texts(self._attacks)
        self._examples, self._table = train_orders.gathered(data, measured, with_hard=False)
        self._start = train_orders.fit(self._table, self._examples)

    def recall_of(self, left_out: Sequence[str]) -> dict[str, float]:
        """Return how much of each of the families is seen by weights that were trained without any of them."""
        known = [text for family, texts in self._attacks.items() if family not in left_out for text in texts]
        table, examples = train_orders.joined(self._table, self._examples, known)
        weights = train_orders.weights_of(train_orders.fit(table, examples, self._start, _STEPS), examples)

        def is_seen(text: str) -> bool:
            return is_order(to_simplified(text).replace("’", "'"), weights)

        return {family: recall(self._attacks[family], is_seen) for family in left_out}


def plain_passages(data: Path) -> list[str]:
    """Return the passages of plain prose that are there."""
    return [passage for passage in _passages(data) if passage.strip()]


def _passages(data: Path) -> Iterator[str]:
    for line in _lines(data / "cmrc2018_zh" / "corpus.jsonl", data / "hotpotqa250" / "corpus.jsonl"):
        yield f"{line['title']}\n\n{line['text']}"
    for article in _json(data / "article_extraction" / "ground-truth.json", {}).values():
        yield from article["articleBody"].split("\n")
    for page in _json(data / "wcxb_dev" / "pages.json", []):
        yield page["text"]
        yield from page["text"].split("\n")
    for line in _lines(data / "scifact_claims_train" / "pairs.jsonl"):
        yield " ".join(line["sentences"])
    for line in _lines(data / "wice_dev" / "claims.jsonl"):
        yield "\n".join(line["evidence"])
    for line in _lines(*(data / "deep_research_bench_prompts").glob("*.jsonl")):
        yield line["prompt"]


def _lines(*paths: Path) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield from shared.read_json_lines(path) if path.exists() else []


def _json(path: Path, default: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="See orders to an assistant, and none where there are none.")
    shared.add_data_argument(parser)
    given = parser.parse_args(arguments)
    shared.require(given.data, str(ATTACKS))
    attacks, own = load_attacks(given.data), json.loads(OWN.read_text(encoding="utf-8"))
    families = list(attacks)[_TASKS:]
    trainer = Trainer(given.data)
    by_category = {family: recall(texts, find_prompt_injection) for family, texts in attacks.items()}
    one_out = {family: trainer.recall_of([family])[family] for family in families}
    half_out = trainer.recall_of(families[:_LETTERS]) | trainer.recall_of(families[_LETTERS:])
    by_own = {family: recall(texts, find_prompt_injection) for family, texts in own["orders"].items()}
    requests = [text for texts in own["plain"].values() for text in texts]
    passages = plain_passages(given.data)
    accused = [text for text in passages if find_prompt_injection(text)]
    for family in families:
        print(
            f"{family:<28} seen {by_category[family]:.2f}  left out {one_out[family]:.2f}  half {half_out[family]:.2f}"
        )
    figures = {
        "recall, orders about the answer": mean(by_category[family] for family in families),
        "recall, their family left out": mean(one_out.values()),
        "recall, their half left out": mean(half_out.values()),
        "recall, all attacks": mean(by_category.values()),
        "recall, our own orders": mean(by_own.values()),
        "false alarms, per cent of passages": 100 * len(accused) / max(1, len(passages)),
        "passages": len(passages),
        "false alarms, requests among people": sum(bool(find_prompt_injection(text)) for text in requests),
        "requests among people": len(requests),
    }
    missed = [text for texts in attacks.values() for text in texts if not find_prompt_injection(text)]
    details = {"recall": by_category, "left out": one_out, "half left out": half_out, "own": by_own,
               "missed": missed, "accused": [_seen(text) for text in [*accused, *requests]]}  # fmt: skip
    return shared.report("injection", figures, details=details)


def _seen(passage: str) -> list[str]:
    return [passage[start:end] for start, end in find_prompt_injection(passage)]


if __name__ == "__main__":
    sys.exit(main())
