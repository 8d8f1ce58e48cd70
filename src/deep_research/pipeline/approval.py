"""The plan before the asker: when it is shown for approval, how it reads, and what an answer makes of it (SPEC P4)."""

import re
from typing import NamedTuple

from deep_research.errors import InputError
from deep_research.messages.words import Words, words
from deep_research.pipeline.context import Ports
from deep_research.pipeline.forecast import Forecast, effort_of, forecast
from deep_research.pipeline.plan import as_dealt
from deep_research.pipeline.plan_text import plan_from_text
from deep_research.reasoning.topic_signals import is_complex
from deep_research.reasoning.values import Brief, Plan
from deep_research.request import ResearchRequest
from deep_research.text.folding import to_simplified
from deep_research.value import Json, JsonObject, canonical_json

# What an asker may say, folded to simplified characters and small letters.
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


def propose(plan: Plan, brief: Brief, *, is_confirmed: bool, ports: Ports) -> Proposal:
    """Return the plan as it is put to the asker; `is_confirmed` says that intake wants it confirmed.

    Who is asked approves the queries that are shown, and those are the ones that will be used.
    """
    parts, request = ports.run.parts, ports.request
    estimate = forecast(plan, request, parts.models)
    is_weighty = is_confirmed or is_complex(brief.question) or estimate.usd > parts.confirm_above_usd
    model = ", ".join(parts.models[0].unpriced) if parts.models else ""
    is_shown = is_asked(request, is_weighty=is_weighty)
    plan = as_dealt(plan, ports=ports) if is_shown else plan
    text = "\n".join(plan_lines(plan, brief, request, estimate, model=model))
    return Proposal(plan, estimate, is_shown, text)


def is_asked(request: ResearchRequest, *, is_weighty: bool) -> bool:
    """Say whether the plan waits for approval: the asker wants it, or it is weighty and somebody is there."""
    return request.confirm_plan or (request.interactive and not request.assume and is_weighty)


def plan_lines(plan: Plan, brief: Brief, request: ResearchRequest, estimate: Forecast, *, model: str) -> list[str]:
    """Return the plan in words: title, sections with what they look for, and what it all may take."""
    say = words(brief.language)
    lines = [say("plan.title", title=plan.research_title)]
    for number, section in enumerate(plan.sections, start=1):
        lines.append(f"  {number}. {section.title}")
        if section.description and section.description not in (brief.question, brief.original, section.title):
            lines.append(f"     {section.description}")
        lines += [f"     · {query.query}" for query in section.search_queries]
    return [*lines, say("plan.effort", **effort_of(request)._asdict()), _cost(estimate, model, say)]


def _cost(estimate: Forecast, model: str, say: Words) -> str:
    if estimate.most_usd is None:
        return say("plan.cost_unknown", tokens=f"{estimate.tokens:,}", model=model)
    if not estimate.most_usd:
        return say("plan.no_cost")
    return say("plan.cost", usd=f"{estimate.usd:.2f}", most=f"{estimate.most_usd:.2f}")


def answered_plan(plan: Plan, answer: Json, say: Words) -> Plan:
    """Return the plan as the asker wants it: as it is, without some sections, or anew; else say what would fit."""
    text = answer if isinstance(answer, str) else canonical_json(answer)
    said = to_simplified(text).strip(" \t\r\n.!。！“”「」\"'").lower()
    if said in APPROVALS:
        return plan
    if drop := _DROP.fullmatch(said):
        return _without(plan, {int(number) for number in re.findall(r"\d+", drop.group(1))}, say)
    if ":" not in text:
        raise InputError(say("plan.help"))
    return plan_from_text(text, plan, say)


def _without(plan: Plan, numbers: set[int], say: Words) -> Plan:
    count = len(plan.sections)
    for number in sorted(numbers):
        if not 0 < number <= count:
            raise InputError(say("plan.drop_unknown", number=number, count=count))
    kept = tuple(section for number, section in enumerate(plan.sections, start=1) if number not in numbers)
    if not kept:
        raise InputError(say("plan.drop_all"))
    return plan.model_copy(update={"sections": kept})
