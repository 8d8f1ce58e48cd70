"""From hits to evidence: a page is read as soon as it is there; one that cannot be had is replaced at once."""

from dataclasses import replace
from typing import Any

from deep_research.errors import BudgetExceeded, CallFailed, DeepResearchError, ModelRefused
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.fan_out import together
from deep_research.pipeline.gap import Gap, named
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.state import RunState, Stage
from deep_research.reasoning.values import SectionPlan
from deep_research.sources.hit import Hit

# What a page has for its section, and for others; None for a page that could not be had.
Page = tuple[list[str], list[str]] | None
# For each page that is wanted, so many may be tried.
_TRIES = 3


async def read_pages(
    hits: list[Hit], state: dict[str, Any], *, machine: StateMachine, context: StageContext
) -> tuple[list[Hit], list[Page]]:
    """Read the best hits at once; the next one takes the place of a page that cannot be had, as soon as that is known.

    Each failure takes one more hit, so that the same hits are read whatever came first.
    """
    wanted = context.request.depth.urls_per_query
    branches = [context.branch("page", number) for number in range(1, min(len(hits), wanted * _TRIES) + 1)]
    waiting = iter(zip(hits, branches, strict=False))
    found: dict[str, Page] = {}

    async def read_one() -> None:
        for hit, branch in waiting:
            found[branch.scope] = await _read_page(hit, state, machine, branch)
            if found[branch.scope] is not None:
                return

    await together([read_one() for _ in range(wanted)])
    read = [branch for branch in branches if branch.scope in found]
    context.trail.join([branch.trail for branch in read])
    return hits[: len(read)], [found[branch.scope] for branch in read]


async def _read_page(hit: Hit, state: dict[str, Any], machine: StateMachine, context: StageContext) -> Page:
    """Return the evidence that a page has for its section, and for others; None where it cannot be had."""
    given = {**state, "hit": hit.to_json()}
    record = RunState(run=context.run.row, stage=Stage.FETCH, scope=context.scope, input=given, bound=context)
    try:
        given |= await machine.run_stage(record)
        update = await machine.run_stage(replace(record, stage=Stage.EXTRACT, input=given))
    except ModelRefused:
        raise
    except CallFailed as failure:
        await context.lost(Gap.of(failure, kind="page", scope=context.scope, subject=hit.address))
        # Where a limit forbids one page, it forbids the next.
        return ([], []) if isinstance(failure, BudgetExceeded) else None
    except DeepResearchError:
        raise
    except Exception as exc:  # The edge of a fan-out branch: a sibling must not be cancelled for it.
        await context.lost(Gap(kind="page", scope=context.scope, subject=hit.address, reason=named(exc)))
        return None
    found, shared = list(update.get("gathered_info", ())), list(update.get("shared", ()))
    if "document" in given:
        document = await context.records.document(given["document"])
        await context.emit(
            "source",
            {
                "document": document.id,
                "address": hit.address,
                "title": document.title,
                "evidence": len(found),
                "section": SectionPlan.from_json(state["section"]).title,
            },
        )
    return found, shared
