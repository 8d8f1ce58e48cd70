"""The nodes of the graph: each unpacks the state, lets the machine run its stages, and returns an update.

Everything in a node runs again after a crash or a pause, so it only calls, emits and stores through ports that know
what was done before.
"""

from collections.abc import Sequence

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from deep_research.documents.corpus.search import CorpusSearch
from deep_research.errors import BudgetExceeded, CallFailed, InputError, ModelRefused, StopRun
from deep_research.events import SearchTaskDone
from deep_research.pipeline.approval import Correction, Proposal, answered_plan, correction_in, propose
from deep_research.pipeline.budget import Phase
from deep_research.pipeline.context import RunContext, StageContext
from deep_research.pipeline.control import focus_changes
from deep_research.pipeline.earlier import Earlier, nearest
from deep_research.pipeline.fan_out import both, describe_error, fan_out, isolated, out_of_files, together
from deep_research.pipeline.journal import Dependencies
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.outcome import find_copies, section_work, share_out, stop_of
from deep_research.pipeline.scope import Scope
from deep_research.pipeline.stages.harvest import EARLIER
from deep_research.pipeline.stages.intake import exchange_from, names_it
from deep_research.pipeline.stages.plan import by_own_focus, grants, next_queries
from deep_research.pipeline.state import (
    DeepResearchState,
    PageState,
    RunState,
    SectionState,
    Stage,
    TaskRecord,
    TaskState,
    Update,
    merge_unique,
)
from deep_research.pipeline.watching import Work, watched
from deep_research.reasoning.values import Brief, Exchange, Plan, Strings
from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import Depth, ResearchRequest
from deep_research.text.messages.words import Words, words_in
from deep_research.value import JsonObject

State = DeepResearchState | SectionState
Context = Runtime[RunContext]
# What a page has for its section, and for others; None for a page that could not be had.
Page = tuple[Strings, Strings] | None
# For each page that is wanted, so many may be tried.
_TRIES = 3
# From this confidence on, assumptions are stated and not put to the user first.
SURE = 0.9


class Nodes:
    """The nodes of one state machine. Holds nothing about a run: that comes with the call, in `runtime.context`."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine

    async def whole(self, stage: Stage, state: DeepResearchState, runtime: Context, *, scope: str = "") -> Update:
        """Run one stage of the whole run; where a report can do without it and it fails unforeseen, it is left out."""
        phase: Phase = "research" if stage in (Stage.INTAKE, Stage.PLAN) else "ending"
        is_branch = stage in (Stage.ANALYZE, Stage.CHART, Stage.DRAFT, Stage.VERIFY)
        context = runtime.context.stage(scope or stage, phase=phase, after=state.after, is_branch=is_branch)
        run = self._in_branch if is_branch else self._with_events
        return _handed_on(await run(stage, state, context), context)

    async def _run(self, stage: Stage, state: State, context: StageContext) -> Update:
        record = RunState(run=context.run.row, stage=stage, scope=context.scope, input=state, context=context)
        with watched(context.adapters.observers, Work("stage", stage, record.run.id, context.scope)):
            return await self._machine.run_stage(record)

    async def _with_events(self, stage: Stage, state: State, context: StageContext) -> Update:
        """Run one stage between the two events that report it."""
        await context.emit("progress", {"step": stage, "status": "started"})
        try:
            update = await self._run(stage, state, context)
        except StopRun:
            raise
        except Exception as exc:  # Whatever it was, the stage is reported as failed, and it is raised again.
            if stop := out_of_files(exc):
                raise stop from exc
            await context.failed(stage, describe_error(exc))
            raise
        lost = [gap.reason for gap in context.gaps if gap.kind == "search" and not gap.budget]
        if context.skips:
            await context.emit("progress", {"step": stage, "status": "skipped", "data": {"reason": context.skips[-1]}})
        elif lost:
            await context.failed(stage, lost[0])
        else:
            await context.emit("progress", {"step": stage, "status": "done"})
        return update

    async def _in_branch(self, stage: Stage, state: State, context: StageContext) -> Update:
        """Run a stage of one part of the report; where it fails unforeseen, the run goes on without."""
        work = self._with_events(stage, state, context)
        return await isolated(work, {}, "section", _part(state, context), context)

    # The top: intake, its two pauses, and the supervisor

    async def intake(self, state: DeepResearchState, runtime: Context) -> Update:
        """Judge the question; each round after an answer is a scope of its own."""
        number = state.intake_round + 1
        update = await self.whole(Stage.INTAKE, state, runtime, scope=f"intake/{number}")
        return update | {"intake_round": number}

    async def verify_topic(self, state: DeepResearchState, runtime: Context) -> Update:
        """Look up the terms nobody knows: what a search finds is a real name."""
        terms = state.assessment.unknown_terms
        context = runtime.context.stage(f"verify_topic/{state.intake_round}", after=state.after)
        queries = [SearchQuery(query=term, goal="verify the term", priority="high") for term in terms]
        found = await fan_out("term", queries, self._machine.executor.execute, context)
        # A search that failed says nothing about a name; the user cannot help it.
        failed = {gap.subject for gap in context.gaps}
        known = [
            term
            for term, hits in zip(terms, found, strict=True)
            if term in failed or any(names_it(hit, term) for hit in hits)
        ]
        update = {
            "known_terms": (*state.known_terms, *known),
            "unknown_terms": (*state.unknown_terms, *(term for term in terms if term not in known)),
        }
        return _handed_on(update, context)

    async def ask(self, state: DeepResearchState, runtime: Context) -> Update:
        """Put one question to the user and pause until it is answered."""
        question = state.assessment.clarification
        assert question is not None, "the router only comes here with a question"
        number = len(state.exchanges) + 1
        context = runtime.context.stage(f"ask/{number}", after=state.after)
        await context.emit(
            "clarification",
            {
                "question": question.question,
                "options": list(question.options),
                "missing_info": question.missing_info,
                "round": number,
            },
        )
        answer = context.run.answers.get(context.scope)
        if answer is None:
            interrupt({"kind": "clarification", "scope": context.scope, "round": number, **question.to_json()})
        if correction := correction_in(answer):
            # Who names focuses instead of answering wants no further question.
            return _corrected(state, correction, Exchange(question=question.question, answer=correction.text))
        exchange = exchange_from(question, str(answer), is_strict=context.request.clarify == "strict")
        return {"exchanges": (*state.exchanges, exchange)}

    async def confirm(self, state: DeepResearchState, runtime: Context) -> Update:
        """Show the plan; pause for approval where it is wanted; allocate the queries of the approved plan."""
        context = runtime.context.stage("confirm", after=state.after)
        brief, assessment, number = state.brief, state.assessment, state.confirmations
        # Who was asked before has had a say; who corrected the plan sees the new one.
        is_unsure = bool(brief.assumptions) and assessment.confidence < SURE and not state.exchanges
        proposal = propose(
            state.plan,
            brief,
            is_confirmed=is_unsure or number > 0 or assessment.next_action == "CONFIRM_PLAN",
            context=context,
        )
        plan = proposal.plan
        if proposal.needs_approval:
            wanted, number = await self._approved(proposal, number, words_in(state.language), context)
            if isinstance(wanted, Correction):
                asked = Exchange(question=" ".join(brief.assumptions) or plan.research_title, answer=wanted.text)
                return _corrected(state, wanted, asked) | {"confirmations": number, "is_corrected": True}
            plan, brief = wanted, brief.replace(has_settled_plan=True)
        update = await _followed(plan, brief, context.request, context)
        return _handed_on(update | {"dealt": 1, "is_corrected": False}, context)

    async def _approved(
        self, proposal: Proposal, number: int, words: Words, context: StageContext
    ) -> tuple[Plan | Correction, int]:
        """Pause until the plan is approved or corrected, and return by which answer; `number` were given before.

        An answer that cannot be used is explained, and asked for again.
        """
        problem, estimate = "", proposal.forecast.usd
        while True:
            number += 1
            at = context.at(number)
            answer = context.run.answers.get(at.scope)
            if answer is None:
                await at.emit("plan-approval", {"status": "waiting", "estimate_usd": estimate})
                interrupt(proposal.pending(at.scope, number, problem))
            if correction := correction_in(answer):
                return correction, number
            try:
                wanted = answered_plan(proposal.plan, answer, words)
            except InputError as exc:
                problem = str(exc)
                continue
            await context.emit(
                "plan-approval",
                {"status": "approved" if wanted == proposal.plan else "edited", "estimate_usd": estimate},
            )
            return wanted, number

    async def refocus(self, state: DeepResearchState, runtime: Context) -> Update:
        """Plan anew for the focuses that a user named while the run worked, with the queries that are left."""
        number = state.focus_wanted
        context = runtime.context.stage(f"refocus/{number}", after=state.after)
        answers = await context.run.store.get_answers(context.run.row.id)
        brief = Brief.from_json(dict(state.brief) | {"focus": answers[f"focus/{number}"], "has_own_focus": True})
        drawn = await self._with_events(Stage.PLAN, state.replace(brief=brief), context)
        plan = by_own_focus(drawn["plan"], brief)
        request, used = context.request, sum(len(outcome.asked) for outcome in state.outcomes)
        left = max(request.depth.max_total_queries - used, len(plan.sections))
        depth = request.depth.replace(max_total_queries=left)
        update = drawn | await _followed(plan, brief, request.replace(depth=depth), context)
        before = state.sections_before + len(state.plan.sections)
        return _handed_on(update | {"focus_followed": number, "sections_before": before}, context)

    async def supervise(self, state: DeepResearchState, runtime: Context) -> Update:
        """Join the sections: take unused grants back and allocate them once more, to the thin ones."""
        outcomes = state.followed_outcomes
        after = tuple(sorted({key for outcome in outcomes for key in outcome.after}))
        context = runtime.context.stage(f"supervise/{state.dealt}", after=after)
        copies = await find_copies(context.records)
        shared = await share_out(state, context.records, has_writer=bool(context.adapters.models))
        extra: list[list[int]] = [[] for _ in state.plan.sections]
        if state.dealt == 1:
            _allocate_unused(outcomes, context.request.depth, extra)
        allocated: JsonObject = {
            title: sum(share) for title, share in zip(state.plan.titles, extra, strict=True) if share
        }
        await context.emit("progress", {"step": "supervise", "status": "done", "data": {"dealt": allocated}})
        return {
            "copies": copies,
            "shared": shared,
            "after": after or state.after,
            "is_sufficient": bool(outcomes) and all(outcome.is_sufficient for outcome in outcomes),
            "dealt": state.dealt + 1,
            "grants": extra,
            "focus_wanted": await _focus_wanted(state, context, is_last=not any(extra)),
        }

    # A section: rounds of queries, search tasks and judgement

    async def reread(self, state: SectionState, runtime: Context) -> Update:
        """Read the documents of an earlier run for a section, as many as a round of searches would read."""
        context = _round_context(state, runtime, "reread")
        earlier = await context.records.load(Earlier, state.earlier)
        own = TaskState(**dict(state), query=SearchQuery(query=state.brief.question))
        hits = earlier.hits()
        wanted = max(1, context.request.depth.urls_per_query * sum(state.grants[:2]))
        if not context.adapters.models or len(hits) <= wanted:
            # Without a model, reading costs nothing.
            wanted = len(hits)
        else:
            hits = await nearest(earlier, own, context)
        # They lie in the store: nothing is fetched.
        update = await self._read_pages(hits, own, context, wanted=wanted, steps=[Stage.EXTRACT])
        return _handed_on(update | {"is_reread": False}, context)

    async def queries(self, state: SectionState, runtime: Context) -> Update:
        """Choose the queries of the coming round within its grant."""
        number = state.round + 1
        context = _round_context(state.replace(round=number), runtime)
        grant = (state.grants or (0,))[0]
        work = (await section_work(state, context.records)).replace(round=number)
        section = work.section
        chosen: list[SearchQuery] = []
        if not (is_refocused := bool(await _focus_wanted(state, context))):
            choosing = next_queries(state, work, grant=grant, planner=self._machine.planner, context=context)
            chosen = await isolated(choosing, [], "section", section.title, context)
        left_out = [query for query in section.search_queries if number == 1 and query not in chosen]
        await _note_query_budget(section.title, left_out, context, is_cut_off=not grant)
        update: Update = {"queries": tuple(chosen)}
        if chosen:
            listed = [query.to_json() for query in chosen]
            await context.emit("serp-query", {"section": section.title, "round": number, "queries": listed})
            asked = (*state.asked, *(query.query for query in chosen))
            return _handed_on(update | {"round": number, "asked": asked}, context)
        update["stop"] = "refocused" if is_refocused else "exhausted" if grant else "budget"
        return _with_outcome(state, update, context)

    async def harvest(self, state: TaskState, runtime: Context) -> Update:
        """Search for one task's query; a failure here is a gap, never an exception."""
        context = _round_context(state, runtime, "task", state.task)
        work = self._with_events(Stage.HARVEST, state, context)
        return _handed_on(await isolated(work, {}, "search", state.query.query, context), context)

    async def read(self, state: TaskState, runtime: Context) -> Update:
        """Fetch and extract page by page: each page goes on as soon as it is there."""
        context = _round_context(state, runtime, "task", state.task, "read")
        hits = await context.records.load_all(Hit, state.hits)
        seen = set(state.visited_sources)
        fresh = [hit for hit in hits if canonical_address(hit.address) not in seen]
        wanted, steps = await _pages_wanted(hits, context), [Stage.FETCH, Stage.EXTRACT]
        update = await self._read_pages(fresh, state, context, wanted=wanted, steps=steps)
        pieces = await context.records.evidence(update["tasks"][0].evidence[:3])
        failures = [gap.reason for gap in state.gaps if gap.kind == "search"]
        ended: SearchTaskDone = {
            "query": state.query.query,
            "section": state.section.title,
            "status": "failed" if failures else "done",
            "hits": len(hits),
            "learning": " ".join(piece.finding for piece in pieces),
        }
        await context.emit("search-task", ended | {"error": failures[0]} if failures else ended)
        return _handed_on(update, context)

    async def _read_pages(
        self, hits: list[Hit], state: TaskState, context: StageContext, *, wanted: int, steps: Sequence[Stage]
    ) -> Update:
        """Read the best hits at once; where a page cannot be had, the next hit takes its place.

        Each failure takes one more hit, so that the same hits are read whatever came first. `steps` are those that are
        reported.
        """
        for step in steps:
            await context.emit("progress", {"step": step, "status": "started"})
        branches = [context.branch("page", number) for number in range(1, min(len(hits), wanted * _TRIES) + 1)]
        waiting = iter(zip(hits, branches, strict=False))
        found = {}

        async def read_one() -> None:
            for hit, branch in waiting:
                work = self._read_page(hit, state, branch)
                found[branch.scope] = await isolated(work, None, "page", hit.address, branch)
                if found[branch.scope]:
                    return

        await together([read_one() for _ in range(wanted)])
        read = [branch for branch in branches if branch.scope in found]
        context.dependencies.join([branch.dependencies for branch in read])
        for step in steps:
            await context.emit("progress", {"step": step, "status": "done"})
        pages = [page for branch in read if (page := found[branch.scope])]
        evidence = tuple(dict.fromkeys(id_ for own, _ in pages for id_ in own))
        return {
            "tasks": (TaskRecord(scope=context.scope, evidence=evidence, after=context.dependencies.heads),),
            # What a page has for other sections is shared out to them when all are done.
            "gathered_info": (*evidence, *(id_ for _, others in pages for id_ in others)),
            "visited_sources": [canonical_address(hit.address) for hit in hits[: len(read)]],
        }

    async def _read_page(self, hit: Hit, state: TaskState, context: StageContext) -> Page:
        page = PageState(**dict(state), hit=hit)
        try:
            page = page.replace(**(await self._run(Stage.FETCH, page, context)))
            update = await self._run(Stage.EXTRACT, page, context)
        except ModelRefused:
            raise
        except CallFailed as failure:
            await context.lost("page", hit.address, failure)
            # Where a limit forbids one page, it forbids the next.
            return ((), ()) if isinstance(failure, BudgetExceeded) else None
        found: Strings = update.get("gathered_info", ())
        if page.document:
            document = await context.records.document(page.document)
            await context.emit(
                "source",
                {
                    "document": document.id,
                    "address": hit.address,
                    "title": document.title,
                    "evidence": len(found),
                    "section": state.section.title,
                },
            )
        return found, update.get("shared", ())

    async def compress(self, state: SectionState, runtime: Context) -> Update:
        """Bring a round's evidence together and bound it."""
        context = _round_context(state, runtime, "compress")
        this_round = (state.number, state.round)
        tasks = [task for task in state.tasks if Scope(task.scope).section_and_round == this_round]
        before = {*state.evidence, *(id_ for task in state.tasks if task not in tasks for id_ in task.evidence)}
        found = [id_ for task in tasks for id_ in task.evidence]
        evidence = merge_unique(state.evidence, found)
        context.dependencies.join([Dependencies(task.after) for task in tasks])
        update = {"evidence": evidence, "fresh": len(set(found) - before)}
        update |= await self._in_branch(Stage.COMPRESS, state.replace(evidence=evidence), context)
        return _handed_on(update, context)

    async def reflect(self, state: SectionState, runtime: Context) -> Update:
        """Judge the section after a round; record what it came to so far."""
        context = _round_context(state, runtime, "reflect")
        judged, _ = await both(self._in_branch(Stage.REFLECT, state, context), _find_copies(context))
        update = {"queries": ()} | judged | {"grants": state.grants[1:], "iteration_count": state.round}
        update["stop"] = stop_of(state.replace(**update), context.request.depth)
        if update["stop"] in ("budget", "iterations"):
            await _note_query_budget(state.section.title, [], context, is_cut_off=True)
        return _with_outcome(state, update, context)

    # The ending: what was found is weighed, drawn, written and checked

    async def chart(self, state: DeepResearchState, runtime: Context) -> Update:
        """Plan and draw the figures, while the report is written."""
        update = await self.whole(Stage.CHART, state, runtime)
        return update | {"after_chart": update.pop("after")}

    async def write(self, state: DeepResearchState, runtime: Context) -> Update:
        """Join text and figures to a report."""
        after = tuple(sorted({*state.after, *state.after_chart}))
        return await self.whole(Stage.WRITE, state.replace(after=after), runtime)


def _corrected(state: DeepResearchState, correction: Correction, exchange: Exchange) -> Update:
    """Return what intake goes by instead; the text of a correction is an answer like others."""
    return {"exchanges": (*state.exchanges, exchange), "focus": correction.focus or state.focus}


async def _pages_wanted(hits: Sequence[Hit], context: StageContext) -> int:
    """Return how many of a query's hits are to be read."""
    wanted, adapters = context.request.depth.urls_per_query, context.adapters
    if wanted and (not adapters.models or await adapters.has_small_folder()):
        # The user's own files cost nothing to read where no model reads them, and little where there are few.
        wanted = max(wanted, sum(hit.engine == CorpusSearch.name for hit in hits))
    # The sources of a report that is brought up to date are all read again.
    return wanted + sum(hit.engine == EARLIER for hit in hits)


def _part(state: State, context: StageContext) -> str:
    """Return what a reader calls the part of the report that is worked on."""
    if isinstance(state, SectionState):
        return state.section.title
    return words_in(state.language)(f"stage.{context.scope.stage}")


def _handed_on(update: Update, context: StageContext) -> Update:
    """Return an update with what was lost on the way, and the calls that later work rests on."""
    return {**update, "gaps": context.gaps, "after": context.dependencies.heads}


def _with_outcome(state: SectionState, update: Update, context: StageContext) -> Update:
    """Return the update of a section that has come to something; what it handed on before is not handed on again."""
    update = _handed_on(update, context)
    emptied = dict.fromkeys(("outcomes", "tasks", "gaps", "gathered_info"), ())
    return update | {"outcomes": (state.replace(**(update | emptied)),)}


async def _followed(plan: Plan, brief: Brief, request: ResearchRequest, context: StageContext) -> Update:
    """Show a plan that is followed from here on, and allocate its queries."""
    sections = [section.to_json() for section in plan.sections]
    await context.emit("report-plan", {"title": plan.research_title, "goal": plan.goal, "sections": sections})
    return {"plan": plan, "brief": brief, "sections": plan.sections, "grants": grants(plan, request)}


async def _focus_wanted(state: State, context: StageContext, *, is_last: bool = False) -> int:
    """Return which change of the focus is to be followed, or 0; after the last look none can come any more."""
    store, run = context.run.store, context.run.row.id

    async def lookup() -> str:
        if is_last:
            # Where a change came first, this says nothing.
            await store.put_answer(run, f"focus/{state.focus_followed + 1}", [])
        return str(focus_changes(await store.get_answers(run)))

    wanted = int(await context.decide("focus", [], lookup))
    return wanted if wanted > state.focus_followed else 0


def _allocate_unused(outcomes: Sequence[SectionState], depth: Depth, extra: list[list[int]]) -> None:
    """Allocate what sections did not use to those whose evidence is thin, for the rounds that they have left."""
    unused = sum(max(outcome.granted - len(outcome.asked), 0) for outcome in outcomes)
    cut_short = [outcome for outcome in outcomes if outcome.stop == "budget" and outcome.round < depth.max_iterations]
    for position, outcome in enumerate(cut_short):
        rest = depth.replace(
            max_total_queries=unused // len(cut_short) + (position < unused % len(cut_short)),
            max_iterations=depth.max_iterations - outcome.round,
            queries_first_iteration=depth.queries_followup_iteration,
        )
        extra[outcome.number - 1] = rest.rounds()


async def _find_copies(context: StageContext) -> None:
    """Look at what was read so far while a model reflects: it is compared in full when all sections are done."""
    if context.adapters.models:
        await find_copies(context.records)


async def _note_query_budget(
    section: str, left_out: Sequence[SearchQuery], context: StageContext, *, is_cut_off: bool
) -> None:
    """Put on record what the user's query budget forbids: planned queries, and further rounds of a thin section."""
    limit = context.request.budget.queries
    if limit is None or limit >= context.request.depth.max_total_queries:
        return
    for query in left_out:
        await context.lost("query", query.query, BudgetExceeded("queries"))
    if is_cut_off:
        await context.lost("round", section, BudgetExceeded("queries"))


def _round_context(state: SectionState, runtime: Context, *path: object) -> StageContext:
    scope = state.scope.at("round", state.round, *path)
    return runtime.context.stage(scope, after=state.after, is_branch=True)
