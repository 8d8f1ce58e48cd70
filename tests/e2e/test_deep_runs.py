"""Deep runs as their events, rounds and calls tell them: side by side, nothing twice, more queries for what is thin."""

import json
from pathlib import Path
from typing import Any

import pytest

from deep_research.llm.port import ModelRequest
from deep_research.llm.tokens import tokens_at_most
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.state import RunState, Update
from deep_research.request import Budget, Depth
from tests.e2e.deep_run import DeepRun, ask
from tests.e2e.deep_world import CHINESE, ENGLISH, DeepWorld, Script
from tests.support.longer import first_of

DEEP = Depth.named("deep")
TWO = ENGLISH.only("Costs", "Results")
# What the first four sections need; the fifth has two queries of its own, and none for a second round.
CONTENT_AFTER = (2, 2, 3, 3, 4)


@pytest.fixture(scope="module", params=first_of([ENGLISH, CHINESE]), ids=["en", "zh-Hans"])
def deep(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DeepRun:
    script: Script = request.param
    enough = dict(zip(script.titles, CONTENT_AFTER, strict=True))
    return ask(tmp_path_factory.mktemp("deep"), DeepWorld(script, enough=enough, late=script.titles[3], more=5))


def test_sections_are_searched_for_side_by_side(deep: DeepRun) -> None:
    titles = deep.world.script.titles
    tasks = {title: [event.seq for event in deep.of("search-task", title)] for title in titles}
    for title in titles:
        others = [own for other, own in tasks.items() if other != title]
        assert any(own[0] < seq < own[-1] for own in others for seq in tasks[title]), f"{title} was alone"
    judged = {title: deep.of("section-coverage", title) for title in titles}
    begun = {title: deep.of("serp-query", title)[0].at for title in titles}
    assert max(begun.values()) < min(events[0].at for events in judged.values()), "one waited for another's round"
    assert judged[titles[0]][-1].at < deep.of("search-task", titles[3])[0].at, "a round was a barrier"


def test_no_page_is_fetched_or_summarised_twice(deep: DeepRun) -> None:
    found: dict[str, set[str]] = {}
    for event in deep.events:
        if event.kind == "source":
            found.setdefault(str(event.data["address"]), set()).add(str(event.data["section"]))
    assert sum(len(sections) > 1 for sections in found.values()) >= 5, "too few pages were found by several sections"
    fetched = deep.begun("fetch")
    assert sorted(fetched) == sorted(found)
    assert len(deep.scopes("fetch")) == len(fetched) == len(set(fetched))
    prompts = [request.text for request in deep.world.analyst.requests]
    assert len(prompts) == len(set(prompts)), "the model was asked the same twice"
    assert deep.begun("llm").count("extract") == len(fetched)


def test_unused_queries_go_to_the_thin_section(deep: DeepRun) -> None:
    *_, thin = deep.world.script.titles
    [dealt, done] = [event for event in deep.events if event.data.get("step") == "supervise"]
    # Of 40 queries the others used four each, the thin section both of its own.
    assert dealt.data["data"] == {"dealt": {thin: 40 - 16 - 2}}
    assert done.data["data"] == {"dealt": {}}
    before = [event for event in deep.of("search-task", thin) if event.seq < dealt.seq]
    after = [event for event in deep.of("search-task", thin) if event.seq > dealt.seq]
    assert (len(before), len(after)) == (2, 3 * DEEP.queries_followup_iteration)
    # It is judged between the rounds, and what it does not need is not asked.
    assert deep.stops()[thin] == ["budget", "", "", "sufficient"]
    assert len(deep.begun("search")) == 16 + 2 + 12 < DEEP.max_total_queries


def test_every_round_is_told_and_kept(deep: DeepRun) -> None:
    assert deep.check["passed"]
    kept = [(line["section"], line["round"], line["stop"], line["score"], line["searched"]) for line in deep.rounds]
    recorded = [
        (
            title,
            event.data["round"],
            event.data["stop"],
            event.data["score"],
            _searched(deep, title, event.data["round"]),
        )
        for title in deep.world.script.titles
        for event in deep.of("section-coverage", title)
    ]
    assert kept == recorded
    assert len(kept) == sum(CONTENT_AFTER)
    assert [stops[-1] for stops in deep.stops().values()] == ["sufficient"] * 5
    assert all(f"\n## {title}\n" in deep.report for title in deep.world.script.titles)


def _searched(deep: DeepRun, title: str, number: Any) -> int:
    return sum(f"/round/{number}/" in event.key for event in deep.of("search-task", title))


def test_a_thin_section_uses_its_share_though_few_queries_are_offered_at_a_time(tmp_path: Path) -> None:
    def reflect(request: ModelRequest) -> str:
        # One query after each round, whatever may be asked.
        judged = json.loads(world.reflect(request))
        return json.dumps(judged | {"next_queries": [f"more on {judged['gaps'][0]}"]})

    world = DeepWorld(TWO, enough={"Costs": 1}, answers={"reflect": reflect})
    depth = Depth(max_iterations=6, queries_first_iteration=2, queries_followup_iteration=1, max_total_queries=7)
    recorded = ask(tmp_path, world, depth=depth)
    assert recorded.stops() == {"Costs": ["sufficient"], "Results": ["budget", "", "", "", "", "iterations"]}
    assert len(recorded.asked("Results")) == 6


# The four ends of a section


def test_a_run_ends_when_all_sections_suffice(tmp_path: Path) -> None:
    recorded = ask(tmp_path, DeepWorld(TWO, enough={"Costs": 1, "Results": 2}, hits_a_query=1))
    assert recorded.stops() == {"Costs": ["sufficient"], "Results": ["", "sufficient"]}
    assert recorded.last_stops() == {"Costs": "sufficient", "Results": "sufficient"}
    # Of 40 queries, 6 a section in the first round and 2 for the second.
    assert len(recorded.begun("search")) == 12 + 2


@pytest.mark.parametrize(
    "given_request",
    [
        {"depth": DEEP.model_copy(update={"max_total_queries": 15})},
        {"budget": Budget(queries=15)},
    ],
    ids=["depth", "budget"],
)
def test_a_run_ends_when_its_queries_are_spent(tmp_path: Path, given_request: dict[str, Any]) -> None:
    recorded = ask(tmp_path, DeepWorld(TWO, pages=60, hits_a_query=1), **given_request)
    assert recorded.last_stops() == {"Costs": "budget", "Results": "budget"}
    assert len(recorded.begun("search")) == 15
    assert max(line["round"] for line in recorded.rounds) == 2 < DEEP.max_iterations
    assert ("query budget of 15" in recorded.report) == ("budget" in given_request)


def test_a_run_ends_with_its_last_round_though_queries_are_left(tmp_path: Path) -> None:
    depth = DEEP.model_copy(update={"max_iterations": 3})
    recorded = ask(tmp_path, DeepWorld(TWO, pages=60, hits_a_query=1), depth=depth)
    assert recorded.stops() == {"Costs": ["", "", "iterations"], "Results": ["", "", "iterations"]}
    assert recorded.last_stops() == {"Costs": "iterations", "Results": "iterations"}
    assert len(recorded.begun("search")) == 12 + 4 + 4 < DEEP.max_total_queries


def test_a_run_ends_when_a_round_brings_nothing_new(tmp_path: Path) -> None:
    recorded = ask(tmp_path, DeepWorld(TWO, pages=3, hits_a_query=3))
    assert recorded.stops() == {"Costs": ["", "exhausted"], "Results": ["", "exhausted"]}
    assert recorded.last_stops() == {"Costs": "exhausted", "Results": "exhausted"}
    assert len(recorded.begun("search")) == 12 + 4
    assert len(recorded.begun("fetch")) == 3


# Eight rounds with far more findings than there is room for


class _Watched(StateMachine):
    """Notes how much evidence a section carries into each reflection."""

    def __init__(self) -> None:
        super().__init__()
        self.carried: list[int] = []

    async def _stage_reflect(self, state: RunState) -> Update | bool:
        self.carried.append(len(state.input["evidence"]))
        return await super()._stage_reflect(state)


@pytest.mark.long
def test_eight_rounds_end_by_iterations_and_what_a_section_carries_stays_bounded(tmp_path: Path) -> None:
    machine = _Watched()
    recorded = ask(tmp_path, DeepWorld(ENGLISH.only("Costs"), pages=80, more=20), machine=machine)
    assert recorded.stops() == {"Costs": [*[""] * 7, "iterations"]}
    assert len(recorded.begun("search")) == 12 + 7 * 4
    room = 24
    found = sum(line["evidence"] for line in recorded.rounds)
    assert found > 2 * room
    # There is room for so many sentences; a passage has three.
    assert machine.carried[1:] == [room // 3] * 7
    sizes: dict[str, list[int]] = {}
    for request in recorded.world.analyst.requests:
        sizes.setdefault(request.act, []).append(tokens_at_most(request.text))
    assert len(sizes["reflect"]) >= 7
    assert max(sizes["reflect"][2:]) <= 1.1 * sizes["reflect"][1], f"it grows: {sizes['reflect']}"
    assert "compress" not in sizes, "room is made by rules"


def test_short_pages_are_read_whole_and_without_a_call(tmp_path: Path) -> None:
    recorded = ask(tmp_path, DeepWorld(TWO, enough={"Costs": 1, "Results": 1}))
    assert recorded.begun("fetch")
    assert "extract" not in recorded.begun("llm")
    assert recorded.check["passed"]
    read = {number for number in range(1, 25) if f"harbour{number}.example" in recorded.report}
    assert len(read) == len(recorded.begun("fetch")), "every page is a source"
