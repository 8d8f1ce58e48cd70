"""What a terminal shows of the research: a bar for each section, and one line a round."""

from typing import Any

import pytest
from rich.cells import cell_len

from deep_research.cli.runs.progress import section_lines
from deep_research.service.runs.progress import ProgressCollector
from deep_research.service.runs.progress_lines import ProgressLines, map_line
from deep_research.text.messages.words import words_in
from tests.unit.cli.runs.test_progress import event


def planned(*titles: str) -> ProgressCollector:
    told = ProgressCollector()
    told.take(event("report-plan", title="t", goal="", sections=[{"title": title} for title in titles]))
    return told


def told(**changes: Any) -> dict[str, Any]:
    statuses = ["found", "open", "found", "missing", "set_aside"]
    usual = {
        "round": 2,
        "is_judged": True,
        "entries": [{"name": str(number), "status": status} for number, status in enumerate(statuses)],
        "found": 1,
        "new": 3,
        "pages": 96,
        "read": 40,
        "queries": 24,
        "changes": 0,
        "stop": "",
    }
    return usual | changes


def test_sections_stand_in_the_order_of_the_plan_from_their_first_query_on() -> None:
    collected = planned("Costs", "People")
    assert section_lines(collected) == []
    collected.take(event("serp-query", section="People", round=1, queries=[]))
    collected.take(event("serp-query", section="Costs", round=1, queries=[]))
    collected.take(event("section-coverage", section="Costs", round=1, coverage=0.5, is_sufficient=False))
    assert section_lines(collected) == ["  Costs   ████░░░░  50%", "  People  ░░░░░░░░   0%"]


def test_wide_titles_are_cut_to_the_same_width() -> None:
    collected = planned("供热泵改造的成本与资金来源以及其他", "Costs")
    for title in ("供热泵改造的成本与资金来源以及其他", "Costs"):
        collected.take(event("serp-query", section=title, round=1, queries=[]))
    first, second = (line.partition("░")[0] for line in section_lines(collected))
    assert cell_len(first) == cell_len(second)
    assert "…" in first


@pytest.mark.parametrize(
    ("language", "line", "bare"),
    [
        (
            "en",
            "Round 2: 2 of 4 found, 3 new, 96 pages read, 24 queries left",
            "Round 2: 96 pages read, 24 queries left",
        ),
        (
            "zh-Hans",
            "第 2 轮：4 项中已找到 2 项，新增 3 项，已读 96 页，还可查询 24 次",
            "第 2 轮：已读 96 页，还可查询 24 次",
        ),
    ],
)
def test_a_round_is_one_line(language: str, line: str, bare: str) -> None:
    words = words_in(language)
    assert map_line(told(), words) == line
    assert map_line(told(entries=[]), words) == bare


def test_a_single_page_and_a_single_query_are_told_as_one() -> None:
    assert map_line(told(entries=[], pages=1, queries=1), words_in("en")) == "Round 2: 1 page read, 1 query left"


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize("stop", ["sufficient", "budget", "iterations", "exhausted", "refocused", "enough"])
def test_every_end_has_words_of_its_own(language: str, stop: str) -> None:
    words = words_in(language)
    assert map_line(told(stop=stop), words) == f"{map_line(told(), words)} · {words(f'coverage.{stop}')}"


def test_a_map_is_told_once_it_is_judged_or_the_search_has_ended() -> None:
    lines = ProgressLines(words_in("en"))
    assert lines.of(event("research-map", **told(is_judged=False))) == []
    [judged] = lines.of(event("research-map", **told()))
    [ended] = lines.of(event("research-map", **told(is_judged=False, stop="enough")))
    assert judged.text.startswith("  Round 2")
    assert ended.text.endswith("ended by the reader")


def test_sections_that_lack_the_same_are_not_told_one_by_one() -> None:
    lines = ProgressLines(words_in("en"))
    judged = [
        event("section-coverage", section=title, round=1, coverage=0.2, is_sufficient=False) for title in ("A", "B")
    ]
    assert [lines.of(each) for each in judged] == [[], []]
    assert [line.text for line in lines.of(event("research-map", **told(round=1)))] == [
        f"  {map_line(told(round=1), words_in('en'))}"
    ]
