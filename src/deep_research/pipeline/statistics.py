"""The statistics of a run (SPEC R9): seconds a stage, calls, costs, tokens, and the longest chain of calls needed."""

from collections import Counter
from collections.abc import Sequence

from deep_research.events import RunEvent
from deep_research.llm.port import ModelReply
from deep_research.pipeline.journal import longest_chain_s
from deep_research.pipeline.prompt_meter import PromptSize
from deep_research.request import Spend
from deep_research.store.port import JournalRow
from deep_research.value import Json, JsonObject

# Rows of the journal that record a choice or a count, and call nobody.
DECISIONS = frozenset({"query", "decision", "cache"})


def statistics_of(
    rows: list[JournalRow], events: list[RunEvent], *, spent: Spend, answers: Sequence[Json] = ()
) -> JsonObject:
    """Return a run's figures. Durations are of the calls that were really made, also by earlier processes.

    `answers` are what the journal keeps of the calls to models.
    """
    finished = [row for row in rows if row.ended_at is not None]
    made = [row for row in finished if row.state in ("done", "failed") and row.kind not in DECISIONS]
    begin = min((row.started_at for row in made), default=None)
    end = max((row.ended_at for row in made if row.ended_at), default=None)
    return {
        "spent": spent.to_json(),
        "calls": dict(sorted(Counter(f"{row.kind} {row.state}" for row in rows).items())),
        "success_rate": round(sum(row.state == "done" for row in made) / len(made), 4) if made else None,
        "stage_seconds": _stage_seconds(events),
        "longest_chain_s": round(longest_chain_s(finished), 4),
        "first_call_to_last_answer_s": round((end - begin).total_seconds(), 4) if begin and end else 0.0,
        "searches": sum(row.spend.queries for row in rows),
        "engine_requests": sum(row.kind == "search" for row in made),
        "pages": sum(row.spend.pages for row in rows),
        "model": model_use(answers),
    }


def model_use(answers: Sequence[Json]) -> JsonObject:
    """Return what the models were asked and answered, in tokens.

    `prefix_share` is the share of prompt tokens with which the prompt sent before begins too, `cacheable_share` the
    share with which any earlier prompt of the run begins: the most that a provider's cache can serve.
    """
    kept = [answer for answer in answers if isinstance(answer, dict)]
    replies = [ModelReply.from_json(answer["reply"]) for answer in kept]
    prompts = [PromptSize.from_json(answer["prompt"]) for answer in kept]
    asked = sum(prompt.tokens for prompt in prompts)
    return {
        "calls": len(replies),
        "calls_by_act": dict(sorted(Counter(prompt.act for prompt in prompts).items())),
        "calls_by_model": dict(sorted(Counter(reply.model for reply in replies).items())),
        "prompt_tokens": sum(reply.tokens_in for reply in replies),
        "completion_tokens": sum(reply.tokens_out for reply in replies),
        "cached_tokens": sum(reply.tokens_cached for reply in replies),
        "prefix_share": round(sum(prompt.repeated for prompt in prompts) / asked, 4) if asked else 0.0,
        "cacheable_share": round(sum(prompt.seen for prompt in prompts) / asked, 4) if asked else 0.0,
    }


def _stage_seconds(events: list[RunEvent]) -> JsonObject:
    begun: dict[tuple[str, str], RunEvent] = {}
    seconds: Counter[str] = Counter()
    for event in events:
        if event.kind != "progress":
            continue
        step, place = str(event.data["step"]), event.key.split(":")[1]
        if event.data["status"] == "started":
            begun[step, place] = event
        elif (step, place) in begun:
            seconds[step] += (event.at - begun.pop((step, place)).at).total_seconds()  # type: ignore[assignment]  # a Counter of floats
    return {step: round(value, 4) for step, value in sorted(seconds.items())}
