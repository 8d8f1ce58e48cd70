"""Content outside the database: in a folder and in an S3-compatible store, under both databases."""

import asyncio
import os
import stat
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from deep_research.errors import CannotWrite, ConfigurationError, RunTaken, StoreCorrupt, StoreLocked
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.blobs import BlobStorage, FolderBlobs, new_name
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease
from deep_research.storage.store.store import OpenStore, Store
from tests.support.s3_server import BUCKET, S3Server
from tests.support.store_samples import make_document, make_status, opened, start_run
from tests.support.store_suite import StoreConformance
from tests.support.waiting import HANG_S

RAW = os.urandom(20_000)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    pytest.importorskip("obstore", reason="needs the extra s3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with S3Server() as server:
        yield server


def _s3_blobs(server: S3Server) -> BlobStorage:
    from deep_research.storage.store.s3 import S3Blobs

    return S3Blobs(f"s3://{BUCKET}/some/prefix", endpoint=server.address)


@pytest.fixture(params=["folder", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStorage:
    if request.param == "folder":
        return FolderBlobs(tmp_path / "blobs")
    return _s3_blobs(request.getfixturevalue("s3"))


def _store(path: Path, blobs: BlobStorage | None, *, min_object_bytes: int = 0) -> Store:
    return Store(SqliteFile(path / "store.db", busy_timeout_s=30.0), blobs=blobs, min_object_bytes=min_object_bytes)


class TestSqliteWithContentInAFolder(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return lambda: _store(tmp_path, FolderBlobs(tmp_path / "blobs"))


class TestPostgresWithContentInS3(StoreConformance):
    @pytest.fixture
    def open_store(self, database_url: str, s3: S3Server) -> OpenStore:
        from deep_research.storage.database.postgres import PostgresDatabase

        return lambda: Store(PostgresDatabase(database_url), blobs=_s3_blobs(s3), min_object_bytes=0)


def test_bytes_come_back_until_they_are_deleted(blobs: BlobStorage) -> None:
    name = new_name("ab" * 32)
    blobs.put(name, RAW)
    assert blobs.get(name) == RAW
    assert blobs.get(new_name("ab" * 32)) is None
    blobs.delete(name)
    blobs.delete(name)
    assert blobs.get(name) is None


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    FolderBlobs(tmp_path / "blobs").put("ab/c", RAW)
    (file,) = (path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="file"):
        FolderBlobs(tmp_path / "file").put("ab/c", RAW)
    with pytest.raises(StoreLocked, match="absent"):
        FolderBlobs(tmp_path / "absent").get("ab/c")


def test_a_store_that_refuses_is_named(s3: S3Server) -> None:
    blobs, s3.status = _s3_blobs(s3), 403
    with pytest.raises(StoreLocked, match="s3://bucket/some/prefix"):
        blobs.put("ab/c", RAW)
    with pytest.raises(StoreLocked):
        blobs.get("ab/c")


async def test_small_content_stays_in_the_database(tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    async with opened(partial(_store, tmp_path, FolderBlobs(folder), min_object_bytes=8_192)) as store:
        lease = await start_run(store)
        assert await store.get_blob(await store.put_blob(lease, b"small")) == b"small"
        assert not folder.exists()
        assert await store.get_blob(await store.put_blob(lease, RAW)) == RAW
        assert len(_files(folder)) == 1


async def test_content_kept_before_the_setting_is_still_read(tmp_path: Path) -> None:
    async with opened(partial(_store, tmp_path, None)) as store:
        lease = await start_run(store)
        first = await store.put_blob(lease, RAW)
    async with opened(partial(_store, tmp_path, FolderBlobs(tmp_path / "blobs"))) as store:
        second = await store.put_blob(lease, RAW[::-1])
        assert await store.get_blob(first) == RAW
    async with opened(partial(_store, tmp_path, None)) as store:
        assert await store.get_blob(first) == RAW
        with pytest.raises(ConfigurationError, match="blobs"):
            await store.get_blob(second)


@pytest.mark.parametrize("damage", ["lost", "changed", "cut"])
async def test_lost_or_changed_content_is_found_out(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "blobs"
    async with opened(partial(_store, tmp_path, FolderBlobs(folder))) as store:
        lease = await start_run(store)
        document = make_document("Some text. " * 1_000, snapshot=await store.put_blob(lease, RAW))
        await store.put_document(lease, document, address="https://example.org")
        for file in _files(folder):
            raw = file.read_bytes()
            file.write_bytes(raw[: len(raw) // 2] if damage == "cut" else bytes(byte ^ 1 for byte in raw))
            if damage == "lost":
                file.unlink()
        with pytest.raises(StoreCorrupt):
            await store.get_blob(document.snapshot)
        with pytest.raises(StoreCorrupt):
            await store.get_document(document.id)


async def test_content_goes_with_the_last_run_that_names_it(blobs: BlobStorage, tmp_path: Path) -> None:
    written = _Recorder(blobs)
    async with opened(partial(_store, tmp_path, written)) as store:
        for run in ("run-1", "run-2"):
            lease = await start_run(store, run)
            assert await store.put_blob(lease, RAW)
            await _finish(store, lease)
        assert len(written.names) == 1, "content that was there was written again"
        (name,) = written.names
        await store.delete_run("run-1", current_owner())
        assert blobs.get(name) is not None
        await store.delete_run("run-2", current_owner())
        assert blobs.get(name) is None


async def test_a_deletion_while_the_same_is_kept_again_loses_nothing(tmp_path: Path) -> None:
    """The only run that names the content is deleted while another process writes an object of its own."""
    blobs = FolderBlobs(tmp_path / "blobs")
    late = _Late(blobs)
    async with opened(partial(_store, tmp_path, blobs)) as one, opened(partial(_store, tmp_path, late)) as other:
        theirs, mine = await start_run(one, "run-1"), await start_run(one, "run-2")
        writing = asyncio.create_task(other.put_blob(mine, RAW))
        await asyncio.to_thread(late.begun.wait)
        await one.put_blob(theirs, RAW)
        await _finish(one, theirs)
        await one.delete_run("run-1", current_owner())
        late.may_go_on.set()
        assert await one.get_blob(await writing) == RAW
        assert len(_files(tmp_path / "blobs")) == 1


async def test_two_who_keep_the_same_at_once_keep_one_object(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    late = _Late(blobs)
    async with opened(partial(_store, tmp_path, blobs)) as one, opened(partial(_store, tmp_path, late)) as other:
        theirs, mine = await start_run(one, "run-1"), await start_run(one, "run-2")
        writing = asyncio.create_task(other.put_blob(mine, RAW))
        await asyncio.to_thread(late.begun.wait)
        await one.put_blob(theirs, RAW)
        late.may_go_on.set()
        blob = await writing
        assert len(_files(tmp_path / "blobs")) == 1
        await _finish(one, theirs)
        await one.delete_run("run-1", current_owner())
        assert await one.get_blob(blob) == RAW


async def test_a_write_that_is_refused_names_nothing(tmp_path: Path) -> None:
    async with opened(partial(_store, tmp_path, FolderBlobs(tmp_path / "blobs"))) as store:
        old = await start_run(store)
        await store.lease(old.run, current_owner(), lease_s=0.0)
        with pytest.raises(RunTaken):
            await store.put_blob(old, RAW)
        assert (await store.size()).blobs == 0


async def _finish(store: Store, lease: Lease) -> None:
    await store.finish(lease, "done", event=make_status("done"))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class _Recorder:
    def __init__(self, blobs: BlobStorage) -> None:
        self.names: list[str] = []
        self._blobs = blobs
        self.get, self.delete = blobs.get, blobs.delete

    def put(self, name: str, raw: bytes) -> None:
        self.names.append(name)
        self._blobs.put(name, raw)


class _Late(_Recorder):
    """Waits before it writes."""

    def __init__(self, blobs: BlobStorage) -> None:
        super().__init__(blobs)
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def put(self, name: str, raw: bytes) -> None:
        self.begun.set()
        assert self.may_go_on.wait(HANG_S)
        super().put(name, raw)
