"""A scripted world for deep runs: every page has a paragraph for every section, and a script says when each is content.

The model is asked with real prompts; what it answers is settled by the section's title and round alone.
"""

import asyncio
import json
import os
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from deep_research.llm.port import ModelRequest
from deep_research.pipeline.adapters import Adapters
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Reflection, SectionWork
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.settings import Settings
from deep_research.testing import CallLog, MemoryFetcher, StaticSearch
from deep_research.web.fetch.port import Fetched
from deep_research.wiring import build as build_real
from tests.support.analyst import ScriptedAnalyst, answer_in_form, sources_of
from tests.support.waiting import HANG_S
from tests.support.world import NARROW, with_models

_TITLE = re.compile(r"^Title: (.+)$", re.MULTILINE)
_FIRST_ROUND = re.compile(r" 1\.\d+$")
_ROUND = re.compile(r"Round (\d+) is over")
_ASKER = re.compile(r"<asker>\n(.*?)\n</asker>", re.DOTALL)
NEVER = 99


@dataclass(frozen=True)
class Script:
    """A question, and for each of its sections what a page says; `{n}` is the page's number.

    `more` is a sentence that makes a page longer.
    """

    question: str
    page: str
    more: str
    paragraphs: Mapping[str, str]

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(self.paragraphs)

    def only(self, *titles: str) -> "Script":
        """Return the same with fewer sections."""
        return replace(self, paragraphs={title: self.paragraphs[title] for title in titles})


ENGLISH = Script(
    question="What did the harbour projects cost and achieve, and who ran, opposed and copied them?",
    page="Harbour project {n}",
    more=" In {y} paper {k} about harbour project {n} told more about its {head}.",
    paragraphs={
        "Costs": "The costs of harbour project {n} came to {a} million euros in {y}.",
        "Results": "The results of harbour project {n} were {b} new berths and {a} percent less noise.",
        "Operators": "The operators of harbour project {n} employed {c} people in {y}.",
        "Opponents": "The opponents of harbour project {n} collected {c} signatures in {y}.",
        "Successors": "The successors of harbour project {n} are {b} ports that copied it by {y}.",
    },
)
CHINESE = Script(
    question="港口项目的成本、成效、运营方、反对意见和后续推广情况如何？",
    page="港口项目{n}",
    more="{y}年的第{k}份文件谈到港口项目{n}的{head}。",
    paragraphs={
        "成本": "港口项目{n}的成本在{y}年达到{a}亿元。",
        "成效": "港口项目{n}的成效是新增{b}个泊位，噪音降低{a}%。",
        "运营方": "港口项目{n}的运营方在{y}年雇用了{c}名员工。",
        "反对意见": "针对港口项目{n}的反对意见在{y}年征集到{c}个签名。",
        "后续推广": "港口项目{n}的后续推广到{y}年覆盖了{b}个港口。",
    },
)


@dataclass
class TogetherSearch(StaticSearch):
    """Answers queries of the first round only when so many are asked: who asks one after the other hangs."""

    together: int = 1
    asked: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        if _FIRST_ROUND.search(query.query):
            self.asked += 1
            if self.asked >= self.together:
                self.begun.set()
            await asyncio.wait_for(self.begun.wait(), HANG_S)
        return await super().search(query, limit=limit)


@dataclass
class DeepWorld:
    """`enough` is the round with which the judge is content; `planned` is how many queries of each section stand in the
    plan, and `entries` what else is looked for.

    The first queries are answered when so many are asked `together`. With so many sentences `more` in each of its
    sections a page is too long to be read whole.
    """

    script: Script = ENGLISH
    enough: int = NEVER
    planned: int = 0
    entries: tuple[str, ...] = ()
    pages: int = 24
    hits_a_query: int = 2
    together: int = 1
    more: int = 0
    answers: Mapping[str, Callable[[ModelRequest], str]] = field(default_factory=dict)
    log: CallLog = field(default_factory=CallLog)

    @cached_property
    def analyst(self) -> ScriptedAnalyst:
        own = {"assess": self._assess, "plan": self._plan, "extract": self._extract, "reflect": self.reflect}
        answers = own | {"queries": self.queries} | dict(self.answers)
        return ScriptedAnalyst(answers=answers, log=self.log)

    def adapters(self, settings: Settings) -> Adapters:
        """Return the parts of a run in this world, over the real store."""
        hits, texts = self.web
        search = TogetherSearch(hits, hits_a_query=self.hits_a_query, log=self.log, together=self.together)
        real = build_real(settings.with_changes(engines=("none",)))
        adapters = replace(real, engines=(search,), fetcher=MemoryFetcher(texts, log=self.log), cache=None)
        return with_models(replace(adapters, fallback=_PatientRules(self)), self.analyst, options=NARROW)

    @property
    def web(self) -> tuple[list[Hit], dict[str, str]]:
        hits, texts = [], {}
        for n in range(1, self.pages + 1):
            figures = {"n": n, "a": 13 + 7 * n, "b": 3 + 2 * n, "c": 1000 + 37 * n, "y": 1980 + n}
            title, address = self.script.page.format(**figures), f"https://harbour{n}.example/report"
            told = []
            for head, text in self.script.paragraphs.items():
                more = [self.script.more.format(**figures, k=k, head=head.lower()) for k in range(1, self.more + 1)]
                told.append(f"## {head}\n\n{text.format(**figures)}{''.join(more)}")
            texts[address] = "\n\n".join((title, *told)) + "\n"
            hits.append(Hit(address=address, title=title, snippet=told[0], engine="static"))
        return hits, texts

    # What the model answers

    def _assess(self, request: ModelRequest) -> str:
        question = _ASKER.findall(request.prompt)[0]
        return json.dumps(
            {"confidence": 0.95, "goal": question, "focuses": self.script.titles[:3], "kind": "open"},
            ensure_ascii=False,
        )

    def _plan(self, _: ModelRequest) -> str:
        titles = self.script.titles
        rows = [(at, f"{title} 1.{n}") for at, title in enumerate(titles, start=1) for n in range(1, self.planned + 1)]
        return json.dumps(
            {
                "title": self.script.question,
                "goal": self.script.question,
                "sections": titles,
                "entries": self.entries,
                "entry_sections": [1] * len(self.entries),
                "queries": [query for _, query in rows],
                "query_sections": [at for at, _ in rows],
            },
            ensure_ascii=False,
        )

    def queries(self, request: ModelRequest) -> str:
        """Number the queries of a round, or those that a plan wants for a section."""
        title, count = _TITLE.findall(request.text)[-1], re.findall(r"at most (\d+) new", request.prompt)[0]
        turn = re.findall(r"Round of searching: (\d+)", request.prompt)[0]
        return json.dumps({"queries": [f"{title} {turn}.{n}" for n in range(1, int(count) + 1)]}, ensure_ascii=False)

    def _extract(self, request: ModelRequest) -> str:
        """Give each paragraph to the section it speaks of."""
        passages, titles = sources_of(request), self.script.titles
        fits = {
            label: next((n for n, title in enumerate(titles, start=1) if title.casefold() in text.casefold()), 1)
            for label, text in passages.items()
        }
        return json.dumps({"passages": [int(label) for label in fits], "sections": list(fits.values())})

    def reflect(self, request: ModelRequest) -> str:
        """Be content with the scripted round."""
        turn = int(_ROUND.findall(request.prompt)[0])
        score = 9 if turn >= self.enough else 4
        scores = dict.fromkeys(("coverage", "depth", "diversity", "consistency", "recency"), score)
        judged = {**scores, "gaps": [f"gap {turn}"], "next_queries": [], "reasoning": "scripted"}
        return json.dumps(judged | {"added": f"Round {turn} told more."}, ensure_ascii=False)


class _PatientRules(ExtractiveReasoner):
    """Judges like the model, where nothing could follow from asking it."""

    def __init__(self, world: DeepWorld) -> None:
        super().__init__()
        self._world = world

    async def reflect(self, work: SectionWork) -> Reflection:
        judged = await super().reflect(work)
        return judged.replace(is_sufficient=work.round >= self._world.enough, next_queries=())


# Where a run can be killed: amid the searches of a round, while pages are read, while the round is judged, while the
# report is written, and while its sentences are checked.
POINTS = ("searching", "reading", "judging", "drafting", "checking")


def build(settings: Settings) -> Adapters:
    """Return the parts of a run that dies where TEST_KILL says (`--wiring deep_world:build`), at one of `POINTS`."""
    script = {"en": ENGLISH, "zh": CHINESE}[os.environ["TEST_LANGUAGE"]]
    log = CallLog(Path(os.environ["TEST_CALL_LOG"]))
    world = DeepWorld(script=script.only(*script.titles[:3]), enough=3, planned=2, pages=12, hits_a_query=1, log=log)
    point = os.environ.get("TEST_KILL")

    def dying(at: str, answer: Callable[[ModelRequest], str]) -> Callable[[ModelRequest], str]:
        return lambda request: _die() if point == at else answer(request)

    world.answers = {
        "reflect": dying("judging", world.reflect),
        "draft": dying("drafting", answer_in_form),
        "judge": dying("checking", answer_in_form),
    }
    adapters = world.adapters(settings)
    hits, texts = world.web
    if point == "searching":
        adapters = replace(adapters, engines=(_DyingSearch(hits, hits_a_query=1, log=log),))
    if point == "reading":
        adapters = replace(adapters, fetcher=_DyingFetcher(texts, log=log))
    return adapters


class _DyingSearch(StaticSearch):
    """Dies with the second query of a section, while others are asked."""

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        return _die() if query.query.endswith("1.2") else await super().search(query, limit=limit)


class _DyingFetcher(MemoryFetcher):
    """Dies with the first page that it has read, while others are read."""

    async def fetch(self, address: str) -> Fetched:
        await super().fetch(address)
        _die()


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
