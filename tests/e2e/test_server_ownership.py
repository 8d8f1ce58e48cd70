"""What belongs to one account is unknown to another, on every route; limits, the audit log, and what is never told."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from deep_research.server.app import create_app
from tests.support.accounts import PASSWORD, Operator, Visitors, sign_in
from tests.support.server import QUESTION, VAGUE, Client, server_process, serving, settings_for
from tests.support.waiting import HANG_S


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def operator(folder: Path) -> Operator:
    operator = Operator(folder)
    for name in ("ann", "ben"):
        operator.users("add", name)
    return operator


@pytest.fixture(scope="module")
def visit(folder: Path, operator: Operator) -> Iterator[Visitors]:
    with serving(settings_for(folder)) as client, closing(Visitors(client.address)) as visitors:
        yield visitors


@pytest.fixture(scope="module")
def ann(visit: Visitors, operator: Operator) -> Client:
    return visit.program(operator.token("ann"))


@pytest.fixture(scope="module")
def ben(visit: Visitors, operator: Operator) -> Client:
    return visit.program(operator.token("ben"))


@pytest.fixture(scope="module")
def anns(ann: Client) -> dict[str, str]:
    """Everything of Ann's that a path can name."""
    run = ann.finished()["id"]
    collection = ann.http.post("/api/collections", json={"name": "Papers"}).json()["id"]
    files = {"files": ("notes.txt", b"Heat pumps cost less than was thought.")}
    uploaded = ann.http.post(f"/api/collections/{collection}/files", files=files).json()
    sources = ann.http.get(f"/api/runs/{run}/sources").json()
    document = re.findall(r'"document":\s*"([^"]+)"|"id":\s*"([^"]+)"', json.dumps(sources))[0]
    return {
        "run": run,
        "response": run,
        "collection": collection,
        "file": uploaded["added"][0]["id"],
        "document": next(filter(None, document)),
        "format": "md",
        "steer": "cancel",
        "id": "1",
        "picture": "1",
    }


def example_of(schema: dict[str, Any], document: dict[str, Any]) -> Any:
    """Return something that fits a schema of the API's description."""
    if "$ref" in schema:
        return example_of(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
    if "examples" in schema:
        return schema["examples"][0]
    if choice := schema.get("anyOf") or schema.get("oneOf"):
        return example_of(choice[0], document)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            known = schema.get("properties", {})
            return {name: example_of(known[name], document) for name in schema.get("required", ())}
        case "array":
            return [example_of(schema.get("items", {}), document)] * max(1, schema.get("minItems", 0))
        case "integer" | "number":
            return 1
        case "boolean":
            return True
    return "word"


def owned_operations() -> list[tuple[str, str]]:
    """Return every operation of the API whose path names something that belongs to an account."""
    paths = create_app(settings_for(Path("/nowhere"))).openapi()["paths"]
    owned = re.compile(r"\{(run|collection|response|schedule)\}")
    return [(method, path) for path, operations in paths.items() if owned.search(path) for method in operations]


def owned_pages() -> list[str]:
    routes = [route for route in _routes(create_app(settings_for(Path("/nowhere"))).routes) if isinstance(route, Route)]
    return sorted(
        {
            route.path
            for route in routes
            if not route.path.startswith(("/api", "/v1")) and "{" in route.path and "static" not in route.path
            if "GET" in (route.methods or ())
        }
    )


def _routes(routes: Any) -> Iterator[Any]:
    for route in routes:
        yield route
        yield from _routes(getattr(getattr(route, "original_router", None), "routes", ()))


@pytest.mark.parametrize(("method", "path"), owned_operations())
def test_what_belongs_to_another_account_does_not_exist(ann, ben, anns, method, path):
    document = ann.http.get("/openapi.json").json()
    operation = document["paths"][path][method]
    names = {**anns, "schedule": "0" * 32}
    filled = re.sub(r"\{(\w+)\}", lambda found: names[found[1]], path)
    content = operation.get("requestBody", {}).get("content", {})
    given: dict[str, Any] = {}
    if "multipart/form-data" in content:
        given["files"] = {"files": ("a.txt", b"text")}
    elif content:
        given["json"] = example_of(content["application/json"]["schema"], document)
    required = [one for one in operation.get("parameters", ()) if one["in"] == "query" and one.get("required")]
    given["params"] = {one["name"]: example_of(one["schema"], document) for one in required}
    before = ann.run(anns["run"])
    answer = ben.http.request(method.upper(), filled, **given)
    assert answer.status_code == 404, answer.text
    assert QUESTION not in answer.text
    assert ann.run(anns["run"]) == before
    unknown = re.sub(r"\{(\w+)\}", lambda found: {**names, "run": "f" * 32, "collection": "f" * 32}[found[1]], path)
    other = ben.http.request(method.upper(), unknown, **given)
    assert other.status_code == 404
    assert re.sub("[0-9a-f]{8,}", "…", other.text) == re.sub("[0-9a-f]{8,}", "…", answer.text)


@pytest.mark.parametrize("path", owned_pages())
def test_pages_of_another_account_do_not_exist(visit, anns, path):
    browser = visit.browser("ben")
    filled = re.sub(r"\{(\w+)\}", lambda found: anns[found[1]], path)
    answer = browser.http.get(filled, headers={"accept": "text/html"})
    assert answer.status_code == 404, answer.text
    assert QUESTION not in answer.text


def test_lists_hold_only_one_s_own(ann, ben, anns):
    assert anns["run"] in [run["id"] for run in ann.http.get("/api/runs").json()["runs"]]
    assert anns["run"] not in ben.http.get("/api/runs", params={"limit": 100}).text
    assert anns["collection"] not in ben.http.get("/api/collections").text


def test_a_request_names_nothing_of_another_account(ann, ben, anns):
    for field, value in (("follow", anns["run"]), ("documents", anns["collection"])):
        for path in ("/api/runs", "/api/estimate"):
            answer = ben.http.post(path, json={"question": QUESTION, field: value})
            assert answer.status_code == 404, answer.text
    again = {"json": {"question": QUESTION}, "headers": {"idempotency-key": "same-key"}}
    hers, his, his_again = (who.http.post("/api/runs", **again).json()["id"] for who in (ann, ben, ben))
    assert hers != his == his_again


def test_a_run_of_one_account_cannot_be_found_by_the_beginning_of_its_id(ben, anns):
    answers = [ben.http.get(f"/api/runs/{anns['run'][:length]}") for length in (4, 8, 16, 31)]
    assert {answer.status_code for answer in answers} == {404}
    assert len({re.sub("[0-9a-f]{4,}", "…", answer.text) for answer in answers}) == 1


# Limits


@pytest.mark.parametrize(
    ("language", "word"), [("en", "1 run at once"), ("zh-Hans", "同时进行"), ("zh-Hant", "同時進行")]
)
def test_a_limit_says_what_is_left_in_the_reader_s_language(visit, operator, language, word):
    name = f"user-{language}"
    operator.users("add", name, "--runs-at-once", "1", "--usd-a-month", "0.5")
    client = visit.program(operator.token(name))
    waiting = client.wait(client.ask(VAGUE)["id"], "waiting")["id"]
    answer = client.http.post("/api/runs", json={"question": QUESTION}, headers={"accept-language": language})
    assert answer.status_code == 429
    told = answer.json()
    assert word in told["detail"]
    assert (told["limit"], told["most"], told["left"], told["renews_at"]) == ("runs_at_once", 1, 0, None)
    assert int(answer.headers["retry-after"]) > 0
    client.http.post(f"/api/runs/{waiting}/cancel")
    assert client.http.post("/api/runs", json={"question": QUESTION}).status_code == 201


def test_money_that_is_spent_is_refused_with_402_until_the_month_ends(visit, operator):
    operator.users("add", "poor", "--usd-a-month", "0.01")
    client = visit.program(operator.token("poor"))
    assert client.ask(budget={"usd": 5})["id"]
    answer = client.http.post("/api/runs", json={"question": QUESTION, "budget": {"usd": 5}})
    assert answer.status_code == 402
    assert answer.json()["limit"] == "usd_a_month"
    assert answer.json()["renews_at"].endswith(("-01T00:00:00+00:00", "-01T00:00:00Z"))


def test_new_limits_hold_for_the_next_run_and_updates_and_retries_count(visit, operator):
    operator.users("add", "busy", "--runs-a-day", "1")
    client, browser = visit.program(operator.token("busy")), visit.browser("busy")
    assert "0 of 1 left" not in browser.http.get("/").text
    run = client.finished()["id"]
    usage = client.http.get("/api/me").json()["usage"]
    assert (usage["limits"]["runs_a_day"], usage["runs_a_day"]) == (1, 1)
    for path in ("/", "/settings"):
        assert "0 of 1 left" in browser.http.get(path).text
    follow = {"question": "What did it cost?"}
    for path, body in (("update", {}), ("retry", {}), ("follow-up", follow)):
        assert client.http.post(f"/api/runs/{run}/{path}", json=body).status_code == 429, path
    operator.users("limits", "busy", "--runs-a-day", "-1")
    assert client.http.post(f"/api/runs/{run}/update").status_code == 201


# Streams


def test_a_stream_of_events_ends_when_its_reader_is_removed(visit, operator):
    operator.users("add", "gone")
    client = visit.program(operator.token("gone"))
    run = client.wait(client.ask(VAGUE)["id"], "waiting")["id"]
    ended = threading.Event()
    lines: list[str] = []

    def read() -> None:
        with client.http.stream("GET", f"/api/runs/{run}/events") as stream:
            lines.extend(stream.iter_lines())
        ended.set()

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    operator.users("remove", "gone")
    assert ended.wait(HANG_S), lines
    assert client.http.get(f"/api/runs/{run}").status_code == 401


# Behind a proxy


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitors]:
    folder = tmp_path_factory.mktemp("proxied")
    Operator(folder).users("add", "ann")
    settings = settings_for(folder, server_behind_proxy=True, server_hosts=("research.test",))
    with serving(settings) as client, closing(Visitors(client.address)) as visitors:
        yield visitors


def forwarded(visitors: Visitors, **headers: str) -> Client:
    client = visitors.stranger()
    client.http.headers.update({"host": "research.test", "origin": "https://research.test", **headers})
    client.http.headers.update({"x-forwarded-proto": "https"})
    return client


def test_over_https_the_cookie_is_secure_and_bound_to_the_host(proxied):
    client = forwarded(proxied)
    answer = client.http.post("/sign-in", data={"name": "ann", "password": PASSWORD})
    assert answer.status_code == 303
    for cookie in answer.headers.get_list("set-cookie"):
        assert cookie.startswith("__Host-deep-research")
        assert "Secure" in cookie
        assert "Path=/" in cookie


def test_over_plain_http_on_a_network_no_password_is_taken(proxied):
    client = proxied.stranger()
    client.http.headers.update({"host": "research.test", "origin": "http://research.test"})
    answer = client.http.post("/sign-in", data={"name": "ann", "password": PASSWORD})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_proxy_s_word_for_the_address_counts_and_the_client_s_does_not(proxied):
    for number in range(6):
        spoofed = forwarded(proxied, **{"x-forwarded-for": f"203.0.113.{number}, 198.51.100.9"})
        last = spoofed.http.post("/sign-in", data={"name": "zoe", "password": "wrong"})
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) > 0
    other = forwarded(proxied, **{"x-forwarded-for": "198.51.100.10"})
    assert other.http.post("/sign-in", data={"name": "ann", "password": PASSWORD}).status_code == 303


def test_without_the_setting_nobody_is_believed_about_addresses(visit, operator):
    operator.users("add", "target")
    for number in range(6):
        client = visit.stranger()
        client.http.headers["x-forwarded-for"] = f"203.0.113.{number}"
        last = sign_in(client, "target", "wrong")
    assert last.status_code == 429


# What is written down, and what never


def test_the_log_names_what_was_done_and_no_secret_or_question(visit, operator, ann, anns, folder):
    sign_in(visit.stranger(), "ann", "wrong password here")
    browser = visit.browser("ann")
    ann.http.get(f"/api/runs/{anns['run']}/report.md")
    spare = ann.http.post("/api/collections", json={"name": "Spare"}).json()["id"]
    ann.http.delete(f"/api/collections/{spare}")
    made = ann.finished()["id"]
    ann.http.delete(f"/api/runs/{made}")
    browser.http.post("/sign-out")
    token = operator.token("ann")
    operator.users("revoke", token.split("_")[1])
    log = operator.users("log", "--limit", "1000")
    for line in (
        f"ann 127.0.0.1 report-exported {anns['run']} md",
        "ann 127.0.0.1 sign-in",
        "ann 127.0.0.1 sign-out",
        f"ann 127.0.0.1 run-made {made}",
        f"ann 127.0.0.1 run-deleted {made}",
        "ann 127.0.0.1 collection-made",
        f"ann 127.0.0.1 document-added {anns['collection']}",
        f"ann 127.0.0.1 collection-deleted {spare}",
        "- 127.0.0.1 sign-in-failed",
        "user-added",
        f"token-revoked {token.split('_')[1]}",
    ):
        assert line in log, line
    for secret in (token, PASSWORD, "wrong password here", QUESTION, VAGUE, "Papers", "notes.txt"):
        assert secret not in log


def test_with_accounts_another_address_is_listened_at_and_no_secret_is_logged(tmp_path):
    operator = Operator(tmp_path)
    operator.users("add", "ann", "--admin")
    token = operator.token("ann", "read,research,documents,admin")
    with server_process(tmp_path, "--host", "0.0.0.0") as server, closing(Visitors(server.client.address)) as visit:
        assert visit.stranger().http.get("/api/runs").status_code == 401
        visit.browser("ann")
        sign_in(visit.stranger(), "ann", "a wrong password")
        client = visit.program(token)
        assert client.http.get("/api/runs").status_code == 200
        answers = [
            client.http.get(path).text for path in ("/metrics", "/api/settings", "/api/runs/none", "/", "/health")
        ]
        visit.program(token[:-1]).http.get("/api/runs")
        server.stop()
        told = server.log + "".join(answers)
    assert server.log
    for secret in (token, token.rpartition("_")[2], PASSWORD, "a wrong password"):
        assert secret not in told


def test_a_password_is_never_taken_from_the_command_line(tmp_path):
    ended = Operator(tmp_path).tried("add", "ann", "--password", PASSWORD)
    assert ended.returncode == 64
    assert "password" not in Operator(tmp_path).tried("add", "--help").stdout.partition("Options")[2].lower()


def test_a_short_password_is_refused(tmp_path):
    assert Operator(tmp_path).tried("add", "ann", password="short").returncode == 64
    assert Operator(tmp_path).users("list").startswith("There are no users")
