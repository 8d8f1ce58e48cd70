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

from deep_research.llm.port import ModelRequest
from deep_research.pipeline.adapters import Adapters
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Reflection, SectionWork
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.settings import Settings
from deep_research.testing import CallLog, MemoryFetcher, StaticSearch
from deep_research.wiring import build as build_real
from tests.support.analyst import ScriptedAnalyst, answer_in_form, sources_of
from tests.support.waiting import HANG_S
from tests.support.world import NARROW, with_models

_TITLE = re.compile(r"^Title: (.+)$", re.MULTILINE)
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
class PatientSearch(StaticSearch):
    """Answers what is asked for one section only when something else has begun: who waits for that section hangs."""

    late: str = ""
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        if self.late and query.query.startswith(self.late):
            await asyncio.wait_for(self.begun.wait(), HANG_S)
        return await super().search(query, limit=limit)


@dataclass
class DeepWorld:
    """`enough` says with which round each section is content; who is not named never is.

    What is searched for the section `late` is found only when the first section is content. With so many sentences
    `more` in each of its sections a page is too long to be read whole.
    """

    script: Script = ENGLISH
    enough: Mapping[str, int] = field(default_factory=dict)
    pages: int = 24
    hits_a_query: int = 2
    late: str = ""
    more: int = 0
    answers: Mapping[str, Callable[[ModelRequest], str]] = field(default_factory=dict)
    log: CallLog = field(default_factory=CallLog)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    @cached_property
    def analyst(self) -> ScriptedAnalyst:
        own = {"assess": self._assess, "plan": self._plan, "extract": self._extract, "reflect": self.reflect}
        answers = own | {"queries": self.queries} | dict(self.answers)
        return ScriptedAnalyst(answers=answers, log=self.log)

    def adapters(self, settings: Settings) -> Adapters:
        """Return the parts of a run in this world, over the real store."""
        hits, texts = self._web()
        search = PatientSearch(hits, hits_a_query=self.hits_a_query, log=self.log, late=self.late, begun=self.begun)
        real = build_real(settings.with_changes(engines=("none",)))
        adapters = replace(real, engines=(search,), fetcher=MemoryFetcher(texts, log=self.log), cache=None)
        return with_models(replace(adapters, fallback=_PatientRules(self)), self.analyst, options=NARROW)

    def _web(self) -> tuple[list[Hit], dict[str, str]]:
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
        return json.dumps(
            {"title": self.script.question, "goal": self.script.question, "sections": titles, "queries": []},
            ensure_ascii=False,
        )

    def queries(self, request: ModelRequest) -> str:
        """Number the queries of a round."""
        title, count = title_of(request), re.findall(r"at most (\d+) new", request.prompt)[0]
        turn = re.findall(r"Round of searching: (\d+)", request.prompt)[0]
        return json.dumps({"queries": [f"{title} {turn}.{n}" for n in range(1, int(count) + 1)]}, ensure_ascii=False)

    def _extract(self, request: ModelRequest) -> str:
        """Give each paragraph to the section it speaks of."""
        passages, titles = sources_of(request), self.script.titles
        fits = {
            label: next(n for n, title in enumerate(titles, start=1) if title.casefold() in text.casefold())
            for label, text in passages.items()
        }
        return json.dumps({"passages": [int(label) for label in fits], "sections": list(fits.values())})

    def reflect(self, request: ModelRequest) -> str:
        """Be content with the scripted round."""
        title, turn = title_of(request), int(_ROUND.findall(request.prompt)[0])
        score = 9 if self.is_enough(title, turn) else 4
        scores = dict.fromkeys(("coverage", "depth", "diversity", "consistency", "recency"), score)
        judged = {**scores, "gaps": [f"{title} {turn}"], "next_queries": [], "reasoning": "scripted"}
        return json.dumps(judged, ensure_ascii=False)

    def is_enough(self, title: str, turn: int) -> bool:
        """Say whether a section is content with a round."""
        is_enough = self.enough.get(title, NEVER) <= turn
        if is_enough and title == self.script.titles[0]:
            self.begun.set()
        return is_enough


class _PatientRules(ExtractiveReasoner):
    """Judges like the model, where nothing could follow from asking it."""

    def __init__(self, world: DeepWorld) -> None:
        super().__init__()
        self._world = world

    async def reflect(self, work: SectionWork) -> Reflection:
        judged = await super().reflect(work)
        is_enough = self._world.is_enough(work.section.title, work.round)
        return judged.model_copy(update={"is_sufficient": is_enough, "next_queries": ()})


def title_of(request: ModelRequest) -> str:
    """Return the section that a prompt is about."""
    return _TITLE.findall(request.text)[-1]


def build(settings: Settings) -> Adapters:
    """Return the parts of a run that dies where TEST_KILL says (`--wiring deep_world:build`).

    "judging": while the first section is judged and another is searched for; "drafting": while the report is written.
    """
    script = {"en": ENGLISH, "zh": CHINESE}[os.environ["TEST_LANGUAGE"]]
    first, late, other = script.titles[:3]
    world = DeepWorld(
        script=script.only(first, late, other),
        enough={first: 1, late: 3, other: 2},
        late=late if "TEST_KILL" in os.environ else "",
        pages=12,
        hits_a_query=1,
        log=CallLog(Path(os.environ["TEST_CALL_LOG"])),
    )

    def draft(request: ModelRequest) -> str:
        if os.environ.get("TEST_KILL") == "drafting":
            _die()
        return answer_in_form(request)

    def reflect(request: ModelRequest) -> str:
        if os.environ.get("TEST_KILL") == "judging":
            _die()
        return world.reflect(request)

    world.answers = {"draft": draft, "reflect": reflect}
    return world.adapters(settings)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
