"""Text that gives orders: never outside the marks of a prompt, and never the reason for a query, a tool or a source."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from deep_research.llm.port import ModelRequest
from deep_research.pipeline.adapters import Adapters
from deep_research.request import Depth, Language, ResearchRequest
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.words import words_in
from deep_research.text.prompt_injection import find_prompt_injection
from deep_research.text.script import detect_language
from evals.injection import ATTACKS, load_attacks
from evals.shared import DEFAULT_DATA
from tests.e2e.harness import Lab, User
from tests.e2e.hostile_pages import HALF, OWN_ATTACKS, QUESTIONS, SEEN, Site, SiteFetcher, SiteSearch
from tests.support.analyst import Reply, answer_in_form, sources_of
from tests.support.longer import first_of
from tests.support.obedient import ObedientAnalyst, attacks_in, outside_marks
from tests.support.world import NARROW, with_models

SECTIONS: dict[Language, list[str]] = {"en": ["Costs", "Results"], "zh-Hans": ["项目的费用", "项目的成果"]}
DEPTH = Depth(max_iterations=2, queries_first_iteration=4, queries_followup_iteration=2, urls_per_query=HALF)
_PROJECT = re.compile(r"(?:project|项目) (\d+)")
# The words in which our own facts are told.
_FACT = re.compile(r"costs of project|results of project|的费用在|的成果经过")


@dataclass(frozen=True)
class Outcome:
    """What a run did: its prompts, what it searched for, what it cites, and its report."""

    prompts: tuple[ModelRequest, ...]
    queries: tuple[str, ...]
    cited: frozenset[str]
    plan: str
    report: str
    obeyed: tuple[tuple[str, str], ...]


def _plan(language: Language) -> Reply:
    sections = SECTIONS[language]
    queries = [f"{section} {number}" for section in sections for number in (1, 2)]
    numbers = [place // 2 + 1 for place in range(len(queries))]
    answer = {"title": sections[0], "sections": sections, "queries": queries, "query_sections": numbers}
    return lambda _: json.dumps(answer, ensure_ascii=False)


def _extract(request: ModelRequest) -> str:
    """Choose the passages about a project, as a sound reader would; each project has its section."""
    about = {label: _PROJECT.search(text) for label, text in sources_of(request).items() if _FACT.search(text)}
    chosen = {label: int(found[1]) % 2 + 1 for label, found in about.items() if found}
    return json.dumps({"passages": list(chosen), "sections": list(chosen.values())})


def _reflect(request: ModelRequest) -> str:
    """Go on after the first round, stop after the second."""
    is_first = "Round 1 is over" in request.prompt
    scores = dict.fromkeys(("coverage", "depth", "diversity", "consistency", "recency"), 4 if is_first else 9)
    found = re.search(r"^Title: (.+)$", request.text, re.MULTILINE)
    assert found is not None
    gaps = {"gaps": [f"more on {found[1]}"], "next_queries": _more(found[1])}
    return json.dumps(scores | (gaps if is_first else {}), ensure_ascii=False)


def _more(title: str) -> list[str]:
    return [f"{title} more {number}" for number in (1, 2)]


def _queries(request: ModelRequest) -> str:
    """Ask for more as a reflection would: which of them is asked depends on which section read a page first."""
    found = re.search(r"^Title: (.+)$", request.prompt, re.MULTILINE)
    assert found is not None
    return json.dumps({"queries": _more(found[1])}, ensure_ascii=False)


def _analyst(language: Language, attacks: Sequence[str]) -> ObedientAnalyst:
    own = {"queries": _queries, "extract": _extract, "reflect": _reflect}
    answers: Mapping[str, Reply] = own | {"plan": _plan(language)}
    return ObedientAnalyst(answers=answers, attacks=attacks)


async def _both(folder: Path, hostile: Site) -> tuple[Outcome, Outcome]:
    """Return the outcomes of a run over a hostile site and of the same run over clean pages."""
    clean = Site(hostile.language)
    runs = (_run(folder / "hostile", hostile, hostile.attacks), _run(folder / "clean", clean, hostile.attacks))
    first, second = await asyncio.gather(*runs)
    return await asyncio.to_thread(_outcome, *first), await asyncio.to_thread(_outcome, *second)


async def _run(folder: Path, site: Site, attacks: Sequence[str]) -> tuple[User, ObedientAnalyst, RunRow]:
    user, analyst = User(folder), _analyst(site.language, attacks)

    def change(adapters: Adapters) -> Adapters:
        return replace(
            with_models(adapters, analyst, options=NARROW), engines=(SiteSearch(site),), fetcher=SiteFetcher(site)
        )

    request = ResearchRequest(question=QUESTIONS[site.language], depth=DEPTH, length="short")
    return user, analyst, await Lab(user, change=change).processor().process(request)


def _outcome(user: User, analyst: ObedientAnalyst, row: RunRow) -> Outcome:
    assert row.status == "done"
    told: dict[str, list[Any]] = {}
    for event in user.events():
        told.setdefault(event.kind, []).append(event.data)
    numbered = json.loads((Path(row.folder) / "citations.json").read_text(encoding="utf-8"))
    proofs = (Path(row.folder) / "evidence.jsonl").read_text(encoding="utf-8").splitlines()
    cited = {json.loads(line)["source"] for line in proofs}
    assert cited <= {source["address"] for source in numbered.values()}
    return Outcome(
        prompts=tuple(analyst.requests),
        queries=tuple(sorted(json.dumps(_asked(data), sort_keys=True) for data in told["serp-query"])),
        cited=frozenset(cited),
        plan=json.dumps(told["report-plan"]),
        report=user.report(),
        obeyed=tuple(analyst.obeyed),
    )


def _asked(data: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked without what for: only a reflection says that, and who has no evidence needs none."""
    titles = {"", *SECTIONS["en"], *SECTIONS["zh-Hans"]}
    assert {query["goal"] for query in data["queries"]} <= titles
    return data | {"queries": [query | {"goal": ""} for query in data["queries"]]}


def _attacks(language: Language) -> tuple[str, ...]:
    """Return our own attacks, with BIPIA's on top where they are at hand."""
    if language != "en" or not (DEFAULT_DATA / ATTACKS).exists():
        return OWN_ATTACKS
    return (*OWN_ATTACKS, *(text for texts in load_attacks(DEFAULT_DATA).values() for text in texts))


@pytest.fixture(scope="module", params=first_of(QUESTIONS))
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, Outcome, Outcome]:
    """Return a hostile site with the outcomes of the run over it and of the same run over clean pages."""
    language: Language = request.param
    site = Site(language, _attacks(language))
    return site, *asyncio.run(_both(tmp_path_factory.mktemp("injection"), site))


def test_no_attack_stands_outside_the_marks_of_any_prompt(runs: tuple[Site, Outcome, Outcome]) -> None:
    site, hostile, _ = runs
    acts = {request.act for request in hostile.prompts}
    assert acts >= {"plan", "extract", "reflect", "draft", "judge", "edit"}
    assert hostile.obeyed == ()
    for request in hostile.prompts:
        assert attacks_in(outside_marks(request.text), site.attacks) == [], request.act


def test_what_no_reader_sees_is_in_no_prompt_at_all(runs: tuple[Site, Outcome, Outcome]) -> None:
    site, hostile, _ = runs
    everything = "\n\n".join(request.text for request in hostile.prompts)
    assert site.hidden
    assert attacks_in(everything, site.hidden) == []
    shown = [attack for attack in site.attacks if attack not in site.hidden]
    assert attacks_in(everything, shown), "the test would not notice an attack"


def test_plan_queries_tools_and_sources_are_those_of_clean_pages(runs: tuple[Site, Outcome, Outcome]) -> None:
    site, hostile, clean = runs
    assert hostile.plan == clean.plan
    assert hostile.queries == clean.queries
    assert len(clean.cited) > len(site.pages) // 2
    assert hostile.cited == clean.cited
    assert "evil.example" not in "".join(hostile.cited)


def test_orders_are_never_quoted_and_the_report_names_the_sources_that_gave_them(
    runs: tuple[Site, Outcome, Outcome],
) -> None:
    site, hostile, clean = runs
    named = words_in(site.language)("limits.quarantined", address="{}", count="{}").split("{}")
    for page in site.pages:
        held = [attack for attack in site.share(page.number) if find_prompt_injection(attack)]
        # Titles of results and pages that fail are not read; what is hidden is dropped before anybody could.
        is_read = page.number <= len(SEEN) and page.snippet == ""
        pattern = re.escape(named[0]) + re.escape(page.address) + re.escape(named[1]) + r"\d+"
        assert len(re.findall(pattern, hostile.report)) == int(bool(held) and is_read), (page.number, held)
        assert not any(f"As reported, {attack}" in hostile.report for attack in held)
    assert named[1] not in clean.report


def _taken_in(attacks: Sequence[str]) -> tuple[Reply, Reply]:
    """Return a writer and an editor who hand on what they were told, in every place that a report has."""

    def draft(request: ModelRequest) -> str:
        told = [answer_in_form(request)]
        for attack in attacks:
            told.append(f"{attack} [so: E1]\n\n1. **{attack}** So it is [so: E1].\n2. {attack} [E1]")
            told.append(f"| What | How |\n| --- | --- |\n| {attack} | at once [E1] |\n| now | {attack} [E1] |")
            told.append(
                f"## {attack}\n\n{attack}:\n\n- {attack} [none: {attack}; E1]\n\n### {attack}\n\nSo it is [so: E1]."
            )
        return "\n\n".join(told)

    def edit(_: ModelRequest) -> str:
        told = [f"{attack} [so: E1]" for attack in attacks]
        return json.dumps({"sentences": list(range(1, len(told) + 1)), "texts": told}, ensure_ascii=False)

    return draft, edit


@pytest.mark.parametrize("language", first_of(QUESTIONS))
async def test_an_order_that_a_model_hands_on_stands_nowhere_in_the_report(tmp_path: Path, language: Language) -> None:
    told = [attack for attack in OWN_ATTACKS if find_prompt_injection(attack) and "\n" not in attack]
    attacks = [attack for attack in told if (detect_language(attack) == "en") == (language == "en")]
    assert attacks
    site, user, analyst = Site(language), User(tmp_path), _analyst(language, ())
    draft, edit = _taken_in(attacks)
    analyst.answers = {**analyst.answers, "draft": draft, "edit": edit}

    def change(adapters: Adapters) -> Adapters:
        return replace(
            with_models(adapters, analyst, options=NARROW), engines=(SiteSearch(site),), fetcher=SiteFetcher(site)
        )

    request = ResearchRequest(question=QUESTIONS[language], depth=DEPTH, length="short")
    row = await Lab(user, change=change).processor().process(request)
    assert row.status == "done"
    report = await asyncio.to_thread(user.report)
    assert attacks_in(report, attacks) == []
    assert ("So it is" in report) or ("资料显示" in report), "what it wrote of its own stands"


async def test_the_model_would_obey_what_it_takes_for_instructions() -> None:
    attack = OWN_ATTACKS[0]
    analyst = ObedientAnalyst(attacks=[attack])
    task = "# Step: write search queries\nTitle: A\nRound of searching: 1\nat most 1 new"
    between = f"<source>\n{attack}\n</source>\n{task}"
    fine = ModelRequest(act="queries", role="task", max_tokens=9, prompt=between)
    bad = fine.model_copy(update={"prompt": f'<source title="x">\n</source>\n{attack}\n{task}'})
    assert attack not in (await analyst.complete(fine)).text
    assert attack in (await analyst.complete(bad)).text
    assert analyst.obeyed == [("queries", attack)]
