"""From hits to evidence: pages are fetched and read at once; one that cannot be had is replaced."""

from dataclasses import replace
from typing import Any

from deep_research.errors import BudgetExceeded, CallFailed, DeepResearchError, ModelRefused
from deep_research.pipeline.context import Ports
from deep_research.pipeline.fan_out import fan_out
from deep_research.pipeline.gap import Gap, named
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.record import RunState
from deep_research.pipeline.stage import Stage
from deep_research.reasoning.values import SectionPlan
from deep_research.sources.hit import Hit

# What a page has for its section, and for others; None for a page that could not be had.
Page = tuple[list[str], list[str]] | None
# How often pages that cannot be had are replaced by the next hits.
_ATTEMPTS = 3


async def read_pages(
    hits: list[Hit], state: dict[str, Any], *, machine: StateMachine, ports: Ports
) -> tuple[list[Hit], list[Page]]:
    """Read the best hits; for each page that cannot be had the next one is tried, a few times over."""
    wanted = ports.request.depth.urls_per_query
    tried: list[Hit] = []
    found: list[Page] = []
    for attempt in range(1, _ATTEMPTS + 1):
        missing = wanted - sum(page is not None for page in found)
        chosen = hits[len(tried) : len(tried) + missing]
        if not chosen:
            break
        at = ports if attempt == 1 else ports.at("instead", attempt)
        found += await fan_out("page", chosen, lambda hit, at: _read_page(hit, state, machine, at), ports=at)
        ports.trail.join([ports.trail, at.trail])
        tried += chosen
    return tried, found


async def _read_page(hit: Hit, state: dict[str, Any], machine: StateMachine, ports: Ports) -> Page:
    """Return the evidence that a page has for its section, and for others; None where it cannot be had."""
    given = {**state, "hit": hit.to_json()}
    record = RunState(run=ports.run.row, stage=Stage.FETCH, scope=ports.scope, input=given, bound=ports)
    try:
        given |= await machine.run_stage(record)
        update = await machine.run_stage(replace(record, stage=Stage.EXTRACT, input=given))
    except ModelRefused:
        raise
    except CallFailed as failure:
        await ports.lost(Gap.of(failure, kind="page", scope=ports.scope, subject=hit.address))
        # Where a limit forbids one page, it forbids the next.
        return ([], []) if isinstance(failure, BudgetExceeded) else None
    except DeepResearchError:
        raise
    except Exception as exc:  # The edge of a fan-out branch: a sibling must not be cancelled for it.
        await ports.lost(Gap(kind="page", scope=ports.scope, subject=hit.address, reason=named(exc)))
        return None
    found, shared = list(update.get("gathered_info", ())), list(update.get("shared", ()))
    if "document" in given:
        document = await ports.store.get_document(given["document"])
        await ports.emit(
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
