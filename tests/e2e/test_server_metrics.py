"""Does the server live, can it be used, what has it done: whoever asks learns that, and nothing private."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.analyst import answer_over_the_wire
from tests.support.model_server import ModelServer
from tests.support.server import QUESTION, Client, serving, settings_for
from tests.support.waiting import wait_until

_SAMPLE = re.compile(r"^deep_research_(\w+?)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


def _figures(client: Client) -> dict[tuple[str, str], float]:
    answer = client.http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return {(name, labels or ""): float(value) for name, labels, value in _SAMPLE.findall(answer.text)}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with ModelServer(answer_over_the_wire) as model:
        address = model.address_of("openai-compatible")
        models = {"provider": "openai-compatible:m", "openai_compatible_address": address, "depth": "quick"}
        with serving(settings_for(tmp_path_factory.mktemp("server"), cache=False, **models)) as client:
            yield client


def test_the_process_lives_and_can_be_used(client: Client) -> None:
    assert client.http.get("/health").json() == {"status": "ok"}
    # What a run needs is loaded as the server begins.
    wait_until(lambda: client.http.get("/ready").status_code == 200)


def test_what_runs_did_is_counted_by_kind_and_never_by_content(client: Client) -> None:
    run = client.finished()["id"]
    client.http.get(f"/api/runs/{run}")
    client.http.get("/secret-path-of-somebody")
    client.http.request("BREW", "/api/runs")
    wait_until(lambda: _figures(client)["runs_under_way", ""] == 0)
    figures = _figures(client)
    assert figures["runs", 'status="done"'] == 1
    assert figures["run_seconds_count", 'status="done"'] == 1
    assert figures["requests_total", 'method="POST",route="/api/runs",status="201"'] == 1
    assert figures["requests_total", 'method="GET",route="/api/runs/{run}",status="200"'] >= 2
    assert figures["requests_total", 'method="GET",route="other",status="404"'] == 1
    assert figures["searches_total", 'outcome="done",source="local"'] >= 1
    assert figures["pages_total", 'outcome="done"'] >= 1
    assert figures["events_total", 'kind="final-report"'] == 1
    for kind in ("read", "written"):
        assert figures["model_tokens_total", f'direction="{kind}",model="openai-compatible:m"'] > 100
    assert figures["model_calls_total", 'model="openai-compatible:m",outcome="done"'] >= 3
    text = client.http.get("/metrics").text
    for private in (run, QUESTION, "plant", "secret-path", "BREW", "examples"):
        assert private not in text


def test_a_store_that_cannot_be_written_is_not_ready_and_the_process_lives(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with serving(settings) as client:
        wait_until(lambda: client.http.get("/ready").status_code == 200)
        settings.home.rename(tmp_path / "gone")
        answer = client.http.get("/ready")
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
        assert str(tmp_path) not in answer.text
        assert client.http.get("/health").status_code == 200
        (tmp_path / "gone").rename(settings.home)
        assert client.http.get("/ready").status_code == 200
