"""One line a section: how well it is covered, how good its evidence is, and why it is searched for again."""

from typing import Any

import pytest
from rich.cells import cell_len

from deep_research.cli.runs.progress import SectionLines
from deep_research.request import Language
from deep_research.service.runs.progress import judged_section
from deep_research.service.runs.progress_lines import coverage_line
from deep_research.text.messages.words import words_in
from tests.unit.cli.runs.test_progress import event

DIMENSIONS = {"coverage": 5, "depth": 4, "diversity": 2, "consistency": 9, "recency": 6}


def judged(section: str, round_: int, **changes: Any) -> dict[str, Any]:
    usual = {
        "section": section,
        "round": round_,
        "coverage": 0.5,
        "score": 5,
        "dimensions": DIMENSIONS,
        "is_sufficient": False,
        "gaps": ["only one source.", "no figures"],
        "next_queries": [],
        "reason": "",
        "stop": "",
    }
    return usual | changes


def planned(*titles: str, language: Language = "en") -> SectionLines:
    lines = SectionLines(words_in(language))
    lines.collector.take(event("report-plan", title="t", goal="", sections=[{"title": title} for title in titles]))
    return lines


def test_sections_stand_in_the_order_of_the_plan_from_their_first_query_on() -> None:
    lines = planned("Costs", "People")
    assert lines.lines() == []
    lines.collector.take(event("serp-query", section="People", round=1, queries=[]))
    lines.collector.take(event("serp-query", section="Costs", round=1, queries=[]))
    assert lines.lines() == [
        "  Costs   ░░░░░░░░   0%  round 1: searching",
        "  People  ░░░░░░░░   0%  round 1: searching",
    ]


def test_a_round_is_judged_and_the_next_one_says_what_it_is_for() -> None:
    lines = planned("Costs")
    lines.collector.take(event("serp-query", section="Costs", round=1, queries=[]))
    lines.collector.take(event("section-coverage", **judged("Costs", 1)))
    assert lines.lines() == ["  Costs  ████░░░░  50%  5/10, diversity only 2 · only one source · searches again"]
    lines.collector.take(event("serp-query", section="Costs", round=2, queries=[]))
    assert lines.lines() == ["  Costs  ████░░░░  50%  round 2: searching · only one source"]
    lines.collector.take(
        event("section-coverage", **judged("Costs", 2, coverage=1.0, is_sufficient=True, stop="sufficient"))
    )
    assert lines.lines() == ["  Costs  ████████ 100%  5/10, diversity only 2 · enough"]


def test_once_the_search_is_over_no_section_claims_to_search_again() -> None:
    lines = planned("Costs", "People")
    lines.collector.take(event("serp-query", section="Costs", round=1, queries=[]))
    lines.collector.take(event("section-coverage", **judged("Costs", 1)))
    lines.collector.take(event("progress", step="analyze", status="started"))
    assert lines.lines() == ["  Costs  ████░░░░  50%  5/10, diversity only 2 · only one source · nothing new found"]


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize("stop", ["", "sufficient", "budget", "iterations", "exhausted"])
def test_every_end_has_words_of_its_own(language: Language, stop: str) -> None:
    words = words_in(language)
    line = coverage_line(
        judged_section("成本", judged("成本", 1, stop=stop, is_sufficient=stop == "sufficient")), words
    )
    assert words(f"coverage.{stop or 'again'}") in line
    assert ("no figures" in line) == (stop != "sufficient")


def test_wide_titles_are_cut_to_the_same_width() -> None:
    lines = planned("供热泵改造的成本与资金来源以及其他", "Costs", language="zh-Hans")
    for title in ("供热泵改造的成本与资金来源以及其他", "Costs"):
        lines.collector.take(event("serp-query", section=title, round=1, queries=[]))
    first, second = (line.partition("░")[0] for line in lines.lines())
    assert cell_len(first) == cell_len(second)
    assert "…" in first


def test_an_event_of_an_earlier_version_is_shown_as_far_as_it_goes() -> None:
    old = {
        "section": "Costs",
        "round": 1,
        "coverage": 0.3,
        "score": 3,
        "is_sufficient": False,
        "gaps": [],
        "reason": "",
    }
    assert (
        coverage_line(judged_section("Costs", old), words_in("en"))
        == "Costs: round 1, 30% covered · 3/10 · searches again"
    )
