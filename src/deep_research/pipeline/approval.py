"""The plan before the user: when it is shown for approval, how it reads, and what an answer makes of it."""

import re
from collections.abc import Sequence
from math import ceil
from typing import Literal, NamedTuple

from deep_research.errors import InputError, NotFound
from deep_research.llm.port import ChatModel, ModelRequest, ModelRole
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.control import change_course, words_of
from deep_research.pipeline.plan_text import MAX_SECTIONS, plan_from_text
from deep_research.pipeline.research_map import entries_now, key_of, map_change_in, names_of
from deep_research.pipeline.stages.draft import ANSWER_WORDS, MOST_IN_ONE_PIECE
from deep_research.pipeline.stages.plan import as_allocated, as_settled, queries_by_round
from deep_research.reasoning.model.chapters import WORDS_A_CHAPTER
from deep_research.reasoning.model.writing import CHARACTERS_A_WORD, words_in_one_answer
from deep_research.reasoning.rules.question.signals import is_complex
from deep_research.reasoning.values import Brief, Plan, Strings
from deep_research.request import REPORT_WORDS, Depth, DepthName, ResearchRequest
from deep_research.storage.store.port import RunRow
from deep_research.storage.store.store import Store
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import Words, words_in
from deep_research.value import Json, JsonObject, Value, canonical_json

Unit = Literal["run", "round", "page", "chapter", "outline"]
# A normal run stops after this many of its rounds.
TYPICAL_ROUNDS = 3
# Of the pages that queries may read, the share that is new and can be read: a deep run read 140 for 97 queries.
TYPICAL_PAGES = 0.7
# Of what a model may think before it answers, the share that it does think.
TYPICAL_THINKING = 0.25
# No call is expected to read or write more than this many times its typical size.
MAX_SIZE = 2
# What grows with the report; the sizes are those of one of standard length.
_GROWING = frozenset({"judge", "edit"})
# A call takes some 12 seconds, and two are under way at once.
_CALLS_A_MINUTE = 10
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


# What prompts hold was measured on six runs over the example documents and four folders of DRBench, and of reading,
# reflecting, chapters, judging and what came after them on one deep run of 140 pages and 4,600 words; how long answers
# are, and how often the rarer acts are needed, is estimated.
ACTS: dict[str, ActSize] = {
    "assess": ActSize("task", 1_000, 250, "run", 1, 4),
    "plan": ActSize("thinking", 900, 700, "run", 1, 1),
    "queries": ActSize("task", 1_000, 200, "round", 0.5, 1),
    "extract": ActSize("task", 3_700, 650, "page", 0.22, 1),
    "reflect": ActSize("thinking", 7_400, 1_050, "round", 0.8, 1),
    "plan_charts": ActSize("task", 1_800, 600, "run", 0.5, 1),
    "repair_chart": ActSize("task", 1_500, 800, "run", 0, 5),
    "outline": ActSize("thinking", 8_600, 1_000, "outline", 1, 2),
    "draft": ActSize("thinking", 11_500, 2_200, "chapter", 1, 2),
    "answer": ActSize("thinking", 13_000, 600, "outline", 1, 2),
    "judge": ActSize("task", 6_200, 1_100, "run", 4, 8),
    "find_held": ActSize("task", 8_000, 150, "run", 0.8, 2),
    "edit": ActSize("thinking", 5_000, 700, "run", 1, 1),
    "recall": ActSize("thinking", 700, 250, "run", 0, 1),
}


class Forecast(Value):
    """Calls, tokens, money and time a run is likely to take, and the most money; None where a price is not known."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    most_usd: float | None = 0.0
    minutes: int = 0


class Effort(NamedTuple):
    """How much a run may search and read: queries of the first round, all queries, rounds, and pages."""

    first: int
    queries: int
    rounds: int
    pages: int


def effort_of(request: ResearchRequest) -> Effort:
    """Return how far a run may go: its depth, within its budget."""
    rounds, depth = queries_by_round(request), request.deepest
    pages = min(sum(rounds) * depth.urls_per_query, depth.max_pages)
    if request.budget.pages is not None:
        pages = min(pages, request.budget.pages)
    return Effort(first=rounds[0] if rounds else 0, queries=sum(rounds), rounds=len(rounds), pages=pages)


def words_here(plan: Plan, brief: Brief, window: int) -> int:
    """Return how many words the report may have: no answer of a model takes more than its share of the window."""
    words, own = REPORT_WORDS[brief.length], words_in_one_answer(window)
    return min(words, own if words <= MOST_IN_ONE_PIECE else own * len(plan.sections) + ANSWER_WORDS)


def forecast(request: ResearchRequest, models: Sequence[ChatModel], *, words: int = 0) -> Forecast:
    """Return what a run with a report of so many words will cost with the first of the models; without one, nothing."""
    if not models:
        return Forecast()
    words = words or REPORT_WORDS[request.length or "standard"]
    typical, utmost = _counts(words, request, is_most=False), _counts(words, request, is_most=True)
    calls, tokens, usd, most_usd = 0.0, 0.0, 0.0, 0.0
    growth = words / REPORT_WORDS["standard"]
    for act, size in ACTS.items():
        factor = growth if act in _GROWING else 1.0
        often = factor * size.typical * typical[size.unit]
        calls += often
        tokens += often * (size.tokens_in + size.tokens_out)
        full, thinking = _price(act, size, models[0]), _price(act, size._replace(tokens_in=0, tokens_out=0), models[0])
        usd += often * (full - (1 - TYPICAL_THINKING) * thinking)
        most_usd += factor * size.most * utmost[size.unit] * MAX_SIZE * full
    limit = request.budget.usd
    if limit is not None:
        usd, most_usd = min(usd, limit), min(most_usd, limit)
    most = None if models[0].unpriced else round(most_usd, 4)
    minutes = ceil(calls / _CALLS_A_MINUTE)
    return Forecast(calls=round(calls), tokens=round(tokens), usd=round(usd, 4), most_usd=most, minutes=minutes)


def _counts(words: int, request: ResearchRequest, *, is_most: bool) -> dict[Unit, float]:
    effort = effort_of(request)
    rounds = queries_by_round(request)[: None if is_most else TYPICAL_ROUNDS]
    pages = effort.pages * sum(rounds) / max(effort.queries, 1)
    chapters = words // WORDS_A_CHAPTER if words > MOST_IN_ONE_PIECE else 0
    return {
        "run": 1,
        "round": len(rounds),
        "page": pages * (1 if is_most else TYPICAL_PAGES),
        "chapter": max(chapters, 1),
        "outline": min(chapters, 1),
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


_DEPTHS: dict[str, DepthName] = {
    "quick": "quick", "standard": "standard", "deep": "deep", "快速": "quick", "标准": "standard", "深入": "deep",
}  # fmt: skip
_DEPTH = re.compile(rf"(?:(?:depth|深度)\s*[:：]?\s*)?({'|'.join(_DEPTHS)})")


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


async def steer(store: Store, row: RunRow, answer: Json) -> bool:
    """Take an answer to a run that works as a change of what it looks for; False where it is none."""
    change, correction = map_change_in(answer), correction_in(answer)
    if row.status == "waiting" and (isinstance(answer, str) or not change):
        return False
    if change:
        entries = entries_now(await store.read_events(row.id), await store.get_answers(row.id), words_of(row))
        if unknown := [name for name in change.strike if key_of(name) not in names_of(entries)]:
            raise NotFound().with_message("fault.no_entry", name=unknown[0])
        await change_course(store, row, "map", change.to_json())
    elif correction and correction.focus:
        await change_course(store, row, "focus", list(correction.focus))
    else:
        return False
    return True


class Proposal(NamedTuple):
    """A plan, what it may take, and whether somebody is to be asked before it is followed."""

    plan: Plan
    forecast: Forecast
    needs_approval: bool
    text: str
    extent: str
    depth: DepthName

    def pending(self, scope: str, number: int, problem: str) -> JsonObject:
        """Return what a run that waits for approval says it waits for."""
        return {
            "kind": "plan-approval",
            "scope": scope,
            "round": number,
            "question": self.text,
            "plan": self.plan.to_json(),
            "estimate": self.forecast.to_json(),
            "extent": self.extent,
            "depth": self.depth,
            "problem": problem,
        }


def propose(plan: Plan, brief: Brief, *, is_confirmed: bool, context: StageContext) -> Proposal:
    """Return the plan as it is put to the user; `is_confirmed` says that intake wants it confirmed.

    Who is asked approves the queries that are shown, and those are the ones that will be used.
    """
    adapters, request = context.adapters, as_settled(context.request, brief)
    words = words_here(plan, brief, adapters.window)
    estimate = forecast(request, adapters.models, words=words)
    is_weighty = is_confirmed or is_complex(brief.question) or estimate.usd > adapters.confirm_above_usd
    # Nobody asked for a deep run.
    is_weighty |= context.request.depth is None and brief.depth.name == "deep"
    model = ", ".join(adapters.models[0].unpriced) if adapters.models else ""
    is_shown = is_asked(request, is_weighty=is_weighty)
    plan = as_allocated(plan, request) if is_shown else plan
    extent = extent_in_words(brief, request, estimate, most=words)
    text = "\n".join(plan_lines(plan, brief, extent, estimate, model=model))
    return Proposal(plan, estimate, is_shown, text, extent, brief.depth.name)


def is_asked(request: ResearchRequest, *, is_weighty: bool) -> bool:
    """Say whether the plan waits for approval: the user wants it, or it is weighty and somebody is there."""
    return request.confirm_plan or (request.interactive and not request.assume and is_weighty)


def extent_in_words(brief: Brief, request: ResearchRequest, estimate: Forecast, *, most: int) -> str:
    """Return how far the run goes: its numbers; with a model its depth, the report's length, and how long it takes."""
    words = words_in(brief.language)
    count = most * (CHARACTERS_A_WORD if brief.language.startswith("zh") else 1)
    told = {
        "depth": brief.depth.name,
        "length": brief.length,
        "words": f"{round(count, -2):,.0f}",
        "minutes": estimate.minutes,
    }
    effort = words("plan.effort", **effort_of(request)._asdict())
    return f"{words('plan.extent', **told)}\n{effort}" if estimate.calls else effort


def plan_lines(plan: Plan, brief: Brief, extent: str, estimate: Forecast, *, model: str) -> list[str]:
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
    return [*lines, extent, cost]


def depth_in(answer: Json) -> tuple[DepthName | None, Json]:
    """Return the depth with which an answer has the plan followed, and what the answer says of the plan itself."""
    if isinstance(answer, dict):
        plan = {key: value for key, value in answer.items() if key != "depth"}
        return _DEPTHS.get(str(answer.get("depth"))), plan
    found = _DEPTH.fullmatch(_folded(str(answer)))
    return (_DEPTHS.get(found[1]), "approve") if found else (None, answer)


def with_depth(brief: Brief, depth: DepthName, context: StageContext) -> Brief:
    """Return a brief with another depth, and the length that goes with it unless one is set."""
    request = context.request.replace(depth=Depth.named(depth))
    deep, length = request.extent("", has_model=bool(context.adapters.models))
    return brief.replace(depth=deep, length=length)


def _folded(text: str) -> str:
    return to_simplified(text).strip(" \t\r\n.!。！“”「」\"'").lower()


def answered_plan(plan: Plan, answer: Json, words: Words) -> Plan:
    """Return the plan as the user wants it: as it is, without some sections, or anew; else say what would fit."""
    _, answer = depth_in(answer)
    text = answer if isinstance(answer, str) else canonical_json(answer)
    folded = _folded(text)
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
    return plan.replace(sections=remaining, entries=plan.entries_of([section.title for section in remaining]))
