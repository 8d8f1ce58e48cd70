"""Whether figures that contradict or confirm each other are found across wordings: `python -m evals.contradictions`.

`contradictions.jsonl` holds pairs of a sentence or table row each, labelled before any rule was written. The rules were
developed on the pairs with odd numbers; those with even numbers are only counted.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deep_research.reasoning.rules.quoting.units import labelled
from deep_research.reasoning.rules.weighing.claims import agree, find_disagreements, ranked_claims
from deep_research.report.evidence.passage import Evidence
from evals import shared

PAIRS = Path(__file__).with_name("contradictions.jsonl")
LABELS = ("contradiction", "agreement")


def evidence_of(side: dict[str, Any], document: str) -> tuple[Evidence, str]:
    """Return one side of a pair as a run stores it, and the title and headings above it."""
    text, header = side["text"], side["header"]
    cells = [cell.strip() for cell in text.split("|")] if header else []
    quote, finding = (f"| {text} |", labelled(header, cells)) if header else (text, text)
    place = f"{side['title']} › {side['heading']}"
    piece = Evidence(
        id=document,
        document=document,
        start=0,
        end=len(quote),
        section="",
        quote=quote,
        finding=finding,
        header="head" if header else "",
    )
    return piece, place


def told(pair: dict[str, Any]) -> str:
    """Return what a run says of a pair: that it contradicts, confirms, or nothing."""
    (one, above), (other, above_other) = evidence_of(pair["a"], "a"), evidence_of(pair["b"], "b")
    places = {one.id: above, other.id: above_other}
    if find_disagreements([one], section="", gathered=[one, other], places=places):
        return "contradiction"
    first, second = (ranked_claims([piece], places) for piece in (one, other))
    return "agreement" if any(agree(a, b) for a in first for b in second) else "unrelated"


def figures_of(pairs: Sequence[dict[str, Any]], found: Sequence[str]) -> dict[str, float]:
    """Return precision and recall of what contradicts and of what confirms."""
    figures = {}
    for label in LABELS:
        right = sum(pair["label"] == each == label for pair, each in zip(pairs, found, strict=True))
        figures[f"{label}: precision"] = right / max(1, list(found).count(label))
        figures[f"{label}: recall"] = right / sum(pair["label"] == label for pair in pairs)
    return figures


def main() -> int:
    pairs = shared.read_json_lines(PAIRS)
    found = {pair["id"]: told(pair) for pair in pairs}
    odd, even = ([pair for pair in pairs if int(pair["id"][1:]) % 2 == side] for side in (1, 0))
    figures = {
        f"{label}{part}": figure
        for part, own in (("", pairs), (", odd half", odd), (", even half", even))
        for label, figure in figures_of(own, [found[pair["id"]] for pair in own]).items()
    }
    return shared.report("contradictions", figures, details=found)


if __name__ == "__main__":
    sys.exit(main())
