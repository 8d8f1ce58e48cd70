"""Checks a finished report again, at any time: its files, the passages behind them, and what was computed.

The stored text behind each verdict is opened, and what the verdict says stands there is read there.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

from deep_research.report.evidence.passage import Passage
from deep_research.report.sources.head import head_facts
from deep_research.text.headings import headings_above
from deep_research.text.sentences import split_sentences
from deep_research.text.tables import TextTable, find_tables
from deep_research.value import Value
from deep_research.verify.calculation import objection_to
from deep_research.verify.quote import find_quote
from deep_research.verify.report import Verifier
from deep_research.verify.row import check_row
from deep_research.verify.shipped import Listing, ShippedSentence, ShippedVerdict, read_listing
from deep_research.verify.verification import Verification
from deep_research.verify.veto import veto

GetText = Callable[[str], str]


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
    texts = {}
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
            if not verdict or verdict.kind not in ("supported", "partly") or sentence.kind == "link":
                continue
            if problem := _problem(sentence, verdict, listing, read):
                problems.append(f"{paragraph.id}: {problem}: {' '.join(sentence.text.split())}")
    return problems


def _problem(
    sentence: ShippedSentence, verdict: ShippedVerdict, listing: Listing, read: Callable[[str], _Stored | None]
) -> str:
    piece = listing.evidence.get(verdict.evidence)
    if not piece or verdict.evidence not in sentence.evidence:
        return "the verdict names no evidence of the sentence"
    document = read(piece.document)
    if not document:
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
    if not match or match.is_whole != (verdict.reason == "verbatim"):
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
    sources = {source.document: source for source in listing.sources.values()}
    cited = [sources[piece.document] for piece in passages if piece.document in sources]
    named = [source.title for source in cited]
    for piece in passages:
        if document := read(piece.document):
            named += [headings_above(document.text, piece.start), *(fact.text for fact in head_facts(document.text))]
    asked, language = (listing.edition.question, listing.edition.language) if listing.edition else ("", "en")
    # What a document says is of its day.
    titles = [*stored, *(source.title for source in sources.values()), *(source.published for source in cited)]
    refused = veto(sentence, passages, titles=titles, asked=asked, known=named, language=language, is_judged=True)
    if not refused:
        return ""
    return f"the passages do not carry the sentence ({refused.reason})"


def _row_problem(sentence: ShippedSentence, verdict: ShippedVerdict, document: _Stored) -> str:
    """Compare a row's cells with the row that stands there, under the header of its own table."""
    for header, row in ((table.header, row) for table in document.tables for row in table.rows):
        if header and (row.start, row.end) == (verdict.start, verdict.end):
            lines = document.text[header.start : header.end], document.text[row.start : row.end]
            return "" if check_row(sentence.cells, *lines) else "the table does not hold the row"
    return "no row of a table stands there"
