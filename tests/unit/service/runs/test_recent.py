"""What is kept of runs: nothing while somebody works on one, and nothing of what it was before."""

from deep_research.service.runs.progress import RunProgress, read_progress
from deep_research.service.runs.recent import RecentRuns
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import RunRow
from deep_research.storage.store.store import Store
from tests.support.store_samples import LEASE_S, make_event, make_run, make_status, start_run


async def test_a_run_at_rest_is_read_once_and_one_that_moves_each_time(tmp_path):
    store, read = Store(SqliteFile(tmp_path / "store.db")), list[str]()

    async def counted(row: RunRow) -> RunProgress:
        read.append(row.status)
        return await read_progress(row, store)

    recent = RecentRuns(counted)

    async def seen() -> tuple[str, int]:
        progress = await recent(await store.get_run("a1b2c3d4"))
        return progress.status, progress.seq

    try:
        lease = await start_run(store)
        assert await seen() == ("running", 0)
        await store.append_events(lease, [make_event("one")])
        assert await seen() == ("running", 1)
        await store.finish(lease, "failed", event=make_status("failed"))
        assert [await seen() for _ in range(3)] == [("failed", 2)] * 3
        again = await store.lease("a1b2c3d4", current_owner(), lease_s=LEASE_S)
        assert await seen() == ("running", 2)
        await store.finish(again, "failed", event=make_status("failed", epoch=2))
        assert [await seen() for _ in range(3)] == [("failed", 3)] * 3
    finally:
        await store.close()
    assert read == ["running", "running", "failed", "running", "failed"]


async def test_only_the_last_runs_are_kept():
    read = list[str]()

    async def counted(row: RunRow) -> str:
        read.append(row.id)
        return row.id

    recent = RecentRuns(counted, max_runs=2)
    ended = [make_run(name).model_copy(update={"status": "done"}) for name in ("a" * 8, "b" * 8, "c" * 8)]
    for row in (*ended, ended[2], ended[1], ended[0]):
        assert await recent(row) == row.id
    assert [name[0] for name in read] == ["a", "b", "c", "a"]
    recent.forget(ended[0].id)
    assert await recent(ended[0]) == ended[0].id
    assert len(read) == 5
