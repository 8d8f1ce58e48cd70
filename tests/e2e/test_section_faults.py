"""A part that fails is a value: the others go on, the report stands and is checked, and its limits name it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import NetworkError
from deep_research.llm.port import ChatModel
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.state import RunState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import Depth
from deep_research.testing import MemoryFetcher, StaticSearch
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import words_in
from tests.e2e.deep_run import DeepRun, ask
from tests.e2e.deep_world import CHINESE, ENGLISH, DeepWorld, Script
from tests.support.longer import first_of

SCRIPTS = {"en": ENGLISH.only("Costs", "Results"), "zh-Hans": CHINESE.only("成本", "成效")}
ENOUGH = Depth(max_iterations=3, queries_first_iteration=4, queries_followup_iteration=4, max_total_queries=12)


class _Broken:
    """A reasoner with a mistake: at one act, where it is asked for such a thing, it fails in a way nobody foresaw."""

    def __init__(self, inner: Reasoner, act: str, is_broken: Callable[[Any], bool]) -> None:
        self._inner, self._act, self._is_broken = inner, act, is_broken

    def __getattr__(self, name: str) -> Callable[..., Any]:
        done = getattr(self._inner, name)
        if name != self._act:
            return done

        async def act(asked: Any) -> Any:
            if self._is_broken(asked):
                raise KeyError("a mistake")
            return await done(asked)

        return act


def _broken_at(act: str, is_broken: Callable[[Any], bool] = lambda _: True) -> Callable[[Adapters], Adapters]:
    def change(adapters: Adapters) -> Adapters:
        build = adapters.reasoner
        assert build is not None

        def reasoner(model: ChatModel) -> Any:
            return _Broken(build(model), act, is_broken)

        return replace(adapters, reasoner=reasoner)

    return change


def _told(folder: Path, script: Script, change: Callable[[Adapters], Adapters], *, planned: int = 2) -> DeepRun:
    world = DeepWorld(script, enough=2, planned=planned, pages=12, hits_a_query=4)
    return ask(folder, world, change=change, depth=ENOUGH)


def _assert_whole(recorded: DeepRun, *titles: str) -> None:
    """The section was written by the model with its sources, and everything told was checked."""
    assert recorded.check["passed"]
    for title in titles:
        _, mark, chapter = recorded.report.partition(f"\n## {title}\n")
        assert mark, recorded.report
        assert "[" in chapter.partition("\n## ")[0]


@pytest.mark.parametrize(
    ("act", "language", "planned", "stops"),
    [
        # What was planned is asked all the same.
        ("queries", "en", 1, [""]),
        ("compress", "zh-Hans", 2, ["", "sufficient"]),
        # Who cannot judge knows nothing to look for.
        ("reflect", "zh-Hans", 2, []),
    ],
)
def test_a_mistake_in_a_round_costs_no_more_than_its_act(
    tmp_path: Path, act: str, language: str, planned: int, stops: list[str]
) -> None:
    script = SCRIPTS[language]
    recorded = _told(tmp_path, script, _broken_at(act), planned=planned)
    _assert_whole(recorded, *script.titles)
    assert recorded.stops() == dict.fromkeys(script.titles, stops)
    plain = recorded.say("failed.unforeseen")
    assert any(
        recorded.say("failed.section", section=script.question, reason=plain) in line for line in recorded.limits
    )
    assert "KeyError" not in recorded.report
    assert "a mistake" not in recorded.report, "an error's own words may hold anything"
    assert any("KeyError" in str(event.data) for event in recorded.events if event.kind == "error")


@pytest.mark.parametrize("language", first_of(SCRIPTS))
def test_what_was_found_is_quoted_where_the_text_fails(tmp_path: Path, language: str) -> None:
    script = SCRIPTS[language]
    recorded = _told(tmp_path, script, _broken_at("draft"))
    assert recorded.check["passed"]
    assert ("The costs of harbour project" if language == "en" else "港口项目9的成本") in recorded.report
    assert "As reported" not in recorded.report, "no model wrote it"
    assert "资料显示" not in recorded.report
    assert any(recorded.say("failed.unforeseen") in line for line in recorded.limits)
    assert "KeyError" not in recorded.report


@dataclass
class _DeadSearch(StaticSearch):
    """Finds nothing for one section."""

    title: str = ""
    error: Exception = NetworkError("the engine does not answer")

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        if query.query.startswith(self.title):
            raise self.error
        return await super().search(query, limit=limit)


@pytest.mark.parametrize("error", [NetworkError("the engine does not answer"), KeyError("a mistake")], ids=repr)
def test_searches_that_fail_cost_no_other(tmp_path: Path, error: Exception) -> None:
    script = SCRIPTS["zh-Hans"]
    # The first section is served by what was found before the plan, too.
    sibling, lost = script.titles

    def change(adapters: Adapters) -> Adapters:
        [search] = adapters.engines
        assert isinstance(search, StaticSearch)
        return replace(adapters, engines=(_DeadSearch(search.pages, title=lost, error=error, log=search.log),))

    recorded = _told(tmp_path, script, change)
    # The pages that others found speak of it.
    _assert_whole(recorded, sibling, lost)
    assert {str(event.data["status"]) for event in recorded.of("search-task", lost)} == {"failed"}
    assert {str(event.data["status"]) for event in recorded.of("search-task", sibling)} == {"done"}
    reason = recorded.say("failed.unforeseen") if isinstance(error, KeyError) else str(error)
    assert any(recorded.say("failed.search", query=f"{lost} 1.1", reason=reason) in line for line in recorded.limits)


def test_documents_that_cannot_be_made_sense_of_cost_no_others(tmp_path: Path) -> None:
    script, read = SCRIPTS["en"], []

    def is_broken(asked: Any) -> bool:
        # The first documents that are read at once.
        read.append({document.title for document in asked.documents})
        return len(read) == 1

    recorded = _told(tmp_path, script, _broken_at("extract", is_broken))
    _assert_whole(recorded, *script.titles)
    assert len(read) > 1, "all were read at once"
    evidence = {str(event.data["title"]): event.data["evidence"] for event in recorded.events if event.kind == "source"}
    assert {title for title, count in evidence.items() if not count} == read[0]
    assert len(recorded.begun("fetch")) == len(evidence)
    plain = recorded.say("failed.unforeseen")
    assert any("example/report" in line and plain in line for line in recorded.limits)


def test_pages_that_cannot_be_had_are_replaced_and_named(tmp_path: Path) -> None:
    gone = [f"https://harbour{number}.example/report" for number in range(1, 7)]

    def change(adapters: Adapters) -> Adapters:
        assert isinstance(adapters.fetcher, MemoryFetcher)
        there = {address: text for address, text in adapters.fetcher.pages.items() if address not in gone}
        return replace(adapters, fetcher=replace(adapters.fetcher, pages=there))

    recorded = _told(tmp_path, SCRIPTS["en"], change)
    _assert_whole(recorded, "Costs", "Results")
    tried = {address for address in recorded.begun("fetch") if address in gone}
    assert tried
    assert all(any(address in line for line in recorded.limits) for address in tried)


class _BrokenBesides(StateMachine):
    """A machine with a mistake in what a report can do without."""

    async def _stage_analyze(self, state: RunState) -> Update | bool:
        raise KeyError("a mistake")

    async def _stage_chart(self, state: RunState) -> Update | bool:
        raise KeyError("a mistake")


@pytest.mark.parametrize("language", first_of(SCRIPTS))
def test_analysis_and_charts_that_fail_cost_a_report_nothing_else(tmp_path, language):
    script = SCRIPTS[language]
    world = DeepWorld(script, enough=2, pages=12)
    recorded = ask(tmp_path, world, machine=_BrokenBesides(), depth=ENOUGH)
    _assert_whole(recorded, *script.titles)
    said = words_in(report_language(script.question))
    for stage in ("analyze", "chart"):
        assert said(f"stage.{stage}") in recorded.report
