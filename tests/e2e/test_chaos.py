"""Sixty runs on four workers of which one is killed or frozen every few seconds: all end as if nothing had happened."""

import json
import logging
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

import psycopg
from psycopg.rows import dict_row

from benchmarks.many_runs import question
from benchmarks.world_calls import JOURNAL_KINDS, KINDS, Call, Latencies
from benchmarks.world_process import WorldProcess, world_in_a_process
from tests.support.own_network import is_possible
from tests.support.postgres import PostgresServer
from tests.support.server import Client
from tests.support.waiting import wait_until
from tests.support.worker_hosts import LEASE_S, WorkerProcess, at_work

RUNS, WORKERS = 60, 4
PAUSE_S, LEAST_CALLS = (3.0, 7.0), 15
# Quick enough for sixty runs, slow enough that a worker dies amid calls.
LATENCIES = Latencies(short=0.3, long=0.6, search=0.2, page=0.1, robots=0.05)


class Outcome(NamedTuple):
    """What all runs came to: their reports without the line that names the run, and the calls that were answered."""

    reports: dict[str, str]
    calls: list[Call]

    def times_answered(self) -> Counter[str]:
        return Counter(call.digest for call in self.calls)


def research(
    folder: Path, world: WorldProcess, postgres: PostgresServer, disturb: Callable[[list[WorkerProcess], str], None]
) -> Outcome:
    """Ask all questions, disturb the workers until all runs are over, and check what is in the database."""
    url = postgres.new_database()
    world.plan()
    with at_work(WORKERS, folder, world, postgres, url) as (client, workers):
        runs = {question(number): client.ask(question(number), clarify="off")["id"] for number in range(RUNS)}
        until = time.monotonic() + 1_800
        while (states := _states(url)) != {"done": RUNS}:
            assert time.monotonic() < until, (states, [worker.log[-2_000:] for worker in workers])
            assert not {"failed", "cancelled"} & set(states), _failures(url)
            disturb(workers, url)
        calls = world.calls()
        reports = {asked: _body(client, run) for asked, run in runs.items()}
    _assert_told_once(url, RUNS)
    return Outcome(reports, [call for call in calls if call.kind in KINDS and call.is_answered])


def _body(client: Client, run: str) -> str:
    told = client.http.get(f"/api/runs/{run}/report.md")
    assert told.status_code == 200, told.text
    body, mark, _ = told.text.rpartition("\n---\n")
    assert mark
    return body


def _query(url: str, query: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return connection.execute(query.encode()).fetchall()


def _states(url: str) -> dict[str, int]:
    found = _query(url, "SELECT status, count(*) AS runs FROM deep_research.runs GROUP BY status")
    return {row["status"]: row["runs"] for row in found}


def _failures(url: str) -> list[dict[str, Any]]:
    return _query(url, "SELECT id, status, error FROM deep_research.runs WHERE status IN ('failed', 'cancelled')")


def _assert_told_once(url: str, runs: int) -> None:
    told = _query(
        url,
        "SELECT run, count(*) AS events, max(seq) AS last, count(DISTINCT key) AS keys "
        "FROM deep_research.events GROUP BY run",
    )
    assert len(told) == runs
    assert [row for row in told if not row["events"] == row["last"] == row["keys"]] == []


def _under_way(url: str, worker: WorkerProcess) -> Counter[str]:
    """Return by kind how many calls of a worker have begun and not ended."""
    query = (
        "SELECT kind, count(*) AS calls FROM deep_research.journal JOIN deep_research.runs ON runs.id = journal.run "
        f"WHERE state = 'started' AND (owner::json ->> 'pid')::int = {worker.pid} GROUP BY kind"
    )
    return Counter({row["kind"]: row["calls"] for row in _query(url, query)})


def _leave_alone(_workers: list[WorkerProcess], _url: str) -> None:
    time.sleep(1.0)


class Disturbance:
    """Kills a worker every few seconds, or freezes it until others have taken its runs over.

    On a busy machine it waits until the others have got something done meanwhile. Spared is a worker whose run was
    lost twice without getting any further: a third time it would rightly be given up.
    """

    def __init__(self) -> None:
        self._chance = random.Random(21)
        self._calls_seen = 0
        # Calls that were under way in a worker when it was killed or frozen: their answers may be asked for again.
        self.lost: Counter[str] = Counter()
        self._frozen: dict[int, float] = {}
        self.done: Counter[str] = Counter()

    def __call__(self, workers: list[WorkerProcess], url: str) -> None:
        time.sleep(self._chance.uniform(*PAUSE_S))
        for worker in workers:
            if worker.number in self._frozen and time.monotonic() > self._frozen[worker.number]:
                del self._frozen[worker.number]
                worker.send(signal.SIGCONT)
        (row,) = _query(url, "SELECT count(*) AS calls FROM deep_research.journal WHERE state = 'done'")
        if row["calls"] < self._calls_seen + LEAST_CALLS:
            return
        self._calls_seen = row["calls"]
        suspects = _query(url, "SELECT owner FROM deep_research.runs WHERE idle_takeovers > 1 AND owner IS NOT NULL")
        spared = {json.loads(row["owner"])["pid"] for row in suspects}
        awake = [worker for worker in workers if worker.number not in self._frozen and worker.pid not in spared]
        if not awake:
            return
        worker = self._chance.choice(awake)
        if self._chance.random() < 0.6 or len(self._frozen) > 1:
            worker.end()
            self.lost += _under_way(url, worker)
            worker.start()
            self.done["killed"] += 1
        else:
            worker.send(signal.SIGSTOP)
            self.lost += _under_way(url, worker)
            self._frozen[worker.number] = time.monotonic() + LEASE_S + 3.0
            self.done["frozen"] += 1


@pytest.mark.chaos
@pytest.mark.timeout(3_600)
def test_workers_are_killed_and_frozen_and_nothing_is_lost_or_paid_twice(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    disturbance = Disturbance()
    with world_in_a_process(LATENCIES) as world:
        quiet = research(tmp_path / "quiet", world, postgres, _leave_alone)
        disturbed = research(tmp_path / "disturbed", world, postgres, disturbance)
    differing = [asked for asked, report in quiet.reports.items() if disturbed.reports[asked] != report]
    assert differing == []
    more = disturbed.times_answered() - quiet.times_answered()
    kind_of = {call.digest: JOURNAL_KINDS[call.kind] for call in disturbed.calls}
    again = Counter(kind_of[digest] for digest in more.elements())
    logging.getLogger(__name__).warning("%s; lost %s, made again %s", disturbance.done, disturbance.lost, again)
    assert again <= disturbance.lost, "a finished call was paid twice"
    assert disturbance.done["killed"] >= 5, disturbance.done
    assert disturbance.done["frozen"] >= 3, disturbance.done


@pytest.mark.long
@pytest.mark.skipif(not is_possible(), reason="a network of a worker's own takes root on Linux, and iproute2")
def test_a_worker_that_is_cut_off_loses_its_run_and_works_again_when_it_is_back(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.new_database()
    with (
        world_in_a_process(LATENCIES) as world,
        at_work(2, tmp_path, world, postgres, url) as (client, workers),
    ):
        run = client.ask(question(0), clarify="off")["id"]
        wait_until(lambda: len(world.calls()) > 2)
        ((owner,),) = [row.values() for row in _query(url, "SELECT owner FROM deep_research.runs")]
        (first,) = [worker for worker in workers if worker.pid == json.loads(owner)["pid"]]
        (second,) = [worker for worker in workers if worker is not first]
        assert first.network is not None
        first.network.cut_off()
        client.wait(run, "done")
        first.network.bring_back()
        second.end()
        # Nobody else is left.
        client.wait(client.ask(question(1), clarify="off")["id"], "done")
    assert [
        row["takeovers"] for row in _query(url, "SELECT takeovers FROM deep_research.runs ORDER BY created_at")
    ] == [1, 0]
    _assert_told_once(url, 2)
