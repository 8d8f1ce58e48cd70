"""Workers on PostgreSQL share the runs of a server; one that is killed, frozen or stopped costs no paid call."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

pytest.importorskip("procrastinate", reason="needs the extra postgres")

from deep_research.storage.store.port import RunRow
from tests.e2e.harness import User, assert_explained, finish
from tests.support.server import ServerProcess, free_port, server_process
from tests.support.waiting import HANG_S, wait_until

SLOW = {"DEEP_RESEARCH_WIRING": "worlds:slow", "DEEP_RESEARCH_DEPTH": "quick", "DEEP_RESEARCH_CACHE": "false"}
LEASE_S = 3.0
CALLS = ("llm", "search", "fetch")


class Site:
    """A server that drives no run, and workers that share its database; all calls are noted in one place."""

    def __init__(self, folder: Path, server: ServerProcess, env: dict[str, str]) -> None:
        self.folder, self.server, self._env = folder, server, env
        self.user = User(folder, env=env)
        self._workers: list[subprocess.Popen[str]] = []

    def worker(self, *arguments: str, **extra: str) -> "subprocess.Popen[str]":
        there = User(self.folder / f"host-{len(self._workers)}", env=self._env)
        there.env = {**self._env, "TEST_CALL_LOG": str(self.user.call_log)} | extra
        self._workers.append(there.start("worker", *arguments))
        return self._workers[-1]

    def ask(self, count: int) -> list[str]:
        return [self.server.client.ask(f"What did project {number} cost and achieve?")["id"] for number in range(count)]

    def row(self, run: str) -> RunRow:
        return self.user.with_store(lambda store: store.get_run(run))

    def until(self, run: str, is_so: Callable[[RunRow], bool]) -> RunRow:
        wait_until(lambda: is_so(self.row(run)))
        return self.row(run)

    def calls(self, runs: list[str], *states: str) -> int:
        journals = [self.user.with_store(lambda store, run=run: store.list_calls(run)) for run in runs]  # type: ignore[misc]
        return sum(call.state in states and call.kind in CALLS for journal in journals for call in journal)

    def all_done(self, runs: list[str]) -> None:
        for run in runs:
            assert self.server.client.wait(run)["status"] == "done", self.server.client.run(run)
            events = self.user.with_store(lambda store, run=run: store.read_events(run))  # type: ignore[misc]
            assert len({event.key for event in events}) == len(events) == events[-1].seq

    def close(self) -> None:
        for process in self._workers:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
            finish(process)


@contextmanager
def site(folder: Path, url: str, **settings: str) -> Iterator[Site]:
    env = {**SLOW, "DEEP_RESEARCH_DATABASE_URL": url, **settings}
    with server_process(folder, "--workers", "0", **env) as server:
        site = Site(folder, server, env)
        try:
            yield site
        finally:
            site.close()


@pytest.mark.long
def test_two_workers_share_the_runs_of_a_server_which_tells_their_events(tmp_path: Path, database_url: str) -> None:
    with site(tmp_path, database_url) as here:
        runs = here.ask(6)
        assert {here.row(run).status for run in runs} == {"created"}
        assert here.server.client.run(runs[-1])["is_queued"]
        status = json.loads(here.user.run("queue", "status", "--json").stdout)["queue"]
        assert (status["waiting"], status["running"]) == (6, 0)
        workers = [here.worker("--at-once", "2") for _ in range(2)]

        def owners() -> set[int]:
            unfinished = here.user.with_store(lambda store: store.list_unfinished())
            return {run.owner.pid for run in unfinished if run.owner is not None}

        wait_until(lambda: owners() == {worker.pid for worker in workers})
        with here.server.client.http.stream("GET", f"/api/runs/{runs[0]}/events") as answer:
            told = [line for line in answer.iter_lines() if line.startswith("id: ")]
        here.all_done(runs)
        kept = here.user.with_store(lambda store: store.read_events(runs[0]))
        assert told == [f"id: {event.seq}" for event in kept]
        assert {here.row(run).epoch for run in runs} == {1}
        assert "deep_research_runs_queued 0.0" in here.server.client.http.get("/metrics").text


@pytest.mark.long
def test_any_server_shows_what_workers_do_and_a_worker_what_its_runs_use(tmp_path: Path, database_url: str) -> None:
    port = free_port()
    with (
        site(tmp_path, database_url) as here,
        server_process(_folder(tmp_path / "other"), "--workers", "0", **here.server.env) as other,
    ):
        runs = here.ask(5)
        workers = [here.worker("--at-once", "1", "--metrics-port", str(port)), here.worker("--at-once", "1")]
        names = {f"{socket.gethostname()}:{worker.pid}" for worker in workers}

        def shown(server: ServerProcess) -> dict[str, str]:
            lines = server.client.http.get("/metrics").text.splitlines()
            return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

        def both_work(server: ServerProcess) -> bool:
            return all(shown(server).get(f'deep_research_worker_runs{{worker="{name}"}}') == "1.0" for name in names)

        wait_until(lambda: both_work(here.server) and both_work(other))
        for server in (here.server, other):
            figures = shown(server)
            assert float(figures["deep_research_runs_queued"]) >= 1
            assert 0 <= float(figures["deep_research_oldest_lease_seconds"]) < LEASE_S * 10
            assert figures["deep_research_takeovers"] == "0.0"
        status = here.user.run("queue", "status")
        assert any(name in status.stdout for name in names), status.stdout
        here.all_done(runs)
        own = httpx2.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, timeout=HANG_S).text
        assert re.search(r'^deep_research_run_seconds_count\{status="done"\} \d\.0$', own, re.MULTILINE)
        assert "deep_research_model_calls_total{" in own
        assert not [run for run in runs if run in own]
        taken = here.worker("--metrics-port", str(port))
        assert str(port) in assert_explained(finish(taken), 64)
        several = here.worker("--metrics-port", "1", "--processes", "2")
        assert "--metrics-port" in assert_explained(finish(several), 64)
        wait_until(lambda: not any("worker_runs{" in name for name in shown(other)))


def _folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.long
def test_a_worker_that_is_killed_costs_no_paid_call(tmp_path: Path, database_url: str) -> None:
    with site(tmp_path, database_url) as here:
        runs, worker = here.ask(4), here.worker()
        wait_until(lambda: here.calls(runs, "done") > 20)
        worker.kill()
        worker.wait()
        paid, begun = here.calls(runs, "done"), len(here.user.logged("begin"))
        here.worker()
        here.all_done(runs)
        assert len(here.user.logged("begin")) - begun == here.calls(runs, "done") - paid, "a call was made twice"
        assert "deep_research_takeovers 4.0" in here.server.client.http.get("/metrics").text


@pytest.mark.long
def test_a_worker_that_is_stopped_lets_go_of_its_runs_and_others_go_on(tmp_path: Path, database_url: str) -> None:
    with site(tmp_path, database_url) as here:
        (run,), worker = here.ask(1), here.worker()
        here.until(run, lambda row: row.status == "running")
        here.worker()
        worker.terminate()
        ended = finish(worker)
        assert ended.returncode == 0, ended.stderr
        here.all_done([run])
        events = here.user.with_store(lambda store: store.read_events(run))
        statuses = [event.data["status"] for event in events if event.kind == "run-status"]
        assert statuses == ["running", "interrupted", "running", "done"]
        assert len(here.user.logged("begin")) == here.calls([run], "done"), "a call was made twice"


@pytest.mark.long
def test_a_worker_that_was_frozen_changes_nothing_when_it_wakes(tmp_path: Path, database_url: str) -> None:
    with site(tmp_path, database_url, DEEP_RESEARCH_LEASE_S=str(LEASE_S)) as here:
        (run,), worker = here.ask(1), here.worker()
        here.until(run, lambda row: row.status == "running")
        wait_until(lambda: here.calls([run], "done") > 0)
        os.kill(worker.pid, signal.SIGSTOP)
        other = here.worker()
        here.all_done([run])
        events = here.user.with_store(lambda store: store.read_events(run))
        row = here.row(run)
        assert (row.epoch, row.takeovers) == (2, 1)
        os.kill(worker.pid, signal.SIGCONT)
        other.terminate()
        finish(other)
        # It is not only alive: it takes up the next run.
        (next_run,) = here.ask(1)
        here.all_done([next_run])
        assert here.row(run) == row
        assert here.user.with_store(lambda store: store.read_events(run)) == events


def test_a_run_on_a_worker_is_cancelled_from_a_server(tmp_path: Path, database_url: str) -> None:
    with site(tmp_path, database_url) as here:
        (run,), _ = here.ask(1), here.worker()
        here.until(run, lambda row: row.status == "running")
        here.server.client.http.post(f"/api/runs/{run}/cancel")
        assert here.server.client.wait(run)["status"] == "cancelled"


# Five processes are started one after the other.
@pytest.mark.long
def test_a_run_that_kills_its_workers_is_given_up_until_it_is_tried_again(tmp_path: Path, database_url: str) -> None:
    with site(tmp_path, database_url, DEEP_RESEARCH_WIRING="worlds:quick") as here:
        (run,) = here.ask(1)
        # Every process that works on it dies at its second write; their parent starts others.
        workers = here.worker("--processes", "2", TEST_KILL_AT="2")
        row = here.until(run, lambda row: row.status == "failed")
        assert row.takeovers == 4
        assert "given up" in row.failure
        assert workers.poll() is None
        workers.terminate()
        assert finish(workers).stderr.count("ended (-9)") == 4
        here.worker()
        assert here.user.run("queue", "retry", run).stdout.strip() == run
        here.all_done([run])


@pytest.mark.long
def test_workers_take_nothing_new_while_the_queue_is_drained(tmp_path: Path, database_url: str) -> None:
    with site(tmp_path, database_url) as here:
        here.user.run("queue", "drain")
        runs = here.ask(2)
        worker = here.worker()
        # Told once it has loaded everything; a second worker that came later would have taken them by then.
        here.worker().terminate()
        assert {here.row(run).status for run in runs} == {"created"}
        assert "drain --off" in here.user.run("queue", "status").stderr
        here.user.run("queue", "drain", "--off")
        here.all_done(runs)
        assert worker.poll() is None


def test_a_worker_without_a_shared_database_says_what_it_needs(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert "DEEP_RESEARCH_DATABASE_URL" in assert_explained(user.run("worker"), 64)
    assert "--workers 1" in assert_explained(user.run("serve", "--workers", "0", "--no-open"), 64)


@pytest.mark.long
def test_processes_beside_a_server_share_its_files(tmp_path: Path) -> None:
    with server_process(tmp_path, "--workers", "2", **SLOW) as server:
        runs = [server.client.ask(f"What did project {number} cost and achieve?")["id"] for number in range(4)]
        user = User(tmp_path)

        def owners() -> set[int]:
            unfinished = user.with_store(lambda store: store.list_unfinished())
            return {run.owner.pid for run in unfinished if run.owner is not None}

        wait_until(lambda: len(owners()) == 2)
        assert server.process is not None
        assert server.process.pid not in owners()
        # One that is killed is replaced, and its runs go on.
        os.kill(min(owners()), signal.SIGKILL)
        for run in runs:
            assert server.client.wait(run)["status"] == "done"
        server.stop()
        assert "ended (-9)" in server.log
