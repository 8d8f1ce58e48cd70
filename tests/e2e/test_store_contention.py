"""Four processes write to one store side by side, and none of them ever hears of a lock."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.store import Store
from tests.support.store_samples import make_call, make_event, make_status, start_run

PROCESSES = 4
ROUNDS = 500
DISK = Path("/var/tmp")


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk, where there is one: a lock is held longest by who waits for one."""
    if not os.access(DISK, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=DISK) as folder:
        yield Path(folder)


@pytest.mark.long
async def test_four_processes_write_side_by_side_without_an_error(on_disk):
    path = on_disk / "store.db"
    children = [_spawn(path, f"run-{number}") for number in range(PROCESSES)]
    complaints = [(await asyncio.to_thread(child.communicate))[1] for child in children]
    assert [child.returncode for child in children] == [0] * PROCESSES, complaints
    store = Store(SqliteFile(path))
    for number in range(PROCESSES):
        events = await store.read_events(f"run-{number}")
        # Two a round, and the end.
        assert [event.seq for event in events] == list(range(1, 2 * ROUNDS + 2))
        assert len(await store.list_calls(f"run-{number}")) == ROUNDS
    await store.close()


def _spawn(path: Path, run: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, str(path), run]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def _write(path: Path, run: str) -> None:
    store = Store(SqliteFile(path))
    lease = await start_run(store, run)
    for number in range(ROUNDS):
        key = str(number)
        await store.record_call(lease, make_call(key, state="started"))
        await store.record_call(lease, make_call(key, answer={"text": "回答 " * 50}))
        await store.append_events(lease, [make_event(f"{key}/a"), make_event(f"{key}/b")])
        if number % 100 == 0:
            await store.heartbeat(lease, current_owner(), active_s=1.0)
    await store.finish(lease, "done", event=make_status("done"))
    await store.close()


if __name__ == "__main__":
    asyncio.run(_write(Path(sys.argv[1]), sys.argv[2]))
