"""Bringing the index up to date with a folder, file by file: each in a transaction of its own.

Other processes may do the same at the same time; whoever is second finds the work done or does it again. Of an index
that hosts share one of them refreshes a folder at a time. What the folder holds is noted in a temporary file, so that
memory does not grow with it.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from deep_research.documents.corpus.documents import Prepared, choose_address, choose_originals, prepare, put_document
from deep_research.documents.corpus.index import Index, IndexSession
from deep_research.documents.corpus.port import OnProgress, Remark, Skipped, Survey
from deep_research.documents.corpus.scan import Scan, ScannedFile
from deep_research.documents.corpus.stored import Files
from deep_research.documents.readers import read
from deep_research.errors import SourceError
from deep_research.report.sources.document import snapshot_id
from deep_research.storage.database.port import Row
from deep_research.storage.database.queries import load_queries

# 128 bits tell all files of a folder apart, and every digit is stored three times.
_CONTENT_DIGITS = 32
# So many of the files that an index knows are noted at a time.
_KNOWN_AT_ONCE = 5_000
_PAUSE_S = 0.2


class FileRow(NamedTuple):
    """What the index knows of a file; `content` is empty where its bytes could not be had."""

    size: int
    mtime_ns: int
    content: str
    reason: str = ""


def refresh(key: str, files: Files, index: Index, on_progress: OnProgress, is_stopped: Callable[[], bool]) -> Survey:
    """Read what is new or changed, forget what is gone, and report; stop early between two files where `is_stopped`."""
    folder = index.write(lambda session: session.folder if session.enter(key) else session.add_folder(key))
    # Another host may be refreshing the folder.
    while not index.acquire(folder) and not is_stopped():
        time.sleep(_PAUSE_S)
    try:
        with closing(_Notes()) as notes:
            return _Refresh(index, folder, files, notes).run(on_progress, is_stopped)
    finally:
        index.release(folder)


class _Notes:
    """What the index knows of a folder's files and what a scan met, in a file that is gone when it is closed."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode = OFF")
        self.run("create_notes")

    def run(self, query: str, row: Mapping[str, object] | None = None) -> sqlite3.Cursor:
        """Send a statement; what a query finds is read row by row, so that memory does not grow with it."""
        return self._connection.execute(load_queries("deep_research.documents.corpus")[query], row or {})

    def close(self) -> None:
        """Forget all of it."""
        self._connection.close()


@dataclass
class _Refresh:
    index: Index
    folder: int
    files: Files
    notes: _Notes
    _read_now: int = 0

    def run(self, on_progress: OnProgress, is_stopped: Callable[[], bool]) -> Survey:
        met = self._scan()
        taken, changed = self.notes.run("count_noted").fetchone()
        removed = 0
        for done, row in enumerate(self.notes.run("changed_files"), taken - changed):
            if is_stopped():
                break
            entry = ScannedFile(*row)
            on_progress(done, taken, entry.address)
            while not self._put(entry.address, *self._inspect(entry)):
                pass
        else:
            # After the new files, so that one that was only renamed is not read again.
            removed = sum(self._forget(row["address"]) for row in self.notes.run("gone_files"))
            self.index.write(_finish_refresh, self.folder)
        on_progress(taken, taken, "")
        return self.index.read(lambda session: self._survey(session, met, removed), self.folder)

    def _scan(self) -> Scan:
        """Note what the index knows and what the folder holds."""
        # In this order: a file that another process adds from here on is not taken for one that is gone.
        after: str | None = ""
        while after is not None:
            noting = partial(IndexSession.rows, query="known_files", after=after, limit=_KNOWN_AT_ONCE)
            known = self.index.read(noting, self.folder)
            for row in known:
                self.notes.run("note_known", dict(row))
            after = known[-1]["address"] if known else None
        return self.files.scan(lambda entry: self.notes.run("note_seen", entry._asdict()))

    def _forget(self, address: str) -> bool:
        """Remove a file that is gone, and its document if no other file has it."""

        def drop(session: IndexSession) -> bool:
            row = session.one("file", address=address)
            if row is not None:
                session.run("drop_file", address=address)
                choose_address(session, row["content"])
            return row is not None

        self.files.forget(address)
        return self.index.write(drop, self.folder)

    def _inspect(self, entry: ScannedFile) -> tuple[FileRow, Prepared | None]:
        """Return what a file is now, and its document if that must be put into the index."""
        address = entry.address
        try:
            raw, read_as = self.files.read(address)
        except SourceError as exc:
            # New rights do not change a file's time, so no time is kept and the next refresh tries again.
            return FileRow(entry.size, -1, "", str(exc)), None
        content = snapshot_id(raw)[:_CONTENT_DIGITS] + PurePosixPath(address).suffix.lower()
        row = FileRow(read_as.size, read_as.mtime_ns, content)
        before, is_stored = self.index.read(
            lambda session: (
                session.one("file", address=address),
                session.one("document", content=content) is not None,
            ),
            self.folder,
        )
        if before is not None and before["content"] == content and before["reason"]:
            return row._replace(reason=before["reason"]), None
        if is_stored:
            return row, None
        self._read_now += 1
        try:
            return row, prepare(read(raw, name=address), address)
        except SourceError as exc:
            return row._replace(reason=str(exc)), None

    def _put(self, address: str, row: FileRow, document: Prepared | None) -> bool:
        """Store what a file is; say no where another process has just dropped the document it needs."""

        def put(session: IndexSession) -> bool:
            is_stored = session.one("document", content=row.content) is not None
            if not (row.reason or document or is_stored):
                return False
            before = session.one("file", address=address)
            if document is not None and not is_stored:
                put_document(session, document, content=row.content, address=address)
            session.run("put_file", address=address, **row._asdict())
            for content in {row.content, before["content"] if before else row.content}:
                choose_address(session, content)
            return True

        return self.index.write(put, self.folder)

    def _survey(self, session: IndexSession, met: Scan, removed: int) -> Survey:
        unusable = (Skipped(**row) for row in session.rows("unusable"))
        return Survey(
            files=met.files,
            indexed=session.required_row("survey")["documents"],
            read_now=self._read_now,
            removed=removed,
            skipped=tuple(sorted((*met.skipped, *unusable), key=lambda one: one.address)),
            remarks=tuple(
                Remark(address=row["address"], remark=remark)
                for row in session.rows("remarks")
                for remark in remarks_of(row)
            ),
        )


def _finish_refresh(session: IndexSession) -> None:
    """Collapse near-duplicates, and note the time."""
    choose_originals(session)
    session.run("set_refreshed")


def remarks_of(row: Row) -> list[str]:
    """Return what there is to know about a document: its remarks, and which near-duplicate is searched in its place."""
    remarks: list[str] = json.loads(row["remarks"])
    if row["original"]:
        remarks.append(f"nearly the same as {row['original']!r}, which is searched in its place")
    return remarks
