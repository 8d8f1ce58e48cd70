"""A plan as text and back, what an answer makes of it, and whose sections it has."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.errors import InputError
from deep_research.pipeline.approval import Correction, answered_plan, correction_in, is_asked
from deep_research.pipeline.plan_text import plan_as_text, plan_from_text
from deep_research.pipeline.stages.plan import by_own_focus
from deep_research.reasoning.values import Brief, MapEntry, Plan, SectionPlan
from deep_research.report.sources.hit import SearchQuery
from deep_research.request import ResearchRequest
from deep_research.text.messages.words import words_in

SAY = words_in("en")
PLAN = Plan(
    research_title="海绵城市: costs & “results”",
    goal="An overview",
    domains=("hydrology",),
    sections=(
        SectionPlan(title="Costs", description="What was paid", search_queries=(SearchQuery(query="costs", goal="g"),)),
        SectionPlan(title="效果"),
        SectionPlan(title="2024", description="- a: b # c"),
    ),
    entries=(
        MapEntry(name="Sponge act: of 2013", section="Costs"),
        MapEntry(name="透水铺装", section="效果"),
        MapEntry(name="Wuhan"),
    ),
)


def refused(text: str, language: Any = "en") -> str:
    with pytest.raises(InputError) as problem:
        answered_plan(PLAN, text, words_in(language))
    return str(problem.value)


def test_plan_survives_the_editor() -> None:
    text = plan_as_text(PLAN, head="The plan\nof a run")
    assert text.startswith("# The plan\n# of a run\nresearch_title:")
    assert "效果" in text
    assert plan_from_text(text, PLAN, SAY) == PLAN


texts = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=30)


sections_of_plans = st.lists(
    st.tuples(texts, texts, st.lists(texts, max_size=3)),
    min_size=1,
    max_size=5,
    unique_by=lambda part: part[0].casefold(),
)


@given(sections_of_plans, texts)
def test_every_plan_survives_the_editor(parts: list[tuple[str, str, list[str]]], title: str) -> None:
    sections = tuple(
        SectionPlan(title=name, description=about, search_queries=tuple(SearchQuery(query=query) for query in queries))
        for name, about, queries in parts
    )
    entries = tuple(MapEntry(name=about, section=name) for about, name in {part[1]: part[0] for part in parts}.items())
    plan = Plan(research_title=title, sections=sections, entries=entries)
    assert plan_from_text(plan_as_text(plan, head="x"), plan, SAY) == plan


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " Approve. ",
        "YES",
        "ok",
        "同意",
        "確認",
        "确认！",
        "可以",
        "好的",
        "開始研究",
        "直接开始研究",
        "直接開始研究。",
    ],
)
def test_plan_is_approved_in_three_scripts(answer: str) -> None:
    assert answered_plan(PLAN, answer, SAY) == PLAN


@pytest.mark.parametrize(
    "answer",
    ["drop 1,3", "Drop 3, 1", "remove sections 1 3", "删除 1、3", "刪除1，3", "去掉第 1、3 节", "去掉第1和3節"],
)
def test_sections_are_dropped_in_three_scripts(answer: str) -> None:
    plan = answered_plan(PLAN, answer, SAY)
    assert [section.title for section in plan.sections] == ["效果"]
    assert plan.entries == PLAN.entries[1:], "nothing is looked for that belongs to a section that was dropped"


def test_what_is_looked_for_is_listed_by_name_and_stays_as_it_was_where_nobody_lists_it() -> None:
    edited = plan_as_text(PLAN, head="x").replace("- 透水铺装", "- Zhenjiang")
    assert plan_from_text(edited, PLAN, SAY).entries == (PLAN.entries[0], MapEntry(name="Zhenjiang"), PLAN.entries[2])
    data = PLAN.to_json()
    assert answered_plan(PLAN, data, SAY) == PLAN
    assert answered_plan(PLAN, {key: data[key] for key in data if key != "entries"}, SAY) == PLAN
    assert answered_plan(PLAN, data | {"entries": None}, SAY).entries == ()


@pytest.mark.parametrize(
    "answer", ["looks good", "no", "看起来不错", "不同意", "edit", "编辑", "drop", "drop costs", "1"]
)
def test_anything_else_is_no_approval(answer: str) -> None:
    assert refused(answer) == SAY("plan.help")
    assert refused(answer, "zh-Hant") == words_in("zh-Hant")("plan.help")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "red"}, "colour: there is no such key here; choose from research_title"),
        ({"sections": []}, "sections: at least one"),
        ({"sections": None}, "sections: at least one"),
        ({"sections": "Costs"}, "sections: a list"),
        ({"sections": [{"title": "a"}] * 6}, "at most 5, these are 6"),
        ({"sections": ["Costs"]}, "sections 1: a section"),
        ({"sections": [{"title": "a"}, {"title": " "}]}, "sections 2: title: it is empty"),
        ({"sections": [{"description": "a"}]}, "sections 1: title: it is missing"),
        ({"sections": [{"title": 2024}]}, "sections 1: title: a text (in quotes"),
        ({"sections": [{"title": "a", "queries": []}]}, "sections 1: queries: there is no such key"),
        ({"sections": [{"title": "a", "search_queries": "q"}]}, "sections 1: search_queries: a list"),
        ({"sections": [{"title": "a", "search_queries": [1]}]}, "sections 1: search_queries 1: a text, or query"),
        ({"sections": [{"title": "a", "search_queries": [{"query": "q", "priority": "now"}]}]}, "(high, medium, low)"),
        ({"research_title": None}, "research_title: it is empty"),
        ({"research_title": ["a"]}, "research_title: a text"),
        ({"domains": "law"}, "domains: a list"),
        ({"entries": "Wuhan"}, "entries: a list"),
        ({"entries": ["Wuhan", {}]}, "entries 2: it is empty"),
        ({"entries": [1]}, "entries 1: a text"),
    ],
)
def test_bad_plan_is_explained_by_key(change: dict[str, Any], said: str) -> None:
    assert said in refused(json.dumps(PLAN.to_json() | change))


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_two_sections_of_one_title_are_refused(language: Any) -> None:
    twice = [{"title": "Costs"}, {"title": "效果"}, {"title": "COSTS"}]
    reason = words_in(language)("plan.same_title", first=1, second=3, title="COSTS")
    assert refused(json.dumps(PLAN.to_json() | {"sections": twice}), language) == reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("research_title: a\nsections:\n  - title: 'b\n", "Line 4"),
        ("research_title: a\nsections:\n\t- title: b\n", "Line 3"),
        ("research_title: a: b\n", "Line 1"),
        ("a: " + "[" * 800, "Line 1"),
        ("a: " + "x" * 200_000, "more than 100000"),
        ("a: !!python/object/apply:os.getcwd []", "Line 1"),
        ("- a: b", "A plan has keys"),
    ],
    ids=["quote", "tab", "two colons", "deep", "long", "code", "list"],
)
def test_text_that_is_no_plan_is_explained_by_line(text: str, said: str) -> None:
    assert said in refused(text)


def test_what_an_edited_plan_leaves_out_stays_as_it_was() -> None:
    edited = answered_plan(PLAN, "research_title: T\nsections: [{title: A, search_queries: [costs, new]}]", SAY)
    assert (edited.goal, edited.domains) == (PLAN.goal, PLAN.domains)
    known, new = edited.sections[0].search_queries
    assert known.goal == "g", "a query that was planned keeps its goal"
    assert new == SearchQuery(query="new")


# When it is asked for


@pytest.mark.parametrize(
    ("wishes", "is_weighty", "asks"),
    [
        ({}, True, False),
        ({"interactive": True}, False, False),
        ({"interactive": True}, True, True),
        ({"interactive": True, "assume": True}, True, False),
        ({"interactive": True, "clarify": "off"}, True, True),
        ({"confirm_plan": True}, False, True),
        ({"confirm_plan": True, "assume": True}, False, True),
    ],
)
def test_plan_is_confirmed_where_it_matters_and_somebody_can(
    wishes: dict[str, Any], is_weighty: bool, asks: bool
) -> None:
    assert is_asked(ResearchRequest(question="q?", **wishes), is_weighty=is_weighty) == asks


# Whose sections


def brief(*focus: str) -> Brief:
    return Brief(question="q?", original="q?", language="en", focus=focus, has_own_focus=bool(focus))


def test_own_focuses_are_the_sections_whatever_was_planned() -> None:
    planned = by_own_focus(PLAN, brief("效果", "Risks", "COSTS", "People"))
    assert [section.title for section in planned.sections] == ["效果", "Risks", "COSTS", "People"]
    assert planned.sections[2].search_queries == PLAN.sections[0].search_queries
    assert not planned.sections[1].description, "the question is no description"


def test_sections_that_only_were_renamed_keep_their_queries() -> None:
    planned = by_own_focus(PLAN, brief("Money", "Effects", "Time"))
    assert planned.sections[0] == PLAN.sections[0].model_copy(update={"title": "Money"})


def test_plan_without_own_focuses_is_left_alone() -> None:
    assert by_own_focus(PLAN, brief()) is PLAN


@pytest.mark.parametrize(
    ("answer", "correction"),
    [
        ("focus: Costs; Noise, Costs", Correction(focus=("Costs", "Noise"))),
        ("重点：费用、噪声", Correction(focus=("费用", "噪声"))),
        ("重點：費用；噪音", Correction(focus=("費用", "噪音"))),
        ("Correct: the town in Wales", Correction(text="the town in Wales")),
        ("更正：是指威爾斯的那個鎮", Correction(text="是指威爾斯的那個鎮")),
        ("approve", None),
        ("focus:", None),
        ("focus groups: yes", None),
        ("research_title: T", None),
        ({"sections": []}, None),
    ],
)
def test_focuses_and_corrections_are_told_from_plans(answer: Any, correction: Correction | None) -> None:
    assert correction_in(answer) == correction
