"""A document in the index: its compressed text, its passages, and their terms. One transaction is the caller's."""

import zlib
from typing import NamedTuple

from deep_research.corpus.index import Session
from deep_research.corpus.passages import cut_passages
from deep_research.readers import Reading
from deep_research.text.analyzer import analyze
from deep_research.text.sentences import Span

# A passage is then read from one or two blocks of some tens of kilobytes, however long the document is.
_BLOCK_CHARS = 50_000


class Prepared(NamedTuple):
    """A document made ready outside of the transaction, which stays short."""

    title: str
    language: str
    published: str
    blocks: list[bytes]
    passages: list[Span]
    terms: list[str]


def prepare(reading: Reading, address: str) -> Prepared:
    """Cut, compress and analyse what was read from a file."""
    text = reading.text
    passages = cut_passages(text)
    return Prepared(
        title=_storable(reading.title.strip() or address),
        language=reading.language,
        published=_storable(reading.published),
        blocks=[_packed(text[at : at + _BLOCK_CHARS]) for at in range(0, len(text), _BLOCK_CHARS)],
        passages=passages,
        terms=[_terms(text[start:end]) for start, end in passages],
    )


def put_document(session: Session, document: Prepared, *, content: str, address: str) -> None:
    """Add a document under its first address."""
    title = _terms(document.title)
    number = session.add(
        "put_document",
        content=content,
        address=address,
        title=document.title,
        language=document.language,
        published=document.published,
    )
    for block, data in enumerate(document.blocks):
        session.add("put_text", document=number, block=block, data=data)
    for (start, end), body in zip(document.passages, document.terms, strict=True):
        passage = session.add("put_passage", document=number, start=start, end=end)
        session.add("put_terms", id=passage, title=title, body=body)
    session.add("count_passages", change=len(document.passages))


def drop_document(session: Session, number: int, title: str) -> None:
    """Remove a document; the terms are not stored, so they are made once more to be taken out."""
    title_terms = _terms(title)
    passages = session.rows("passages_of", document=number).fetchall()
    text = text_of(session, number, 0, max((row["end"] for row in passages), default=0))
    for row in passages:
        body = _terms(text[row["start"] : row["end"]])
        session.add("drop_terms", id=row["id"], title=title_terms, body=body)
    session.add("count_passages", change=-len(passages))
    for query in ("drop_passages", "drop_text", "drop_document"):
        session.add(query, document=number)


def text_of(session: Session, number: int, start: int, end: int) -> str:
    """Return a stretch of a document's text."""
    first, last = start // _BLOCK_CHARS, max(start, end - 1) // _BLOCK_CHARS
    blocks = session.rows("text_blocks", document=number, first=first, last=last)
    text = "".join(_unpacked(row["data"]) for row in blocks)
    return text[start - first * _BLOCK_CHARS : end - first * _BLOCK_CHARS]


def _terms(text: str) -> str:
    return " ".join(analyze(text))


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def _unpacked(data: bytes) -> str:
    return zlib.decompress(data).decode("utf-8", "surrogatepass")


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
