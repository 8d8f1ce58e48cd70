"""Documents and evidence in SQLite, read and kept inside a transaction of the caller."""

from collections.abc import Sequence

from deep_research.errors import StoreCorrupt
from deep_research.evidence.passage import Evidence
from deep_research.sources.document import Document
from deep_research.store.sqlite_file import Session
from deep_research.store.sqlite_rows import damaged, read_document, read_evidence, read_passage, require_sound, unpack


class ReadCache:
    """What was read last of documents and evidence: a run looks at each many times.

    Holds so many characters of documents at most. Used by the store's thread alone.
    """

    def __init__(self, most_chars: int = 8_000_000) -> None:
        self._most_chars = most_chars
        self._held: dict[str, Document] = {}
        self._chars = 0
        self.evidence: dict[tuple[str, str, str], Evidence] = {}

    def document(self, session: Session, document: str) -> Document:
        """Return a document, from the store if need be."""
        known = self._held.pop(document, None)
        found = known or get_document(session, document)
        self._held[document] = found
        self._chars += 0 if known else len(found.text)
        while self._chars > self._most_chars:
            self._chars -= len(self._held.pop(next(iter(self._held))).text)
        return found

    def clear(self) -> None:
        """Forget everything: something was removed."""
        self._held.clear()
        self.evidence.clear()
        self._chars = 0


def get_document(session: Session, document: str) -> Document:
    """Return a document, checked against its id."""
    row = session.one("get_document", document=document)
    if row is None:
        raise _missing_document(document)
    require_sound(row, table="documents", key=document)
    return read_document(row, unpack(session.one("get_blob", blob=row["text"]), row["text"]))


def get_evidence(session: Session, cache: ReadCache, run: str, ids: Sequence[str], section: str) -> list[Evidence]:
    """Return the run's evidence in the order of the ids, each with its quote cut from its document."""
    found = []
    for passage in ids:
        known = cache.evidence.get((run, passage, section))
        if known is not None:
            found.append(known)
            continue
        piece = _evidence(session, cache, run, passage, section)
        cache.evidence[run, passage, section] = piece
        found.append(piece)
    return found


def _evidence(session: Session, cache: ReadCache, run: str, id_: str, section: str) -> Evidence:
    rows = session.all("get_evidence", run=run, passage=id_)
    place = session.one("get_passage", passage=id_)
    if not rows or place is None:
        raise StoreCorrupt(f"The store does not hold the evidence {id_} of run {run}.")
    (counted,) = session.all("count_evidence", run=run, passage=id_)
    if counted["rows"] != len(rows):
        raise damaged("evidence", id_)
    for row in rows:
        require_sound(row, table="evidence", key=id_)
    passage = read_passage(place)
    own = next((row for row in rows if row["section"] == section), rows[0])
    return read_evidence(own, passage, cache.document(session, passage.document).text)


def keep_document(session: Session, run: str, document: str) -> None:
    """Let a document's bytes stay for as long as the run does."""
    row = session.one("get_document", document=document)
    if row is None:
        raise _missing_document(document)
    require_sound(row, table="documents", key=document)
    for blob in (row["text"], row["snapshot"]):
        session.run("keep_blob", run=run, blob=blob)


def drop_run(session: Session, run: str) -> None:
    """Remove a run, then the passages, documents and bytes that only it named."""
    session.run("drop_evidence", run=run)
    session.run("drop_addresses", run=run)
    session.run("drop_loose_passages")
    session.run("drop_loose_documents")
    session.run("drop_loose_blobs", run=run)
    session.run("drop_run", run=run)


def _missing_document(document: str) -> StoreCorrupt:
    return StoreCorrupt(f"The store does not hold the document {document}.")
