"""Requests that nobody means: everything that the description of the API allows, and texts that break programs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from deep_research.export.formats import FORMATS
from deep_research.reasoning.rules.question.clarifier import clean_question
from deep_research.server.app import create_app
from tests.support.server import QUESTION, Client, serving, settings_for
from tests.support.waiting import HANG_S

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
HOSTILE = Path(__file__).parents[3] / "shared" / "evaldata" / "hostile" / "naughty_strings.json"
# Some that every machine has: markup, a formula, half a character, control and direction marks, a path, SQL.
FEW = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' /C calc'!A0",
    "\x00\x01\x1b[31m\x7f",
    "\u202etxt.exe\u2066",
    "../../../etc/passwd%00",
    "'; DROP TABLE runs; --",
    "{{ 7 * 7 }} ${7*7} %s %n {0}",
    "田中さんにあげて下さい 👩‍👩‍👧 ﷽",
    "https://example.org/\r\nSet-Cookie: a=b",
]


@pytest.fixture(params=["few", pytest.param("all", marks=pytest.mark.long)])
def naughty(request: pytest.FixtureRequest) -> list[str]:
    """Texts that have broken programs."""
    if request.param == "few":
        return FEW
    if not HOSTILE.exists():
        pytest.skip(f"{HOSTILE.name} is not here")
    return [text for text in json.loads(HOSTILE.read_text(encoding="utf-8")) if text]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(settings_for(tmp_path_factory.mktemp("server"), server_runs_at_once=1)) as started:
        yield started


@pytest.fixture(scope="module")
def done(client: Client) -> str:
    return str(client.finished()["id"])


def _described() -> Any:
    """Return the description of the API, but for its streams, which do not end."""
    loaded = schemathesis.openapi.from_dict(create_app(settings_for(Path("unused"))).openapi())
    return loaded.include(path_regex="^/api/").exclude(path_regex="/events$")


described = _described()


@pytest.mark.long
# Schemathesis draws by chance inside its strategies.
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")
@described.parametrize()
@settings(
    max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
def test_no_request_is_answered_otherwise_than_described(case, client, done):
    run = case.path_parameters.get("run")
    if run is not None:
        # Half of them are about a run that is there, which must stay.
        is_kept = case.method == "DELETE" or len(str(run)) % 2
        case.path_parameters["run"] = run if is_kept else done
    case.call_and_validate(base_url=client.address, checks=CHECKS, timeout=HANG_S)


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    """Send JSON in which half characters are spelled as they are in JSON."""
    content = json.dumps(body, ensure_ascii=True).encode()
    return client.http.post(path, content=content, headers={"Content-Type": "application/json"})


def test_half_characters_are_refused_everywhere(client, done):
    half = "\ud800 half"
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/api/runs", {"question": half}),
        ("/api/estimate", {"question": QUESTION, "context": half}),
        (f"/api/runs/{done}/answer", {"answer": half}),
        (f"/api/runs/{done}/focus", {"focus": [half]}),
        (f"/api/runs/{done}/follow-up", {"question": half}),
        *(("/api/runs", {"question": QUESTION, name: half}) for name in ("follow", "documents", half)),
        *(("/api/runs", {"question": QUESTION, name: [half]}) for name in ("tags", "focus", "sites")),
    ]
    for path, body in asked:
        answer = post(client, path, body)
        assert answer.status_code == 422, (path, answer.text)
        assert answer.json()["status"] == 422


def test_naughty_texts_come_back_unchanged_or_are_refused(client, done, naughty):
    for text in naughty:
        tagged = client.http.patch(f"/api/runs/{done}", json={"tags": [text[:100]]})
        if tagged.status_code == 200:
            assert tagged.json()["tags"] == [text[:100]], text
            found = client.http.get("/api/runs", params={"tag": text[:100]}).json()["runs"]
            assert [run["id"] for run in found] == [done], text
        else:
            assert tagged.status_code == 422
            assert not text.strip() or any(ord(one) < 32 or ord(one) == 127 for one in text), text
        assert client.http.get("/api/runs", params={"q": text[:200]}).status_code == 200
        given = {"question": QUESTION, "context": text, "focus": [text[:200]], "sites": [text[:300]]}
        assert client.http.post("/api/estimate", json=given).status_code in (200, 422), text
        assert client.http.post("/api/runs", json=given | {"documents": text[:64]}).status_code in (404, 422), text
        assert client.http.post("/api/runs", json={"question": QUESTION, "follow": text[:64]}).status_code == 404, text


def test_naughty_questions_come_back_as_one_line(client, naughty):
    for text in naughty:
        answer = client.http.post("/api/runs", json={"question": text, "confirm_plan": True, "clarify": "off"})
        if not clean_question(text):
            assert answer.status_code == 422, text
            continue
        assert answer.json()["question"] == clean_question(text)
        run = answer.json()["id"]
        assert client.http.post(f"/api/runs/{run}/cancel").status_code == 200


def test_a_report_with_naughty_titles_is_exported_in_every_format(client):
    run = client.wait(client.ask(f"{QUESTION} {FEW[0]} {FEW[4]}", confirm_plan=True)["id"])["id"]
    titles = [FEW[0], FEW[1], FEW[2], FEW[7], FEW[8]]
    sections = [{"title": title, "search_queries": ["heat pump cost", FEW[6]]} for title in titles]
    answer = client.http.put(f"/api/runs/{run}/plan", json={"research_title": FEW[0], "sections": sections})
    assert answer.status_code == 200, answer.text
    assert client.wait(run)["status"] == "done"
    plan = client.http.get(f"/api/runs/{run}/plan").json()["plan"]
    assert [section["title"] for section in plan["sections"]] == titles
    for name in FORMATS:
        answer = client.http.get(f"/api/runs/{run}/report.{name}")
        assert answer.status_code == 200, (name, answer.text)
        assert "\r" not in answer.headers["content-disposition"]
    page = client.http.get(f"/api/runs/{run}/report.html").text
    assert FEW[0] not in page
    assert "onerror=alert(1)>" not in page
