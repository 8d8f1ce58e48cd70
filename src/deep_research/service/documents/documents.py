"""`Documents`: collections of uploaded files, one account's at a time, and the operator's own folder beside them.

A file is a row of the server's tables and a file of the same name among the uploaded ones, which lie in folders
of the home or in the database that hosts share; what it holds (title, pages, words, remarks) stands in the index of
documents, which is brought up to date in the background.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from deep_research.documents.corpus.address import address_of
from deep_research.documents.corpus.folder import Catalogue, IndexedDocument
from deep_research.documents.corpus.port import PassageHit
from deep_research.documents.corpus.stored import StoredFiles, files_in, stored_paths
from deep_research.documents.readers import format_of
from deep_research.documents.readers.port import one_line
from deep_research.documents.readers.registry import FORMATS, FileFormat
from deep_research.documents.readers.sniff import HEAD_BYTES, needs_all
from deep_research.errors import (
    CannotWrite,
    InputError,
    NotFound,
    SourceDamaged,
    SourceError,
    SourceProtected,
    TooManyTries,
    UsageError,
)
from deep_research.events import UNFINISHED
from deep_research.request import COLLECTION, ResearchRequest
from deep_research.service.accounts.identity import Identity
from deep_research.service.database import Records, ServerDatabase
from deep_research.service.documents.file_names import free_name, safe_name
from deep_research.service.documents.indexing import Indexing
from deep_research.service.documents.uploads import IncomingFile, IncomingFolder, Upload, UploadLimits
from deep_research.settings import Settings
from deep_research.storage.database.port import Database
from deep_research.storage.private_files import make_folder
from deep_research.storage.store.store import Store
from deep_research.text.in_thread import in_thread
from deep_research.value import Strings, Value, digest_of
from deep_research.wiring.documents import corpus_of, index_location

# The operator's own folder of documents, where settings name one.
OWN_FOLDER = "server"
_MB = 1_000_000
# What a form adds to the files in it.
_FORM_BYTES = 1_000_000
# Of a folder with more documents, the first are listed.
_MAX_LISTED = 1_000
_MAX_RUNS = 10_000
# What one account sends at once fills no disk before its limits are counted.
_MAX_UPLOADING = 4
# The operator's folder is looked through again after so long.
_RECHECK_S = 60.0

FileState = Literal["reading", "ready", "unreadable"]
RefusalCode = Literal["empty", "too_large", "unreadable", "damaged", "protected", "duplicate", "full"]
_CODES: dict[type[SourceError], RefusalCode] = {SourceDamaged: "damaged", SourceProtected: "protected"}
# Files of a question that was never asked are kept so long.
_UNASKED = timedelta(days=1)
_MAX_NAME_CHARS = 200


@dataclass
class FilesOfHome:
    """A folder for each collection."""

    root: Path

    def folder(self, collection: str) -> Path:
        """Return the name under which a run searches a collection."""
        return self.root / collection

    def collection_of(self, docs: str) -> str:
        """Return the collection that a run names, "" where it names something else."""
        folder = Path(docs)
        return folder.name if docs and folder.parent == self.root else ""

    def collections(self) -> set[str]:
        """Return the collections that there are files of."""
        return {path.name for path in self.root.glob("[!.]*")}

    def keep(self, collection: str, name: str, file: Path) -> None:
        """Take a file."""
        make_folder(self.folder(collection))
        file.replace(self.folder(collection) / name)

    def remove(self, collection: str, name: str) -> None:
        """Remove a file."""
        (self.folder(collection) / name).unlink(missing_ok=True)

    def drop(self, collection: str) -> None:
        """Remove all files of a collection."""
        shutil.rmtree(self.folder(collection))


@dataclass
class FilesOfDatabase:
    """Rows of a table."""

    open_database: Callable[[], Database]

    def folder(self, collection: str) -> Path:
        return Path(f"{COLLECTION}{collection}")

    def collection_of(self, docs: str) -> str:
        return docs.removeprefix(COLLECTION) if docs.startswith(COLLECTION) else ""

    def collections(self) -> set[str]:
        return {path.removeprefix(COLLECTION) for path in stored_paths(COLLECTION, self.open_database)}

    def keep(self, collection: str, name: str, file: Path) -> None:
        self._files(collection).put(address_of(name), file.read_bytes())

    def remove(self, collection: str, name: str) -> None:
        self._files(collection).forget(address_of(name))

    def drop(self, collection: str) -> None:
        self._files(collection).drop()

    def _files(self, collection: str) -> StoredFiles:
        return StoredFiles(self.folder(collection), self.open_database)


UploadedFiles = FilesOfHome | FilesOfDatabase


def uploaded_files(settings: Settings) -> UploadedFiles:
    """Return where uploaded files are kept: in the PostgreSQL that is named, else in the home."""
    location = index_location(settings)
    return FilesOfHome(settings.uploads_path) if isinstance(location, Path) else FilesOfDatabase(location)


class StoredFile(Value):
    """A file of a collection; what it holds is known once it is `ready`, and `reason` says why it never will be."""

    id: str
    name: str
    kind: str
    bytes: int | None
    added_at: datetime | None
    state: FileState
    title: str = ""
    language: str = ""
    pages: int = 0
    words: int = 0
    passages: int = 0
    remarks: Strings = ()
    reason: str = ""


class Collection(Value):
    """Files that can be searched together; `bytes` is not known of the operator's own folder, which nobody changes.

    One that `is_of_question` was made for a single question, and goes when its runs are deleted.
    """

    id: str
    name: str
    created_at: datetime | None
    files: int
    bytes: int | None
    is_read_only: bool = False
    is_of_question: bool = False


class CollectionContents(Collection):
    """A collection with its files by name, at most a thousand of them."""

    documents: tuple[StoredFile, ...]


class RefusedFile(Value):
    """A file of an upload that was not kept, and why."""

    name: str
    code: RefusalCode
    reason: str


class Uploaded(Value):
    """What became of the files of an upload."""

    added: tuple[StoredFile, ...]
    refused: tuple[RefusedFile, ...]


class Found(Value):
    """Passages of a collection, the best first; while files are still being read, more may be found later."""

    passages: tuple[PassageHit, ...]
    is_reading: bool


class Documents:
    """Collections of all accounts; one of another account is an unknown one."""

    def __init__(self, settings: Settings, database: ServerDatabase, store: Store) -> None:
        self._settings, self._database, self._store = settings, database, store
        self._root = settings.uploads_path
        self._uploaded = uploaded_files(settings)
        self._catalogue = Catalogue(index_location(settings))
        self._indexing = Indexing(index_location(settings))
        self._incoming = IncomingFolder(self._root)
        self._uploading: Counter[str] = Counter()

    async def stop(self) -> None:
        """Stop reading files; what is left is read when somebody looks at the collection again."""
        await self._indexing.stop()
        await asyncio.to_thread(self._incoming.close)

    async def list(self, who: Identity) -> list[Collection]:
        """Return the operator's folder, then the collections of this account, the newest first."""
        rows = await self._database.all("list_collections", user=who.user)
        own = [await self._own_folder()] if self._settings.docs else []
        return [*own, *(Collection(**row) for row in rows)]

    async def create(self, name: str, who: Identity, *, for_question: bool = False) -> Collection:
        """Make an empty collection, to keep or for a question that is about to be asked."""
        row = {"id": uuid4().hex, "user": who.user, "name": name, "created_at": datetime.now(UTC).isoformat()}
        most = self._settings.upload_max_collections

        def add(records: Records) -> None:
            if len(records.all("list_collections", user=who.user)) >= most:
                raise UsageError().with_message("fault.max_collections", count=most)
            records.run("add_collection", **row)
            if for_question:
                records.run("add_question_collection", collection=row["id"])

        await self._database.work(add)
        return await self._collection(row["id"], who)

    async def rename(self, collection: str, name: str, who: Identity) -> Collection:
        """Give a collection another name."""
        self._refuse_own(collection)
        await self._database.run("rename_collection", id=collection, user=who.user, name=name)
        return await self._collection(collection, who)

    async def delete(self, collection: str, who: Identity) -> None:
        """Delete a collection; its files go as soon as no run under way needs them."""
        self._refuse_own(collection)
        gone = await self._database.run("drop_collection", id=collection, user=who.user)
        if not gone:
            raise _unknown(collection)
        await self.tidy()

    async def note_asked(self, collection: str, question: str, who: Identity) -> None:
        """Name a collection that was made for a question after it, once it is asked."""
        name = one_line(question)[:_MAX_NAME_CHARS]

        def note(records: Records) -> None:
            if records.run("ask_question_collection", collection=collection) and name:
                records.run("rename_collection", id=collection, user=who.user, name=name)

        await self._database.work(note)

    async def note_deleted(self, docs: str) -> None:
        """Delete the collection that was made for a question when the last run over it is gone."""
        collection = self._uploaded.collection_of(docs)
        if not collection:
            return
        rows = await self._store.list_runs(limit=_MAX_RUNS)
        if not any(row.request.docs == docs for row in rows):
            await self._database.run("drop_question_collection", id=collection)
            await self.tidy()

    async def read(self, collection: str, who: Identity) -> CollectionContents:
        """Return a collection with its files, and have those read that are not yet."""
        shown = await self._collection(collection, who)
        folder = self._folder(collection)
        indexed, unusable = await asyncio.to_thread(self._indexed, folder)
        if collection == OWN_FOLDER:
            documents = [
                _file(_own_row(address), address, indexed, unusable) for address in sorted({*indexed, *unusable})
            ]
        else:
            rows = await self._database.all("list_files", collection=collection)
            documents = [_file(row, address_of(row["name"]), indexed, unusable) for row in rows]
            if any(document.state == "reading" for document in documents):
                self._indexing.soon(folder)
        return CollectionContents(**dict(shown), documents=tuple(documents[:_MAX_LISTED]))

    async def folder_of(self, collection: str, who: Identity) -> Path:
        """Return the folder of a collection that a run can search."""
        shown = await self._collection(collection, who)
        if not shown.is_read_only and not shown.files:
            raise UsageError().with_message("fault.empty_collection", name=shown.name)
        return self._folder(collection)

    async def search(self, collection: str, query: str, who: Identity, *, limit: int) -> Found:
        """Return the best passages of what has been read so far."""
        contents = await self.read(collection, who)
        folder = self._folder(collection)
        is_reading = self._indexing.is_reading(folder)
        corpus = corpus_of(folder, self._settings)
        try:
            passages = await corpus.search(query, limit=limit) if contents.documents else []
        except SourceError:
            # Nothing of it has been read yet.
            passages = []
        finally:
            await corpus.close()
        return Found(passages=tuple(passages), is_reading=is_reading)

    @asynccontextmanager
    async def upload(self, collection: str, who: Identity) -> AsyncIterator[Upload]:
        """Take files; `add` keeps them, and what it does not keep is gone at the end."""
        self._refuse_own(collection)
        await self._collection(collection, who)
        if self._uploading[who.user] >= _MAX_UPLOADING:
            raise TooManyTries(retry_after_s=10).with_message("fault.uploads_at_once", count=_MAX_UPLOADING)
        self._uploading[who.user] += 1
        try:
            async with self._incoming.upload(self.limits) as upload:
                yield upload
        finally:
            self._uploading[who.user] -= 1

    @property
    def limits(self) -> UploadLimits:
        """How much one upload may bring."""
        settings = self._settings
        return UploadLimits(
            file_bytes=settings.upload_max_file_mb * _MB,
            files=settings.upload_max_files,
            sent_bytes=settings.upload_max_collection_mb * _MB + _FORM_BYTES,
        )

    async def add(self, collection: str, files: Iterable[IncomingFile], who: Identity) -> Uploaded:
        """Keep those files of an upload that can be read, each by itself."""
        added: list[StoredFile] = []
        refused: list[RefusedFile] = []
        for file in files:
            stored = await self._take(collection, file, who)
            if isinstance(stored, RefusedFile):
                refused.append(stored)
            else:
                added.append(stored)
        if added:
            self._indexing.soon(self._folder(collection))
        return Uploaded(added=tuple(added), refused=tuple(refused))

    async def remove_file(self, collection: str, file: str, who: Identity) -> None:
        """Delete a file; runs that were made with it keep what they quote."""
        self._refuse_own(collection)
        await self._collection(collection, who)
        folder = self._folder(collection)

        def remove(records: Records) -> None:
            row = records.one("find_file", id=file, collection=collection)
            if row is None:
                raise NotFound().with_message("fault.unknown_file", file=file)
            self._uploaded.remove(collection, row["name"])
            records.run("drop_file", id=file)

        await self._database.work(remove)
        self._indexing.soon(folder)

    async def tidy(self) -> None:
        """Remove what nobody asked about, folders of deleted collections that no run needs, and what uploads left."""
        await asyncio.to_thread(self._incoming.remove_left)
        before = (datetime.now(UTC) - _UNASKED).isoformat()
        await self._database.run("drop_unasked_collections", before=before)
        folders = await asyncio.to_thread(self._uploaded.collections)
        known = {row["id"] for row in await self._database.all("all_collections")}
        if left := folders - known:
            for name in left - await self._needed():
                await self._forget(name)

    async def _needed(self) -> set[str]:
        """Return the names of folders that runs under way, or waiting for somebody, search."""
        needed: set[str] = set()
        for status in UNFINISHED:
            rows = await self._store.list_runs(limit=_MAX_RUNS, status=status)
            needed |= {self._uploaded.collection_of(row.request.docs) for row in rows}
        return needed

    async def _forget(self, collection: str) -> None:
        folder = self._folder(collection)
        await self._indexing.end(folder)
        with suppress(OSError):
            await asyncio.to_thread(self._uploaded.drop, collection)
            await asyncio.to_thread(self._catalogue.forget, folder)

    async def _take(self, collection: str, file: IncomingFile, who: Identity) -> StoredFile | RefusedFile:
        if file.is_too_large:
            most = self._settings.upload_max_file_mb
            return RefusedFile(name=file.name, code="too_large", reason=f"It is larger than {most} MB.")
        if not file.bytes:
            return RefusedFile(name=file.name, code="empty", reason="It is empty.")
        try:
            file_format = await in_thread(_format_of, file)
        except SourceError as exc:
            return RefusedFile(name=file.name, code=_CODES.get(type(exc), "unreadable"), reason=str(exc))
        return await self._database.work(lambda records: self._keep(records, collection, file, file_format, who))

    def _keep(
        self, records: Records, collection: str, file: IncomingFile, file_format: FileFormat, who: Identity
    ) -> StoredFile | RefusedFile:
        """Enter a file into the database and move it to its folder, or say why not: all of it, or nothing."""
        if records.one("find_collection", id=collection, user=who.user) is None:
            raise _unknown(collection)
        files = [dict(row) for row in records.all("list_files", collection=collection)]
        same = next((each for each in files if each["digest"] == file.digest), None)
        if same is not None:
            reason = f"It is the same file as {same['name']!r}, which is in the collection already."
            return RefusedFile(name=file.name, code="duplicate", reason=reason)
        if full := self._is_full(records, files, file, who):
            return RefusedFile(name=file.name, code="full", reason=full)
        row: dict[str, str | int] = {
            "id": uuid4().hex,
            "collection": collection,
            "name": free_name(safe_name(file.name, file_format), [each["name"] for each in files]),
            "kind": file_format.name,
            "bytes": file.bytes,
            "digest": file.digest,
            "added_at": datetime.now(UTC).isoformat(),
        }
        records.run("add_file", **row)
        try:
            self._uploaded.keep(collection, str(row["name"]), file.path)
        except OSError as exc:
            raise CannotWrite().with_message("fault.upload_not_kept", reason=exc.strerror) from exc
        # Nothing of it is in the index yet.
        return _file(row, "", {}, {})

    def _is_full(self, records: Records, files: Sequence[Mapping[str, Any]], file: IncomingFile, who: Identity) -> str:
        settings = self._settings
        if len(files) >= settings.upload_max_files:
            return f"The collection holds {len(files)} files, which is the limit."
        if sum(each["bytes"] for each in files) + file.bytes > settings.upload_max_collection_mb * _MB:
            return f"The collection would hold more than {settings.upload_max_collection_mb} MB, which is the limit."
        row = records.one("bytes_of_user", user=who.user)
        if (row["bytes"] if row else 0) + file.bytes > settings.upload_max_user_mb * _MB:
            return f"All your collections would hold more than {settings.upload_max_user_mb} MB, which is the limit."
        return ""

    async def _collection(self, collection: str, who: Identity) -> Collection:
        if collection == OWN_FOLDER and self._settings.docs is not None:
            return await self._own_folder()
        rows = await self._database.all("list_collections", user=who.user)
        row = next((row for row in rows if row["id"] == collection), None)
        if row is None:
            raise _unknown(collection)
        return Collection(**row)

    async def _own_folder(self) -> Collection:
        folder = self._folder(OWN_FOLDER)
        self._indexing.soon(folder, unless_within_s=_RECHECK_S)
        indexed, unusable = await asyncio.to_thread(self._indexed, folder)
        files = len(indexed) + len(unusable)
        return Collection(id=OWN_FOLDER, name=OWN_FOLDER, created_at=None, files=files, bytes=None, is_read_only=True)

    def _folder(self, collection: str) -> Path:
        if collection == OWN_FOLDER and self._settings.docs is not None:
            return self._settings.docs
        return self._uploaded.folder(collection)

    def _indexed(self, folder: Path) -> tuple[dict[str, IndexedDocument], dict[str, str]]:
        """Return what the index holds of a folder: its documents and what cannot be used, by address."""
        documents = {document.address: document for document in self._catalogue.documents(folder)}
        return documents, {each.address: each.reason for each in self._catalogue.unusable(folder)}

    async def check_there(self, request: ResearchRequest) -> None:
        """Raise `InputError` where documents that a run searches are not there any longer; it names no path."""
        for docs in filter(None, (request.docs, request.also_docs)):
            try:
                await asyncio.to_thread(files_in(Path(docs), index_location(self._settings)).check)
            except InputError:
                raise InputError().with_message("fault.documents_gone") from None

    @staticmethod
    def _refuse_own(collection: str) -> None:
        if collection == OWN_FOLDER:
            raise UsageError().with_message("fault.own_folder")


def _unknown(collection: str) -> NotFound:
    return NotFound().with_message("fault.unknown_collection", collection=collection)


def _format_of(file: IncomingFile) -> FileFormat:
    with file.path.open("rb") as opened:
        head = opened.read(HEAD_BYTES)
        return format_of(head + opened.read() if needs_all(head) else head, name=file.name)


def _file(
    row: Mapping[str, Any], address: str, indexed: Mapping[str, IndexedDocument], unusable: Mapping[str, str]
) -> StoredFile:
    own = {name: row[name] for name in ("id", "name", "kind", "bytes", "added_at")}
    if document := indexed.get(address):
        facts = ("title", "language", "pages", "words", "passages", "remarks")
        return StoredFile(**own, state="ready", **{name: getattr(document, name) for name in facts})
    reason = unusable.get(address, "")
    return StoredFile(**own, state="unreadable" if reason else "reading", reason=reason)


def _own_row(address: str) -> dict[str, Any]:
    kind = next((name for name, each in FORMATS.items() if address.lower().endswith(each.suffixes)), "")
    return {"id": digest_of(address)[:32], "name": address, "kind": kind, "bytes": None, "added_at": None}
