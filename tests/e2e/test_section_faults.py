"""A section that fails is a value: the others go on, the report stands and is checked, and its limits name it."""

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
    """A reasoner with a mistake: at one act, of one section if it has any, it fails in a way that nobody foresaw."""

    def __init__(self, inner: Reasoner, act: str, title: str) -> None:
        self._inner, self._act, self._title = inner, act, title

    def __getattr__(self, name: str) -> Callable[..., Any]:
        done = getattr(self._inner, name)
        if name != self._act:
            return done

        async def act(asked: Any) -> Any:
            if not hasattr(asked, "section") or asked.section.title == self._title:
                raise KeyError("a mistake")
            return await done(asked)

        return act


def _broken_at(act: str, title: str) -> Callable[[Adapters], Adapters]:
    def change(adapters: Adapters) -> Adapters:
        build = adapters.reasoner
        assert build is not None

        def reasoner(model: ChatModel) -> Any:
            return _Broken(build(model), act, title)

        return replace(adapters, reasoner=reasoner)

    return change


def _told(folder: Path, script: Script, change: Callable[[Adapters], Adapters]) -> DeepRun:
    enough = dict.fromkeys(script.titles, 2)
    return ask(folder, DeepWorld(script, enough=enough, pages=12), change=change, depth=ENOUGH)


def _assert_sibling_is_whole(recorded: DeepRun, title: str) -> None:
    """The other section was judged to its end and written by the model, and everything told was checked."""
    assert recorded.check["passed"]
    assert recorded.stops()[title] == ["", "sufficient"]
    _, mark, chapter = recorded.report.partition(f"\n## {title}\n")
    assert mark, recorded.report
    assert "[" in chapter.partition("\n## ")[0]


@pytest.mark.parametrize(
    ("act", "language"),
    [
        ("queries", "en"),
        ("compress", "zh-Hans"),
        ("reflect", "zh-Hans"),
    ],
)
def test_a_mistake_in_one_section_costs_no_other(tmp_path: Path, act: str, language: str) -> None:
    script = SCRIPTS[language]
    lost, sibling = script.titles
    recorded = _told(tmp_path, script, _broken_at(act, lost))
    _assert_sibling_is_whole(recorded, sibling)
    plain = recorded.say("failed.unforeseen")
    assert any(recorded.say("failed.section", section=lost, reason=plain) in line for line in recorded.limits)
    assert "KeyError" not in recorded.report
    assert "a mistake" not in recorded.report, "an error's own words may hold anything"
    assert any("KeyError" in str(event.data) for event in recorded.events if event.kind == "error")


@pytest.mark.parametrize("language", first_of(SCRIPTS))
def test_what_was_found_is_quoted_where_the_text_fails(tmp_path: Path, language: str) -> None:
    script = SCRIPTS[language]
    recorded = _told(tmp_path, script, _broken_at("draft", ""))
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
def test_searches_that_fail_for_one_section_cost_no_other(tmp_path: Path, error: Exception) -> None:
    script = SCRIPTS["zh-Hans"]
    # The first section is served by what was found before the plan, too.
    sibling, lost = script.titles

    def change(adapters: Adapters) -> Adapters:
        [search] = adapters.engines
        assert isinstance(search, StaticSearch)
        return replace(adapters, engines=(_DeadSearch(search.pages, title=lost, error=error, log=search.log),))

    recorded = _told(tmp_path, script, change)
    _assert_sibling_is_whole(recorded, sibling)
    assert {str(event.data["status"]) for event in recorded.of("search-task", lost)} == {"failed"}
    reason = recorded.say("failed.unforeseen") if isinstance(error, KeyError) else str(error)
    assert any(recorded.say("failed.search", query=f"{lost} 1.1", reason=reason) in line for line in recorded.limits)


def test_pages_that_one_section_cannot_read_are_read_for_the_other(tmp_path: Path) -> None:
    script = SCRIPTS["en"]
    recorded = _told(tmp_path, script, _broken_at("extract", "Costs"))
    _assert_sibling_is_whole(recorded, "Results")
    assert not recorded.of("source", "Costs")
    [first, *_] = recorded.of("source", "Results")
    assert recorded.begun("fetch").count(str(first.data["address"])) == 1
    plain = recorded.say("failed.unforeseen")
    assert any("example/report" in line and plain in line for line in recorded.limits)


def test_pages_that_cannot_be_had_are_replaced_and_named(tmp_path: Path) -> None:
    gone = [f"https://harbour{number}.example/report" for number in range(1, 7)]

    def change(adapters: Adapters) -> Adapters:
        assert isinstance(adapters.fetcher, MemoryFetcher)
        there = {address: text for address, text in adapters.fetcher.pages.items() if address not in gone}
        return replace(adapters, fetcher=replace(adapters.fetcher, pages=there))

    recorded = _told(tmp_path, SCRIPTS["en"], change)
    _assert_sibling_is_whole(recorded, "Costs")
    _assert_sibling_is_whole(recorded, "Results")
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
    world = DeepWorld(script, enough=dict.fromkeys(script.titles, 2), pages=12)
    recorded = ask(tmp_path, world, machine=_BrokenBesides(), depth=ENOUGH)
    for title in script.titles:
        _assert_sibling_is_whole(recorded, title)
    said = words_in(report_language(script.question))
    for stage in ("analyze", "chart"):
        assert said(f"stage.{stage}") in recorded.report
