"""Holds a report file against what it was made from: written again, it must be the same, white space aside.

Each listed paragraph is written again from `paragraphs.jsonl` and each reference from `citations.json`; where the
edition lies beside them, so is all the rest: headings, notes, the order.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import NamedTuple

from deep_research.report.markdown import render, render_alone, render_source
from deep_research.text.messages.words import Words, words_in
from deep_research.verify.shipped import Listing, ShippedReport, letters_of, lines_of, markers

# A sentence with its markers, or what has none.
_PIECE = re.compile(r"[^\n]+?(?<!\\)(?:\[\d{1,4}\])+[\s.。|]*|[^\n]+")
_ITEM_NUMBER = re.compile(r"^\d+\. ")
# The sign and the point of an item, or who speaks, which versions before the edition did not list.
_UNLISTED = re.compile(r"(?:(?:\d+\.|-) )?(?:\*\*[^*\n]{1,80}\*\* |[^.。!?！？\[\]\n]{1,80}[:：] ?)?")


class Differences(NamedTuple):
    """What stands in a file and is not the report's, and what is the report's and does not stand there."""

    foreign: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def compare(text: str, report: ShippedReport, listing: Listing, words: Words) -> Differences:
    """Return where a file differs from the report that stands listed beside it; nothing where none is listed."""
    if listing.is_missing:
        return Differences()
    written = [
        render_alone(each.original, number_of=lambda id_: listing.number_of(id_) or 0, words=words)
        for each in listing.paragraphs
    ]
    blocks = [own[-1] for own in written]
    is_old = any(each.lead is None for each in listing.paragraphs)
    labels = {letters_of(label) for own in written for label in own[:-1]}
    known = {_key(block) for block in blocks}
    # Alone, each item of a list is the first.
    alone = (
        _ITEM_NUMBER.sub("1. ", each.text, count=1) if each.kind == "item" else each.text for each in report.blocks
    )
    body = [
        text
        for block, text in zip(report.blocks, alone, strict=True)
        if not (block.kind in ("heading", "rule") or (is_old and block.kind == "label"))
        # What a writer leaves open stands where the report's own remarks do.
        and (not block.is_exempt or markers(block.text) or _key(text) in known)
    ]
    if is_old:
        bare = (_UNLISTED.sub("", text, count=1) for text in body)
        body = [own if _key(own) in known else text for text, own in zip(body, bare, strict=True)]
    found = _differences([each for each in body if letters_of(each) not in labels], blocks)
    lines = [each.text for each in report.references]
    sources = ((each.number, listing.sources.get(each.number)) for each in report.references)
    listed = [
        render_source(source, number, words) if source and source.title else line
        for line, (number, source) in zip(lines, sources, strict=True)
    ]
    parts = [found, _differences(lines, listed), _frame(text, listing, found)]
    return Differences(*(tuple(dict.fromkeys(each for part in parts for each in part[side])) for side in (0, 1)))


def _frame(text: str, listing: Listing, found: Differences) -> Differences:
    """Compare the whole file with the whole report; lines that hold what was found before are not named again."""
    edition = listing.edition
    if not edition or edition.code_version not in ("", version("deep-research")):
        return Differences()
    whole = render(edition.report, edition.citations, number_of=edition.number_of, words=words_in(edition.language))
    shown, wanted = ([line for line in lines_of(each) if line.strip()] for each in (text, whole))
    pairs = zip(_differences(shown, wanted), found, strict=True)
    other = Differences(*(tuple(each for each in lines if not _holds_any(each, known)) for lines, known in pairs))
    if other == found == Differences() and list(map(_key, shown)) != list(map(_key, wanted)):
        moved = next(one for one, two in zip(shown, wanted, strict=False) if _key(one) != _key(two))
        return Differences(foreign=(moved,))
    return other


def _holds_any(line: str, pieces: Iterable[str]) -> bool:
    return any(_key(piece) in _key(line) for piece in pieces)


def _differences(shown: Sequence[str], written: Sequence[str]) -> Differences:
    return Differences(tuple(_beyond(shown, written)), tuple(_beyond(written, shown)))


def _beyond(ours: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """Yield the sentences of what stands more often here than there, or all of it where each stands there too."""
    texts = {_key(each): each for each in ours}
    there = "\n".join(map(_key, others))
    for key in Counter(map(_key, ours)) - Counter(map(_key, others)):
        pieces = [piece.strip() for piece in _PIECE.findall(texts[key])]
        yield from [piece for piece in pieces if _key(piece) not in there] or [texts[key]]


def _key(text: str) -> str:
    return "".join(text.split())
