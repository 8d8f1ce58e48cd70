"""Copies of one text: what they share is cited once, whichever of them was chosen."""

import pytest

from deep_research.pipeline.outcome import without_copies
from deep_research.report.evidence.passage import Evidence

COPIES = {"copy": "original", "reprint": "original"}


def _piece(document: str, quote: str) -> Evidence:
    name = f"{document} {quote}"
    return Evidence(id=name, document=document, start=0, end=9, quote=quote, finding="", section="")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        # What none but copies were chosen for stays once.
        (["copy: 花费 3 亿元", "reprint: 花費3億元"], ["copy: 花费 3 亿元"]),
        (["copy: It cost 3 million.", "original: It cost 3 million."], ["original: It cost 3 million."]),
        (
            ["original: It cost 3 million.", "copy: Its own note."],
            ["original: It cost 3 million.", "copy: Its own note."],
        ),
        (
            ["other: It cost 3 million.", "copy: It cost 3 million."],
            ["other: It cost 3 million.", "copy: It cost 3 million."],
        ),
    ],
)
def test_one_text_of_an_origin_stays_once(given: list[str], kept: list[str]) -> None:
    evidence = [_piece(*each.split(": ")) for each in given]
    left = without_copies(evidence, COPIES)
    assert [f"{piece.document}: {piece.quote}" for piece in left] == kept
