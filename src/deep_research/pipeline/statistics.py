"""The statistics of a run from its journal and events: stages, steps, calls, costs, and how they compare."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, NamedTuple

from deep_research.events import RunEvent
from deep_research.llm.port import ModelReply
from deep_research.pipeline.journal import DECISIONS, longest_chain_s, model_calls, spent_so_far
from deep_research.pipeline.prompt_meter import PromptSize
from deep_research.request import Spend
from deep_research.storage.store.port import JournalRow, RunRow
from deep_research.storage.store.store import Store
from deep_research.value import Json, JsonObject


class TimeSpan(NamedTuple):
    """A stretch of time."""

    begin: datetime
    end: datetime


class Step(NamedTuple):
    """A stage at one place of a run; its status is "" while it is under way, or where it was given up.

    `reason` says why it failed or was skipped.
    """

    name: str
    span: TimeSpan
    status: str
    reason: str


def spans_of(events: Sequence[RunEvent]) -> list[TimeSpan]:
    """Return the stretches in which some process worked on the run: not while it waited, or lay killed."""
    spans = []
    is_over = True
    for event in events:
        status = event.data["status"] if event.kind == "run-status" else ""
        if is_over or status == "running":
            spans.append(TimeSpan(event.at, event.at))
        spans[-1] = spans[-1]._replace(end=event.at)
        is_over = status not in ("", "running")
    return spans


def steps_of(events: Sequence[RunEvent]) -> Iterator[Step]:
    """Yield every step in the order in which they began; one that has not ended lasts until now."""
    ended = {}
    for event in events:
        if event.kind == "progress" and event.data["status"] != "started":
            # A step that failed may have been done in the end.
            ended[_step_key(event)] = event
    for event in events:
        if event.kind == "progress" and event.data["status"] == "started":
            end = ended.get(_step_key(event))
            ending: Mapping[str, Any] = end.data if end else {}
            reason = str((ending.get("data") or {}).get("reason", ""))
            span = TimeSpan(event.at, end.at if end else events[-1].at)
            yield Step(str(event.data["step"]), span, str(ending.get("status", "")), reason)


def _step_key(event: RunEvent) -> tuple[str, str]:
    return str(event.data["step"]), event.key.split(":")[1]


def within(some: Iterable[TimeSpan], others: Sequence[TimeSpan]) -> list[TimeSpan]:
    """Return the parts of some spans that lie in others."""
    parts = (TimeSpan(max(one.begin, other.begin), min(one.end, other.end)) for one in some for other in others)
    return [part for part in parts if part.begin < part.end]


def seconds_of(spans: Iterable[TimeSpan]) -> float:
    """Return the seconds that spans cover together: what overlaps counts once."""
    total, covered_until = 0.0, datetime.min.replace(tzinfo=UTC)
    for span in sorted(spans):
        total += max(0.0, (span.end - max(span.begin, covered_until)).total_seconds())
        covered_until = max(covered_until, span.end)
    return total


# What a run aims at: its seconds, searches and tokens a query stay below, its steps succeed above. No gates.
MAX_SECONDS, MAX_SEARCHES, MAX_TOKENS_PER_QUERY, MIN_STEPS_DONE = 60, 20, 10_000, 0.95


async def statistics_for(row: RunRow, *, store: Store) -> JsonObject:
    """Return the figures of any run as it stands now: under way, ended, or recorded by an earlier version."""
    rows, events = await store.list_calls(row.id), await store.read_events(row.id)
    spent = spent_so_far(rows).replace(seconds=row.active_s)
    return statistics_of(rows, events, spent=spent, answers=await model_calls(rows, store))


def statistics_of(
    rows: list[JournalRow], events: list[RunEvent], *, spent: Spend, answers: Sequence[JsonObject] = ()
) -> JsonObject:
    """Return a run's figures. Durations are of the calls that were really made, also by earlier processes.

    `answers` are what the journal keeps of the calls to models.
    """
    finished = [row for row in rows if row.ended_at]
    made = [row for row in finished if row.state in ("done", "failed") and row.kind not in DECISIONS]
    calls = [TimeSpan(row.started_at, row.ended_at) for row in made if row.ended_at]
    between_s = (max(call.end for call in calls) - min(calls).begin).total_seconds() if calls else 0.0
    chain_s, spans = longest_chain_s(finished), spans_of(events)
    wall_s, searches = seconds_of(spans), sum(row.spend.queries for row in rows)
    fetched = [row.scope for row in made if row.kind == "fetch" and row.state == "done"]
    steps, tokens_per_query = _steps(events), _rate(spent.tokens, searches)
    return {
        "spent": spent.to_json(),
        "calls": dict(sorted(Counter(f"{row.kind} {row.state}" for row in rows).items())),
        "success_rate": _rate(sum(row.state == "done" for row in made), len(made)),
        "wall_s": round(wall_s, 4),
        "stages": _stages(events, spans, wall_s),
        "steps": steps,
        "longest_chain_s": round(chain_s, 4),
        "first_call_to_last_answer_s": round(between_s, 4),
        "wall_over_chain": _rate(wall_s, chain_s),
        "peak_in_flight": _peak(calls),
        "searches": searches,
        "engine_requests": sum(row.kind == "search" for row in made),
        "pages": sum(row.spend.pages for row in rows),
        "tokens_per_query": tokens_per_query,
        "usd_per_query": _rate(spent.usd, searches),
        "duplicates": {
            "prompts": sum(prompt.seen >= prompt.tokens for prompt in _prompts(answers)),
            "fetches": len(fetched) - len(set(fetched)),
        },
        "model": model_use(answers),
        "targets": {
            "seconds": _target(round(wall_s, 4), MAX_SECONDS),
            "tokens_per_query": _target(tokens_per_query, MAX_TOKENS_PER_QUERY),
            "searches": _target(searches, MAX_SEARCHES),
            "steps": _target(steps["success_rate"], MIN_STEPS_DONE, is_least=True),
        },
    }


def model_use(answers: Sequence[JsonObject]) -> JsonObject:
    """Return what the models were asked and answered, in tokens.

    `prefix_share` is the share of prompt tokens with which the prompt sent before begins too, `cacheable_share` the
    share with which any earlier prompt of the run begins: the most that a provider's cache can serve.
    """
    replies = [ModelReply.from_json(answer["reply"]) for answer in answers]
    prompts = _prompts(answers)
    asked = sum(prompt.tokens for prompt in prompts)
    tokens: Counter[str] = Counter()
    for prompt, reply in zip(prompts, replies, strict=True):
        tokens[prompt.act] += reply.tokens_in + reply.tokens_out
    return {
        "calls": len(replies),
        "calls_by_act": dict(sorted(Counter(prompt.act for prompt in prompts).items())),
        "tokens_by_act": dict(sorted(tokens.items())),
        "calls_by_model": dict(sorted(Counter(reply.model for reply in replies).items())),
        "prompt_tokens": sum(reply.tokens_in for reply in replies),
        "completion_tokens": sum(reply.tokens_out for reply in replies),
        "cached_tokens": sum(reply.tokens_cached for reply in replies),
        "prefix_share": _rate(sum(prompt.repeated for prompt in prompts), asked) or 0.0,
        "cacheable_share": _rate(sum(prompt.seen for prompt in prompts), asked) or 0.0,
    }


def _prompts(answers: Sequence[JsonObject]) -> list[PromptSize]:
    return [PromptSize.from_json(answer["prompt"]) for answer in answers]


def _rate(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _stages(events: list[RunEvent], spans: Sequence[TimeSpan], wall_s: float) -> JsonObject:
    """Return how long each stage was busy at one place at least, in the order in which they began."""
    busy: dict[str, list[TimeSpan]] = {}
    for step in steps_of(events):
        busy.setdefault(step.name, []).append(step.span)
    stages: JsonObject = {}
    for name, own in busy.items():
        seconds = seconds_of(within(own, spans))
        stages[name] = {"seconds": round(seconds, 4), "share": _rate(seconds, wall_s), "steps": len(own)}
    return stages


def _steps(events: list[RunEvent]) -> JsonObject:
    """Count what was done and what was not: stages at each place, searches and pages; what is under way is neither."""
    stages = Counter(step.status for step in steps_of(events))
    tasks = Counter(str(event.data["status"]) for event in events if event.kind == "search-task")
    read = _pages(event.key.split(":")[1] for event in events if event.kind == "source")
    lost = _pages(str(event.data.get("step", "")) for event in events if event.kind == "error")
    ended = [event.data["status"] for event in events if event.kind == "run-status"][-1:]
    gave_up = stages[""] if ended in (["done"], ["failed"]) else 0
    done = stages["done"] + stages["skipped"] + tasks["done"] + len(read)
    failed = stages["failed"] + gave_up + tasks["failed"] + len(lost - read)
    return {"done": done, "failed": failed, "success_rate": _rate(done, done + failed)}


def _pages(scopes: Iterable[str]) -> set[str]:
    return {scope for scope in scopes if "/page/" in scope}


def _peak(calls: Iterable[TimeSpan]) -> int:
    """Return how many calls were under way at once."""
    moments = [moment for call in calls for moment in ((call.begin, 1), (call.end, -1))]
    # Where one call ends as another begins, they were not under way together.
    return max(accumulate(change for _, change in sorted(moments)), default=0)


def _target(measured: Json, target: float, *, is_least: bool = False) -> JsonObject:
    """Return what a run aims at beside what was measured; None where there is nothing to measure."""
    is_met = None
    if isinstance(measured, int | float):
        is_met = measured > target if is_least else measured < target
    return {"measured": measured, "target": target, "is_met": is_met}
