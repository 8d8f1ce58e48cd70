"""The examples run as they stand, with a model and without."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from deep_research import build_deep_research_graph, research, run_deep_research
from deep_research.errors import ConfigurationError
from deep_research.settings import Settings
from tests.e2e.harness import User
from tests.support.analyst import answer_over_the_wire
from tests.support.model_dialects import Answer, Asked
from tests.support.model_server import ModelServer
from tests.support.waiting import HANG_S

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCUMENTS = EXAMPLES / "documents"
QUESTION = "How much did the Harbour Heat retrofit cost?"


@pytest.mark.long
def test_the_python_example_runs(tmp_path: Path) -> None:
    user = User(tmp_path)
    command = [sys.executable, str(EXAMPLES / "from_python.py")]
    ended = subprocess.run(
        command, cwd=tmp_path, env=user.environment(), capture_output=True, text=True, timeout=HANG_S
    )
    assert ended.returncode == 0, ended.stderr
    first, second = ended.stdout.splitlines()[-2:]
    assert "verified" in first
    assert "NOT" not in first
    assert second.startswith("# ")


@pytest.mark.long
async def test_document_002s_form_with_a_model_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ModelServer(answer_over_the_wire) as server:
        monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-test")
        monkeypatch.setenv("DEEP_RESEARCH_QWEN_ADDRESS", server.address_of("qwen"))
        graph = build_deep_research_graph(
            model_provider="aliyun", model_name="qwen-max", max_iterations=1, docs=DOCUMENTS
        )
        text = await run_deep_research(query=QUESTION, graph=graph)
    assert "146.2 million" in text
    assert {asked.model for asked in server.requests} == {"qwen-max"}
    assert all(asked.headers["authorization"] == "Bearer sk-test" for asked in server.requests)


async def test_a_value_that_does_not_fit_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="max_iterations"):
        build_deep_research_graph(max_iterations=99)
    with pytest.raises(ConfigurationError, match="provider"):
        await research(
            QUESTION, docs=DOCUMENTS, model="nobody:x", settings=Settings(home=tmp_path / "home", strategy="local")
        )


@pytest.mark.long
async def test_ten_runs_at_once_share_one_limit_on_calls_in_flight(tmp_path: Path) -> None:
    def slowly(asked: Asked) -> Answer:
        answer = answer_over_the_wire(asked)
        return Answer(text=answer.text, tokens_in=answer.tokens_in, delay_s=0.02, piece_chars=10_000)

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("The harbour retrofit cost €146.2 million in 2025.\n", encoding="utf-8")
    with ModelServer(slowly) as server:
        settings = Settings(
            home=tmp_path / "home",
            logs=tmp_path / "logs",
            docs=tmp_path / "docs",
            provider="openai-compatible:test",
            openai_compatible_address=server.address_of("openai-compatible"),
            model_calls_in_flight=3,
            max_iterations=1,
            queries_first_iteration=2,
            strategy="local",
            cache=False,
            charts=False,
        )
        question = "What did the harbour retrofit cost in 2025?"
        reports = await asyncio.gather(*(research(question, settings=settings) for _ in range(10)))
    assert len({report.run for report in reports}) == 10
    assert all(report.is_verified for report in reports)
    assert server.peak == 3
    # Model answers are not shared between runs: each of the ten paid for its own.
    assert len(server.requests) % 10 == 0
