"""The API as somebody with `curl` meets it: a real server on a free port, with a home of its own."""

import io
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from deep_research.export.formats import FORMATS
from deep_research.server.app import create_app
from tests.support.server import QUESTION, VAGUE, Client, all_documents, serving, settings_for


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with serving(all_documents(folder)) as started:
        yield started


@pytest.fixture(scope="module")
def done(client: Client) -> str:
    """A run that is done."""
    return str(client.finished()["id"])


def refused(answer: Any, status: int) -> dict[str, Any]:
    """Check that an answer is a problem with this status, and return it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    return problem


def test_a_question_is_asked_and_answered(client, done):
    shown = client.run(done)
    assert shown["title"]
    assert shown["error"] is None
    assert client.run(done[:8])["id"] == done


def test_a_vague_question_is_asked_back_and_answered_by_number(client):
    shown = client.wait(client.ask(VAGUE)["id"])
    assert shown["status"] == "waiting"
    assert shown["pending"]["options"]
    answer = client.http.post(f"/api/runs/{shown['id']}/answer", json={"answer": "the Harbour Heat programme"})
    assert answer.status_code == 200
    assert client.wait(shown["id"])["status"] == "done"
    assert "not wait" in refused(client.http.post(f"/api/runs/{shown['id']}/answer", json={"answer": 1}), 409)["detail"]


def test_progress_tells_everything_that_happened(client):
    run = client.finished(budget={"queries": 6})["id"]
    shown = client.http.get(f"/api/runs/{run}/progress").json()
    stages = {stage["name"]: stage["state"] for stage in shown["stages"]}
    assert stages["index"] == stages["harvest"] == stages["write"] == "done"
    assert stages["analyze"] == "skipped"
    assert [section["title"] for section in shown["sections"]] == ["Findings"]
    assert 0 < shown["sections"][0]["coverage"] <= 1
    assert shown["thin"] == ["Findings"]
    assert {query["state"] for query in shown["queries"]} == {"done"}
    assert {source["state"] for source in shown["sources"]} >= {"cited"}
    assert all(source["title"] and source["section"] == "Findings" for source in shown["sources"])
    spending = {spent["kind"]: spent for spent in shown["spending"]}
    assert spending["queries"] == {"kind": "queries", "spent": len(shown["queries"]), "limit": 6}
    assert spending["pages"]["spent"] == len(shown["sources"])
    assert "audit-letter-truncated.pdf" in shown["problems"][0]["message"]
    assert shown["waits_for"] is None
    assert shown["seq"] > 50


def test_progress_tells_what_a_run_waits_for(client):
    run = client.wait(client.ask(confirm_plan=True)["id"])["id"]
    shown = client.http.get(f"/api/runs/{run}/progress").json()
    assert (shown["status"], shown["waits_for"]) == ("waiting", "plan-approval")
    assert shown["pending"]["plan"]["sections"]
    states = {stage["name"]: stage["state"] for stage in shown["stages"]}
    assert (states["plan"], states["harvest"]) == ("done", "pending")


def test_a_plan_is_read_edited_and_followed(client):
    run = client.wait(client.ask(confirm_plan=True)["id"])["id"]
    shown = client.http.get(f"/api/runs/{run}/plan").json()
    assert shown["is_waiting"]
    assert shown["estimate"]["most_usd"] == 0
    sections = [{"title": "Cost", "search_queries": ["heat pump cost"]}, {"title": "Output", "search_queries": []}]
    twice = {"research_title": "The plant", "sections": [sections[0], sections[0]]}
    assert "Cost" in refused(client.http.put(f"/api/runs/{run}/plan", json=twice), 422)["detail"]
    assert client.run(run)["status"] == "waiting"
    edited = {"research_title": "The plant", "sections": sections}
    assert client.http.put(f"/api/runs/{run}/plan", json=edited).status_code == 200
    assert client.wait(run)["status"] == "done"
    followed = client.http.get(f"/api/runs/{run}/plan").json()
    assert [section["title"] for section in followed["plan"]["sections"]] == ["Cost", "Output"]
    assert not followed["is_waiting"]
    refused(client.http.put(f"/api/runs/{run}/plan", json=edited), 409)
    refused(client.http.post(f"/api/runs/{run}/plan/approve"), 409)


def test_a_plan_is_approved(client):
    run = client.wait(client.ask(confirm_plan=True)["id"])["id"]
    assert client.http.post(f"/api/runs/{run}/plan/approve").json()["status"] in ("running", "done")
    assert client.wait(run)["status"] == "done"


def test_a_waiting_run_is_given_other_focuses(client):
    run = client.wait(client.ask("东京湾的热泵项目怎么样？", confirm_plan=True)["id"])["id"]
    focus = ["成本, 含补贴", "噪音"]
    client.http.post(f"/api/runs/{run}/focus", json={"focus": focus})
    client.wait(run, "waiting", "failed")
    plan = client.http.get(f"/api/runs/{run}/plan").json()["plan"]
    assert len(plan["sections"]) == 2
    assert "含补贴" in plan["sections"][0]["title"]


def test_a_report_is_read_with_its_sources(client, done):
    report = client.http.get(f"/api/runs/{done}/report").json()
    assert report["markdown"].startswith("#")
    assert report["is_searched"]
    cited = [source for source in report["sources"] if source["is_cited"]]
    assert [source["number"] for source in cited] == list(range(1, len(cited) + 1))
    listed = client.http.get(f"/api/runs/{done}/sources").json()["sources"]
    assert [source["number"] for source in listed][: len(cited)] == list(range(1, len(cited) + 1))
    text = client.http.get(f"/api/runs/{done}/sources/{cited[0]['document']}").json()
    assert text["title"] == cited[0]["title"]
    passage = text["passages"][0]
    assert text["text"][passage["start"] : passage["end"]].strip()
    snapshot = client.http.get(f"/api/runs/{done}/sources/{cited[0]['document']}/snapshot")
    assert snapshot.headers["content-disposition"].startswith("attachment")
    assert snapshot.headers["content-security-policy"].startswith("sandbox")
    assert snapshot.headers["x-content-type-options"] == "nosniff"
    assert snapshot.content


@pytest.mark.parametrize("name", [*FORMATS, "zip"])
def test_a_report_is_exported(client, done, folder, name):
    answer = client.http.get(f"/api/runs/{done}/report.{name}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith('attachment; filename="What did the plant cost')
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert str(folder).encode() not in answer.content
    if name in ("bundle", "zip"):
        assert "report.md" in zipfile.ZipFile(io.BytesIO(answer.content)).namelist()


def test_a_report_that_has_not_changed_is_not_sent_again(client, done):
    for path in ("report", "report.html"):
        first = client.http.get(f"/api/runs/{done}/{path}")
        for header in (
            {"If-None-Match": f'"other", {first.headers["etag"]}'},
            {"If-Modified-Since": first.headers["last-modified"]},
        ):
            again = client.http.get(f"/api/runs/{done}/{path}", headers=header)
            assert (again.status_code, again.content) == (304, b"")
        changed = client.http.get(f"/api/runs/{done}/{path}", headers={"If-None-Match": '"other"'})
        assert changed.status_code == 200


def test_files_are_named_after_the_title(client):
    run = client.finished("港湾供热项目的成本是多少？", language="zh-Hans")
    header = client.http.get(f"/api/runs/{run['id']}/report.md").headers["content-disposition"]
    assert f"filename*=UTF-8''{quote(run['title'].replace('？', '')[:3])}" in header
    assert 'filename="report.md"' in header


def test_a_report_is_followed_up_and_brought_up_to_date(client, done):
    asked = {"question": "Who paid for it?", "add": True}
    followed = client.http.post(f"/api/runs/{done[:8]}/follow-up", json=asked)
    assert followed.status_code == 201
    assert followed.json()["follow"] == done
    updated = client.http.post(f"/api/runs/{done}/update").json()
    assert updated["update"] == done
    assert client.wait(followed.json()["id"])["status"] == "done"
    assert client.wait(updated["id"])["status"] == "done"
    changes = client.http.get(f"/api/runs/{updated['id']}/changes").json()
    assert changes["before"]["run"] == done
    refused(client.http.get(f"/api/runs/{done}/changes"), 404)


def test_an_estimate_spends_nothing(client):
    before = client.http.get("/api/runs").json()["runs"]
    shown = client.http.post("/api/estimate", json={"question": QUESTION, "depth": "quick"}).json()
    assert shown == {"queries": 4, "pages": 12, "rounds": 1, "tokens": 0, "usd": 0.0, "most_usd": 0.0}
    assert client.http.get("/api/runs").json()["runs"] == before


def test_runs_are_listed_page_by_page(client):
    asked = [client.ask(f"What is on page {number}?", confirm_plan=True)["id"] for number in range(5)]
    own = {"q": "WHAT IS ON PAGE", "limit": 2}
    shown = client.http.get("/api/runs", params=own).json()
    seen = [run["id"] for run in shown["runs"]]
    while shown["next"]:
        shown = client.http.get("/api/runs", params=own | {"cursor": shown["next"]}).json()
        seen += [run["id"] for run in shown["runs"]]
    assert seen == asked[::-1]
    client.http.patch(f"/api/runs/{asked[3]}", json={"tags": ["水利", "heat"]})
    tagged = client.http.get("/api/runs", params={"tag": "水利"}).json()["runs"]
    assert [(run["id"], run["tags"]) for run in tagged] == [(asked[3], ["水利", "heat"])]
    for cursor in ("nonsense", "W10", "WyIwMDAxLTAxLTAxVDAwOjAwOjAwKzE0OjAwIiwgIiJd", "A" * 201):
        refused(client.http.get("/api/runs", params={"cursor": cursor}), 422)


def test_the_same_key_makes_one_run_however_often_and_fast_it_is_sent(client):
    def ask(question: str) -> Any:
        return client.http.post("/api/runs", json={"question": question}, headers={"Idempotency-Key": "once"})

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, [QUESTION] * 8))
    assert {answer.status_code for answer in answers} == {201}
    (run,) = {answer.json()["id"] for answer in answers}
    refused(ask("Something else?"), 422)
    assert client.wait(run)["status"] == "done"
    assert ask(QUESTION).json()["id"] == run


def test_a_run_is_cancelled_retried_and_deleted(client):
    run = client.wait(client.ask(confirm_plan=True)["id"])["id"]
    assert client.http.post(f"/api/runs/{run}/cancel").json()["status"] == "cancelled"
    refused(client.http.post(f"/api/runs/{run}/resume"), 409)
    assert client.http.post(f"/api/runs/{run}/retry").json()["status"] in ("running", "waiting")
    assert client.wait(run)["status"] == "waiting"
    refused(client.http.get(f"/api/runs/{run}/report"), 409)
    assert client.http.delete(f"/api/runs/{run}").status_code == 204
    refused(client.http.get(f"/api/runs/{run}"), 404)
    refused(client.http.delete(f"/api/runs/{run}"), 404)


def test_a_run_that_is_being_worked_on_is_not_deleted(client):
    refusals: list[Any] = []
    while not refusals:
        run = client.ask(f"{QUESTION} Once more.", depth="deep")["id"]
        client.wait(run, "running", "done")
        answer = client.http.delete(f"/api/runs/{run}")
        # It may have been quicker than we are.
        refusals += [answer] if answer.status_code == 409 else []
    assert "worked on" in refused(refusals[0], 409)["detail"]
    assert client.http.post(f"/api/runs/{run}/cancel").status_code == 200
    client.wait(run, "cancelled", "done")
    assert client.http.delete(f"/api/runs/{run}").status_code == 204


def test_figures_are_sent_as_pictures_that_run_no_script(tmp_path):
    pytest.importorskip("matplotlib")
    with serving(settings_for(tmp_path, charts=True)) as client:
        run = client.finished("How did the heat output and costs of the plant develop over the years?")["id"]
        figures = client.http.get(f"/api/runs/{run}/report").json()["figures"]
        assert figures
        png = client.http.get(f"/api/runs/{run}/pictures/{figures[0]['png']}")
        assert png.content.startswith(b"\x89PNG")
        svg = client.http.get(f"/api/runs/{run}/pictures/{figures[0]['svg']}")
        assert svg.headers["content-type"] == "image/svg+xml"
        assert svg.headers["content-security-policy"].startswith("sandbox")
        known = {"If-None-Match": svg.headers["etag"]}
        assert client.http.get(f"/api/runs/{run}/pictures/{figures[0]['svg']}", headers=known).status_code == 304


async def test_what_nobody_foresaw_is_a_problem_without_a_trace(tmp_path):
    app = create_app(settings_for(tmp_path))

    @app.get("/api/broken")
    async def broken() -> None:
        raise RuntimeError("the secret of the house")

    transport = httpx2.ASGITransport(app, raise_app_exceptions=False, client=("127.0.0.1", 1))
    given: dict[str, Any] = {"transport": transport, "base_url": "http://127.0.0.1"}
    async with app.router.lifespan_context(app), httpx2.AsyncClient(**given) as client:
        answer = await client.get("/api/broken", headers={"Accept-Language": "zh-Hans"})
    assert "意外" in refused(answer, 500)["detail"]
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


def test_problems_are_told_in_the_language_of_whoever_asks(client):
    for language, words in (("zh-CN,en;q=0.5", "没有运行"), ("zh-TW", "沒有執行"), ("fr, en", "There is no run")):
        answer = client.http.get("/api/runs/ffffffff", headers={"Accept-Language": language})
        assert words in refused(answer, 404)["detail"]


def test_everything_that_goes_wrong_is_a_problem(client, done):
    refused(client.http.get("/api/nothing"), 404)
    assert refused(client.http.put("/api/runs"), 405)["detail"]
    assert client.http.put("/api/runs").headers["allow"]
    refused(client.http.post("/api/runs", content=b"{", headers={"Content-Type": "application/json"}), 422)
    refused(client.http.post("/api/runs", json={"question": 5}), 422)
    refused(client.http.post("/api/runs", json={"question": QUESTION, "docs": "/etc"}), 422)
    refused(client.http.post("/api/runs", json={"question": QUESTION, "follow": "ffffffff"}), 404)
    refused(client.http.post("/api/runs", json={"question": QUESTION, "add": True}), 400)
    refused(client.http.post("/api/runs", json={"question": QUESTION, "sites": ["http://[::1"]}), 422)
    refused(client.http.get(f"/api/runs/{done}/report.exe"), 404)
    refused(client.http.get(f"/api/runs/{done}/pictures/{'0' * 64}"), 404)
    refused(client.http.get(f"/api/runs/{done}/sources/{'0' * 64}"), 404)
    refused(client.http.get("/api/runs", params={"limit": 1000}), 422)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1", "9" * 400])
def test_limits_that_are_no_amounts_are_refused(client, number):
    body = f'{{"question": "{QUESTION}", "budget": {{"usd": {number}}}}}'
    answer = client.http.post("/api/runs", content=body.encode(), headers={"Content-Type": "application/json"})
    refused(answer, 422)


def test_large_requests_are_refused_without_being_read(client):
    question = {"question": "w" * 10_000_000}
    refused(client.http.post("/api/runs", json=question), 413)

    def pieces() -> Iterator[bytes]:
        yield b'{"question": "'
        for _ in range(100):
            yield b"w" * 100_000
        yield b'"}'

    refused(client.http.post("/api/runs", content=pieces(), headers={"Content-Type": "application/json"}), 413)
    refused(client.http.post("/api/runs", json={"question": "w" * 20_000}), 422)


TRAVERSALS = (
    *(
        "..",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e%2f",
        "%2e%2e",
        "....%2f%2f",
        "%2fetc%2fpasswd",
        "..%5c..%5cx",
        "%00",
        "%ff",
    ),
)


@pytest.mark.parametrize("name", TRAVERSALS)
def test_no_name_leads_to_a_file(client, done, name):
    for path in (
        f"/api/runs/{name}",
        f"/api/runs/{name}/report",
        f"/api/runs/{done}/report.{name}",
        f"/api/runs/{done}/pictures/{name}",
        f"/api/runs/{done}/sources/{name}",
        f"/api/runs/{done}/sources/{name}/snapshot",
    ):
        connection = HTTPConnection("127.0.0.1", client.http.base_url.port)
        # As it stands here: a client for people would resolve the dots.
        connection.request("GET", path)
        answer = connection.getresponse()
        # A slash at the end leads to the same address without it.
        assert answer.status in (404, 307), path
        assert b"root:" not in answer.read()
        connection.close()


def test_no_answer_names_a_path_of_the_server(client, done, folder):
    paths = ("", "/progress", "/plan", "/report", "/sources", "/changes", "/report.xyz")
    answers = [client.http.get(f"/api/runs/{run}{path}") for path in paths for run in (done, "ffff1111")]
    for answer in answers:
        assert str(folder) not in answer.text
        assert "store.db" not in answer.text


def test_the_description_is_complete(client):
    document = client.http.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    described = {path: methods for path, methods in document["paths"].items() if path.startswith("/api/")}
    assert len(described) > 20
    for path, methods in described.items():
        for method, operation in methods.items():
            assert operation["description"], (method, path)
            problem = operation["responses"]["default"]["content"]["application/problem+json"]
            assert problem["schema"]["$ref"] == "#/components/schemas/Problem"
            sent = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if sent:
                assert schemas[sent["schema"]["$ref"].rpartition("/")[2]]["examples"], (method, path)
