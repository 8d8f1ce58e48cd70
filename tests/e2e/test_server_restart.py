"""A server is killed or stopped in the middle of many runs; the next one goes on, and nothing is paid for twice."""

import signal
import socket
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.harness import User, assert_explained
from tests.support.analyst import answer_over_the_wire
from tests.support.model_dialects import Answer, Asked
from tests.support.model_server import ModelServer
from tests.support.server import Client, ServerProcess, server_process
from tests.support.waiting import HANG_S, wait_until

RUNS = 20
# Every call of this world takes a moment, so that a server can be caught in the middle of many.
SLOW = {"DEEP_RESEARCH_WIRING": "worlds:slow", "DEEP_RESEARCH_DEPTH": "quick", "DEEP_RESEARCH_CACHE": "false"}


def _calls(folder: Path, *states: str) -> Counter[str]:
    """Return how many calls to somebody the journals of all runs hold, by run."""
    marks = ",".join("?" * len(states))
    told = f"SELECT run FROM journal WHERE kind IN ('llm', 'search', 'fetch') AND state IN ({marks})"
    with closing(sqlite3.connect(folder / "home" / "store.db")) as store:
        return Counter(run for (run,) in store.execute(told, states))


def _all_done(client: Client, runs: list[str]) -> None:
    for run in runs:
        assert client.wait(run)["status"] == "done", client.run(run)


def _assert_told_once(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "home" / "store.db")) as store:
        told = store.execute("SELECT run, count(*), max(seq), count(DISTINCT key) FROM events GROUP BY run").fetchall()
    assert told
    assert all(count == last == keys for _, count, last, keys in told), told


@pytest.mark.long
def test_a_server_killed_in_the_middle_of_twenty_runs_goes_on_with_all_of_them(tmp_path: Path) -> None:
    with server_process(tmp_path, DEEP_RESEARCH_SERVER_RUNS_AT_ONCE=str(RUNS), **SLOW) as server:
        user = User(tmp_path)
        runs = [server.client.ask(f"What did project {number} cost and achieve?")["id"] for number in range(RUNS)]
        wait_until(lambda: len(_calls(tmp_path, "done")) == RUNS)
        server.kill()
        paid, begun = _calls(tmp_path, "done"), len(user.logged("begin"))
        assert "running" in {server_state(tmp_path, run) for run in runs}

        client = server.start()
        _all_done(client, runs)
        needed = _calls(tmp_path, "done")
        assert set(needed) == set(runs)
        begun_again = len(user.logged("begin")) - begun
        assert begun_again == needed.total() - paid.total(), "a call was made twice, or not at all"
        _assert_told_once(tmp_path)


def server_state(folder: Path, run: str) -> str:
    with closing(sqlite3.connect(folder / "home" / "store.db")) as store:
        return str(store.execute("SELECT status FROM runs WHERE id = ?", (run,)).fetchone()[0])


@pytest.mark.long
def test_no_answer_of_a_model_is_paid_for_twice(tmp_path: Path) -> None:
    def slowly(asked: Asked) -> Answer:
        return replace(answer_over_the_wire(asked), delay_s=0.2)

    with ModelServer(slowly) as model:
        settings = {
            "DEEP_RESEARCH_SERVER_RUNS_AT_ONCE": str(RUNS),
            "DEEP_RESEARCH_PROVIDER": "openai-compatible:paid",
            "DEEP_RESEARCH_OPENAI_COMPATIBLE_ADDRESS": model.address_of("openai-compatible"),
            "DEEP_RESEARCH_DEPTH": "quick",
            "DEEP_RESEARCH_CACHE": "false",
        }
        with server_process(tmp_path, **settings) as server:
            runs = [server.client.ask(f"What did plant {number} cost and produce?")["id"] for number in range(RUNS)]
            wait_until(lambda: len(_calls(tmp_path, "done")) == RUNS)
            time.sleep(1.0)
            server.kill()
            time.sleep(1.0)
            paid, asked = _answered(tmp_path), len(model.requests)
            client = server.start()
            done = f"/api/runs?status=done&limit={RUNS}"
            wait_until(lambda: len(client.http.get(done).json()["runs"]) == len(runs))
            assert len(model.requests) - asked == _answered(tmp_path) - paid


def _answered(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "home" / "store.db")) as store:
        return int(store.execute("SELECT count(*) FROM journal WHERE kind = 'llm' AND state = 'done'").fetchone()[0])


def test_a_server_that_is_told_to_stop_ends_streams_at_once_and_runs_cleanly(tmp_path: Path) -> None:
    with server_process(tmp_path, **SLOW) as server:
        runs = [server.client.ask(f"What did project {number} cost and achieve?")["id"] for number in range(2)]
        server.client.wait(runs[0], "running")
        ended: list[str] = []
        stream = threading.Thread(target=_follow, args=(server, runs[0], ended))
        stream.start()
        wait_until(lambda: "event_readers 1.0" in server.client.http.get("/metrics").text)
        wait_until(lambda: len(_calls(tmp_path, "done")) == len(runs))
        assert server.process is not None
        server.process.terminate()
        stream.join(HANG_S)
        assert ended == [runs[0]], "the stream ends as one does that was read to its end"
        assert server.process.wait(HANG_S) in (0, -signal.SIGTERM, 128 + signal.SIGTERM), server.log
        assert "Traceback" not in server.log
        assert {server_state(tmp_path, run) for run in runs} == {"interrupted"}
        _all_done(server.start(), runs)
        _assert_told_once(tmp_path)


def _follow(server: ServerProcess, run: str, ended: list[str]) -> None:
    with server.client.http.stream("GET", f"/api/runs/{run}/events") as answer:
        for _ in answer.iter_raw():
            pass
    ended.append(run)


def test_a_run_answered_on_the_command_line_is_taken_up_by_the_server(tmp_path: Path) -> None:
    with server_process(tmp_path, DEEP_RESEARCH_WIRING="worlds:asking", DEEP_RESEARCH_CACHE="false") as server:
        run = server.client.ask("What did the projects cost and achieve?")["id"]
        server.client.wait(run, "waiting")
        server.stop()
        user = User(tmp_path)
        user.with_store(lambda store: store.put_answer(run, _scope(tmp_path, run), "all of them"))
        assert server.start().wait(run, "done")


def _scope(folder: Path, run: str) -> str:
    with closing(sqlite3.connect(folder / "home" / "store.db")) as store:
        return str(store.execute("SELECT pending ->> '$.scope' FROM runs WHERE id = ?", (run,)).fetchone()[0])


@pytest.mark.long
def test_a_port_in_use_is_said_port_0_tells_the_one_it_took_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    user = User(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = assert_explained(user.run("serve", "--port", str(port), "--no-open"), 64)
    assert str(port) in said
    assert "--port" in said
    assert "65535" in assert_explained(user.run("serve", "--port", "70000", "--no-open"), 64)
    process = user.start("serve", "--port", "0", "--no-open")
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        address = line.split()[1]
        assert address.startswith("http://127.0.0.1:"), line
        with closing(Client(address).http) as http:
            assert http.get("/health").json() == {"status": "ok"}
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_S)
    assert process.returncode in (0, -signal.SIGINT, 128 + signal.SIGINT)
    assert "Traceback" not in said
