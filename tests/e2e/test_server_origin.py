"""A server without accounts, in a browser that shows other people's pages as well."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.e2e.harness import User
from tests.support.server import QUESTION, Client, serving, settings_for


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    settings = settings_for(tmp_path_factory.mktemp("server"), server_hosts=("research.test",))
    with serving(settings) as started:
        yield started


def asked(client: Client, path: str = "/api/runs", method: str = "POST", **headers: str) -> httpx2.Response:
    """Send what a page could make a browser send."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"question": QUESTION} if method == "POST" else None
    return client.http.request(method, path, json=body, headers=names)


def runs(client: Client) -> list[str]:
    return [run["id"] for run in client.http.get("/api/runs").json()["runs"]]


@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "evil.test:8700",
        "127.0.0.1.evil.test",
        "localhost.evil.test",
        "192.168.1.5",
        "127.0.0.1@evil.test",
        "",
    ],
)
@pytest.mark.parametrize(
    "path", ["/", "/api/runs", "/api/runs/1234/events", "/mcp", "/v1/models", "/openapi.json", "/none"]
)
def test_a_name_that_somebody_points_at_this_machine_is_refused(client, host, path):
    answer = asked(client, path, "GET", host=host)
    assert answer.status_code in (400, 421)
    # Clients of OpenAI know errors of one shape only.
    kind = "application/json" if path.startswith("/v1") else "application/problem+json"
    assert answer.headers["content-type"] == kind


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8700", "127.0.0.1", "127.0.0.2:99", "[::1]:8700", "Research.Test"]
)
def test_the_names_of_this_machine_and_those_of_the_settings_are_answered(client, host):
    assert asked(client, method="GET", host=host).status_code == 200


def test_a_name_in_the_settings_takes_another_port_too(client):
    assert asked(client, method="GET", host="research.test:8443").status_code == 200


@pytest.mark.parametrize(
    "path", ["/api/runs", "/api/runs/1234/cancel", "/mcp", "/v1/chat/completions", "/v1/responses"]
)
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.test"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"},
        {"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"},
    ],
)
def test_a_page_of_another_site_can_change_nothing(client, path, headers):
    before = runs(client)
    assert asked(client, path, **headers).status_code == 403
    assert runs(client) == before


@pytest.mark.parametrize("path", ["/api/runs", "/api/runs/1234/events", "/api/runs/1234/report.html", "/mcp"])
@pytest.mark.parametrize("dest", ["empty", "image", "script", "iframe", "embed"])
def test_a_page_of_another_site_can_read_and_show_nothing(client, path, dest):
    mode = "navigate" if dest in ("iframe", "embed") else "no-cors"
    answer = asked(client, path, "GET", sec_fetch_site="cross-site", sec_fetch_mode=mode, sec_fetch_dest=dest)
    assert answer.status_code == 403


def test_no_answer_lets_another_site_read_it(client):
    preflight = {"origin": "https://evil.test", "access_control_request_method": "POST"}
    for answer in (asked(client, method="OPTIONS", **preflight), asked(client, method="GET")):
        assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_link_on_another_site_leads_here(client):
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert asked(client, method="GET", **link).status_code == 200


def test_our_own_page_and_programs_may_ask(client):
    own = {"origin": client.address, "sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}
    assert asked(client, **own).status_code == 201
    assert asked(client).status_code == 201


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "x-real-ip"])
def test_without_accounts_nobody_comes_in_through_a_proxy(client, header):
    answer = client.http.get("/api/runs", headers={header: "127.0.0.1"})
    assert answer.status_code == 403
    assert "users add" in answer.json()["detail"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "research.test"])
def test_another_address_is_refused_without_accounts(tmp_path, host):
    ended = User(tmp_path).run("serve", "--host", host, "--port", "0")
    assert ended.returncode == 64
    assert "deep-research users add" in ended.stderr
