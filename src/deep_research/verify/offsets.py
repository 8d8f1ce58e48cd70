"""Opens the stored text behind each verdict and reads there what the verdict says stands there."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

from deep_research.text.sentences import split_sentences
from deep_research.text.tables import TextTable, find_tables
from deep_research.verify.quote import find_quote
from deep_research.verify.row import check_row
from deep_research.verify.shipped import Listing, ShippedSentence, ShippedVerdict, read_listing
from deep_research.verify.veto import veto

GetText = Callable[[str], str]


class _Stored:
    """A stored text with what is read from it once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def edges(self) -> tuple[set[int], set[int]]:
        """Return where sentences begin and where they end."""
        spans = split_sentences(self.text)
        return {span.start for span in spans}, {span.end for span in spans}

    @cached_property
    def tables(self) -> tuple[TextTable, ...]:
        return find_tables(self.text)


def check_offsets(paragraphs_jsonl: Path, get_text: GetText) -> list[str]:
    """Return a line for each sentence with a passage that its document does not hold at the recorded offsets.

    `get_text` gives the stored text of a document id and raises `LookupError` if there is none.
    """
    listing = read_listing(paragraphs_jsonl)
    if listing.is_missing:
        return [f"{paragraphs_jsonl.name} is not there"]

    @cache
    def read(document: str) -> _Stored | None:
        with suppress(LookupError):
            return _Stored(get_text(document))
        return None

    problems = [f"{name} cannot be read" for name in listing.broken]
    for paragraph in listing.paragraphs:
        for sentence in paragraph.sentences:
            verdict = sentence.verdict
            # A lead-over claims nothing and has no passage.
            if verdict is None or verdict.kind not in ("supported", "partly") or sentence.kind == "link":
                continue
            if problem := _problem(sentence, verdict, listing, read):
                problems.append(f"{paragraph.id}: {problem}: {' '.join(sentence.text.split())}")
    return problems


def _problem(
    sentence: ShippedSentence, verdict: ShippedVerdict, listing: Listing, read: Callable[[str], _Stored | None]
) -> str:
    piece = listing.evidence.get(verdict.evidence)
    if piece is None or verdict.evidence not in sentence.evidence:
        return "the verdict names no evidence of the sentence"
    document = read(piece.document)
    if document is None:
        return "the document is not in the store"
    if not 0 <= piece.start <= verdict.start < verdict.end <= piece.end <= len(document.text):
        return "the offsets lie outside the passage"
    if document.text[piece.start : piece.end] != piece.quote:
        return "the document does not hold the passage"
    if verdict.reason not in ("verbatim", "trimmed"):
        return _objection(sentence, listing, read)
    if sentence.cells:
        return _row_problem(sentence, verdict, document)
    match = find_quote(sentence.text, document.text[verdict.start : verdict.end])
    if match is None or match.is_whole != (verdict.reason == "verbatim"):
        return "the document does not hold the sentence"
    starts, ends = document.edges
    if verdict.start not in starts or verdict.end not in ends:
        return "the document holds the words only as part of a sentence"
    return ""


def _objection(sentence: ShippedSentence, listing: Listing, read: Callable[[str], _Stored | None]) -> str:
    """Return why code refuses a sentence in the writer's own words, as it does before a judge may look.

    What a clause adds is the judge's to see: the rule for it has changed, and may change again.
    """
    if sentence.kind != "finding" or sentence.cells:
        return ""
    passages = [listing.evidence[id_] for id_ in sentence.evidence if id_ in listing.evidence]
    stored = [document.text for piece in passages if (document := read(piece.document))]
    titles = [*stored, *(source.title for source in listing.sources.values())]
    asked, language = (listing.edition.question, listing.edition.language) if listing.edition else ("", "en")
    refused = veto(sentence, passages, titles=titles, asked=asked, language=language, is_judged=True)
    if refused is None:
        return ""
    return f"the passages do not carry the sentence ({refused.reason})"


def _row_problem(sentence: ShippedSentence, verdict: ShippedVerdict, document: _Stored) -> str:
    """Compare a row's cells with the row that stands there, under the header of its own table."""
    for header, row in ((table.header, row) for table in document.tables for row in table.rows):
        if header and (row.start, row.end) == (verdict.start, verdict.end):
            lines = document.text[header.start : header.end], document.text[row.start : row.end]
            return "" if check_row(sentence.cells, *lines) else "the table does not hold the row"
    return "no row of a table stands there"
