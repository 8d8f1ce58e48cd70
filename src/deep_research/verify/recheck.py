"""Checks a finished report again, at any time: its files, the passages behind them, and what was computed."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from deep_research.report.evidence.passage import Passage
from deep_research.value import Value
from deep_research.verify.calculation import objection_to
from deep_research.verify.offsets import GetText, check_offsets
from deep_research.verify.report import Verifier
from deep_research.verify.shipped import Listing, read_listing
from deep_research.verify.verification import Verification


class Recheck(Value):
    """What checking again showed; `problems` are those that the report's files alone do not show.

    `has_texts` says whether there were stored texts to open.
    """

    verification: Verification
    problems: tuple[str, ...] = ()
    has_texts: bool = True

    @property
    def passed(self) -> bool:
        """Return whether nothing is wrong."""
        return self.verification.passed and not self.problems


def check_again(report: Path, get_text: GetText) -> Recheck:
    """Check a report file and the files beside it; the stored text of a document id comes from `get_text`.

    Where `get_text` raises `LookupError` for every document, there is nothing to open and only the files are checked.
    """
    paragraphs = report.with_name("paragraphs.jsonl")
    listing = read_listing(paragraphs)
    verification = Verifier().verify(report, paragraphs)
    texts: dict[str, str] = {}
    for document in {piece.document for piece in listing.evidence.values()}:
        with suppress(LookupError):
            texts[document] = get_text(document)
    problems = [*_passages(listing, texts), *check_offsets(paragraphs, texts.__getitem__)] if texts else []
    return Recheck(
        verification=verification,
        problems=tuple(dict.fromkeys([*_identities(listing), *problems, *_sums(listing)])),
        has_texts=bool(texts) or not listing.evidence,
    )


def _identities(listing: Listing) -> Iterator[str]:
    """Yield the pieces of evidence whose ids are not those of their places."""
    for piece in listing.evidence.values():
        if piece.id != Passage(document=piece.document, start=piece.start, end=piece.end).id:
            yield f"evidence {piece.id}: its id is not that of its document and offsets"


def _passages(listing: Listing, texts: Mapping[str, str]) -> Iterator[str]:
    for piece in listing.evidence.values():
        if piece.document not in texts:
            yield f"evidence {piece.id}: the document is not there"
        elif texts[piece.document][max(0, piece.start) : piece.end] != piece.quote:
            yield f"evidence {piece.id}: the document does not hold the passage"


def _sums(listing: Listing) -> Iterator[str]:
    """Yield the calculations that code computes otherwise, or whose figures no passage, question or result gives."""
    sentences = [each for paragraph in listing.paragraphs for each in paragraph.sentences if each.kind == "calculation"]
    texts = [*(piece.quote for piece in listing.evidence.values()), *(each.basis for each in sentences)]
    asked = listing.edition.question if listing.edition else ""
    for sentence in sentences:
        if sentence.basis and (objection := objection_to(sentence.basis, sentence.text, quotes=texts, asked=asked)):
            yield f"{objection}: {' '.join(sentence.text.split())}"
