"""Processes on one PostgreSQL that race for the money of an account, or for a run, never spend more than there is."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("procrastinate", reason="needs the extra postgres")

from deep_research.pipeline.journal import spent_so_far
from tests.e2e.harness import User, finish
from tests.support.accounts import Operator, Visitors
from tests.support.server import QUESTION, server_process
from tests.support.waiting import wait_until

PROCESSES, TRIES = 3, 5
TOLERANCE_USD = 1e-6


def _race(user: User, account: str, *, usd: float) -> list[dict[str, Any]]:
    """Have processes reserve money of an account from the same moment on, and return what each got."""
    command = [sys.executable, "-m", "tests.support.reserving", account, str(TRIES), str(usd)]
    processes = [
        subprocess.Popen(
            command,
            cwd=user.folder,
            env=user.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", finish(process).stderr
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    ended = [finish(process) for process in processes]
    assert not any(one.returncode for one in ended), [one.stderr for one in ended]
    return [json.loads(one.stdout) for one in ended]


@pytest.mark.long
@pytest.mark.parametrize(
    ("limits", "usd", "refused_by", "most_runs"),
    [
        # The last one gets what is left.
        (("--usd-a-month", "1"), 0.3, "usd_a_month", 4),
        (("--usd-a-month", "100", "--runs-at-once", "3"), 1.0, "runs_at_once", 3),
        (("--usd-a-month", "100", "--runs-a-day", "5"), 1.0, "runs_a_day", 5),
    ],
)
def test_processes_that_race_for_one_account_get_no_more_than_its_limit(
    tmp_path: Path, database_url: str, limits: tuple[str, ...], usd: float, refused_by: str, most_runs: int
) -> None:
    env = {"DEEP_RESEARCH_DATABASE_URL": database_url}
    operator, user = Operator(tmp_path, env), User(tmp_path, env=env)
    operator.users("add", "ann", *limits)
    (account,) = json.loads(operator.users("list", "--json"))["users"]
    got = _race(user, account["id"], usd=usd)
    granted = [money for one in got for money in one["granted"]]
    refused = [refusal for one in got for refusal in one["refused"]]
    assert len(granted) == most_runs
    assert sum(granted) <= min(float(limits[1]), most_runs * usd) + TOLERANCE_USD
    assert len(granted) + len(refused) == PROCESSES * TRIES, "everybody is told"
    assert refused == [[refused_by, 0.0]] * len(refused)


def test_two_servers_that_start_runs_of_one_account_at_once_keep_its_limit(tmp_path: Path, database_url: str) -> None:
    env = {"DEEP_RESEARCH_DATABASE_URL": database_url}
    operator = Operator(tmp_path, env)
    operator.users("add", "ann", "--usd-a-month", "2")
    token = operator.token("ann")
    with ExitStack() as open_until_end:
        servers = [
            # They work on no run, so that every reservation stays open.
            open_until_end.enter_context(server_process(_folder(tmp_path / str(number)), "--workers", "0", **env))
            for number in range(2)
        ]
        visits = [open_until_end.enter_context(closing(Visitors(server.client.address))) for server in servers]
        clients = [visit.program(token) for visit in visits for _ in range(5)]

        def ask(number: int) -> tuple[int, dict[str, Any]]:
            answer = clients[number].http.post("/api/runs", json={"question": QUESTION, "budget": {"usd": 0.3}})
            return answer.status_code, answer.json()

        with ThreadPoolExecutor(len(clients)) as threads:
            answers = list(threads.map(ask, range(len(clients))))
        made = [told["id"] for code, told in answers if code == 201]
        refused = [told for code, told in answers if code != 201]
        assert len(made) == 7
        assert {code for code, _ in answers} == {201, 402}
        assert {(told["limit"], told["left"]) for told in refused} == {("usd_a_month", 0)}
        rows = User(tmp_path, env=env).with_store(lambda store: store.list_runs(limit=100))
        assert {row.id for row in rows} == set(made), "a run that was refused is not there"
        assert sum(row.request.budget.usd or 0.0 for row in rows) <= 2 + TOLERANCE_USD
        usage = [client.http.get("/api/me").json()["usage"]["usd_a_month"] for client in clients]
        assert all(used == pytest.approx(2) for used in usage)


@pytest.mark.long
def test_a_run_that_is_taken_over_keeps_to_its_own_budget(tmp_path: Path, database_url: str) -> None:
    env = {
        "DEEP_RESEARCH_DATABASE_URL": database_url,
        "DEEP_RESEARCH_WIRING": "worlds:slow",
        "DEEP_RESEARCH_DEPTH": "quick",
        "DEEP_RESEARCH_CACHE": "false",
        "DEEP_RESEARCH_LEASE_S": "3",
    }
    user = User(tmp_path, env=env)
    limit_usd = 0.02
    with server_process(_folder(tmp_path / "server"), "--workers", "0", **env) as server:
        run = server.client.ask(user.question, budget={"usd": limit_usd})["id"]
        workers = [user.start("worker") for _ in range(2)]
        try:
            wait_until(lambda: len(user.logged("begin")) > 3)
            row = user.with_store(lambda store: store.get_run(run))
            assert row.owner is not None
            # Frozen with calls in flight; once it wakes, it makes no more of them.
            (frozen,) = [worker for worker in workers if worker.pid == row.owner.pid]
            frozen.send_signal(signal.SIGSTOP)
            wait_until(lambda: user.with_store(lambda store: store.get_run(run)).epoch == 2)
            frozen.send_signal(signal.SIGCONT)
            assert server.client.wait(run)["status"] == "done"
        finally:
            for worker in workers:
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
                finish(worker)
        journal = user.with_store(lambda store: store.list_calls(run))
        assert spent_so_far(journal).usd <= limit_usd + TOLERANCE_USD
        paid = [line for line in user.logged("begin") if line["kind"] == "llm"]
        assert len(paid) * 0.001 <= limit_usd, "what was paid for, whoever paid"


def _folder(folder: Path) -> Path:
    folder.mkdir()
    return folder
