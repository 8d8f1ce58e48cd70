"""How good evidence is by rules: five dimensions, what is said of the weak ones, and the queries that aim at them."""

from collections.abc import Mapping

import pytest

from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.rules.weighing.appraisal import appraise
from deep_research.reasoning.values import Brief, SectionPlan, SectionWork, SourceFacts
from deep_research.report.evidence.passage import Evidence
from deep_research.request import Language
from tests.unit.reasoning.pieces import FixedCorpus, piece

QUESTIONS: dict[Language, str] = {
    "en": "What did the harbour retrofit of Lindenmark cost?",
    "zh-Hans": "林登马克港口改造花了多少钱？",
    "zh-Hant": "林登馬克港口改造花了多少錢？",
}
PLAIN = "The harbour retrofit of Lindenmark was watched by the whole town, and many spoke well of it."


def work(
    *evidence: Evidence,
    language: Language = "en",
    question: str = "",
    coverage: float = 0.5,
    dates: Mapping[str, str] | None = None,
) -> SectionWork:
    """Return a section's work; `dates` are publication dates by document, of pages on sites of their own."""
    asked = question or QUESTIONS[language]
    sources = tuple(
        SourceFacts(document=name, host=f"{name}.test", published=day) for name, day in (dates or {}).items()
    )
    return SectionWork(
        brief=Brief(question=asked, original=asked, language=language, today="2026-11-15"),
        section=SectionPlan(title="Costs"),
        evidence=evidence,
        coverage=coverage,
        sources=sources,
    )


def test_no_evidence_is_worth_nothing_and_says_so() -> None:
    appraisal = appraise(work())
    assert {score for _, score in appraisal.dimensions} == {1}
    assert appraisal.thin == ("No source was found for this section.",)


def test_figures_and_length_make_depth() -> None:
    plain = [piece(f"{PLAIN} {number}", f"d{number}") for number in "abcdefgh"]
    told = [piece(f"{PLAIN} It cost €{number}4.2 million.", f"d{number}") for number in range(1, 9)]
    long = [piece(f"{PLAIN} {PLAIN} {PLAIN} It cost €{number}4.2 million.", f"d{number}") for number in range(1, 9)]
    depths = [appraise(work(*evidence)).dimensions.depth for evidence in (plain[:1], plain, told, long)]
    assert depths == sorted(depths)
    assert len(set(depths)) == 4
    assert depths[-1] == 10


def test_sites_count_more_than_pages_of_one_site() -> None:
    evidence = [piece(f"{PLAIN} {name}", name) for name in "abcdef"]
    spread = work(*evidence, dates=dict.fromkeys("abcdef", ""))
    one_site = spread.model_copy(
        update={"sources": tuple(each.model_copy(update={"host": "town.test"}) for each in spread.sources)}
    )
    own = spread.model_copy(update={"sources": tuple(each.model_copy(update={"host": ""}) for each in spread.sources)})
    scores = {name: appraise(each).dimensions.diversity for name, each in
              (("spread", spread), ("one site", one_site), ("own files", own))}  # fmt: skip
    assert scores == {"spread": 10, "one site": 4, "own files": 10}
    assert "all sources are of one site, town.test" in appraise(one_site).thin


def test_figures_that_contradict_each_other_lower_consistency_and_one_source_cannot_be_judged() -> None:
    told = [
        piece("The harbour retrofit of Lindenmark cost €146.2 million in 2025.", "a"),
        piece("The harbour retrofit of Lindenmark cost €171.9 million in 2025.", "b"),
    ]
    assert appraise(work(*told)).dimensions.consistency == 1
    assert "the sources give different figures" in appraise(work(*told)).thin
    assert appraise(work(told[0])).dimensions.consistency == 5
    agreed = [told[0], told[0].model_copy(update={"document": "b"})]
    assert appraise(work(*agreed)).dimensions.consistency == 10


@pytest.mark.parametrize(
    ("question", "day", "score"),
    [
        ("", "2026-06-01", 10),
        ("", "2019", 3),
        ("", "1990-01-01", 1),
        ("", "", 5),
        ("", "no day at all", 5),
        ("What are the latest results of the harbour retrofit?", "2026-06-01", 10),
        ("What are the latest results of the harbour retrofit?", "2025-06-01", 7),
        ("港口改造的最新结果如何？", "2023-06-01", 3),
        ("港口改造目前的結果如何？", "2023-06-01", 3),
        ("What did the harbour retrofit cost in 2012?", "2013-05", 10),
        ("What did the harbour retrofit cost in 2012?", "2009-05", 3),
        ("2012年港口改造花了多少钱？", "2013", 10),
    ],
)
def test_a_date_is_worth_what_the_question_asks_for(question: str, day: str, score: int) -> None:
    assert appraise(work(piece(PLAIN, "a"), question=question, dates={"a": day})).dimensions.recency == score


def test_undated_sources_neither_help_nor_hurt_and_old_ones_beside_new_ones_are_background() -> None:
    evidence = [piece(f"{PLAIN} {name}", name) for name in "abcd"]
    new, old = "2026-10-01", "1980-01-01"
    recency = [
        appraise(work(*evidence, dates=dict(zip("abcd", days, strict=True)))).dimensions.recency
        for days in ((new, new, old, old), (new, "", "", ""), (old, old, old, old), ("", "", "", ""))
    ]
    assert recency == [10, 6, 1, 5]


TOLD: dict[Language, set[str]] = {
    "en": {"only one source", "no figures", "the newest dated source is from 2015", "nothing yet on: cost"},
    "zh-Hans": {"只有一个来源", "没有数据", "标有日期的来源中，最新的是 2015 年的", "尚无内容涉及：cost"},
    "zh-Hant": {"只有一個來源", "沒有數據", "標有日期的來源中，最新的是 2015 年的", "尚無內容涉及：cost"},
}


@pytest.mark.parametrize("language", TOLD)
def test_what_is_weak_is_named_in_the_reports_language_the_weakest_first(language: Language) -> None:
    thin = work(piece(PLAIN, "a"), language=language, coverage=0.1, dates={"a": "2015-01-01"})
    appraisal = appraise(thin, missing=["cost"])
    assert set(appraisal.thin) == TOLD[language]
    assert appraisal.dimensions.coverage == 1
    assert appraisal.thin[-1] == appraise(thin.model_copy(update={"coverage": 0.4}), missing=["cost"]).thin[-2]


def test_what_is_strong_is_not_complained_about() -> None:
    housed = ("ships", "cranes", "sheds", "boats", "offices", "shops", "flats", "bridges")
    evidence = [piece(f"{PLAIN} {PLAIN} {PLAIN} It holds 42 {what}.", what) for what in housed]
    strong = work(*evidence, coverage=0.9, dates=dict.fromkeys(housed, "2026-09-01"))
    assert min(appraise(strong).dimensions.model_dump().values()) >= 9
    assert (appraise(strong).thin, appraise(strong).aims) == ((), ())


async def test_queries_aim_at_what_is_weak_on_the_web_and_nowhere_else() -> None:
    thin = work(piece(PLAIN, "a"), coverage=0.3, dates={"a": "2015-01-01"}).model_copy(update={"queries_left": 3})
    judged = await ExtractiveReasoner().reflect(thin)
    asked = [query.query for query in judged.next_queries]
    assert not judged.is_sufficient
    assert asked[0] == "harbour retrofit Lindenmark cost Costs 2026"
    assert len(asked) > 1, "the usual queries follow"
    again = await ExtractiveReasoner().reflect(thin.model_copy(update={"asked": tuple(asked)}))
    assert not {query.query for query in again.next_queries} & set(asked)
    assert (await ExtractiveReasoner(FixedCorpus(total=9, harbour=3)).reflect(thin)).next_queries == ()


async def test_what_suffices_is_left_alone() -> None:
    evidence = [piece(f"{PLAIN} {number}", f"d{number}") for number in range(6)]
    enough = work(*evidence, coverage=0.7)
    judged = await ExtractiveReasoner().reflect(enough)
    assert judged.is_sufficient
    assert (judged.gaps, judged.thin, judged.next_queries) == ((), (), ())
    assert judged.overall_score == judged.dimensions.overall
    one_less = enough.model_copy(update={"evidence": enough.evidence[:5]})
    assert not (await ExtractiveReasoner().reflect(one_less)).is_sufficient
