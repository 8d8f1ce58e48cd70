"""Scopes are keys of journals and events: a run that an older program began goes on only where they stay the same."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deep_research.pipeline.adapters import Adapters
from deep_research.reasoning.model.prompting import PromptOptions
from deep_research.request import Depth, SearchEngineConfig
from deep_research.testing import StaticSearch
from tests.e2e.deep_run import ask
from tests.e2e.deep_world import ENGLISH, DeepWorld
from tests.e2e.harness import Lab, User
from tests.support.analyst import ScriptedAnalyst
from tests.support.world import numbered_pages, with_models


@pytest.mark.long
def test_scopes_of_journal_and_events_never_change(tmp_path: Path) -> None:
    scripted, analyst, asked = (User(tmp_path / name) for name in ("scripted", "analyst", "asked"))
    search = SearchEngineConfig(parallel_strategy="race")
    _to_its_end(Lab(scripted, charts=True), "What did the projects cost and achieve?")
    _to_its_end(Lab(analyst, change=_two_engines, charts=True), "Assess the projects", confirm_plan=True, search=search)
    _to_its_end(Lab(asked, change=_without_model, charts=True), "The XYZ123 gene")
    users = (scripted, analyst, asked, _in_chapters(tmp_path / "chapters"))
    calls = {f"{call.kind} {_pattern(call.scope)}" for user in users for call in user.journal()}
    events = {_pattern(event.key).rpartition(":")[0] for user in users for event in user.events()}
    assert sorted(calls) == CALLS.split("\n")[1:-1]
    assert sorted(events) == EVENTS.split()


def _to_its_end(lab: Lab, question: str, **given_request: Any) -> None:
    row = lab.ask(question, interactive=True, **given_request)
    while row.status == "waiting":
        row = lab.answer(row.id, "approve" if (row.pending or {})["kind"] == "plan-approval" else "1")
    assert row.status == "done"


def _in_chapters(folder: Path) -> User:
    """Return the user of a run whose report is long enough for chapters."""
    world = DeepWorld(ENGLISH.only("Costs", "Results"), enough=1, pages=60)
    window = PromptOptions(window=120_000)
    given: dict[str, Any] = {"depth": Depth.named("deep"), "length": "deep"}
    return ask(folder, world, change=lambda own: with_models(own, world.analyst, options=window), **given).user


def _two_engines(adapters: Adapters) -> Adapters:
    hits, _ = numbered_pages(8)
    engines = (StaticSearch(hits, name="first"), StaticSearch(hits, name="second"))
    return with_models(replace(adapters, engines=engines), ScriptedAnalyst())


def _without_model(adapters: Adapters) -> Adapters:
    return replace(adapters, models=(), reasoner=None)


def _pattern(scope: str) -> str:
    """Return a scope with its numbers left out."""
    named = re.sub(r"https://(?:example.test/page/\d+|harbour\d+.example/report)", "ADDRESS", scope)
    return re.sub(r"(?<=/)\d+(?=/|:|$)", "N", re.sub(r"(?<=/)[0-9a-f]{12}(?=:)", "DOCUMENT", named))


CALLS = """
cache plan/plan
decision chart/sandbox
decision draft/words
decision section/N/round/N/choose/map/N
decision section/N/round/N/choose/pages
decision section/N/round/N/focus
decision section/N/round/N/map/N
decision section/N/round/N/reflect/map/N
decision section/N/round/N/reflect/sources
decision section/N/round/N/task/N/race
decision supervise/N/focus
decision supervise/N/map/N
fetch fetch/ADDRESS
llm chart
llm draft
llm draft/chapter/N
llm intake/N
llm plan
llm section/N/round/N
llm section/N/round/N/batch/N
llm section/N/round/N/compress
llm section/N/round/N/reflect
llm verify/section/N
llm write
llm write/chapter/N
query plan/scout/N/query
query section/N/round/N/task/N/query
query verify_topic/N/term/N/query
search plan/scout/N/static
search section/N/round/N/task/N/first
search section/N/round/N/task/N/second
search section/N/round/N/task/N/static
search verify_topic/N/term/N/static
"""
EVENTS = """
chart-planning:chart
clarification:ask/N
final-report:write
message:draft
message:draft/chapter/N
message:plan
plan-approval:confirm
plan-approval:confirm/N
progress:analyze
progress:audit
progress:cache
progress:chart
progress:draft
progress:intake/N
progress:plan
progress:section/N/round/N/batch/N
progress:section/N/round/N/compress
progress:section/N/round/N/reflect
progress:section/N/round/N/task/N
progress:supervise/N
progress:verify
progress:write
report-plan:confirm
research-map:section/N/round/N
research-map:section/N/round/N/reflect
run-status:epoch/N
search-task:section/N/round/N/task/N
section-coverage:section/N/round/N/reflect
serp-query:section/N/round/N
source:section/N/round/N/batch/N/DOCUMENT
verdict:verify/section/N
verdict:write/abstract/section/N
verdict:write/analysis/section/N
verdict:write/chapters/section/N
"""
