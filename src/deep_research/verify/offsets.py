"""Opens the stored text behind each verdict and reads there what the verdict says stands there."""

from collections.abc import Callable
from pathlib import Path

from deep_research.text.sentences import split_sentences
from deep_research.verify.listing import Listing, ShippedEvidence, ShippedSentence, ShippedVerdict, read_listing
from deep_research.verify.quote import find_quote

GetText = Callable[[str], str]


def check_offsets(paragraphs_jsonl: Path, get_text: GetText) -> list[str]:
    """Return a line for each supported sentence that its document does not hold at the recorded offsets.

    `get_text` gives the stored text of a document id and raises `LookupError` if there is none.
    """
    listing = read_listing(paragraphs_jsonl)
    if listing.is_missing:
        return [f"{paragraphs_jsonl.name} is not there"]
    texts: dict[str, str | None] = {}
    edges: dict[str, tuple[set[int], set[int]]] = {}
    problems = [f"{place} cannot be read" for place in listing.broken]
    for paragraph in listing.paragraphs:
        for sentence in paragraph.sentences:
            verdict = sentence.verdict
            if verdict is None or verdict.kind != "supported":
                continue
            problem = _problem(sentence, verdict, listing, texts, edges, get_text)
            if problem:
                problems.append(f"{paragraph.id}: {problem}: {' '.join(sentence.text.split())}")
    return problems


def _problem(
    sentence: ShippedSentence,
    verdict: ShippedVerdict,
    listing: Listing,
    texts: dict[str, str | None],
    edges: dict[str, tuple[set[int], set[int]]],
    get_text: GetText,
) -> str:
    piece = listing.evidence.get(verdict.evidence)
    if piece is None or verdict.evidence not in sentence.evidence:
        return "the verdict names no evidence of the sentence"
    if piece.document not in texts:
        texts[piece.document] = _text_of(piece.document, get_text)
    text = texts[piece.document]
    if text is None:
        return "the document is not in the store"
    if not 0 <= piece.start <= verdict.start < verdict.end <= piece.end <= len(text):
        return "the offsets lie outside the passage"
    if _quote_of(piece, text) != piece.quote:
        return "the document does not hold the passage"
    if verdict.reason not in ("verbatim", "trimmed"):
        return ""
    match = find_quote(sentence.text, text[verdict.start : verdict.end])
    if match is None or match.is_whole != (verdict.reason == "verbatim"):
        return "the document does not hold the sentence"
    if piece.document not in edges:
        spans = split_sentences(text)
        edges[piece.document] = {span.start for span in spans}, {span.end for span in spans}
    starts, ends = edges[piece.document]
    if verdict.start not in starts or verdict.end not in ends:
        return "the document holds the words only as part of a sentence"
    return ""


def _text_of(document: str, get_text: GetText) -> str | None:
    try:
        return get_text(document)
    except LookupError:
        return None


def _quote_of(piece: ShippedEvidence, text: str) -> str:
    return text[piece.start : piece.end]
