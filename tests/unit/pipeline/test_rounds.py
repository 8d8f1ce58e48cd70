"""`rounds.jsonl`: a line for each section and round, from what was told, and never an older state over a newer one."""

import json
from pathlib import Path

from deep_research.events import EventKind, RunEvent
from deep_research.pipeline.folder import RunFolder
from deep_research.pipeline.round_log import FILE, rounds_of, write_rounds
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.port import Lease, NewEvent
from deep_research.storage.store.store import Store
from deep_research.value import Json, JsonObject
from tests.support.store_samples import START, start_run

JUDGED: JsonObject = {
    "coverage": 0.4,
    "score": 4,
    "dimensions": {"coverage": 4, "depth": 3, "diversity": 2, "consistency": 5, "recency": 5},
    "is_sufficient": False,
    "gaps": ["only one source"],
    "next_queries": ["cost 2026"],
    "reason": "passages: 3",
    "stop": "",
}


def told(section: int, round_: int, title: str) -> list[tuple[EventKind, str, JsonObject]]:
    """Return what is told of a round: two queries, of which both find the same page, and one of them another."""
    at = f"section/{section}/round/{round_}"
    queries: JsonObject = {"section": title, "round": round_, "queries": [{"query": "a"}, {"query": "b"}]}
    page: JsonObject = {"document": "x", "address": "https://x.test", "title": "X", "evidence": 3, "section": title}
    task: JsonObject = {"query": "a", "section": title, "status": "done", "hits": 2, "learning": ""}
    return [
        ("serp-query", f"{at}:0", queries),
        ("source", f"{at}/task/1/read/page/1:0", page),
        ("source", f"{at}/task/2/read/page/1:0", page),
        ("source", f"{at}/task/2/read/page/2:0", page | {"document": "y", "evidence": 1}),
        ("search-task", f"{at}/task/1/read:0", task),
        ("search-task", f"{at}/task/2/read:0", task | {"query": "b", "status": "failed"}),
        ("section-coverage", f"{at}/reflect:0", JUDGED | {"section": title, "round": round_}),
    ]


def events(*given: tuple[EventKind, str, JsonObject]) -> list[RunEvent]:
    return [
        RunEvent(seq=seq, run="r", at=START, kind=kind, key=f"{kind}:{place}", data=data)
        for seq, (kind, place, data) in enumerate(given, start=1)
    ]


def test_a_round_is_one_line_with_all_that_was_asked_read_and_judged() -> None:
    (line,) = rounds_of(events(*told(1, 1, "Costs")))
    assert line == {
        "section": "Costs",
        "round": 1,
        "queries": ["a", "b"],
        "searched": 2,
        "pages": 2,
        "evidence": 4,
        "coverage": 0.4,
        "dimensions": JUDGED["dimensions"],
        "score": 4,
        "gaps": ["only one source"],
        "next_queries": ["cost 2026"],
        "reasoning": "passages: 3",
        "stop": "",
    }


def test_what_is_searched_and_read_for_all_sections_counts_for_the_one_that_it_served() -> None:
    def at(section: int, kind: EventKind, place: str, title: str, **data: Json) -> tuple[EventKind, str, JsonObject]:
        return kind, f"section/{section}/round/1{place}:0", {"section": title, **data}

    told = [
        # The first two sections are those of a plan that nobody follows any more.
        at(1, "serp-query", "", "Costs", queries=[{"query": "a"}]),
        at(1, "source", "/batch/1/x", "Costs", document="x", evidence=2),
        at(3, "serp-query", "", "Noise", queries=[{"query": "b"}]),
        at(4, "serp-query", "", "Costs", queries=[{"query": "c"}, {"query": "d"}]),
        at(3, "source", "/batch/1/x", "Costs", document="x", evidence=2),
        at(3, "source", "/batch/1/y", "Noise", document="y", evidence=1),
        at(3, "search-task", "/task/1", "Noise"),
        at(3, "search-task", "/task/2", "Costs"),
        at(3, "search-task", "/task/3", "Costs"),
        *(at(number, "section-coverage", "/reflect", title) for number, title in ((3, "Noise"), (4, "Costs"))),
    ]
    lines = rounds_of(events(*told))
    names = ("section", "queries", "searched", "pages", "evidence")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("Costs", ["a"], 0, 1, 2),
        ("Noise", ["b"], 1, 1, 1),
        ("Costs", ["c", "d"], 2, 1, 2),
    ]


def test_rounds_stand_in_the_order_of_the_plan_whatever_ended_first() -> None:
    mixed = events(*told(10, 1, "Last"), *told(2, 2, "Costs"), *told(2, 1, "Costs"))
    assert [(line["section"], line["round"]) for line in rounds_of(mixed)] == [("Costs", 1), ("Costs", 2), ("Last", 1)]


def test_a_round_under_way_and_one_of_an_earlier_version_have_no_judgement_yet() -> None:
    begun = told(1, 1, "Costs")[:2]
    (line,) = rounds_of(events(*begun))
    assert (line["pages"], line["coverage"], line["dimensions"], line["stop"]) == (1, None, None, None)
    old: JsonObject = {"section": "Costs", "round": 1, "coverage": 0.5, "score": 5, "gaps": []}
    (line,) = rounds_of(events(*begun, ("section-coverage", "section/1/round/1/reflect:0", old)))
    assert (line["coverage"], line["dimensions"]) == (0.5, None)


def test_what_a_retry_tells_anew_replaces_what_was_told_before() -> None:
    again: JsonObject = JUDGED | {"section": "Costs", "round": 1, "score": 8, "stop": "sufficient"}
    given = events(*told(1, 1, "Costs"), ("section-coverage", "section/1/round/1/reflect:0~1", again))
    (line,) = rounds_of(given)
    assert (line["score"], line["stop"]) == (8, "sufficient")


async def test_every_round_that_has_ended_is_in_the_file(tmp_path: Path) -> None:
    store = Store(SqliteFile(tmp_path / "store.db"))
    try:
        lease = await start_run(store)
        folder = RunFolder(tmp_path, store=store, lease=lease)
        for section in range(1, 9):
            await _tell(store, lease, section)
            await write_rounds(folder)
        lines = (tmp_path / FILE).read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["section"] for line in lines] == [f"S{section}" for section in range(1, 9)]
    finally:
        await store.close()


async def _tell(store: Store, lease: Lease, section: int) -> None:
    new = [
        NewEvent(at=START, kind=kind, key=f"{kind}:{place}", data=data)
        for kind, place, data in told(section, 1, f"S{section}")
    ]
    await store.append_events(lease, new)
