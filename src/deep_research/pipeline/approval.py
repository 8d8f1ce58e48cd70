"""The plan before the user: when it is shown for approval, how it reads, and what an answer makes of it."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from deep_research.errors import InputError
from deep_research.llm.port import ChatModel, ModelRequest, ModelRole
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.plan_text import MAX_SECTIONS, plan_from_text
from deep_research.pipeline.stages.plan import as_allocated, queries_by_round
from deep_research.reasoning.rules.question.signals import is_complex
from deep_research.reasoning.values import Brief, Plan, Strings
from deep_research.request import ResearchRequest
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import Words, words_in
from deep_research.value import Json, JsonObject, Value, canonical_json

Unit = Literal["run", "section", "round", "query", "page"]
# A normal run stops after this many of its rounds; its queries run out after three.
TYPICAL_ROUNDS = 2
# Of the pages that queries may read, the share that is new and can be read.
TYPICAL_PAGES = 0.6
# Of what a model may think before it answers, the share that it does think.
TYPICAL_THINKING = 0.25
# No call is expected to read or write more than this many times its typical size.
MAX_SIZE = 2
# What models' upper estimates count for a short English word.
_TOKENS_PER_WORD = 1.25


class ActSize(NamedTuple):
    """How many tokens an act reads and writes, and how often it is done for each unit: typically, and at most."""

    role: ModelRole
    tokens_in: int
    tokens_out: int
    unit: Unit
    typical: float
    most: float


# What prompts hold was measured on six runs over the example documents and four folders of DRBench; how long answers
# are, and how often the rarer acts are needed, is estimated.
ACTS: dict[str, ActSize] = {
    "assess": ActSize("task", 1_000, 250, "run", 1, 4),
    "plan": ActSize("thinking", 900, 700, "run", 1, 1),
    "queries": ActSize("task", 1_000, 200, "round", 0.5, 1),
    "extract": ActSize("task", 1_700, 350, "page", 1, 1),
    "reflect": ActSize("thinking", 2_400, 450, "round", 0.8, 1),
    "plan_charts": ActSize("task", 1_800, 600, "run", 0.5, 1),
    "repair_chart": ActSize("task", 1_500, 800, "run", 0, 5),
    "draft": ActSize("thinking", 9_000, 2_200, "run", 1, 2),
    "judge": ActSize("task", 3_500, 700, "section", 1.5, 4),
    "find_held": ActSize("task", 8_000, 150, "run", 0.8, 2),
    "edit": ActSize("thinking", 5_000, 700, "run", 1, 1),
    "recall": ActSize("thinking", 700, 250, "run", 0, 1),
}


class Forecast(Value):
    """Calls, tokens and money a run is likely to take, and the most money it can; None where a price is not known."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    most_usd: float | None = 0.0


class Effort(NamedTuple):
    """How much a run may search and read: queries of the first round, all queries, rounds, and pages."""

    first: int
    queries: int
    rounds: int
    pages: int


def effort_of(request: ResearchRequest) -> Effort:
    """Return how far a run may go: its depth, within its budget."""
    rounds = queries_by_round(request)
    pages = sum(rounds) * request.depth.urls_per_query
    if request.budget.pages is not None:
        pages = min(pages, request.budget.pages)
    return Effort(first=rounds[0] if rounds else 0, queries=sum(rounds), rounds=len(rounds), pages=pages)


def forecast(plan: Plan, request: ResearchRequest, models: Sequence[ChatModel]) -> Forecast:
    """Return what the run will cost with the first of the models; without one, nothing."""
    if not models:
        return Forecast()
    typical, utmost = _counts(plan, request, is_most=False), _counts(plan, request, is_most=True)
    calls, tokens, usd, most_usd = 0.0, 0.0, 0.0, 0.0
    for act, size in ACTS.items():
        often = size.typical * typical[size.unit]
        calls += often
        tokens += often * (size.tokens_in + size.tokens_out)
        full, thinking = _price(act, size, models[0]), _price(act, size._replace(tokens_in=0, tokens_out=0), models[0])
        usd += often * (full - (1 - TYPICAL_THINKING) * thinking)
        most_usd += size.most * utmost[size.unit] * MAX_SIZE * full
    limit = request.budget.usd
    if limit is not None:
        usd, most_usd = min(usd, limit), min(most_usd, limit)
    most = None if models[0].unpriced else round(most_usd, 4)
    return Forecast(calls=round(calls), tokens=round(tokens), usd=round(usd, 4), most_usd=most)


def _counts(plan: Plan, request: ResearchRequest, *, is_most: bool) -> dict[Unit, float]:
    effort, sections = effort_of(request), len(plan.sections)
    rounds = effort.rounds if is_most else min(effort.rounds, TYPICAL_ROUNDS)
    share = 1.0 if is_most or not effort.rounds else rounds / effort.rounds
    return {
        "run": 1,
        "section": sections,
        "round": sections * rounds,
        "query": effort.queries * share,
        "page": effort.pages * share * (1 if is_most else TYPICAL_PAGES),
    }


def _price(act: str, size: ActSize, model: ChatModel) -> float:
    prompt = "word " * round(size.tokens_in / _TOKENS_PER_WORD)
    request = ModelRequest(act=act, role=size.role, prompt=prompt, max_tokens=size.tokens_out)
    return model.estimate(request).usd


# What a user may answer, folded to simplified characters and small letters.
APPROVALS = frozenset(
    (
        *("", "approve", "approved", "yes", "y", "ok", "okay", "start", "start now", "go", "go ahead"),
        *("同意", "批准", "确认", "可以", "好", "好的", "是", "行", "开始", "开始研究", "直接开始", "直接开始研究"),
    )
)
EDITS = frozenset(("edit", "e", "编辑", "修改"))
_DROP = re.compile(
    r"(?:drop|remove|delete|without|删除|删掉|去掉|不要)\W*(?:sections?|第)?\s*(\d[\d\s,，、和与&]*|\d)\W*[节章]?"
)


# "focus: costs; noise", "correct: the town in Wales": what changes the question, and so the plan.
_CORRECTION = re.compile(r"(?is)\s*(?:(?P<focus>focus|重点)|correct|更正)\s*[:：]\s*(?P<text>\S.*)")


class Correction(NamedTuple):
    """What a user wants researched instead: other focuses, or the question with something said about it."""

    focus: Strings = ()
    text: str = ""


def correction_in(answer: Json) -> Correction | None:
    """Return what an answer changes about the question, None where it only answers."""
    if isinstance(answer, dict) and isinstance(named := answer.get("focus"), list):
        return Correction(focus=tuple(map(str, named))[:MAX_SECTIONS])
    if not isinstance(answer, str) or not (found := _CORRECTION.fullmatch(to_simplified(answer))):
        return None
    text = answer[slice(*found.span("text"))].strip()
    if not found["focus"]:
        return Correction(text=text)
    parts = dict.fromkeys(filter(None, map(str.strip, re.split("[;；,，、\n]", text))))
    return Correction(focus=tuple(parts)[:MAX_SECTIONS])


class Proposal(NamedTuple):
    """A plan, what it may take, and whether somebody is to be asked before it is followed."""

    plan: Plan
    forecast: Forecast
    needs_approval: bool
    text: str

    def pending(self, scope: str, number: int, problem: str) -> JsonObject:
        """Return what a run that waits for approval says it waits for."""
        return {
            "kind": "plan-approval",
            "scope": scope,
            "round": number,
            "question": self.text,
            "plan": self.plan.to_json(),
            "estimate": self.forecast.to_json(),
            "problem": problem,
        }


def propose(plan: Plan, brief: Brief, *, is_confirmed: bool, context: StageContext) -> Proposal:
    """Return the plan as it is put to the user; `is_confirmed` says that intake wants it confirmed.

    Who is asked approves the queries that are shown, and those are the ones that will be used.
    """
    adapters, request = context.adapters, context.request
    estimate = forecast(plan, request, adapters.models)
    is_weighty = is_confirmed or is_complex(brief.question) or estimate.usd > adapters.confirm_above_usd
    model = ", ".join(adapters.models[0].unpriced) if adapters.models else ""
    is_shown = is_asked(request, is_weighty=is_weighty)
    plan = as_allocated(plan, request) if is_shown else plan
    text = "\n".join(plan_lines(plan, brief, request, estimate, model=model))
    return Proposal(plan, estimate, is_shown, text)


def is_asked(request: ResearchRequest, *, is_weighty: bool) -> bool:
    """Say whether the plan waits for approval: the user wants it, or it is weighty and somebody is there."""
    return request.confirm_plan or (request.interactive and not request.assume and is_weighty)


def plan_lines(plan: Plan, brief: Brief, request: ResearchRequest, estimate: Forecast, *, model: str) -> list[str]:
    """Return the plan in words: title, sections with what they look for, and what it all may take."""
    words = words_in(brief.language)
    lines = [words("plan.title", title=plan.research_title)]
    for number, section in enumerate(plan.sections, start=1):
        lines.append(f"  {number}. {section.title}")
        if section.description and section.description not in (brief.question, brief.original, section.title):
            lines.append(f"     {section.description}")
        lines += [f"     · {query.query}" for query in section.search_queries]
    lines += [f"{words('page.assumptions')}{words('report.colon')}{line}" for line in brief.assumptions]
    if estimate.most_usd is None:
        cost = words("plan.cost_unknown", tokens=f"{estimate.tokens:,}", model=model)
    elif estimate.most_usd:
        cost = words("plan.cost", usd=f"{estimate.usd:.2f}", most=f"{estimate.most_usd:.2f}")
    else:
        cost = words("plan.no_cost")
    return [*lines, words("plan.effort", **effort_of(request)._asdict()), cost]


def answered_plan(plan: Plan, answer: Json, words: Words) -> Plan:
    """Return the plan as the user wants it: as it is, without some sections, or anew; else say what would fit."""
    text = answer if isinstance(answer, str) else canonical_json(answer)
    folded = to_simplified(text).strip(" \t\r\n.!。！“”「」\"'").lower()
    if folded in APPROVALS:
        return plan
    if drop := _DROP.fullmatch(folded):
        return _without(plan, sorted(map(int, re.findall(r"\d+", drop.group(1)))), words)
    if ":" not in text:
        raise InputError(words("plan.help"))
    return plan_from_text(text, plan, words)


def _without(plan: Plan, numbers: Sequence[int], words: Words) -> Plan:
    count = len(plan.sections)
    for number in numbers:
        if not 0 < number <= count:
            raise InputError(words("plan.drop_unknown", number=number, count=count))
    remaining = tuple(section for number, section in enumerate(plan.sections, start=1) if number not in numbers)
    if not remaining:
        raise InputError(words("plan.drop_all"))
    return plan.replace(sections=remaining)
