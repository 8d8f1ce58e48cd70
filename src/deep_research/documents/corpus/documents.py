"""A document in the index: its compressed text, its passages, and their terms. One transaction is the caller's."""

import json
import re
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from deep_research.documents.corpus.duplicates import MIN_SHARED, bands_of, same_but_for_spelling
from deep_research.documents.corpus.index import IndexSession, PassageTerms
from deep_research.documents.corpus.passages import cut_passages
from deep_research.documents.readers import Reading
from deep_research.text.analyzer import CJK, analyze
from deep_research.text.sentences import TextSpan
from deep_research.text.tables import find_tables

# A passage is then read from one or two blocks of some tens of kilobytes, however long the document is.
_BLOCK_CHARS = 50_000
# Every passage of a table is found by its header; one that is longer than a passage would make up most of the index.
_MAX_HEADER_CHARS = 1_200
# A title is looked up by its first terms: few documents share so many.
MAX_NAME_TERMS = 3
# A document is compared with so many others that share a band with it.
_MAX_COMPARED = 8
# What a reader counts as a word; Chinese, Japanese and Korean are counted by characters.
_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+(?:['’.,-][^\W_{CJK}]+)*")
_PAGES = ("page", "slide")
_NAME_END = re.compile(r"[(（,:：，]|\s[-–—]\s")


class Prepared(NamedTuple):
    """A document made ready outside of the transaction, which stays short."""

    title: str
    is_named: bool
    author: str
    language: str
    published: str
    remarks: tuple[str, ...]
    chars: int
    words: int
    pages: int
    blocks: list[bytes]
    passages: list[TextSpan]
    terms: list[str]
    bands: list[int]


def prepare(reading: Reading, address: str) -> Prepared:
    """Cut, compress and analyse what was read from a file."""
    text, title = reading.text, reading.title
    passages = cut_passages(text)
    terms = list(_passage_terms(text, passages))
    return Prepared(
        title=title or _file_name(address),
        # A title that stands at the top of the text is the document's own, even if the file bears it too.
        is_named=title in ("", _file_name(address)) and not text.lstrip("# \n").startswith(title or "\0"),
        author=reading.author,
        language=reading.language,
        published=reading.published,
        remarks=reading.warnings,
        chars=len(text),
        words=sum(1 for _ in _WORD.finditer(text)),
        pages=sum(place.kind in _PAGES for place in reading.places),
        blocks=[_packed(text[at : at + _BLOCK_CHARS]) for at in range(0, len(text), _BLOCK_CHARS)],
        passages=passages,
        terms=terms,
        bands=bands_of(text, terms),
    )


def put_document(session: IndexSession, document: Prepared, *, content: str, address: str) -> None:
    """Add a document under its first address."""
    lists = {"remarks": json.dumps(document.remarks, ensure_ascii=False), "bands": json.dumps(document.bands)}
    # A database takes of these what the statement names.
    columns = document._asdict() | lists | _title_columns(document.title)
    number = session.required_row("put_document", content=content, address=address, **columns)["id"]
    session.many(
        "put_text", ({"document": number, "block": block, "data": data} for block, data in enumerate(document.blocks))
    )
    session.many(
        "put_passage",
        (
            {"document": number, "start": start, "end": end, "terms": _packed(terms)}
            for (start, end), terms in zip(document.passages, document.terms, strict=True)
        ),
    )
    set_searchable(session, number, columns["title_terms"], True)
    session.run("set_settled", is_settled=False)


def choose_address(session: IndexSession, content: str) -> None:
    """Keep a document under the first address that has its content, and remove it where none is left."""
    row = session.one("document", content=content)
    first: str | None = session.required_row("first_address", content=content)["address"]
    if row is None or row["address"] == first:
        return
    is_shown = row["duplicate_of"] is None
    if is_shown:
        set_searchable(session, row["id"], row["title_terms"], False)
    if first is None:
        _drop(session, row["id"])
    else:
        title = _file_name(first) if row["is_named"] else row["title"]
        columns = _title_columns(title)
        session.run("move_document", document=row["id"], address=first, title=title, **columns)
        if is_shown:
            set_searchable(session, row["id"], columns["title_terms"], True)
    session.run("set_settled", is_settled=False)


def set_searchable(session: IndexSession, number: int, title_terms: str, is_searchable: bool) -> None:
    """Put the passages of a document into the search, or take them out of it; it can still be read."""
    title = title_terms.split()
    passages = [
        PassageTerms(row["id"], unpacked(row["terms"]).split()) for row in session.rows("terms_of", document=number)
    ]
    count = sum(len(passage.body) + len(title) for passage in passages)
    if is_searchable:
        session.put_terms(passages, title)
        session.run("change_size", passages=len(passages), terms=count)
    else:
        session.drop_terms(passages, title)
        session.run("change_size", passages=-len(passages), terms=-count)


def text_of(session: IndexSession, number: int, start: int, end: int) -> str:
    """Return a stretch of a document's text."""
    first, last = start // _BLOCK_CHARS, max(start, end - 1) // _BLOCK_CHARS
    blocks = session.rows("text_blocks", document=number, first=first, last=last)
    text = "".join(unpacked(row["data"]) for row in blocks)
    return text[start - first * _BLOCK_CHARS : end - first * _BLOCK_CHARS]


def unpacked(data: bytes) -> str:
    """Return a text that was stored compressed."""
    return zlib.decompress(data).decode("utf-8", "surrogatepass")


def _drop(session: IndexSession, number: int) -> None:
    for duplicate in session.rows("duplicates_of", document=number):
        session.run("set_duplicate", document=duplicate["id"], duplicate_of=None)
        set_searchable(session, duplicate["id"], duplicate["title_terms"], True)
    for query in ("drop_passages", "drop_text", "drop_document"):
        session.run(query, document=number)


class _ClusteredDocument(NamedTuple):
    id: int
    address: str
    published: str
    chars: int
    title_terms: str
    name: str
    duplicate_of: int | None

    @property
    def preference(self) -> tuple[bool, str, int, str]:
        """Return what the documents of a cluster are ordered by: the earliest dated first, then the longest."""
        return not self.published, self.published, -self.chars, self.address


def choose_originals(session: IndexSession) -> None:
    """Let one document of each cluster be searched, and the others not."""
    if session.required_row("folder_state")["is_settled"]:
        return
    bands = {row["document"]: row["bands"].split(",") for row in session.rows("shared_bands")}
    for row in session.rows("duplicates"):
        if row["id"] not in bands:
            _set_duplicate(session, _document(session, row["id"]), None)
    leaders: dict[str, list[_ClusteredDocument]] = {}
    for document in sorted((_document(session, number) for number in bands), key=lambda one: one.preference):
        near = {leader.id: leader for band in bands[document.id] for leader in leaders.get(band, ())}
        compared = sorted(near.values(), key=lambda one: one.preference)[:_MAX_COMPARED]
        duplicate_of = next((leader.id for leader in compared if _are_duplicates(session, document, leader)), None)
        _set_duplicate(session, document, duplicate_of)
        if duplicate_of is None:
            for band in bands[document.id]:
                leaders.setdefault(band, []).append(document)
    session.run("set_settled", is_settled=True)


def _document(session: IndexSession, number: int) -> _ClusteredDocument:
    return _ClusteredDocument(**session.required_row("document_row", document=number))


def _set_duplicate(session: IndexSession, document: _ClusteredDocument, duplicate_of: int | None) -> None:
    if duplicate_of == document.duplicate_of:
        return
    session.run("set_duplicate", document=document.id, duplicate_of=duplicate_of)
    if None in (duplicate_of, document.duplicate_of):
        set_searchable(session, document.id, document.title_terms, duplicate_of is None)


def _are_duplicates(session: IndexSession, one: _ClusteredDocument, other: _ClusteredDocument) -> bool:
    if one.duplicate_of == other.id:
        return True
    # What bears a title of its own is what that title says, even where the text is that of another.
    has_other_title = one.name and other.name and one.name != other.name
    if has_other_title or min(one.chars, other.chars) < MIN_SHARED * max(one.chars, other.chars):
        return False
    return same_but_for_spelling(*(text_of(session, each.id, 0, each.chars) for each in (one, other)))


def _passage_terms(text: str, passages: list[TextSpan]) -> Iterator[str]:
    """Yield the terms of each passage; one that begins within a table is found by the table's header as well."""
    headers = deque((table.end, table.header) for table in find_tables(text) if table.header is not None)
    for start, end in passages:
        while headers and headers[0][0] <= start:
            headers.popleft()
        above = ""
        if headers and (header := headers[0][1]).end <= start:
            above = text[header.start : min(header.end, header.start + _MAX_HEADER_CHARS)]
        yield _spaced(analyze(text[start:end]) + analyze(above))


def _title_columns(title: str) -> dict[str, str]:
    name = analyze(_NAME_END.split(title, 1)[0])
    return {
        "title_terms": _spaced(analyze(title)),
        "name_terms": _spaced(name),
        "name_key": _spaced(name[:MAX_NAME_TERMS]),
    }


def _file_name(address: str) -> str:
    return PurePosixPath(address).stem


def _spaced(terms: list[str]) -> str:
    return "  ".join(terms)


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"))
