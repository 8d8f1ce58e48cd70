"""The nodes of a section: queries, search tasks, compress, reflect, and the draft of one whose evidence suffices.

Nothing that fails in a section may cancel the others: a failure is a value, and the section goes on without.
"""

from typing import Any

from langgraph.runtime import Runtime

from deep_research.errors import DeepResearchError
from deep_research.messages.words import words
from deep_research.pipeline.context import Ports, RunContext
from deep_research.pipeline.fan_out import both
from deep_research.pipeline.gap import Gap, named
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.origins import find_copies
from deep_research.pipeline.outcome import SectionOutcome, section_work, stop_of
from deep_research.pipeline.page_reading import read_pages
from deep_research.pipeline.plan import next_queries
from deep_research.pipeline.record import RunState
from deep_research.pipeline.stage import Stage
from deep_research.pipeline.state import Update, plain
from deep_research.reasoning.values import SectionPlan, SectionWork
from deep_research.sources.address import canonical_address
from deep_research.sources.hit import Hit, SearchQuery

State = dict[str, Any]
Context = Runtime[RunContext]


async def run_stage(machine: StateMachine, stage: Stage, state: State, ports: Ports) -> Update:
    """Run one stage between the two events that tell of it."""
    await ports.emit("progress", {"step": stage, "status": "started"})
    record = RunState(run=ports.run.row, stage=stage, scope=ports.scope, input=dict(state), bound=ports)
    update = await machine.run_stage(record)
    if ports.skips:
        await ports.emit("progress", {"step": stage, "status": "skipped", "data": {"reason": ports.skips[-1]}})
    else:
        await ports.emit("progress", {"step": stage, "status": "done"})
    return update


async def guarded(machine: StateMachine, stage: Stage, state: State, ports: Ports) -> Update:
    """Run a stage of one part of the report; what nobody foresaw is put on record, and the run goes on without."""
    try:
        return await run_stage(machine, stage, state, ports)
    except DeepResearchError:
        raise
    except Exception as exc:  # The edge of a fan-out branch: the other sections must not be cancelled for it.
        await _lose_section(state, exc, ports)
        return {}


async def _lose_section(state: State, exc: Exception, ports: Ports) -> None:
    stage = ports.scope.partition("/")[0]
    part = state["section"]["title"] if "section" in state else words(state["language"])(f"stage.{stage}")
    await ports.lost(Gap(kind="section", scope=ports.scope, subject=part, reason=named(exc)))


def left(ports: Ports) -> Update:
    """Return what was lost on the way, for the state."""
    return {"gaps": [gap.to_json() for gap in ports.gaps]} if ports.gaps else {}


class SectionNodes:
    """The nodes of a section's subgraph; what is known about the run comes with the call."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine

    async def queries(self, state: State, runtime: Context) -> Update:
        """Settle the queries of the coming round within its grant."""
        number, round_ = state["number"], state["round"] + 1
        ports = runtime.context.ports(
            f"section/{number}/round/{round_}", phase="research", after=state["after"], is_branch=True
        )
        grant = (state["grants"] or [0])[0]
        work = (await section_work(state, ports=ports)).model_copy(update={"round": round_})
        chosen = await self._choose(work, grant, state, ports)
        section = work.section
        await _note_query_budget(section, chosen if round_ == 1 else None, ports, is_cut_off=not grant)
        if chosen:
            listed = [query.to_json() for query in chosen]
            await ports.emit("serp-query", {"section": section.title, "round": round_, "queries": listed})
        update: Update = {
            "round": round_ if chosen else state["round"],
            "queries": [query.to_json() for query in chosen],
            "asked": [*state.get("asked", []), *(query.query for query in chosen)],
            "after": list(ports.trail.heads),
        }
        if not chosen:
            update["stop"] = "exhausted" if grant else "budget"
            update["outcomes"] = [_outcome(state | update).to_json()]
        return plain(update | left(ports))

    async def _choose(self, work: SectionWork, grant: int, state: State, ports: Ports) -> list[SearchQuery]:
        try:
            return await next_queries(
                work,
                grant=grant,
                domains=tuple(state.get("domains", ())),
                open_questions=tuple(state.get("open_questions", ())),
                offered=tuple(SearchQuery.from_json(query) for query in state.get("queries", [])),
                planner=self._machine.planner,
                ports=ports,
            )
        except DeepResearchError:
            raise
        except Exception as exc:  # The edge of a fan-out branch: the other sections must not be cancelled for it.
            await _lose_section(state, exc, ports)
            return []

    async def harvest(self, state: State, runtime: Context) -> Update:
        """Search for one task's query; a failure here is a gap, never an exception."""
        ports = _task_ports(state, runtime)
        try:
            update = await run_stage(self._machine, Stage.HARVEST, state, ports)
        except DeepResearchError:
            raise
        except Exception as exc:  # The edge of a fan-out branch: a sibling must not be cancelled for it.
            await ports.lost(Gap(kind="search", scope=ports.scope, subject=state["query"]["query"], reason=named(exc)))
            update = {"hits": await ports.keep([])}
        return plain(update | left(ports) | {"after": list(ports.trail.heads)})

    async def read(self, state: State, runtime: Context) -> Update:
        """Fetch and extract page by page: each page goes on as soon as it is there."""
        ports = _task_ports(state, runtime).at("read")
        hits = await ports.load_all(Hit, state["hits"]) if state.get("hits") else []
        seen = set(state.get("seen", ()))
        fresh = [hit for hit in hits if canonical_address(hit.address) not in seen]
        for stage in (Stage.FETCH, Stage.EXTRACT):
            await ports.emit("progress", {"step": stage, "status": "started"})
        chosen, found = await read_pages(fresh, state, machine=self._machine, ports=ports)
        for stage in (Stage.FETCH, Stage.EXTRACT):
            await ports.emit("progress", {"step": stage, "status": "done"})
        read = [page for page in found if page is not None]
        evidence = list(dict.fromkeys(id_ for own, _ in read for id_ in own))
        shared = list(dict.fromkeys(id_ for _, others in read for id_ in others))
        pieces = await ports.store.get_evidence(ports.run.row.id, evidence)
        section = SectionPlan.from_json(state["section"])
        await ports.emit(
            "search-task",
            {
                "query": state["query"]["query"],
                "section": section.title,
                "status": "failed" if _search_failed(state) else "done",
                "hits": len(hits),
                "learning": " ".join(piece.finding for piece in pieces[:3]),
            },
        )
        scope = f"section/{state['number']}/round/{state['round']}/task/{state['task']}"
        task = {"scope": scope, "hits": len(hits), "evidence": evidence, "after": list(ports.trail.heads)}
        return plain(
            {
                "tasks": [task],
                # What a page has for other sections is dealt to them when all are done.
                "gathered_info": [*evidence, *shared],
                "visited_sources": [canonical_address(hit.address) for hit in chosen],
                **left(ports),
            }
        )

    async def compress(self, state: State, runtime: Context) -> Update:
        """Bring a round's evidence together and bound it."""
        ports = _round_ports(state, runtime, "compress")
        this_round = f"section/{state['number']}/round/{state['round']}/"
        tasks = [task for task in state.get("tasks", []) if task["scope"].startswith(this_round)]
        earlier = (task["evidence"] for task in state.get("tasks", []) if task not in tasks)
        before = {*state.get("evidence", []), *(id_ for ids in earlier for id_ in ids)}
        found = list(dict.fromkeys(id_ for task in tasks for id_ in task["evidence"]))
        evidence = list(dict.fromkeys([*state.get("evidence", []), *found]))
        ports.trail.heads = tuple(sorted({key for task in tasks for key in task["after"]})) or tuple(state["after"])
        update = {"evidence": evidence, "fresh": len(set(found) - before)} | await guarded(
            self._machine, Stage.COMPRESS, state | {"evidence": evidence}, ports
        )
        return plain(update | left(ports) | {"after": list(ports.trail.heads)})

    async def reflect(self, state: State, runtime: Context) -> Update:
        """Judge the section after a round; record what it came to so far."""
        ports = _round_ports(state, runtime, "reflect")
        judged, _ = await both(guarded(self._machine, Stage.REFLECT, state, ports), _look_for_copies(ports))
        update: Update = {"queries": []} | judged
        update |= {"grants": state["grants"][1:], "after": list(ports.trail.heads), "iteration_count": state["round"]}
        stop = stop_of(state | update, most_rounds=ports.request.depth.max_iterations)
        if stop in ("budget", "iterations"):
            await _note_query_budget(SectionPlan.from_json(state["section"]), None, ports, is_cut_off=True)
        update["stop"] = stop
        return plain(update | left(ports) | {"outcomes": [_outcome(state | update).to_json()]})

    async def draft(self, state: State, runtime: Context) -> Update:
        """Begin to write a section whose evidence suffices, while others are still searched for.

        Rules write in no time: without a model, nothing is gained by not waiting for what others find.
        """
        if not runtime.context.parts.models:
            return {}
        ports = runtime.context.ports(
            f"draft/section/{state['number']}/first", phase="ending", after=state["after"], is_branch=True
        )
        begun = state | {"is_first": True}
        update = await guarded(self._machine, Stage.DRAFT, begun, ports)
        text = {"scope": f"section/{state['number']}", "after": list(ports.trail.heads), **update}
        return plain({"texts": [text], **left(ports)})


async def _look_for_copies(ports: Ports) -> None:
    """Look at what was read so far while a model reflects: it is compared in full when all sections are done."""
    if ports.run.parts.models:
        await find_copies(ports=ports)


async def _note_query_budget(
    section: SectionPlan, chosen: list[SearchQuery] | None, ports: Ports, *, is_cut_off: bool
) -> None:
    """Put on record what the asker's query budget forbids: planned queries, and further rounds of a thin section."""
    limit, scope = ports.request.budget.queries, ports.scope
    if limit is None or limit >= ports.request.depth.max_total_queries:
        return
    reason = "the queries budget is spent"
    left_out = [] if chosen is None else [query for query in section.search_queries if query not in chosen]
    for query in left_out:
        await ports.lost(Gap(kind="query", scope=scope, subject=query.query, reason=reason, budget="queries"))
    if is_cut_off:
        await ports.lost(Gap(kind="round", scope=scope, subject=section.title, reason=reason, budget="queries"))


def _task_ports(state: State, runtime: Context) -> Ports:
    scope = f"section/{state['number']}/round/{state['round']}/task/{state['task']}"
    return runtime.context.ports(scope, phase="research", after=state["after"], is_branch=True)


def _round_ports(state: State, runtime: Context, name: str) -> Ports:
    scope = f"section/{state['number']}/round/{state['round']}/{name}"
    return runtime.context.ports(scope, phase="research", after=state["after"], is_branch=True)


def _search_failed(state: State) -> bool:
    return any(gap["kind"] == "search" for gap in state.get("gaps", []))


def _outcome(state: State) -> SectionOutcome:
    number = state["number"]
    return SectionOutcome(
        scope=f"section/{number}",
        number=number,
        title=SectionPlan.from_json(state["section"]).title,
        rounds=state["round"],
        used=len(state.get("asked", [])),
        granted=state["granted"],
        evidence=tuple(state.get("evidence", ())),
        synthesis=state.get("synthesis", ""),
        coverage=state.get("coverage", 0.0),
        is_sufficient=state.get("is_sufficient", False),
        stop=state.get("stop", ""),
        open_questions=tuple(state.get("open_questions", ())),
        asked=tuple(state.get("asked", ())),
        next_queries=tuple(state.get("queries", ())),
        after=tuple(state["after"]),
    )
