"""Deep runs as their events, rounds and calls tell them: all at once, nothing twice, and how they end."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from deep_research.llm.port import ModelRequest
from deep_research.llm.tokens import tokens_at_most
from deep_research.request import Budget, Depth
from tests.e2e.deep_run import DEEP, DeepRun, ask
from tests.e2e.deep_world import CHINESE, ENGLISH, DeepWorld, Script
from tests.support.longer import first_of

TWO = ENGLISH.only("Costs", "Results")
# So many of the queries of the first round are answered only when all of them are asked.
TOGETHER = 6


@pytest.fixture(scope="module", params=first_of([ENGLISH, CHINESE]), ids=["en", "zh-Hans"])
def deep(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DeepRun:
    script: Script = request.param
    world = DeepWorld(script, enough=3, planned=3, more=5, together=TOGETHER)
    return ask(tmp_path_factory.mktemp("deep"), world)


def test_the_queries_of_a_round_are_asked_at_once_and_each_section_has_its_own(deep: DeepRun) -> None:
    # Who asked one after the other would wait for answers until searching fails.
    assert {str(event.data["status"]) for event in deep.events if event.kind == "search-task"} == {"done"}
    # The first round has room for twelve queries; one was asked before the plan, and stands with the first section.
    first = [[q for q in deep.asked(title) if q.startswith(title)] for title in deep.world.script.titles]
    assert [len(own) for own in first] == [2, 3, 2, 2, 2]


def test_no_page_is_fetched_or_read_twice(deep: DeepRun) -> None:
    read = [str(event.data["address"]) for event in deep.events if event.kind == "source"]
    fetched = deep.begun("fetch")
    assert sorted(fetched) == sorted(read)
    assert len(deep.scopes("fetch")) == len(fetched) == len(set(fetched)) > 12
    prompts = [request.text for request in deep.world.analyst.requests]
    assert len(prompts) == len(set(prompts)), "the model was asked the same twice"
    offered = [request.prompt for request in deep.world.analyst.requests if request.act == "extract"]
    assert len(offered) < len(fetched), "several pages are read in one call"
    names = [deep.world.script.page.format(n=n) for n in range(1, deep.world.pages + 1)]
    counts = [len(re.findall(rf"Title: {name}(?!\d)", "\n".join(offered))) for name in names]
    assert sorted(counts) == [0] * (len(names) - len(fetched)) + [1] * len(fetched)


def test_every_round_is_told_and_kept(deep: DeepRun) -> None:
    assert deep.check["passed"]
    titles = deep.world.script.titles
    kept = [(line["section"], line["round"], line["stop"], line["score"], line["searched"]) for line in deep.rounds]
    recorded = [
        (
            title,
            event.data["round"],
            event.data["stop"],
            event.data["score"],
            _searched(deep, title, event.data["round"]),
        )
        for title in titles
        for event in deep.of("section-coverage", title)
    ]
    assert kept == recorded
    assert len(kept) == 3 * len(titles)
    assert set(map(tuple, deep.stops().values())) == {("", "", "sufficient")}
    searched, pages = (sum(line[name] for line in deep.rounds) for name in ("searched", "pages"))
    assert (searched, pages) == (12 + 2 * DEEP.queries_followup_iteration, len(deep.begun("fetch")))
    assert all(f"\n## {title}\n" in deep.report for title in titles)


def _searched(deep: DeepRun, title: str, number: Any) -> int:
    return sum(f"/round/{number}/" in event.key for event in deep.of("search-task", title))


def test_a_judge_adds_to_what_is_known_and_sees_what_the_round_found(deep: DeepRun) -> None:
    prompts = [request for request in deep.world.analyst.requests if request.act == "reflect"]
    assert ["Round 1 told more." in each.prompt for each in prompts] == [False, True, True]
    assert ["Round 2 told more." in each.prompt for each in prompts] == [False, False, True]
    shown = [{piece for piece in each.context if piece.startswith("<source")} for each in prompts]
    assert all(shown)
    assert not shown[0] & shown[1]


def test_queries_that_a_round_does_not_use_are_left_to_later_ones(tmp_path: Path) -> None:
    def reflect(request: ModelRequest) -> str:
        # One query after each round, whatever may be asked.
        judged = json.loads(world.reflect(request))
        return json.dumps(judged | {"next_queries": [f"more on {judged['gaps'][0]}"]})

    world = DeepWorld(TWO, pages=60, hits_a_query=1, answers={"reflect": reflect})
    depth = Depth(max_iterations=6, queries_first_iteration=2, queries_followup_iteration=2, max_total_queries=8)
    recorded = ask(tmp_path, world, depth=depth)
    assert set(map(tuple, recorded.stops().values())) == {("", "", "", "", "", "iterations")}
    assert len(recorded.begun("search")) == 2 + 5


def test_what_is_looked_for_makes_the_queries_and_is_told_with_where_it_stands(tmp_path: Path) -> None:
    # One that pages name, one that none does, and one that there is no query left for.
    world = DeepWorld(TWO, planned=1, entries=("Harbour project 3", "The Atlantis treaty", "The moon base"), pages=3)
    depth = Depth(max_iterations=1, queries_first_iteration=5, queries_followup_iteration=1, max_total_queries=5)
    recorded = ask(tmp_path, world, depth=depth)
    assert [query for query in recorded.asked("Costs") if query in world.entries] == list(world.entries[:2])
    told: Any = [event.data["entries"] for event in recorded.events if event.kind == "research-map"][-1]
    assert {entry["name"]: (entry["status"], entry["queries"]) for entry in told} == {
        "Harbour project 3": ("found", ["Harbour project 3"]),
        "The Atlantis treaty": ("open", ["The Atlantis treaty"]),
        "The moon base": ("open", []),
    }
    kept = [json.loads(line) for line in (recorded.folder / "map.json").read_text(encoding="utf-8").splitlines()]
    assert kept == told


# The four ends of a run


def test_a_run_ends_when_its_evidence_suffices(tmp_path: Path) -> None:
    recorded = ask(tmp_path, DeepWorld(TWO, enough=2, hits_a_query=1))
    assert recorded.stops() == {"Costs": ["", "sufficient"], "Results": ["", "sufficient"]}
    assert recorded.last_stops() == {"Costs": "sufficient", "Results": "sufficient"}
    assert len(recorded.begun("search")) == 12 + 4


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


@pytest.mark.long
def test_eight_rounds_end_by_iterations_and_what_the_judge_is_shown_stays_bounded(tmp_path: Path) -> None:
    recorded = ask(tmp_path, DeepWorld(ENGLISH.only("Costs"), pages=80, more=20))
    assert recorded.stops() == {"Costs": [*[""] * 7, "iterations"]}
    assert len(recorded.begun("search")) == 12 + 7 * 4
    assert sum(line["evidence"] for line in recorded.rounds) > 100
    sizes = [tokens_at_most(one.text) for one in recorded.world.analyst.requests if one.act == "reflect"]
    assert len(sizes) >= 7
    assert max(sizes[1:]) <= sizes[0], f"it grows: {sizes}"


def test_short_pages_are_read_whole_and_without_a_call(tmp_path: Path) -> None:
    recorded = ask(tmp_path, DeepWorld(TWO, enough=1))
    assert recorded.begun("fetch")
    assert "extract" not in recorded.begun("llm")
    assert recorded.check["passed"]
    read = {number for number in range(1, 25) if f"harbour{number}.example" in recorded.report}
    assert len(read) == len(recorded.begun("fetch")), "every page is a source"
