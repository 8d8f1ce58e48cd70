"""Bringing the index up to date with a folder, file by file: each in a transaction of its own.

Other processes may do the same at the same time; whoever is second finds the work done or does it again.
"""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from deep_research.corpus.address import address_of
from deep_research.corpus.documents import Prepared, drop_document, prepare, put_document
from deep_research.corpus.files import read_bytes
from deep_research.corpus.index import Index, Session
from deep_research.corpus.port import OnProgress, Remark, Skipped, Survey
from deep_research.corpus.scan import Entry, Scan, scan_folder
from deep_research.errors import SourceError
from deep_research.readers import read
from deep_research.sources.document import snapshot_id

# 128 bits tell all files of a folder apart, and every digit is stored three times.
_CONTENT_DIGITS = 32


class FileRow(NamedTuple):
    """What the index knows of a file; `content` is empty where its bytes could not be had."""

    size: int
    mtime_ns: int
    content: str
    reason: str = ""
    remarks: tuple[str, ...] = ()


def folder_key(folder: Path) -> str:
    """Return the name under which a folder is known in the index."""
    return address_of(os.path.realpath(folder))


def refresh(folder: Path, index: Index, on_progress: OnProgress, is_stopped: Callable[[], bool]) -> Survey:
    """Read what is new or changed, forget what is gone, and report; stop early between two files when told to."""
    work = _Refresh(index, folder_key(folder))
    # In this order: a file that another process adds from here on is not taken for one that is gone.
    scan = scan_folder(folder)
    gone = work.known.keys() - {entry.address for entry in scan.entries}
    for address in sorted(gone):
        work.forget(address)
    for done, entry in enumerate(scan.entries):
        if is_stopped():
            break
        if not work.is_current(entry):
            on_progress(done, len(scan.entries), entry.address)
            work.take(entry)
    on_progress(len(scan.entries), len(scan.entries), "")
    return work.survey(scan, removed=len(gone))


class _Refresh:
    def __init__(self, index: Index, key: str) -> None:
        self._index = index
        self._read_now = 0
        with index.writing() as session:
            self._folder = _folder_number(session, key)
            session.folder = self._folder
            self.known = {row["address"]: _file_row(row) for row in session.rows("files")}
            self._holders: dict[str, str] = {row["content"]: row["address"] for row in session.rows("contents")}

    def is_current(self, entry: Entry) -> bool:
        """Say whether the index holds this file as it is."""
        row = self.known.get(entry.address)
        if row is None or (row.size, row.mtime_ns) != (entry.size, entry.mtime_ns):
            return False
        # A document whose first address is gone is read again under the next one.
        return bool(row.reason) or (row.content in self._holders and self._holders[row.content] <= entry.address)

    def forget(self, address: str) -> None:
        """Remove a file that is gone, and its document."""
        with self._index.writing() as session:
            session.folder = self._folder
            self._drop_documents(session, address, keep="")
            session.add("drop_file", address=address)
        self.known.pop(address, None)

    def take(self, entry: Entry) -> None:
        """Read a file that is new or has changed."""
        row, document = self._look(entry)
        with self._index.writing() as session:
            session.folder = self._folder
            self._drop_documents(session, entry.address, keep="" if row.reason else row.content)
            if document is not None:
                self._put(session, document, row.content, entry.address)
            session.add(
                "put_file",
                address=entry.address,
                size=row.size,
                mtime_ns=row.mtime_ns,
                content=row.content,
                reason=row.reason,
                remarks=json.dumps(row.remarks, ensure_ascii=False),
            )
        self.known[entry.address] = row

    def survey(self, scan: Scan, *, removed: int) -> Survey:
        """Return what was found."""
        with self._index.reading() as session:
            session.folder = self._folder
            indexed = len(session.rows("contents").fetchall())
        rows = [(entry.address, self.known[entry.address]) for entry in scan.entries if entry.address in self.known]
        skipped = [*scan.skipped, *(Skipped(address=at, reason=row.reason) for at, row in rows if row.reason)]
        return Survey(
            files=scan.files,
            indexed=indexed,
            read_now=self._read_now,
            removed=removed,
            skipped=tuple(sorted(skipped, key=lambda one: one.address)),
            remarks=tuple(Remark(address=at, remark=remark) for at, row in rows for remark in row.remarks),
        )

    def _look(self, entry: Entry) -> tuple[FileRow, Prepared | None]:
        """Return what a file is now, and its document if that must be put into the index."""
        address = entry.address
        try:
            raw, status = read_bytes(entry.path, address)
        except SourceError as exc:
            # New rights do not change a file's time, so no time is kept and the next refresh tries again.
            return FileRow(entry.size, -1, "", str(exc)), None
        content = snapshot_id(raw)[:_CONTENT_DIGITS] + PurePosixPath(address).suffix.lower()
        row = FileRow(status.st_size, status.st_mtime_ns, content)
        before = self.known.get(address)
        is_held = content in self._holders and self._holders[content] <= address
        if before is not None and before.content == content and (before.reason or is_held):
            return row._replace(reason=before.reason, remarks=before.remarks), None
        if is_held:
            return row, None
        self._read_now += 1
        try:
            reading = read(raw, name=address)
        except SourceError as exc:
            return row._replace(reason=str(exc)), None
        return row._replace(remarks=reading.warnings), prepare(reading, address)

    def _put(self, session: Session, document: Prepared, content: str, address: str) -> None:
        held = session.one("document_of_content", content=content)
        if held is not None and held["address"] > address:
            drop_document(session, held["id"], held["title"])
            held = None
        if held is None:
            put_document(session, document, content=content, address=address)
        self._holders[content] = address if held is None else held["address"]

    def _drop_documents(self, session: Session, address: str, *, keep: str) -> None:
        for row in session.rows("documents_at", address=address).fetchall():
            if row["content"] != keep:
                drop_document(session, row["id"], row["title"])
                self._holders.pop(row["content"], None)


def _folder_number(session: Session, key: str) -> int:
    row = session.one("folder", path=key)
    if row is not None:
        return int(row["id"])
    session.folder = session.add("add_folder", path=key)
    session.add("create_terms")
    session.add("create_vocabulary")
    return session.folder


def _file_row(row: sqlite3.Row) -> FileRow:
    return FileRow(row["size"], row["mtime_ns"], row["content"], row["reason"], tuple(json.loads(row["remarks"])))
