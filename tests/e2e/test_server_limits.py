"""What a server keeps for anybody who connects: a bounded time, a bounded number, and nothing from elsewhere."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.accounts import Operator, Visitors, sign_in
from tests.support.server import QUESTION, VAGUE, Client, serving, settings_for
from tests.support.waiting import HANG_S, wait_until

HALF_HEAD = b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "


@contextmanager
def connected(client: Client, sent: bytes = b"") -> Iterator[socket.socket]:
    """Connect without a library, and send the beginning of something."""
    parts = urlsplit(client.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=HANG_S) as connection:
        connection.sendall(sent)
        yield connection


def is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_half_open_connections_are_closed_and_streams_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.server.listening._KEEP_ALIVE_S", 1)
    with serving(settings_for(tmp_path)) as client, ExitStack() as stack:
        run = client.wait(client.ask(VAGUE)["id"], "waiting")["id"]
        stream = stack.enter_context(client.http.stream("GET", f"/api/runs/{run}/events"))
        half_open = [stack.enter_context(connected(client, sent)) for sent in (HALF_HEAD, b"", b"GET / HTTP/1.1\r\n")]
        again = stack.enter_context(connected(client, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
        assert again.recv(15) == b"HTTP/1.1 200 OK"
        again.sendall(HALF_HEAD)
        wait_until(lambda: all(map(is_closed, half_open)))
        again.settimeout(HANG_S)
        while again.recv(65_536):
            pass
        assert client.http.post(f"/api/runs/{run}/cancel").status_code == 200
        assert "cancelled" in "".join(stream.iter_text())


def test_who_has_waited_longest_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.server.listening._MAX_CONNECTIONS", 5)
    with serving(settings_for(tmp_path)) as client, ExitStack() as stack:
        half_open = [stack.enter_context(connected(client, HALF_HEAD)) for _ in range(12)]
        wait_until(lambda: sum(map(is_closed, half_open)) >= 7)
        assert client.http.get("/health").status_code == 200
        assert not all(map(is_closed, half_open))


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.server.body_limit._BODY_S", 0.2)
    head = (
        b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
    )
    with serving(settings_for(tmp_path)) as client, connected(client, head) as connection:
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert client.http.get("/health").status_code == 200


def test_an_account_has_a_bounded_number_of_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.server.access.MAX_AT_ONCE", 3)
    with serving(settings_for(tmp_path)) as client:
        events = f"/api/runs/{client.wait(client.ask(VAGUE)['id'], 'waiting')['id']}/events"
        with ExitStack() as stack:
            for _ in range(3):
                assert stack.enter_context(client.http.stream("GET", events)).status_code == 200
            refused = client.http.get("/api/runs", headers={"accept-language": "zh-Hant"})
            assert refused.status_code == 429
            assert "上限" in refused.json()["detail"]
        wait_until(lambda: client.http.get("/api/runs").status_code == 200)


def test_the_description_of_the_interface_loads_nothing_from_elsewhere(tmp_path: Path):
    with serving(settings_for(tmp_path)) as client:
        page = client.http.get("/docs", headers={"accept-language": "zh-Hans"})
        assert page.status_code == 200
        assert "程序接口" in page.text
        assert "POST /api/runs" in page.text
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*?(?:src|href)=\"([^\"]*)", page.text)
        assert loaded
        assert all(address.startswith("/static/") for address in loaded)
        for address in ("/docs", "/openapi.json", "/health", "/none", "/api/runs", loaded[0]):
            policy = client.http.get(address).headers["content-security-policy"]
            assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("back", ["//[", "http://[", "//[::1"])
def test_an_address_to_go_back_to_that_is_none_leads_to_the_first_page(back: str, tmp_path: Path):
    Operator(tmp_path).users("add", "ann")
    with serving(settings_for(tmp_path)) as client:
        assert client.http.get("/sign-in", params={"next": back}).status_code == 200
        assert sign_in(client, "ann", next=back).headers["location"] == "/"
        headers = {"origin": client.address, "sec-fetch-site": "same-origin"}
        chosen = client.http.post("/preferences", data={"theme": "dark", "back": back}, headers=headers)
        assert chosen.headers["location"] == "/"


def test_a_schedule_names_what_is_there_and_writes_to_whom_it_may(tmp_path: Path):
    operator = Operator(tmp_path)
    operator.users("add", "ann")
    operator.users("add", "ben")
    operator.users("add", "op", "--admin")
    mail = {"smtp_host": "127.0.0.1", "smtp_port": 9, "smtp_from": "server@example.org"}
    settings = settings_for(tmp_path, **mail, mail_recipients=("ann@example.net", "@example.org"))
    with serving(settings) as client, closing(Visitors(client.address)) as visit:
        ann, ben, op = (
            visit.program(operator.token(name, scopes))
            for name, scopes in (
                ("ann", "read,research,documents"),
                ("ben", "read,research,documents"),
                ("op", "read,research,documents,admin"),
            )
        )
        run = ann.finished()["id"]
        folder = ann.http.post("/api/collections", json={"name": "plans"}).json()["id"]

        def status(who: Client, **given: str) -> int:
            new = {"question": QUESTION, "every": "7d", "mode": "ask", **given}
            return int(who.http.post("/api/schedules", json=new).status_code)

        assert [status(ben, follow=run), status(ben, documents=folder), status(ben, follow="0" * 32)] == [404] * 3
        assert ben.http.get("/api/schedules").json()["schedules"] == []
        assert status(ann, follow=run) == 201
        assert [status(ben, email=address) for address in ("ann@example.net", "x@example.org")] == [201, 201]
        assert [status(ben, email=address) for address in ("ben@example.net", "x@evil-example.org")] == [400, 400]
        assert status(op, email="ben@example.net") == 201


def test_a_response_follows_the_run_that_it_names_or_says_why_not(tmp_path: Path):
    with serving(settings_for(tmp_path)) as client:
        run = client.finished()["id"]
        asked = {"model": "deep-research", "input": "And how much did it cost?", "background": True}

        def answer(follow: str) -> tuple[int, str]:
            made = client.http.post("/v1/responses", json={**asked, "deep_research": {"follow": follow}})
            return made.status_code, made.json().get("id", "")

        status, response = answer(run)
        assert status == 200
        assert client.run(response.removeprefix("resp_").partition("_")[0])["follow"] == run
        assert answer("0" * 32)[0] == 404
