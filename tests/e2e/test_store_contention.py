"""Four processes write to one store for a minute, and none of them ever hears of a lock."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deep_research.store.lease import current_owner
from deep_research.store.sqlite import SqliteStore
from deep_research.testing.store_samples import make_call, make_event, make_status, start_run

PROCESSES = 4
SECONDS = 60
DISK = Path("/var/tmp")


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk, where there is one: a lock is held longest by who waits for one."""
    if not os.access(DISK, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=DISK) as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 60)
async def test_four_processes_write_for_a_minute_without_an_error(on_disk):
    path = on_disk / "store.db"
    children = [_spawn(path, f"run-{number}") for number in range(PROCESSES)]
    shown = [await asyncio.to_thread(child.communicate) for child in children]
    assert [child.returncode for child in children] == [0] * PROCESSES, [complaint for _, complaint in shown]
    counts = [tuple(map(float, line.split())) for line, _ in shown]
    store = SqliteStore(path)
    for number, (rounds, _) in enumerate(counts):
        events = await store.read_events(f"run-{number}")
        told = 2 * int(rounds) + 1  # two a round, and the end
        assert [event.seq for event in events] == list(range(1, told + 1))
        assert len(await store.list_calls(f"run-{number}")) == rounds
    await store.close()
    writes = 3 * sum(rounds for rounds, _ in counts)
    print(f"\n{writes / SECONDS:.0f} writes/s, each process {[int(rounds) for rounds, _ in counts]} rounds,")
    print(f"longest round of two calls and one append {max(longest for _, longest in counts):.2f} s")


def _spawn(path: Path, run: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, str(path), run]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def _write(path: Path, run: str) -> None:
    store = SqliteStore(path)
    claim = await start_run(store, run)
    until, rounds, longest_s = time.monotonic() + SECONDS, 0, 0.0
    while (start := time.monotonic()) < until:
        key = str(rounds)
        await store.record_call(claim, make_call(key, state="started"))
        await store.record_call(claim, make_call(key, answer={"text": "回答 " * 50}))
        await store.append_events(claim, [make_event(f"{key}/a"), make_event(f"{key}/b")])
        if rounds % 100 == 0:
            await store.heartbeat(claim, current_owner(), active_s=1.0)
        rounds, longest_s = rounds + 1, max(longest_s, time.monotonic() - start)
    await store.finish(claim, "done", event=make_status("done"))
    await store.close()
    print(rounds, longest_s)


if __name__ == "__main__":
    asyncio.run(_write(Path(sys.argv[1]), sys.argv[2]))
