"""The nodes of the graph: each unpacks the state, lets the machine run its stages, and returns an update.

Everything in a node runs again after a crash or a pause, so it only calls, emits and stores through ports that know
what was done before.
"""

from collections import Counter
from collections.abc import Sequence

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from deep_research.errors import BudgetExceeded, CallFailed, InputError, StopRun
from deep_research.events import ReportPlan
from deep_research.pipeline.approval import (
    Correction,
    Proposal,
    answered_plan,
    correction_in,
    depth_in,
    propose,
    with_depth,
)
from deep_research.pipeline.budget import Phase
from deep_research.pipeline.context import RunContext, StageContext
from deep_research.pipeline.control import Course, changes_of
from deep_research.pipeline.earlier import Earlier, nearest
from deep_research.pipeline.fan_out import describe_error, fan_out, isolated, out_of_files, together
from deep_research.pipeline.frontier import UnreadPage, add_hits, in_batches, pool_of, to_read
from deep_research.pipeline.journal import Dependencies
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.outcome import find_copies, stop_of
from deep_research.pipeline.research_map import asked_for, changed, changes_after
from deep_research.pipeline.scope import Scope
from deep_research.pipeline.search_round import pages_of_round, report_tasks, tell_map, tell_queries, with_links
from deep_research.pipeline.stages.intake import exchange_from, names_it
from deep_research.pipeline.stages.plan import (
    as_allocated,
    as_settled,
    by_own_focus,
    later_rounds,
    next_queries,
    offered_queries,
    queries_by_round,
)
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
from deep_research.request import Depth, DepthName
from deep_research.text.messages.words import Words, words_in
from deep_research.value import canonical_json, json_of

Context = Runtime[RunContext]
# A reader gets so many pages at once.
_BATCH = 8
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

    async def _run(self, stage: Stage, state: SectionState, context: StageContext) -> Update:
        record = RunState(run=context.run.row, stage=stage, scope=context.scope, input=state, context=context)
        with watched(context.adapters.observers, Work("stage", stage, record.run.id, context.scope)):
            return await self._machine.run_stage(record)

    async def _with_events(self, stage: Stage, state: SectionState, context: StageContext) -> Update:
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

    async def _in_branch(self, stage: Stage, state: SectionState, context: StageContext) -> Update:
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
            wanted, depth, number = await self._approved(proposal, number, words_in(state.language), context)
            if isinstance(wanted, Correction):
                asked = Exchange(question=" ".join(brief.assumptions) or plan.research_title, answer=wanted.text)
                return _corrected(state, wanted, asked) | {"confirmations": number, "is_corrected": True}
            plan, brief = wanted, brief.replace(has_settled_plan=True)
            if depth:
                brief = with_depth(brief, depth, context)
                plan = as_allocated(plan, as_settled(context.request, brief))
        update = await _followed(plan, brief, brief.depth, context)
        return _handed_on(update | {"is_corrected": False}, context)

    async def _approved(
        self, proposal: Proposal, number: int, words: Words, context: StageContext
    ) -> tuple[Plan | Correction, DepthName | None, int]:
        """Pause until the plan is approved, with which depth, or corrected, and by which answer; `number` were given
        before.

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
                return correction, None, number
            try:
                wanted = answered_plan(proposal.plan, answer, words)
            except InputError as exc:
                problem = str(exc)
                continue
            await context.emit(
                "plan-approval",
                {"status": "approved" if wanted == proposal.plan else "edited", "estimate_usd": estimate},
            )
            return wanted, depth_in(answer)[0], number

    async def refocus(self, state: DeepResearchState, runtime: Context) -> Update:
        """Plan anew for the focuses that a user named while the run worked, with the queries that are left."""
        number = state.focus_wanted
        context = runtime.context.stage(f"refocus/{number}", after=state.after)
        answers = await context.run.store.get_answers(context.run.row.id)
        brief = Brief.from_json(dict(state.brief) | {"focus": answers[f"focus/{number}"], "has_own_focus": True})
        drawn = await self._with_events(Stage.PLAN, state.replace(brief=brief), context)
        plan = by_own_focus(drawn["plan"], brief)
        used, depth = state.queries_used + len(state.asked), brief.depth
        left = depth.replace(max_total_queries=max(depth.max_total_queries - used, len(plan.sections)))
        update = drawn | await _followed(plan, brief, left, context, used=used)
        # What readers struck and added is not planned anew.
        own = {entry.name: entry for entry in state.entries if entry.from_reader}
        others = (entry for entry in plan.entries if entry.name not in own)
        update |= {"plan": plan.replace(entries=(*own.values(), *others)), "focus_followed": number}
        update |= {"number": state.number + len(state.plan.sections), "queries_used": used}
        return _handed_on(update, context)

    async def supervise(self, state: DeepResearchState, runtime: Context) -> Update:
        """Look at all that was found before it is weighed, or follow other focuses."""
        context = runtime.context.stage(f"supervise/{state.focus_followed + 1}", after=state.after)
        await context.emit("progress", {"step": "supervise", "status": "done"})
        copies, wanted = await find_copies(context.records), await _focus_wanted(state, context, is_last=True)
        update: Update = {"copies": copies, "focus_wanted": wanted}
        while not wanted and (heard := await _heard(state.replace(**update), context, is_last=True)):
            update |= heard
        return update

    # The research: rounds of queries, search tasks and judgement

    async def reread(self, state: SectionState, runtime: Context) -> Update:
        """Read the documents of an earlier run, as many as a round of searches would read."""
        context = _round_context(state, runtime, "reread")
        earlier = await context.records.load(Earlier, state.earlier)
        own = TaskState(**dict(state))
        hits = earlier.hits()
        wanted = max(1, state.brief.depth.urls_per_query * sum(state.grants[:2]))
        if not context.adapters.models or len(hits) <= wanted:
            # Without a model, reading costs nothing.
            wanted = len(hits)
        else:
            hits = await nearest(earlier, own, context)
        # They lie in the store: nothing is fetched.
        update = await self._read_pages(hits, own, context, wanted=wanted, steps=[Stage.EXTRACT])
        return _handed_on(update, context)

    async def queries(self, state: SectionState, runtime: Context) -> Update:
        """Choose the queries of the coming round within its grant."""
        number = state.round + 1
        context = _round_context(state.replace(round=number), runtime)
        grant = state.grant
        if number == 1:
            await tell_map(state, context)
        heard = await _heard(state, context)
        state = state.replace(round=number, **heard)
        section = state.section
        chosen: list[SearchQuery] = []
        is_refocused = bool(await _focus_wanted(state, context))
        if not (is_refocused or state.is_ended):
            chosen = offered_queries(state)
            choosing = next_queries(state, chosen, grant=grant, planner=self._machine.planner, context=context)
            chosen = await isolated(choosing, chosen, "section", section.title, context)
        texts = {query.query for query in chosen}
        left_out = [query for query in section.search_queries if number == 1 and query.query not in texts]
        await _note_query_budget(state, left_out, context, is_cut_off=not grant)
        update: Update = heard | {"queries": tuple(chosen)}
        if chosen or (grant and state.picked and not (is_refocused or state.is_ended)):
            await tell_queries(state, chosen, context)
            asked = (*state.asked, *(query.query for query in chosen))
            entries = tuple(asked_for(entry, chosen) for entry in state.entries)
            left = later_rounds(sum(state.grants) - len(chosen), state.brief.depth, after=number)
            update |= {"round": number, "asked": asked, "entries": entries, "grants": (grant, *left)}
            return _handed_on(update, context)
        stops = {"refocused": is_refocused, "enough": state.is_ended, "exhausted": grant}
        update["stop"] = next((stop for stop, is_so in stops.items() if is_so), "budget")
        return _handed_on(update, context)

    async def search(self, state: TaskState, runtime: Context) -> Update:
        """Search for one query; what is found waits to be chosen among."""
        context = _round_context(state, runtime, "task", state.task)
        work = self._with_events(Stage.HARVEST, state, context)
        found = await isolated(work, {}, "search", state.query.query, context)
        heads, hits = context.dependencies.heads, found.get("hits", "")
        record = TaskRecord(scope=context.scope, after=heads, query=state.query.query, hits=hits)
        return {"tasks": (record,), "gaps": context.gaps}

    async def choose(self, state: SectionState, runtime: Context) -> Update:
        """Choose what to read among all that was found and not read yet; the choice is on record."""
        context = _round_context(state, runtime, "choose")
        records, tasks = context.records, state.tasks_of_round
        context.dependencies.join([Dependencies(task.after) for task in tasks])
        found = [await records.load_all(Hit, task.hits) for task in tasks]
        pool = pool_of(await records.load_all(UnreadPage, state.pool))
        for hits in found:
            add_hits(pool, hits)
        heard = await _heard(state, context)
        if heard.get("is_ended"):
            # Nobody looks at what was found for them.
            texts = {query.query for query in state.queries}
            unread = (entry.replace(queries=()) if texts & {*entry.queries} else entry for entry in heard["entries"])
            heard["entries"], count = tuple(unread), 0
        else:
            count = await pages_of_round(found, pool, state, context)

        async def rank() -> str:
            ranked = to_read(pool, found, seen=state.visited_sources, picked=state.picked, count=count)
            return canonical_json(ranked[: count * _TRIES])

        # Another version of the program may rank them otherwise.
        order = json_of(await context.decide("pages", [], rank))
        assert isinstance(order, list)
        hits = [pool[str(address)].hit for address in order]
        batches = in_batches(hits, count=count, size=_BATCH, tries=_TRIES)
        update = heard | {
            "pool": await records.keep(list(pool.values())),
            "batches": tuple([(await records.keep(own), wanted) for wanted, own in batches]),
        }
        return _handed_on(update, context)

    async def read_batch(self, state: TaskState, runtime: Context) -> Update:
        """Read one of the batches that were chosen."""
        context = _round_context(state, runtime, "batch", state.task)
        hits = await context.records.load_all(Hit, state.hits)
        steps = [Stage.FETCH, Stage.EXTRACT]
        update = await self._read_pages(hits, state, context, wanted=state.wanted, steps=steps)
        return update | {"gaps": context.gaps}

    async def _read_pages(
        self, hits: list[Hit], state: TaskState, context: StageContext, *, wanted: int, steps: Sequence[Stage]
    ) -> Update:
        """Read the best hits at once; where a page cannot be had, the next hit takes its place.

        Each failure takes one more hit, so that the same hits are read whatever came first. `steps` are those that are
        reported.
        """
        for step in steps:
            await context.emit("progress", {"step": step, "status": "started"})
        branches = [context.at("page", number) for number in range(1, min(len(hits), wanted * _TRIES) + 1)]
        waiting = iter(zip(hits, branches, strict=False))
        found: dict[Scope, str | None] = {}

        async def fetch_one() -> None:
            for hit, branch in waiting:
                work = self._fetch_page(hit, state, branch)
                found[branch.scope] = await isolated(work, None, "page", hit.address, branch)
                if found[branch.scope] is not None:
                    return

        await together([fetch_one() for _ in range(wanted)])
        tried = [branch for branch in branches if branch.scope in found]
        context.dependencies.join([branch.dependencies for branch in tried])
        addresses = {
            id_: hit.address for hit, branch in zip(hits, branches, strict=False) if (id_ := found.get(branch.scope))
        }
        work = self._run(Stage.EXTRACT, state.replace(documents=tuple(addresses)), context)
        update = await isolated(work, {}, "page", ", ".join(addresses.values()), context)
        evidence: Strings = tuple(update.get("gathered_info", ()))
        pieces = await context.records.evidence(evidence, sections=state.outline)
        counts = Counter(piece.document for piece in pieces)
        for id_, address in addresses.items():
            document = await context.records.document(id_)
            found_in = next((piece.section for piece in pieces if piece.document == id_), state.section.title)
            await context.at(id_[:12]).emit(
                "source",
                {
                    "document": id_,
                    "address": address,
                    "title": document.title,
                    "evidence": counts[id_],
                    "section": found_in,
                },
            )
        for step in steps:
            await context.emit("progress", {"step": step, "status": "done"})
        done = TaskRecord(
            scope=context.scope, evidence=evidence, documents=tuple(addresses), after=context.dependencies.heads
        )
        return {
            "tasks": (done,),
            "gathered_info": evidence,
            "visited_sources": [canonical_address(hit.address) for hit in hits[: len(tried)]],
        }

    async def _fetch_page(self, hit: Hit, state: TaskState, context: StageContext) -> str | None:
        """Return the id of the document at an address; None where it cannot be had, "" where none can be."""
        page = PageState(**dict(state), hit=hit)
        try:
            update = await self._run(Stage.FETCH, page, context)
        except CallFailed as failure:
            await context.lost("page", hit.address, failure)
            # Where a limit forbids one page, it forbids the next.
            return "" if isinstance(failure, BudgetExceeded) else None
        return str(update.get("document", ""))

    async def compress(self, state: SectionState, runtime: Context) -> Update:
        """Bring a round's evidence together and bound it."""
        context = _round_context(state, runtime, "compress")
        tasks = state.tasks_of_round
        before = {id_ for task in state.tasks if task not in tasks for id_ in task.evidence}
        found = [id_ for task in tasks for id_ in task.evidence]
        evidence = merge_unique(state.evidence, found)
        context.dependencies.join([Dependencies(task.after) for task in tasks])
        update: Update = {"evidence": evidence, "fresh": len(set(found) - before)}
        await report_tasks(state, context)
        update |= await with_links(state, context)
        update |= await self._in_branch(Stage.COMPRESS, state.replace(evidence=evidence), context)
        return _handed_on(update, context)

    async def reflect(self, state: SectionState, runtime: Context) -> Update:
        """Judge what is known after a round."""
        context = _round_context(state, runtime, "reflect")
        judged = await self._in_branch(Stage.REFLECT, state, context)
        update = {"queries": ()} | judged | {"grants": state.grants[1:], "iteration_count": state.round}
        update["stop"] = stop_of(now := state.replace(**update))
        if update["stop"] and (heard := await _heard(now.replace(stop=update["stop"]), context)):
            update |= heard | {"stop": stop_of(now.replace(**heard))}
        if update["stop"] in ("budget", "iterations"):
            await _note_query_budget(state, [], context, is_cut_off=True)
        return _handed_on(update, context)

    # The ending: what was found is weighed, drawn, written and checked

    async def text(self, state: DeepResearchState, runtime: Context) -> Update:
        """Write the text and check it, without waiting for the figures."""
        drafted = await self.whole(Stage.DRAFT, state, runtime)
        checked = await self.whole(Stage.VERIFY, state.replace(**drafted), runtime)
        return drafted | checked | {"gaps": drafted["gaps"] + checked["gaps"]}

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


def _part(state: SectionState, context: StageContext) -> str:
    """Return what a reader calls the part of the report that is worked on."""
    if isinstance(state, DeepResearchState):
        return words_in(state.language)(f"stage.{context.scope.stage}")
    return state.section.title


def _handed_on(update: Update, context: StageContext) -> Update:
    """Return an update with what was lost on the way, and the calls that later work rests on."""
    return {**update, "gaps": tuple(context.gaps), "after": context.dependencies.heads}


async def _followed(plan: Plan, brief: Brief, depth: Depth, context: StageContext, *, used: int = 0) -> Update:
    """Show a plan that is followed from here on, and allocate its queries; so many were used before."""
    sections = [section.to_json() for section in plan.sections]
    rounds = queries_by_round(context.request.replace(depth=depth))
    about: ReportPlan = {
        "title": plan.research_title,
        "goal": plan.goal,
        "sections": sections,
        "queries": used + sum(rounds),
    }
    await context.emit("report-plan", about)
    return {"plan": plan, "brief": brief, "sections": plan.sections, "grants": rounds}


async def _focus_wanted(state: SectionState, context: StageContext, *, is_last: bool = False) -> int:
    """Return which change of the focus is to be followed, or 0; after the last look none can come any more."""
    wanted = await _last_change("focus", state.focus_followed, "focus", context, is_last=is_last)
    return wanted if wanted > state.focus_followed else 0


async def _heard(state: SectionState, context: StageContext, *, is_last: bool = False) -> Update:
    """Return what readers changed about the map since they were heard last, once it is told."""
    before = state.map_followed
    last = await _last_change("map", before, f"map/{before}", context, is_last=is_last)
    if last <= before:
        return {}
    answers = await context.run.store.get_answers(context.run.row.id)
    changes = changes_after(before, answers)[: last - before]
    update: Update = {
        "entries": changed(state.entries, changes, words_in(state.brief.language)),
        "map_followed": last,
        "is_ended": state.is_ended or any(change.enough for change in changes),
    }
    await tell_map(state.replace(**update), context)
    return update


async def _last_change(kind: Course, followed: int, what: str, context: StageContext, *, is_last: bool) -> int:
    """Return the number of the last change; the last look leaves no room for another, where none came first."""
    store, run = context.run.store, context.run.row.id

    async def lookup() -> str:
        if is_last:
            await store.put_answer(run, f"{kind}/{followed + 1}", [])
        return str(changes_of(kind, await store.get_answers(run)))

    return int(await context.decide(what, [], lookup))


async def _note_query_budget(
    state: SectionState, left_out: Sequence[SearchQuery], context: StageContext, *, is_cut_off: bool
) -> None:
    """Put on record what the user's query budget forbids: planned queries, and further rounds."""
    limit = context.request.budget.queries
    if limit is None or limit >= state.brief.depth.max_total_queries:
        return
    for query in left_out:
        await context.lost("query", query.query, BudgetExceeded("queries"))
    if is_cut_off:
        await context.lost("round", state.section.title, BudgetExceeded("queries"))


def _round_context(state: SectionState, runtime: Context, *path: object) -> StageContext:
    scope = state.scope.at("round", state.round, *path)
    return runtime.context.stage(scope, after=state.after, is_branch=True)
