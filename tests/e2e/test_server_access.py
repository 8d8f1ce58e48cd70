"""Accounts as their users, a stranger and the operator meet them: a real server, the real command."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.accounts import PASSWORD, Operator, Visitors, sign_in
from tests.support.server import Client, serving, settings_for

OPEN = ["/health", "/sign-in"]
CLOSED = [
    "/",
    "/runs",
    "/api/runs",
    "/api/collections",
    "/openapi.json",
    "/docs",
    "/metrics",
    "/v1/models",
    "/mcp",
    "/none",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def operator(folder: Path) -> Operator:
    operator = Operator(folder)
    operator.users("add", "ann", "--admin")
    operator.users("add", "ben")
    return operator


@pytest.fixture(scope="module")
def stranger(folder: Path, operator: Operator) -> Iterator[Client]:
    with serving(settings_for(folder)) as client:
        yield client


@pytest.fixture
def visit(stranger: Client) -> Iterator[Visitors]:
    with closing(Visitors(stranger.address)) as visitors:
        yield visitors


@pytest.fixture(scope="module")
def ann_s_browser(stranger: Client) -> Iterator[Client]:
    with closing(Visitors(stranger.address)) as visitors:
        yield visitors.browser("ann")


def kept(folder: Path) -> str:
    """Return every value that the server's database holds."""
    with closing(sqlite3.connect(folder / "home" / "server.db")) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return "\n".join(repr(row) for name in tables for row in connection.execute(f"SELECT * FROM {name}"))


# Signing in


@pytest.mark.parametrize("path", CLOSED)
def test_with_accounts_nothing_is_shown_to_strangers(stranger, path):
    answer = stranger.http.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", CLOSED)
@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer x", "Bearer dr_0_0", "Basic YW5uOmFubg==", "dr_"])
def test_what_is_no_token_opens_nothing(stranger, path, authorization):
    assert stranger.http.post(path, headers={"authorization": authorization}, json={}).status_code == 401


def test_a_browser_is_asked_to_sign_in_and_led_back(stranger):
    answer = stranger.http.get("/runs?tag=a b", headers={"accept": "text/html,*/*"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Fruns%3Ftag%3Da%2520b"
    page = stranger.http.get(answer.headers["location"])
    assert page.status_code == 200
    assert 'value="/runs?tag=a%20b"' in page.text


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_the_sign_in_page_speaks_the_reader_s_language(stranger, language):
    word = {"en": "Password", "zh-Hans": "密码", "zh-Hant": "密碼"}[language]
    assert word in stranger.http.get("/sign-in", headers={"accept-language": language}).text


@pytest.mark.parametrize(
    "back", ["https://evil.test/", "//evil.test", "/\\evil.test", "javascript:alert(1)", "\t//evil.test"]
)
def test_nobody_is_led_to_another_site_after_signing_in(stranger, visit, back):
    assert sign_in(visit.stranger(), "ann", next=back).headers["location"] == "/"


def test_the_cookie_of_a_sign_in_is_out_of_reach_of_scripts_and_other_sites(stranger, visit, folder):
    answer = sign_in(visit.stranger(), "Ann")
    cookie, strict = answer.headers.get_list("set-cookie")
    assert "SameSite=lax" in cookie
    assert "SameSite=strict" in strict
    for one in (cookie, strict):
        assert "HttpOnly" in one
        assert "Path=/" in one
        assert "Domain" not in one
    secret = cookie.partition("=")[2].partition(";")[0]
    assert len(secret) >= 43
    assert secret not in kept(folder)


def test_passwords_are_kept_as_argon2_hashes(stranger, folder):
    text = kept(folder)
    assert "$argon2id$" in text
    assert PASSWORD not in text
    assert PASSWORD.encode().hex() not in text


def test_a_sign_in_opens_the_account(visit):
    client = visit.browser("ann")
    assert client.http.get("/api/runs").status_code == 200
    assert client.http.get("/", headers={"accept": "text/html"}).status_code == 200


def test_each_sign_in_has_a_secret_of_its_own_and_ends_the_one_before_it(stranger, visit):
    client = visit.browser("ann")
    before = dict(client.http.cookies)
    assert sign_in(client, "ann").status_code == 303
    assert dict(client.http.cookies) != before
    old = visit.stranger()
    old.http.cookies.update(before)
    assert old.http.get("/api/runs").status_code == 401


def test_who_signs_out_is_out_and_the_others_stay(stranger, visit):
    one, two = visit.browser("ann"), visit.browser("ann")
    stolen = visit.stranger()
    stolen.http.cookies.update(one.http.cookies)
    assert one.http.post("/sign-out").status_code == 303
    assert stolen.http.get("/api/runs").status_code == 401
    assert two.http.get("/api/runs").status_code == 200


def test_who_signs_out_everywhere_is_out_everywhere(visit):
    one, two, other = (visit.browser(name) for name in ("ann", "ann", "ben"))
    assert one.http.post("/sign-out-everywhere").status_code == 303
    assert two.http.get("/api/runs").status_code == 401
    assert other.http.get("/api/runs").status_code == 200


# Forged requests


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "", "sec-fetch-site": ""},
        {"origin": "null", "sec-fetch-site": ""},
        {"origin": "https://evil.test"},
        {"origin": "https://evil.test", "sec-fetch-site": "cross-site"},
        {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/collections", "/v1/chat/completions", "/mcp"])
def test_a_cookie_changes_nothing_for_the_page_of_another_site(ann_s_browser, headers, path):
    http = ann_s_browser.http
    before = http.get("/api/runs").json()
    bare = http.build_request("POST", path, json={"question": "Who pays?", "name": "x"})
    for name, value in headers.items():
        bare.headers.pop(name, None)
        if value:
            bare.headers[name] = value
    assert http.send(bare).status_code == 403
    assert http.get("/api/runs").json() == before


@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/collections", "/sign-out"])
def test_what_browsers_send_for_a_foreign_form_is_not_enough(visit, path):
    client = visit.browser("ann")
    strict = next(name for name in client.http.cookies if name.endswith("-own"))
    client.http.cookies.delete(strict)
    assert client.http.post(path, json={"question": "Who pays?", "name": "x"}).status_code == 403
    assert client.http.get("/api/runs").status_code == 200


def test_another_site_can_neither_sign_anybody_in_nor_out(stranger, visit):
    form = {"name": "ann", "password": PASSWORD}
    for headers in ({}, {"origin": "https://evil.test"}, {"sec-fetch-site": "cross-site"}):
        assert visit.stranger().http.post("/sign-in", data=form, headers=headers).status_code == 403
    client = visit.browser("ann")
    assert client.http.post("/sign-out", headers={"origin": "https://evil.test"}).status_code == 403
    assert client.http.get("/api/runs").status_code == 200


# Tokens


def test_a_token_is_shown_once_and_kept_as_a_digest(operator, folder):
    token = operator.token("ben")
    assert token.startswith("dr_")
    assert token not in kept(folder)
    assert token.split("_", 2)[2] not in kept(folder)
    listed = operator.users("list")
    assert token not in listed
    assert token.split("_")[1] in listed
    assert token not in operator.users("log")


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        ("read", {"read"}),
        ("research", {"research"}),
        ("documents", {"documents"}),
        ("admin", {"admin"}),
        ("read,research,documents,admin", {"read", "research", "documents", "admin"}),
    ],
)
def test_a_token_may_do_what_its_scopes_say_and_no_more(visit, operator, scopes, allowed):
    http = visit.program(operator.token("ann", scopes)).http
    got = {
        "read": [http.get("/api/runs"), http.get("/"), http.get("/openapi.json"), http.get("/api/collections")],
        "research": [
            http.post("/api/runs", json={}),
            http.post("/api/runs/none/cancel"),
            http.delete("/api/runs/none"),
        ],
        "documents": [http.post("/api/collections", json={}), http.delete("/api/collections/none")],
        "admin": [http.get("/metrics"), http.post("/none"), http.put("/api/none")],
    }
    for scope, answers in got.items():
        refused = {answer.status_code == 403 for answer in answers}
        assert refused == {scope not in allowed}, (scope, answers)


def test_who_is_no_admin_gets_no_admin_token(operator):
    ended = operator.tried("token", "ben", "--scopes", "admin")
    assert ended.returncode == 64
    assert "dr_" not in ended.stdout


def test_a_token_ends_when_it_is_revoked(visit, operator):
    token = operator.token("ben")
    client = visit.program(token)
    assert client.http.get("/api/runs").status_code == 200
    operator.users("revoke", token.split("_")[1])
    assert client.http.get("/api/runs").status_code == 401


def test_the_last_use_of_a_token_is_kept(visit, operator):
    token = operator.token("ben", "read", "--label", "nightly")
    assert "nightly (read; for good; never used)" in operator.users("list")
    visit.program(token).http.get("/api/runs")
    assert "nightly (read; for good; used 2" in operator.users("list")


# Changes while a server runs


def test_the_first_account_closes_a_server_that_runs_and_the_last_opens_it_again(tmp_path):
    operator = Operator(tmp_path)
    with serving(settings_for(tmp_path)) as client:
        run = client.ask()["id"]
        operator.users("add", "eve")
        assert client.http.get("/api/runs").status_code == 401
        with closing(Visitors(client.address)) as visit:
            eve = visit.browser("eve")
            assert eve.http.get("/api/runs").json()["runs"] == []
            assert eve.http.get(f"/api/runs/{run}").status_code == 404
            operator.users("remove", "eve")
            assert eve.http.get("/api/runs").status_code == 200
        assert client.http.get(f"/api/runs/{run}").status_code == 200


def test_an_account_can_take_over_what_was_made_before_there_were_any(tmp_path):
    operator = Operator(tmp_path)
    with serving(settings_for(tmp_path)) as client:
        run = client.ask()["id"]
        collection = client.http.post("/api/collections", json={"name": "Papers"}).json()["id"]
        operator.users("add", "eve", "--take-over")
        with closing(Visitors(client.address)) as visit:
            eve = visit.browser("eve")
            assert [one["id"] for one in eve.http.get("/api/runs").json()["runs"]] == [run]
            assert eve.http.get(f"/api/collections/{collection}").status_code == 200


def test_a_removed_user_is_out_at_once(visit, operator):
    operator.users("add", "dan")
    token, cookie = visit.program(operator.token("dan")), visit.browser("dan")
    assert {client.http.get("/api/runs").status_code for client in (token, cookie)} == {200}
    operator.users("remove", "dan")
    assert {client.http.get("/api/runs").status_code for client in (token, cookie)} == {401}


def test_a_new_password_ends_every_sign_in(stranger, visit, operator):
    operator.users("add", "fay")
    client = visit.browser("fay")
    operator.users("password", "fay", password="another long one")
    assert client.http.get("/api/runs").status_code == 401
    assert sign_in(visit.stranger(), "fay").status_code == 401
    assert sign_in(visit.stranger(), "fay", "another long one").status_code == 303
