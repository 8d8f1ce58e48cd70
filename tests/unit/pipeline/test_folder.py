"""Files of a run appear whole or not at all, and only while this process owns the run."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deep_research.errors import CannotWrite, RunTaken
from deep_research.pipeline.folder import RunFolder, folder_of, report_copy_of
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease
from deep_research.storage.store.store import Store
from tests.support.store_samples import LEASE_S, start_run

RUN = "a1b2c3d4"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(SqliteFile(tmp_path / "home" / "store.db"))
    yield store
    await store.close()


@pytest.fixture
async def lease(store: Store) -> Lease:
    return await start_run(store, RUN)


async def test_a_file_replaces_the_one_before_and_leaves_nothing_beside_it(store, lease, tmp_path):
    folder = RunFolder(tmp_path / "run", store=store, lease=lease)
    assert await folder.write("report.md", "first") == tmp_path / "run" / "report.md"
    await folder.write("report.md", "第二".encode())
    assert (tmp_path / "run" / "report.md").read_text(encoding="utf-8") == "第二"
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["report.md"]


async def test_an_overtaken_process_writes_no_file(store, lease, tmp_path, monkeypatch):
    folder = RunFolder(tmp_path / "run", store=store, lease=lease)
    await folder.write("report.md", "mine")
    monkeypatch.setattr("deep_research.storage.store.rows.holds_lease", lambda *_, **__: False)
    newer = await store.lease(RUN, current_owner(), lease_s=LEASE_S)
    await RunFolder(tmp_path / "run", store=store, lease=newer).write("report.md", "theirs")
    with pytest.raises(RunTaken):
        await folder.write("report.md", "mine again")
    assert (tmp_path / "run" / "report.md").read_text() == "theirs"
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["report.md"]


@pytest.mark.parametrize("in_the_way", ["logs", "logs/research_data", "logs/research_data/run"])
async def test_a_file_where_a_folder_should_be_is_said_to_be(store, lease, tmp_path, in_the_way):
    (tmp_path / in_the_way).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / in_the_way).write_text("in the way")
    folder = RunFolder(tmp_path / "logs" / "research_data" / "run", store=store, lease=lease)
    with pytest.raises(CannotWrite, match=r"report\.md"):
        await folder.write("report.md", "text")
    assert (tmp_path / in_the_way).read_text() == "in the way"


async def test_a_folder_where_a_file_should_be_is_said_to_be(store, lease, tmp_path):
    (tmp_path / "run" / "report.md").mkdir(parents=True)
    folder = RunFolder(tmp_path / "run", store=store, lease=lease)
    with pytest.raises(CannotWrite, match=r"report\.md"):
        await folder.write("report.md", "text")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["report.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_a_folder_without_rights_is_said_to_be(store, lease, tmp_path):
    (tmp_path / "run").mkdir(mode=0o500)
    with pytest.raises(CannotWrite):
        await RunFolder(tmp_path / "run", store=store, lease=lease).write("report.md", "text")


def test_folders_are_named_after_run_and_time():
    path = folder_of(Path("/logs"), "0123456789abcdef", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert path == Path("/logs/research_data/01234567_20260102T030405Z")
    assert report_copy_of(path) == Path("/logs/reports/01234567_20260102T030405Z.md")
    assert folder_of(Path("logs"), "0123456789abcdef", datetime(2026, 1, 2, tzinfo=UTC)).is_absolute()
