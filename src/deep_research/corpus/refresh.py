"""Bringing the index up to date with a folder, file by file: each in a transaction of its own.

Other processes may do the same at the same time; whoever is second finds the work done or does it again. What the
folder holds is kept in a temporary table, so that memory does not grow with it.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from deep_research.corpus.address import address_of, path_of
from deep_research.corpus.documents import Prepared, prepare, put_document, settle_document, settle_duplicates
from deep_research.corpus.files import read_bytes
from deep_research.corpus.index import Index, IndexSession
from deep_research.corpus.port import OnProgress, Remark, Skipped, Survey
from deep_research.corpus.scan import Entry, Scan, scan_folder, split
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


def folder_key(folder: Path) -> str:
    """Return the name under which a folder is known in the index."""
    return address_of(os.path.realpath(folder))


def refresh(folder: Path, index: Index, on_progress: OnProgress, is_stopped: Callable[[], bool]) -> Survey:
    """Read what is new or changed, forget what is gone, and report; stop early between two files where `is_stopped`."""
    work = _Refresh(index, folder)
    scan = work.scan()
    removed = 0
    for done, row in enumerate(work.noted("next_changed"), scan.taken - scan.changed):
        if is_stopped():
            break
        entry = Entry(*row)
        on_progress(done, scan.taken, entry.address)
        work.take(entry)
    else:
        # After the new files, so that one that was only renamed is not read again.
        removed = sum(work.forget(row["address"]) for row in work.noted("next_gone"))
        work.settle()
    on_progress(scan.taken, scan.taken, "")
    return work.survey(scan, removed=removed)


class _Scanned(NamedTuple):
    """What a scan met, the files taken into the temporary table, and those of them to be looked into."""

    met: Scan
    taken: int
    changed: int


class _Refresh:
    def __init__(self, index: Index, folder: Path) -> None:
        self._index = index
        self._documents, self._root = folder, split(folder)[0]
        self._read_now = 0
        with index.writing() as session:
            self._folder = _folder_number(session, folder_key(folder))

    def scan(self) -> _Scanned:
        """Note what the folder holds."""
        with self._index.reading(self._folder) as session:
            # In this order: a file that another process adds from here on is not taken for one that is gone.
            for query in ("create_known", "create_seen", "create_changed", "note_known"):
                session.add(query)
            met = scan_folder(self._documents, lambda entry: session.add("note_seen", **entry._asdict()))
            session.add("note_changed")
            seen, changed = session.required_row("count_noted")
            return _Scanned(met, seen, changed)

    def take(self, entry: Entry) -> None:
        """Look at a file that is new or has changed, and read it unless its content is known."""
        while not self._put(entry.address, *self._look(entry)):
            pass

    def forget(self, address: str) -> bool:
        """Remove a file that is gone, and its document if no other file has it."""
        with self._index.writing(self._folder) as session:
            row = session.one("file", address=address)
            if row is not None:
                session.add("drop_file", address=address)
                settle_document(session, row["content"])
            return row is not None

    def settle(self) -> None:
        """Collapse near-duplicates, and note the time."""
        with self._index.writing(self._folder) as session:
            settle_duplicates(session)
            session.add("set_refreshed")

    def survey(self, scan: _Scanned, *, removed: int) -> Survey:
        """Return what was found."""
        with self._index.reading(self._folder) as session:
            indexed = session.required_row("survey")["documents"]
            unusable = [Skipped(**row) for row in session.rows("unusable")]
            remarks = [
                Remark(address=row["address"], remark=remark)
                for row in session.rows("remarks")
                for remark in remarks_of(row)
            ]
        return Survey(
            files=scan.met.files,
            indexed=indexed,
            read_now=self._read_now,
            removed=removed,
            skipped=tuple(sorted([*scan.met.skipped, *unusable], key=lambda one: one.address)),
            remarks=tuple(remarks),
        )

    def noted(self, query: str) -> Iterator[sqlite3.Row]:
        """Yield the files that are new or changed, or gone, one by one; no transaction stays open in between."""
        after = ""
        while True:
            with self._index.reading() as session:
                row = session.one(query, after=after)
            if row is None:
                return
            yield row
            after = row["address"]

    def _look(self, entry: Entry) -> tuple[FileRow, Prepared | None]:
        """Return what a file is now, and its document if that must be put into the index."""
        address = entry.address
        try:
            raw, status = read_bytes(self._root / path_of(address), address)
        except SourceError as exc:
            # New rights do not change a file's time, so no time is kept and the next refresh tries again.
            return FileRow(entry.size, -1, "", str(exc)), None
        content = snapshot_id(raw)[:_CONTENT_DIGITS] + PurePosixPath(address).suffix.lower()
        row = FileRow(status.st_size, status.st_mtime_ns, content)
        with self._index.reading(self._folder) as session:
            before = session.one("file", address=address)
            is_held = session.one("document", content=content) is not None
        if before is not None and before["content"] == content and before["reason"]:
            return row._replace(reason=before["reason"]), None
        if is_held:
            return row, None
        self._read_now += 1
        try:
            return row, prepare(read(raw, name=address), address)
        except SourceError as exc:
            return row._replace(reason=str(exc)), None

    def _put(self, address: str, row: FileRow, document: Prepared | None) -> bool:
        """Store what a file is; say no where another process has just dropped the document it needs."""
        with self._index.writing(self._folder) as session:
            is_held = session.one("document", content=row.content) is not None
            if not (row.reason or document or is_held):
                return False
            before = session.one("file", address=address)
            if document is not None and not is_held:
                put_document(session, document, content=row.content, address=address)
            session.add("put_file", address=address, **row._asdict())
            for content in {row.content, before["content"] if before else row.content}:
                settle_document(session, content)
            return True


def remarks_of(row: sqlite3.Row) -> list[str]:
    """Return what there is to know about a document: its remarks, and which near-duplicate is searched in its place."""
    remarks: list[str] = json.loads(row["remarks"])
    if row["original"]:
        remarks.append(f"nearly the same as {row['original']!r}, which is searched in its place")
    return remarks


def _folder_number(session: IndexSession, key: str) -> int:
    row = session.one("folder", path=key)
    if row is not None:
        return int(row["id"])
    session.folder = session.add("add_folder", path=key)
    session.add("create_terms")
    session.add("create_vocabulary")
    return session.folder
