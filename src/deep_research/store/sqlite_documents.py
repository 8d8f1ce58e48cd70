"""Documents and evidence in SQLite, read and kept inside a transaction of the caller."""

from collections.abc import Sequence

from deep_research.errors import StoreCorrupt
from deep_research.evidence.passage import Evidence
from deep_research.sources.document import Document
from deep_research.store.sqlite_file import Session
from deep_research.store.sqlite_rows import read_document, read_evidence, unpack


def get_document(session: Session, document: str) -> Document:
    """Return a document, checked against its id."""
    row = session.one("get_document", document=document)
    if row is None:
        raise _missing_document(document)
    return read_document(row, unpack(session.one("get_blob", blob=row["text"]), row["text"]))


def get_evidence(session: Session, run: str, ids: Sequence[str], section: str) -> list[Evidence]:
    """Return the run's evidence in the order of the ids, each with its quote cut from its document."""
    texts: dict[str, str] = {}
    found = []
    for passage in ids:
        row = session.one("get_evidence", run=run, passage=passage, section=section)
        if row is None:
            raise StoreCorrupt(f"The store does not hold the evidence {passage} of run {run}.")
        if row["document"] not in texts:
            texts[row["document"]] = get_document(session, row["document"]).text
        found.append(read_evidence(row, texts[row["document"]]))
    return found


def keep_document(session: Session, run: str, document: str) -> None:
    """Let a document's bytes stay for as long as the run does."""
    row = session.one("get_document", document=document)
    if row is None:
        raise _missing_document(document)
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
