"""What a run will cost with a model, before it starts: its acts, how often each is done, what each reads and writes.

The table is calibrated against measured runs; prices come from the model itself.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from deep_research.llm.port import ChatModel, ModelRequest, ModelRole
from deep_research.reasoning.values import Plan
from deep_research.request import ResearchRequest
from deep_research.value import Value

Unit = Literal["run", "section", "round", "query", "page"]
# A normal run stops after this many of its rounds (SPEC L3: queries run out after three).
TYPICAL_ROUNDS = 2
# Of the pages that queries may read, the share that is new and can be read.
TYPICAL_PAGES = 0.6
# No call is expected to read or write more than this many times its typical size.
MOST_SIZE = 2
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


ACTS: dict[str, ActSize] = {
    "assess": ActSize("task", 1_500, 300, "run", 1, 4),
    "plan": ActSize("thinking", 1_800, 700, "run", 1, 1),
    "queries": ActSize("task", 1_500, 250, "round", 1, 1),
    "choose_tools": ActSize("task", 900, 60, "query", 0, 1),
    "extract": ActSize("task", 4_500, 500, "page", 1, 1),
    "compress": ActSize("task", 2_500, 250, "round", 1, 1),
    "synthesize": ActSize("task", 3_000, 400, "round", 1, 1),
    "reflect": ActSize("task", 2_200, 300, "round", 1, 1),
    "analyze": ActSize("thinking", 6_000, 900, "run", 0.5, 1),
    "plan_charts": ActSize("task", 3_000, 600, "run", 1, 1),
    "repair_chart": ActSize("task", 1_500, 600, "run", 0, 5),
    "draft": ActSize("thinking", 5_000, 1_200, "section", 1, 2),
    "judge_support": ActSize("task", 900, 120, "section", 8, 25),
    "revise": ActSize("task", 900, 120, "section", 2, 15),
    "conclude": ActSize("thinking", 5_000, 900, "run", 1, 1),
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
    limits = [request.depth.max_total_queries, request.budget.queries]
    allowed = min(limit for limit in limits if limit is not None)
    rounds = request.depth.model_copy(update={"max_total_queries": allowed}).rounds()
    pages = sum(rounds) * request.depth.urls_per_query
    pages = pages if request.budget.pages is None else min(pages, request.budget.pages)
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
        usd += often * _price(act, size, models[0])
        most_usd += size.most * utmost[size.unit] * MOST_SIZE * _price(act, size, models[0])
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
