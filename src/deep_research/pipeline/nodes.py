"""The nodes of the graph: each unpacks the state, lets the machine run its stages, and returns an update.

A node is a unit of checkpoint; everything in it may run again after a crash, so it only calls, tells and keeps through
ports that know what was done before.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from deep_research.errors import DeepResearchError, InputError
from deep_research.messages.language import report_language
from deep_research.messages.words import words_in
from deep_research.pipeline.approval import Proposal, answered_plan, propose
from deep_research.pipeline.context import RunContext, StageContext
from deep_research.pipeline.copies import find_copies
from deep_research.pipeline.fan_out import both, fan_out
from deep_research.pipeline.gap import Gap, named
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.outcome import SectionOutcome, findings_from, section_work, share_out, stop_of
from deep_research.pipeline.page_reading import read_pages
from deep_research.pipeline.scope import Scope, section_scope
from deep_research.pipeline.stages.draft import within_room
from deep_research.pipeline.stages.intake import exchange_from, names_it
from deep_research.pipeline.stages.plan import grants, next_queries
from deep_research.pipeline.stages.verify import ANALYSIS
from deep_research.pipeline.state import ENDING, RunState, Stage, Update, plain
from deep_research.reasoning.values import Assessment, Brief, Plan, SectionPlan, SectionWork
from deep_research.sources.address import canonical_address
from deep_research.sources.hit import Hit, SearchQuery
from deep_research.value import JsonObject

State = dict[str, Any]
Context = Runtime[RunContext]


async def run_stage(machine: StateMachine, stage: Stage, state: State, context: StageContext) -> Update:
    """Run one stage between the two events that tell of it."""
    await context.emit("progress", {"step": stage, "status": "started"})
    record = RunState(run=context.run.row, stage=stage, scope=context.scope, input=dict(state), bound=context)
    update = await machine.run_stage(record)
    if context.skips:
        await context.emit("progress", {"step": stage, "status": "skipped", "data": {"reason": context.skips[-1]}})
    else:
        await context.emit("progress", {"step": stage, "status": "done"})
    return update


async def guarded(machine: StateMachine, stage: Stage, state: State, context: StageContext) -> Update:
    """Run a stage of one part of the report; what nobody foresaw is put on record, and the run goes on without."""
    try:
        return await run_stage(machine, stage, state, context)
    except DeepResearchError:
        raise
    except Exception as exc:  # The edge of a fan-out branch: the other sections must not be cancelled for it.
        await _lose_section(state, exc, context)
        return {}


async def _lose_section(state: State, exc: Exception, context: StageContext) -> None:
    part = (
        state["section"]["title"] if "section" in state else words_in(state["language"])(f"stage.{context.scope.stage}")
    )
    await context.lost(Gap(kind="section", scope=context.scope, subject=part, reason=named(exc)))


def left(context: StageContext) -> Update:
    """Return what was lost on the way, for the state."""
    return {"gaps": [gap.to_json() for gap in context.gaps]} if context.gaps else {}


class SectionNodes:
    """The nodes of a section's subgraph; what is known about the run comes with the call."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine

    async def queries(self, state: State, runtime: Context) -> Update:
        """Settle the queries of the coming round within its grant."""
        number, round_ = state["number"], state["round"] + 1
        scope = section_scope(number).at("round", round_)
        context = runtime.context.stage(scope, phase="research", after=state["after"], is_branch=True)
        grant = (state["grants"] or [0])[0]
        work = (await section_work(state, context.records)).model_copy(update={"round": round_})
        chosen = await self._choose(work, grant, state, context)
        section = work.section
        await _note_query_budget(section, chosen if round_ == 1 else None, context, is_cut_off=not grant)
        if chosen:
            listed = [query.to_json() for query in chosen]
            await context.emit("serp-query", {"section": section.title, "round": round_, "queries": listed})
        update: Update = {
            "round": round_ if chosen else state["round"],
            "queries": [query.to_json() for query in chosen],
            "asked": [*state.get("asked", []), *(query.query for query in chosen)],
            "after": list(context.trail.heads),
        }
        if not chosen:
            update["stop"] = "exhausted" if grant else "budget"
            update["outcomes"] = [_outcome(state | update).to_json()]
        return plain(update | left(context))

    async def _choose(self, work: SectionWork, grant: int, state: State, context: StageContext) -> list[SearchQuery]:
        try:
            return await next_queries(
                work,
                grant=grant,
                domains=tuple(state.get("domains", ())),
                open_questions=tuple(state.get("open_questions", ())),
                offered=tuple(SearchQuery.from_json(query) for query in state.get("queries", [])),
                planner=self._machine.planner,
                context=context,
            )
        except DeepResearchError:
            raise
        except Exception as exc:  # The edge of a fan-out branch: the other sections must not be cancelled for it.
            await _lose_section(state, exc, context)
            return []

    async def harvest(self, state: State, runtime: Context) -> Update:
        """Search for one task's query; a failure here is a gap, never an exception."""
        context = _round_context(state, runtime, "task", state["task"])
        try:
            update = await run_stage(self._machine, Stage.HARVEST, state, context)
        except DeepResearchError:
            raise
        except Exception as exc:  # The edge of a fan-out branch: a sibling must not be cancelled for it.
            await context.lost(
                Gap(kind="search", scope=context.scope, subject=state["query"]["query"], reason=named(exc))
            )
            update = {"hits": await context.records.keep([])}
        return plain(update | left(context) | {"after": list(context.trail.heads)})

    async def read(self, state: State, runtime: Context) -> Update:
        """Fetch and extract page by page: each page goes on as soon as it is there."""
        context = _round_context(state, runtime, "task", state["task"]).at("read")
        hits = await context.records.load_all(Hit, state.get("hits", ""))
        seen = set(state.get("seen", ()))
        fresh = [hit for hit in hits if canonical_address(hit.address) not in seen]
        for stage in (Stage.FETCH, Stage.EXTRACT):
            await context.emit("progress", {"step": stage, "status": "started"})
        chosen, found = await read_pages(fresh, state, machine=self._machine, context=context)
        for stage in (Stage.FETCH, Stage.EXTRACT):
            await context.emit("progress", {"step": stage, "status": "done"})
        read = [page for page in found if page is not None]
        evidence = list(dict.fromkeys(id_ for own, _ in read for id_ in own))
        shared = list(dict.fromkeys(id_ for _, others in read for id_ in others))
        pieces = await context.records.evidence(evidence)
        section = SectionPlan.from_json(state["section"])
        await context.emit(
            "search-task",
            {
                "query": state["query"]["query"],
                "section": section.title,
                "status": "failed" if _search_failed(state) else "done",
                "hits": len(hits),
                "learning": " ".join(piece.finding for piece in pieces[:3]),
            },
        )
        task = {
            "scope": _round_scope(state).at("task", state["task"]),
            "hits": len(hits),
            "evidence": evidence,
            "after": list(context.trail.heads),
        }
        return plain(
            {
                "tasks": [task],
                # What a page has for other sections is dealt to them when all are done.
                "gathered_info": [*evidence, *shared],
                "visited_sources": [canonical_address(hit.address) for hit in chosen],
                **left(context),
            }
        )

    async def compress(self, state: State, runtime: Context) -> Update:
        """Bring a round's evidence together and bound it."""
        context = _round_context(state, runtime, "compress")
        this_round = (state["number"], state["round"])
        tasks = [task for task in state.get("tasks", []) if Scope(task["scope"]).section_and_round == this_round]
        earlier = (task["evidence"] for task in state.get("tasks", []) if task not in tasks)
        before = {*state.get("evidence", []), *(id_ for ids in earlier for id_ in ids)}
        found = list(dict.fromkeys(id_ for task in tasks for id_ in task["evidence"]))
        evidence = list(dict.fromkeys([*state.get("evidence", []), *found]))
        context.trail.heads = tuple(sorted({key for task in tasks for key in task["after"]})) or tuple(state["after"])
        update = {"evidence": evidence, "fresh": len(set(found) - before)} | await guarded(
            self._machine, Stage.COMPRESS, state | {"evidence": evidence}, context
        )
        return plain(update | left(context) | {"after": list(context.trail.heads)})

    async def reflect(self, state: State, runtime: Context) -> Update:
        """Judge the section after a round; record what it came to so far."""
        context = _round_context(state, runtime, "reflect")
        judged, _ = await both(guarded(self._machine, Stage.REFLECT, state, context), _look_for_copies(context))
        update: Update = {"queries": []} | judged
        update |= {"grants": state["grants"][1:], "after": list(context.trail.heads), "iteration_count": state["round"]}
        stop = stop_of(state | update, most_rounds=context.request.depth.max_iterations)
        if stop in ("budget", "iterations"):
            await _note_query_budget(SectionPlan.from_json(state["section"]), None, context, is_cut_off=True)
        update["stop"] = stop
        return plain(update | left(context) | {"outcomes": [_outcome(state | update).to_json()]})

    async def draft(self, state: State, runtime: Context) -> Update:
        """Begin to write a section whose evidence suffices, while others are still searched for.

        Rules write in no time: without a model, nothing is gained by not waiting for what others find.
        """
        if not runtime.context.adapters.models:
            return {}
        place = section_scope(state["number"])
        scope = Scope.of(Stage.DRAFT, place, "first")
        context = runtime.context.stage(scope, phase="ending", after=state["after"], is_branch=True)
        update = await guarded(self._machine, Stage.DRAFT, state | {"is_first": True}, context)
        text = {"scope": place, "after": list(context.trail.heads), **update}
        return plain({"texts": [text], **left(context)})


async def _look_for_copies(context: StageContext) -> None:
    """Look at what was read so far while a model reflects: it is compared in full when all sections are done."""
    if context.run.adapters.models:
        await find_copies(context.records)


async def _note_query_budget(
    section: SectionPlan, chosen: list[SearchQuery] | None, context: StageContext, *, is_cut_off: bool
) -> None:
    """Put on record what the asker's query budget forbids: planned queries, and further rounds of a thin section."""
    limit, scope = context.request.budget.queries, context.scope
    if limit is None or limit >= context.request.depth.max_total_queries:
        return
    reason = "the queries budget is spent"
    left_out = [] if chosen is None else [query for query in section.search_queries if query not in chosen]
    for query in left_out:
        await context.lost(Gap(kind="query", scope=scope, subject=query.query, reason=reason, budget="queries"))
    if is_cut_off:
        await context.lost(Gap(kind="round", scope=scope, subject=section.title, reason=reason, budget="queries"))


def _round_scope(state: State) -> Scope:
    return section_scope(state["number"]).at("round", state["round"])


def _round_context(state: State, runtime: Context, *path: object) -> StageContext:
    return runtime.context.stage(_round_scope(state).at(*path), phase="research", after=state["after"], is_branch=True)


def _search_failed(state: State) -> bool:
    return any(gap["kind"] == "search" for gap in state.get("gaps", []))


def _outcome(state: State) -> SectionOutcome:
    return SectionOutcome(
        scope=section_scope(state["number"]),
        number=state["number"],
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


class Nodes:
    """The nodes of one state machine. Holds nothing about a run: that comes with the call, in `runtime.context`."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine

    def stage(self, stage: Stage, scope: Callable[[State], str] | None = None) -> Callable[..., Any]:
        """Return the node that runs one stage of the whole run."""

        async def node(state: State, runtime: Context) -> Update:
            context = runtime.context.stage(
                scope(state) if scope else str(stage),
                phase="ending" if stage in ENDING else "research",
                after=state.get("after", ()),
            )
            update = await run_stage(self._machine, stage, state, context)
            return plain(update | left(context) | {"after": list(context.trail.heads)})

        return node

    # The top: intake, its two pauses, and the supervisor

    async def intake(self, state: State, runtime: Context) -> Update:
        """Judge the question; each round after an answer is a scope of its own."""
        number = state.get("intake_round", 0) + 1
        node = self.stage(Stage.INTAKE, lambda _: f"intake/{number}")
        update: Update = await node(state, runtime)
        return update | {"intake_round": number}

    async def verify_topic(self, state: State, runtime: Context) -> Update:
        """Look up the terms nobody knows (SPEC I3): what a search finds is a real name."""
        assessment = Assessment.from_json(state["assessment"])
        context = runtime.context.stage(f"verify_topic/{state['intake_round']}", phase="research", after=state["after"])
        queries = [
            SearchQuery(query=term, goal="verify the term", priority="high") for term in assessment.unknown_terms
        ]
        found = await fan_out("term", queries, lambda query, at: self._machine.executor.execute(query, at), context)
        names = [query.query for query in queries]
        # A search that failed says nothing about a name; the asker cannot help it.
        failed = {gap.subject for gap in context.gaps}
        known = [
            name
            for name, hits in zip(names, found, strict=True)
            if name in failed or any(names_it(hit, name) for hit in hits)
        ]
        unknown = [name for name in names if name not in known]
        return plain(
            {
                "known_terms": [*state.get("known_terms", []), *known],
                "unknown_terms": [*state.get("unknown_terms", []), *unknown],
                "after": list(context.trail.heads),
                **left(context),
            }
        )

    async def ask(self, state: State, runtime: Context) -> Update:
        """Put one question to the asker and pause until it is answered."""
        question = Assessment.from_json(state["assessment"]).clarification
        assert question is not None, "the router only comes here with a question"
        number = len(state.get("exchanges", [])) + 1
        context = runtime.context.stage(f"ask/{number}", phase="research", after=state["after"])
        pending = {"kind": "clarification", "scope": context.scope, "round": number, **question.to_json()}
        await context.emit(
            "clarification",
            {
                "question": question.question,
                "options": list(question.options),
                "missing_info": question.missing_info,
                "round": number,
            },
        )
        answer = runtime.context.answers.get(context.scope)
        if answer is None:
            interrupt(plain(pending))
        exchange = exchange_from(question, str(answer), is_strict=context.request.clarify == "strict")
        return plain({"exchanges": [*state.get("exchanges", []), exchange.to_json()]})

    async def confirm(self, state: State, runtime: Context) -> Update:
        """Show the plan; pause for approval where it is wanted; deal the queries of the approved plan."""
        context = runtime.context.stage("confirm", phase="research", after=state["after"])
        proposal = propose(
            Plan.from_json(state["plan"]),
            Brief.from_json(state["brief"]),
            is_confirmed=state["assessment"]["next_action"] == "CONFIRM_PLAN",
            context=context,
        )
        plan = await self._approved(proposal, context) if proposal.needs_approval else proposal.plan
        await context.emit(
            "report-plan",
            {"title": plan.research_title, "goal": plan.goal, "sections": [part.to_json() for part in plan.sections]},
        )
        dealt = grants(plan, context.request)
        sections = [section.to_json() for section in plan.sections]
        return plain({"plan": plan.to_json(), "sections": sections, "grants": dealt, "dealt": 1, **left(context)})

    async def _approved(self, proposal: Proposal, context: StageContext) -> Plan:
        """Pause until the plan is approved; an answer that cannot be used is explained, and asked for again."""
        say = words_in(report_language(context.request.question, context.request.language))
        number, problem, estimate = 1, "", proposal.forecast.usd
        while True:
            scope = context.scope.at(number)
            answer = context.run.answers.get(scope)
            if answer is None:
                await context.at(number).emit("plan-approval", {"status": "waiting", "estimate_usd": estimate})
                interrupt(plain(proposal.pending(scope, number, problem)))
            try:
                wanted = answered_plan(proposal.plan, answer, say)
            except InputError as exc:
                number, problem = number + 1, str(exc)
                continue
            status: Literal["approved", "edited"] = "approved" if wanted == proposal.plan else "edited"
            await context.emit("plan-approval", {"status": status, "estimate_usd": estimate})
            return wanted

    async def supervise(self, state: State, runtime: Context) -> Update:
        """Join the sections: return unused grants and deal them once more to the thin ones (SPEC H5)."""
        outcomes = [SectionOutcome.from_json(outcome) for outcome in state.get("outcomes", [])]
        after = sorted({key for outcome in outcomes for key in outcome.after})
        context = runtime.context.stage(f"supervise/{state['dealt']}", phase="research", after=after)
        shared = {"copies": await find_copies(context.records), "shared": await share_out(state, context.records)}
        extra = self._second_deal(outcomes, state, context) if state["dealt"] == 1 else []
        shares = zip(state["sections"], extra, strict=False)
        dealt: JsonObject = {section["title"]: sum(share) for section, share in shares if share}
        await context.emit("progress", {"step": "supervise", "status": "done", "data": {"dealt": dealt}})
        update: Update = {
            **shared,
            "after": after or state["after"],
            "is_sufficient": bool(outcomes) and all(outcome.is_sufficient for outcome in outcomes),
            "dealt": state["dealt"] + 1,
            "grants": extra,
        }
        if not any(extra):
            findings = await findings_from(state | shared, context.records)
            begun = {text["scope"]: text.get("evidence", []) for text in state.get("texts", [])}
            numbers = range(1, len(findings.sections) + 1)
            update["room"] = within_room(findings, [begun.get(section_scope(number), []) for number in numbers])
        return plain(update)

    @staticmethod
    def _second_deal(outcomes: list[SectionOutcome], state: State, context: StageContext) -> list[list[int]]:
        """Deal what sections did not use to those whose evidence is thin, for the rounds that they have left."""
        depth = context.request.depth
        unused = sum(max(outcome.granted - outcome.used, 0) for outcome in outcomes)
        thin = [outcome for outcome in outcomes if outcome.stop == "budget" and outcome.rounds < depth.max_iterations]
        extra: list[list[int]] = [[] for _ in state["sections"]]
        for position, outcome in enumerate(thin):
            rest = {
                "max_total_queries": unused // len(thin) + (1 if position < unused % len(thin) else 0),
                "max_iterations": depth.max_iterations - outcome.rounds,
                "queries_first_iteration": depth.queries_followup_iteration,
            }
            extra[outcome.number - 1] = depth.model_copy(update=rest).rounds()
        return extra

    # The texts: sections, analysis and charts come about side by side

    async def text(self, state: State, runtime: Context) -> Update:
        """Write one section and check it at once, whatever the others are at."""
        place = section_scope(state["number"])
        steps = ((Stage.DRAFT, Scope.of(Stage.DRAFT, place)), (Stage.VERIFY, Scope.of(Stage.VERIFY, place)))
        return await self._in_turn(place, steps, state, runtime)

    async def analyze(self, state: State, runtime: Context) -> Update:
        """Look at the findings from several sides, where that is asked for, and check what was said."""
        steps = ((Stage.ANALYZE, "analyze"), (Stage.VERIFY, "verify/analysis"))
        return await self._in_turn(ANALYSIS, steps, state, runtime)

    async def chart(self, state: State, runtime: Context) -> Update:
        """Plan and draw the figures."""
        return await self._in_turn("figures", ((Stage.CHART, "chart"),), state, runtime)

    async def _in_turn(
        self,
        place: str,
        steps: Sequence[tuple[Stage, str]],
        state: State,
        runtime: Context,
    ) -> Update:
        """Run stages one after the other for one of the texts; without an analysis there is none to check."""
        text: Update = {}
        gaps: list[Gap] = []
        after = state["after"]
        for stage, scope in steps:
            context = runtime.context.stage(scope, phase="ending", after=after, is_branch=True)
            text |= await guarded(self._machine, stage, state | text, context)
            after = context.trail.heads
            gaps += context.gaps
            if stage is Stage.ANALYZE and "analysis" not in text:
                break
        told = [{**text, "scope": place, "after": list(after)}]
        return plain({"texts": told} | ({"gaps": [gap.to_json() for gap in gaps]} if gaps else {}))

    async def write(self, state: State, runtime: Context) -> Update:
        """Join the texts to a report."""
        after = sorted({key for text in state["texts"] for key in text["after"]})
        update: Update = await self.stage(Stage.WRITE)(state | {"after": after}, runtime)
        return update
