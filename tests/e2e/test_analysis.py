"""The critical look in whole reports: without a model over documents and pages, and with one; three languages."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deep_research.llm.port import ModelRequest
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.reasoning.model.prompting import PromptOptions
from deep_research.reasoning.rules.quoting.drafting import abstract_length
from deep_research.report.sources.hit import Hit
from deep_research.request import Language, ResearchRequest
from deep_research.settings import Settings
from deep_research.testing import MemoryFetcher, StaticSearch
from deep_research.text.messages.words import words_in
from deep_research.wiring import build
from tests.support.analyst import ScriptedAnalyst, answer_in_form, retold, sides, sources_of
from tests.support.examples import EXAMPLES, copy_index, some_documents
from tests.support.longer import first_of
from tests.support.world import with_models

QUESTIONS: dict[Language, str] = {
    "en": "Assess what the Harbour Heat retrofit of Halden Bay cost in total",
    "zh-Hans": "评估青岚市海绵城市改造的成本与效果",
    "zh-Hant": "評估青嵐市海綿城市改造的成本與效果",
}
DISPUTED: dict[Language, dict[str, tuple[int, str]]] = {
    "en": {"€146.2 million": (2, "2026-02-12"), "€163.8 million": (1, "2026-03-02")},
    "zh-Hans": {"48.6亿元": (2, "2026-01-20"), "53.9亿元": (1, "2026-02-09")},
    "zh-Hant": {"48.6亿元": (2, "2026-01-20"), "53.9亿元": (1, "2026-02-09")},
}


# The documents that disagree; what the others say has nothing to do with a model's part of the report.
FEW: dict[Language, tuple[str, ...]] = {
    "en": ("council-closing-report.pdf", "halden-courier-article.html", "ratepayers opinion 2026.md"),
    "zh-Hans": ("qinglan-government-report.pdf", "qinglan-evening-news.html", "qinglan-opinion.md"),
    "zh-Hant": ("qinglan-government-report.pdf", "qinglan-evening-news.html", "qinglan-opinion.md"),
}


class DeepRun:
    """A finished run and what its folder holds."""

    def __init__(self, adapters: Adapters, question: str, language: Language) -> None:
        request = ResearchRequest(question=question, clarify="off")
        row = asyncio.run(DeepResearchProcessor(adapters).process(request))
        assert row.status == "done", row.error
        self.folder, self.say = Path(row.folder), words_in(language)
        self.report = (self.folder / "report.md").read_text(encoding="utf-8")
        self.check: dict[str, Any] = json.loads((self.folder / "verify.json").read_text(encoding="utf-8"))
        lines = (self.folder / "paragraphs.jsonl").read_text(encoding="utf-8").splitlines()
        self.paragraphs: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def chapter(self, key: str) -> str:
        return self.report.partition(f"## {self.say(f'report.{key}')}\n")[2].partition("\n## ")[0]

    def rows(self, key: str) -> dict[str, dict[str, Any]]:
        """Return what backs each figure of a chapter's tables."""
        own = [line for line in self.paragraphs if line["section"] == self.say(f"report.{key}")]
        return {row["lead"]: row for line in own if line["kind"] == "table" for row in line["sentences"]}


def _over_documents(folder: Path, docs: Path = EXAMPLES) -> Adapters:
    return build(
        Settings(home=copy_index(folder / "home"), logs=folder / "logs", docs=docs, strategy="local", charts=False)
    )


@pytest.fixture(scope="module", params=first_of(["en", "zh-Hans", "zh-Hant"]))
def language(request: pytest.FixtureRequest) -> Language:
    found: Language = request.param
    return found


@pytest.fixture(scope="module")
def told(language: Language, tmp_path_factory: pytest.TempPathFactory) -> DeepRun:
    return DeepRun(_over_documents(tmp_path_factory.mktemp("told")), QUESTIONS[language], language)


def test_without_a_model_the_report_weighs_its_main_figures(told: DeepRun) -> None:
    assert told.check["passed"]
    assert not told.check["refusals"]
    analysis = told.chapter("analysis")
    assert f"**{told.say('report.strength')}**\n\n| {told.say('report.figure')} | " in analysis
    backings = [row["backing"] for row in told.rows("analysis").values()]
    assert 3 <= len(backings) <= 6
    origins = {backing["origins"] for backing in backings}
    assert min(origins) == 1 < max(origins)
    assert any(backing["against"] for backing in backings)
    assert all(row["verdict"]["reason"] in ("verbatim", "trimmed") for row in told.rows("analysis").values())


def test_without_a_model_the_report_says_what_would_change_the_picture(told: DeepRun) -> None:
    _, _, changes = told.chapter("analysis").partition(f"**{told.say('report.changes')}**\n\n")
    assert told.say("change.disputed") in changes
    assert told.say("change.single", titles="").split(told.say("report.colon").strip())[0] in changes
    notes = [
        line for line in told.paragraphs if line["kind"] == "note" and line["section"] == told.say("report.analysis")
    ]
    assert notes
    assert all(line["cite_ids"] == [] for line in notes)


def test_contradictions_have_dates_origins_and_citations(told: DeepRun, language: Language) -> None:
    rows = told.rows("disagreements")
    assert {
        figure: (row["backing"]["origins"], row["backing"]["published"]) for figure, row in rows.items()
    } == DISPUTED[language]
    table = [line for line in told.chapter("disagreements").splitlines() if line.startswith("| ")]
    head = [told.say(f"report.{key}") for key in ("figure", "statement", "origins", "dated", "source")]
    assert table[0] == f"| {' | '.join(head)} |"
    assert all(line.endswith("] |") for line in table[2:])


def test_a_question_for_facts_has_no_analysis(tmp_path: Path) -> None:
    told = DeepRun(_over_documents(tmp_path), "What did the Harbour Heat retrofit of Halden Bay cost in total?", "en")
    assert "## Analysis" not in told.report
    assert told.rows("disagreements").keys() == DISPUTED["en"].keys()


# Pages: copies, pages of one site and quotations are no origins

LONG = " ".join(
    f"The {name} of the heat retrofit in Norvik harbour were inspected by the council and found in good order."
    for name in ("pumps", "pipes", "tanks", "valves", "meters", "boilers", "cables", "doors", "walls", "roofs")
)
COST = "The heat retrofit of Norvik harbour cost €146.2 million in total by the end of the works."
PAGES = {
    "https://council.example/report": f"Norvik harbour: the closing report\n\n12 February 2026\n\n{COST} {LONG}",
    "https://mirror.example/report": f"Norvik harbour: a closing report\n\n12 February 2026\n\n{COST} {LONG}",
    "https://council.example/news": "Norvik harbour news\n\n1 March 2026\n\nNorvik spent €146.2 million on its harbour"
    " heat retrofit. The mayor of Norvik was pleased with the harbour and its heat.",
    "https://paper.example/story": "Norvik harbour heat\n\n3 March 2026\n\nAccording to the closing report, the heat"
    " retrofit of Norvik harbour cost €146.2 million. Nobody in Norvik was surprised by the cost of the heat.",
    "https://auditor.example/audit": "Audit of Norvik harbour\n\n9 April 2026\n\nOur audit found that Norvik paid"
    " €146.2 million for the heat retrofit of its harbour. The auditors thank the harbour of Norvik.",
    "https://league.example/opinion": "Norvik harbour, an opinion\n\n2 May 2026\n\nThe heat retrofit of Norvik harbour"
    " cost €163.8 million in total by the end of the works. The league of Norvik demands a new count of heat.",
}


def _over_pages(pages: Mapping[str, str], folder: Path) -> Adapters:
    hits = [
        Hit(address=address, title=text.partition("\n")[0], snippet=text[:80], engine="static")
        for address, text in pages.items()
    ]
    adapters = build(
        Settings(home=folder / "home", logs=folder / "logs", engines=("none",), max_iterations=1, charts=False)
    )
    return replace(adapters, engines=(StaticSearch(hits, hits_a_query=len(hits)),), fetcher=MemoryFetcher(pages))


def test_copies_sister_pages_and_quotations_add_no_origin(tmp_path: Path) -> None:
    told = DeepRun(_over_pages(PAGES, tmp_path), "Assess the cost of the heat retrofit of Norvik harbour", "en")
    rows = told.rows("disagreements")
    assert told.check["passed"]
    assert rows["€146.2 million"]["backing"]["origins"] == 2
    assert rows["€163.8 million"]["backing"] | {"also": []} == {
        "origins": 1,
        "published": "2026-05-02",
        "oldest": "2026-05-02",
        "newest": "2026-05-02",
        "also": [],
        "against": [],
    }


# With a model


def _written(folder: Path, language: Language, **answers: Callable[[ModelRequest], str]) -> tuple[DeepRun, list[str]]:
    """Return a run whose model gives these answers, and what was asked of it, act by act."""
    analyst = ScriptedAnalyst(answers={"draft": _telling, **answers})
    few = some_documents(folder / "few", FEW[language])
    adapters = with_models(_over_documents(folder, few), analyst, options=PromptOptions(window=60_000))
    told = DeepRun(adapters, QUESTIONS[language], language)
    assert told.check["passed"]
    return told, [f"{request.act}: {request.text}" for request in analyst.requests]


def test_a_model_looks_from_several_sides_and_is_checked_like_the_rest(language: Language, tmp_path: Path) -> None:
    told, asked = _written(tmp_path, language, draft=lambda one: "\n\n".join((_telling(one), *sides(one))))
    own = [line for line in told.paragraphs if line["section"] == told.say("report.analysis")]
    assert len({line["lead"] for line in own}) == 2
    sentences = [sentence for line in own for sentence in line["sentences"]]
    verdicts = {(sentence["kind"], sentence["verdict"]["kind"]) for sentence in sentences}
    assert verdicts == {("finding", "supported"), ("conclusion", "follows")}
    [prompt] = [text for text in asked if text.startswith("draft:")]
    assert "How well the main figures are backed" in prompt
    assert "independent origins: " in prompt


def test_where_a_model_gives_no_analysis_what_was_counted_stands(language: Language, tmp_path: Path) -> None:
    told, asked = _written(tmp_path, language, draft=lambda request: answer_in_form(request).partition("\n\n### ")[0])
    assert sum(text.startswith("draft:") for text in asked) == 2, "it is asked for once more, and then no longer"
    assert f"**{told.say('report.strength')}**" in told.chapter("analysis")


def test_perspectives_of_which_nothing_can_stand_give_way_to_what_was_counted(tmp_path: Path) -> None:
    lies = "### Who pays\n\nThe mayor paid 97531 million [E1].\n\n### Who gains\n\nThe mayor won 86420 million [E2]."
    told, _ = _written(tmp_path, "en", draft=lambda request: f"{_telling(request)}\n\n## Analysis\n\n{lies}")
    assert "97531" not in told.report
    assert "**Strength of the evidence**" in told.chapter("analysis")


def _silent(request: ModelRequest) -> str:
    """Return a report that keeps to what the first passage says, and tells none of the disputed figures."""
    figures = [figure for own in DISPUTED.values() for figure in own]
    passages = [(label, each) for label, text in sources_of(request).items() for each in retold(text)]
    label, told = next((label, each) for label, each in passages if not any(each.count(one) for one in figures))
    return f"{told} [{label}]"


def _telling(request: ModelRequest) -> str:
    """Return a report that tells the disputed figures beside each other."""
    passages = [(label, each) for label, text in sources_of(request).items() for each in retold(text)]
    figures = [figure for own in DISPUTED.values() for figure in own]
    found = {figure: one for one in reversed(passages) for figure in figures if figure in one[1]}
    return " ".join(f"{each} [{label}]" for label, each in found.values())


def test_a_disagreement_stays_where_the_writer_is_silent_about_it(language: Language, tmp_path: Path) -> None:
    told, _ = _written(tmp_path, language, draft=_silent)
    assert told.rows("disagreements").keys() == DISPUTED[language].keys()
    assert told.chapter("disagreements").count("\n| ") == 4


def test_a_disagreement_that_the_writer_tells_is_told_once(language: Language, tmp_path: Path) -> None:
    told, _ = _written(tmp_path, language, draft=_telling)
    assert not told.rows("disagreements")
    assert all(re.findall("[0-9.]+", figure)[0] in told.chapter("abstract") for figure in DISPUTED[language])


def test_an_answer_that_is_too_long_keeps_its_first_sentences_and_loses_none(
    language: Language, tmp_path: Path
) -> None:
    def wordy(request: ModelRequest) -> str:
        told = (f"{each} [{label}]" for label, text in sources_of(request).items() for each in retold(text)[:1])
        return " ".join(told)

    told, _ = _written(tmp_path, language, draft=wordy)
    own = [line for line in told.paragraphs if line["kind"] == "claim"]
    parts = ("abstract", told.say("report.findings"))
    answer, rest = ([line["text"] for line in own if line["section"] == part] for part in parts)
    assert 0 < abstract_length(" ".join(answer)) <= 200 < abstract_length(" ".join((*answer, *rest)))
    assert told.report.index(answer[0][:40]) < told.report.index(rest[0][:40])


def test_conclusion_and_outlook_stand_behind_the_analysis(language: Language, tmp_path: Path) -> None:
    say = words_in(language)
    drawn = "因此这一面值得细看" if language != "en" else "So this side deserves a closer look"

    def ended(request: ModelRequest) -> str:
        heads = [f"## {say(f'report.{key}')}\n\n{drawn} [so: E1]." for key in ("outlook", "conclusion")]
        return "\n\n".join((_telling(request), *heads))

    told, _ = _written(tmp_path, language, draft=ended)
    places = [told.report.index(f"\n## {say(f'report.{key}')}\n") for key in ("analysis", "conclusion", "outlook")]
    assert places == sorted(places)
