"""A run followed over HTTP: from a browser that comes back, beside a command line, and through whatever breaks off."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from deep_research.events import EVENT_DATA
from tests.e2e.harness import User
from tests.support.analyst import answer_over_the_wire
from tests.support.model_server import ModelServer
from tests.support.server import VAGUE, Client, server_process, serving, settings_for
from tests.support.waiting import HANG_S, wait_until


class Frame(NamedTuple):
    id: int | None
    kind: str
    data: Any


def _parsed(text: str) -> Frame | None:
    """Read one frame by the rules of the format; comments and hints are no events."""
    fields = [line.partition(": ") for line in text.split("\n") if line and not line.startswith(":")]
    named = {name: value for name, _, value in fields}
    if "data" not in named:
        return None
    id_ = int(named["id"]) if "id" in named else None
    return Frame(id_, named["event"], json.loads(named["data"]))


@contextmanager
def _stream(client: Client, run: str, after: int | None = None) -> Iterator[Iterator[Frame]]:
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with client.http.stream("GET", f"/api/runs/{run}/events", headers=headers) as answer:
        assert answer.status_code == 200, answer.status_code
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert "no-store" in answer.headers["cache-control"]
        assert answer.headers["x-accel-buffering"] == "no"
        yield _frames(answer.iter_text())


def _frames(pieces: Iterator[str]) -> Iterator[Frame]:
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n\n")
        yield from filter(None, map(_parsed, whole))


def _followed(client: Client, run: str, after: int | None = None) -> list[Frame]:
    with _stream(client, run, after) as frames:
        return list(frames)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(settings_for(tmp_path_factory.mktemp("server"))) as client:
        yield client


@pytest.fixture(scope="module")
def finished(client: Client) -> str:
    run: str = client.finished()["id"]
    return run


def test_a_run_is_told_from_its_first_event_to_its_last(client: Client) -> None:
    frames = _followed(client, client.ask("海绵城市的项目花了多少钱？", assume=True)["id"])
    assert [frame.id for frame in frames] == list(range(1, len(frames) + 1))
    assert {frame.kind for frame in frames} <= set(EVENT_DATA)
    assert frames[0].data["status"] == "running"
    assert (frames[-1].kind, frames[-1].data["status"]) == ("run-status", "done")


def test_a_browser_that_comes_back_misses_no_event_and_gets_none_twice(client: Client, finished: str) -> None:
    whole = _followed(client, finished)
    for after in (0, 1, 7, len(whole) - 1):
        assert _followed(client, finished, after) == whole[after:]
    done = client.http.get(f"/api/runs/{finished}/events", headers={"Last-Event-ID": str(len(whole))})
    assert (done.status_code, done.content) == (204, b""), "else a browser would come back for ever"


def test_a_connection_that_breaks_off_again_and_again_gives_one_story(client: Client) -> None:
    run, seen = client.ask()["id"], list[Frame]()
    while not seen or (seen[-1].kind, seen[-1].data.get("status")) != ("run-status", "done"):
        with _stream(client, run, seen[-1].id if seen else None) as frames:
            for frame in frames:
                seen.append(frame)
                if len(seen) % 5 == 0:
                    break
    assert [frame.id for frame in seen] == list(range(1, len(seen) + 1))
    assert seen == _followed(client, run)


def test_an_id_that_the_run_never_had_is_a_gap_and_everything_is_told(client: Client, finished: str) -> None:
    gap, *frames = _followed(client, finished, 10_000)
    assert gap == Frame(0, "stream-gap", {"what": "events", "first": 1})
    assert frames == _followed(client, finished)


@pytest.mark.parametrize("id_", ["-1", "x", "1.5", "9" * 40, "海"])
def test_a_last_event_id_that_is_no_number_is_refused(client: Client, finished: str, id_: str) -> None:
    answer = client.http.get(f"/api/runs/{finished}/events", headers={b"Last-Event-ID": id_.encode()})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_unknown_run_has_no_events(client: Client) -> None:
    assert client.http.get("/api/runs/nosuchrun/events").status_code == 404


def test_a_run_of_the_command_line_is_followed_while_it_goes_on(tmp_path: Path) -> None:
    with server_process(tmp_path) as server:
        user = User(tmp_path, question="What did the projects cost and achieve?")
        process = user.start("ask", user.question, "--wiring", "worlds:paced", "--depth", "quick")
        wait_until(lambda: bool(server.client.http.get("/api/runs").json()["runs"]))
        run = server.client.http.get("/api/runs").json()["runs"][0]["id"]
        frames = _followed(server.client, run)
        process.communicate(timeout=HANG_S)
        assert [frame.id for frame in frames] == [event.seq for event in user.events()]
        assert frames[-1].data["status"] == "done"


def test_a_cancelled_and_a_deleted_run_end_their_streams(client: Client) -> None:
    for end in ("cancel", "delete"):
        run = client.wait(client.ask(VAGUE)["id"], "waiting")["id"]
        frames: list[Frame] = []
        reader = threading.Thread(target=lambda run=run, frames=frames: frames.extend(_followed(client, run)))
        reader.start()
        wait_until(lambda: client.readers() == 1)
        if end == "cancel":
            assert client.http.post(f"/api/runs/{run}/cancel").is_success
        else:
            assert client.http.delete(f"/api/runs/{run}").status_code == 204
        reader.join(HANG_S)
        assert not reader.is_alive()
        assert frames
        wait_until(lambda: client.readers() == 0)
    assert client.http.get(f"/api/runs/{run}/events").status_code == 404


def test_readers_that_vanish_are_forgotten_at_once(client: Client) -> None:
    run = client.wait(client.ask(VAGUE)["id"], "waiting")["id"]
    host, port = client.address.removeprefix("http://").split(":")
    crowd = [socket.create_connection((host, int(port))) for _ in range(30)]
    for reader in crowd:
        reader.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    wait_until(lambda: client.readers() == 30)
    for reader in crowd:
        reader.close()
    wait_until(lambda: client.readers() == 0)


def test_text_comes_while_it_is_written_and_who_joins_late_is_told(tmp_path: Path) -> None:
    with ModelServer(lambda asked: replace(answer_over_the_wire(asked), lasts_s=0.5)) as model:
        settings = settings_for(
            tmp_path,
            provider="openai-compatible:m",
            openai_compatible_address=model.address_of("openai-compatible"),
            depth="quick",
            cache=False,
        )
        with serving(settings) as client:
            run = client.ask()["id"]
            with _stream(client, run) as frames:
                live = next(frame for frame in frames if frame.kind == "live")
                assert live.id is None
                assert live.data["run"] == run
                assert live.data["text"]
                with _stream(client, run, 1) as late:
                    before = list(takewhile(lambda frame: frame.kind != "live", late))
                assert ("stream-gap", "text") in {(frame.kind, frame.data.get("what")) for frame in before}
                rest = list(frames)
            assert rest[-1].data["status"] == "done"
            assert not [frame for frame in _followed(client, run) if frame.kind in ("live", "stream-gap")]
