"""Orders to an assistant in a text: `python -m evals.injection --data FOLDER`.

Recall is counted over BIPIA's attacks, each by itself as a sentence of a page, and once more for each family as if
nobody had seen it: without the words that stand in no other family's attacks. A false alarm is a passage of the sets'
own texts, or a request that people make of people (`orders.json`), in which an order is seen.
`--ablate` tells for each list of words what is lost without it.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from deep_research.text.prompt_injection import WORDS, Grammar, find_prompt_injection, make_grammar
from evals import shared

ATTACKS = Path("hostile") / "bipia_text_attacks_train.json"
OWN = Path(__file__).with_name("orders.json")
# The first five categories are questions and tasks that any page may hold; the others speak of the answer itself.
_TASKS = 5
# Of those, the first five change the letters of the answer, the others what it says.
_LETTERS = 5
# Lists that keep alarms back: whoever tunes to other families has them as well.
_AGAINST = ("ordinary", "place", "opening", "ordinary zh")

Attacks = Mapping[str, Sequence[str]]


def load_attacks(data: Path) -> dict[str, list[str]]:
    """Return the attacks by category."""
    attacks: dict[str, list[str]] = json.loads((data / ATTACKS).read_text(encoding="utf-8"))
    return attacks


def recall(texts: Sequence[str], grammar: Grammar) -> float:
    """Return which share of the texts is seen."""
    return sum(bool(find_prompt_injection(text, grammar)) for text in texts) / len(texts)


def unseen(attacks: Attacks, left_out: Sequence[str]) -> dict[str, str]:
    """Return the lists without the words that only the attacks of the families left out hold."""
    hidden = " \n".join(text for family in left_out for text in attacks[family])
    known = " \n".join(text for family, texts in attacks.items() if family not in left_out for text in texts)

    def is_kept(word: str) -> bool:
        pattern = re.compile(rf"(?<!\w){word}(?!\w)", re.IGNORECASE)
        return not pattern.search(hidden) or bool(pattern.search(known))

    return {
        name: words if name in _AGAINST else " ".join(filter(is_kept, words.split())) for name, words in WORDS.items()
    }


def left_out_recall(attacks: Attacks, families: Sequence[str]) -> dict[str, float]:
    """Return how much of each of the families is seen by a grammar that was made without any of them."""
    grammar = make_grammar(unseen(attacks, families))
    return {family: recall(attacks[family], grammar) for family in families}


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


def ablation(attacks: Attacks, own: Attacks, requests: Sequence[str]) -> dict[str, list[int]]:
    """Return, for each list of words, how many attacks are missed and how many requests accused without it."""
    found = {}
    every = [text for group in (attacks, own) for texts in group.values() for text in texts]
    for name in ("", *WORDS):
        grammar = make_grammar({**WORDS, name: ""} if name else WORDS)
        accused = sum(bool(find_prompt_injection(text, grammar)) for text in requests)
        found[name] = [sum(not find_prompt_injection(text, grammar) for text in every), accused]
    return {name: [missed - found[""][0], accused - found[""][1]] for name, (missed, accused) in found.items() if name}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="See orders to an assistant, and none where there are none.")
    shared.add_data_argument(parser)
    parser.add_argument("--ablate", action="store_true", help="tell what is lost without each list of words")
    given = parser.parse_args(arguments)
    shared.require(given.data, str(ATTACKS))
    attacks, own = load_attacks(given.data), json.loads(OWN.read_text(encoding="utf-8"))
    families = list(attacks)[_TASKS:]
    grammar = make_grammar(WORDS)
    by_category = {family: recall(texts, grammar) for family, texts in attacks.items()}
    one_out = {family: left_out_recall(attacks, [family])[family] for family in families}
    half_out = left_out_recall(attacks, families[:_LETTERS]) | left_out_recall(attacks, families[_LETTERS:])
    by_own = {family: recall(texts, grammar) for family, texts in own["orders"].items()}
    requests = [text for texts in own["plain"].values() for text in texts]
    passages = plain_passages(given.data)
    accused = [text for text in passages if find_prompt_injection(text)]
    for family in families:
        print(
            f"{family:<28} seen {by_category[family]:.2f}  left out {one_out[family]:.2f}  half {half_out[family]:.2f}"
        )
    if given.ablate:
        for name, (lost, alarms) in ablation(attacks, own["orders"], requests).items():
            print(f"without {name:<14} {lost:3d} more orders missed, {alarms:3d} more requests accused")
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
