"""The nodes of the graph: each unpacks the state, lets the machine run its stages, and returns an update.

A node is a unit of checkpoint; everything in it may run again after a crash, so it only calls, tells and keeps through
ports that know what was done before.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langgraph.types import interrupt

from deep_research.errors import InputError
from deep_research.messages.language import report_language
from deep_research.messages.words import words
from deep_research.pipeline.approval import Proposal, answered_plan, propose
from deep_research.pipeline.context import Ports
from deep_research.pipeline.draft import within_room
from deep_research.pipeline.fan_out import fan_out
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.intake import exchange_from, names_it
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.origins import find_copies
from deep_research.pipeline.outcome import SectionOutcome, findings_from, share_out
from deep_research.pipeline.plan import grants
from deep_research.pipeline.section_nodes import Context, State, guarded, left, run_stage
from deep_research.pipeline.stage import ENDING, Stage
from deep_research.pipeline.state import Update, plain
from deep_research.pipeline.verify import ANALYSIS
from deep_research.reasoning.values import Assessment, Brief, Plan
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject


class Nodes:
    """The nodes of one state machine. Holds nothing about a run: that comes with the call, in `runtime.context`."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine

    def stage(self, stage: Stage, scope: Callable[[State], str] | None = None) -> Callable[..., Any]:
        """Return the node that runs one stage of the whole run."""

        async def node(state: State, runtime: Context) -> Update:
            ports = runtime.context.ports(
                scope(state) if scope else str(stage),
                phase="ending" if stage in ENDING else "research",
                after=state.get("after", ()),
            )
            update = await run_stage(self._machine, stage, state, ports)
            return plain(update | left(ports) | {"after": list(ports.trail.heads)})

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
        ports = runtime.context.ports(f"verify_topic/{state['intake_round']}", phase="research", after=state["after"])
        queries = [
            SearchQuery(query=term, goal="verify the term", priority="high") for term in assessment.unknown_terms
        ]
        found = await fan_out(
            "term", queries, lambda query, at: self._machine.executor.execute(query, ports=at), ports=ports
        )
        names = [query.query for query in queries]
        # A search that failed says nothing about a name; the asker cannot help it.
        failed = {gap.subject for gap in ports.gaps}
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
                "after": list(ports.trail.heads),
                **left(ports),
            }
        )

    async def ask(self, state: State, runtime: Context) -> Update:
        """Put one question to the asker and pause until it is answered."""
        question = Assessment.from_json(state["assessment"]).clarification
        assert question is not None, "the router only comes here with a question"
        number = len(state.get("exchanges", [])) + 1
        ports = runtime.context.ports(f"ask/{number}", phase="research", after=state["after"])
        pending = {"kind": "clarification", "scope": ports.scope, "round": number, **question.to_json()}
        await ports.emit(
            "clarification",
            {
                "question": question.question,
                "options": list(question.options),
                "missing_info": question.missing_info,
                "round": number,
            },
        )
        answer = runtime.context.answers.get(ports.scope)
        if answer is None:
            interrupt(plain(pending))
        exchange = exchange_from(question, str(answer), is_strict=ports.request.clarify == "strict")
        return plain({"exchanges": [*state.get("exchanges", []), exchange.to_json()]})

    async def confirm(self, state: State, runtime: Context) -> Update:
        """Show the plan; pause for approval where it is wanted; deal the queries of the approved plan."""
        ports = runtime.context.ports("confirm", phase="research", after=state["after"])
        proposal = propose(
            Plan.from_json(state["plan"]),
            Brief.from_json(state["brief"]),
            is_confirmed=state["assessment"]["next_action"] == "CONFIRM_PLAN",
            ports=ports,
        )
        plan = await self._approved(proposal, ports) if proposal.needs_approval else proposal.plan
        await ports.emit(
            "report-plan",
            {"title": plan.research_title, "goal": plan.goal, "sections": [part.to_json() for part in plan.sections]},
        )
        dealt = grants(plan, ports=ports)
        sections = [section.to_json() for section in plan.sections]
        return plain({"plan": plan.to_json(), "sections": sections, "grants": dealt, "dealt": 1, **left(ports)})

    async def _approved(self, proposal: Proposal, ports: Ports) -> Plan:
        """Pause until the plan is approved; an answer that cannot be used is explained, and asked for again."""
        say = words(report_language(ports.request.question, ports.request.language))
        number, problem, estimate = 1, "", proposal.forecast.usd
        while True:
            scope = f"confirm/{number}"
            answer = ports.run.answers.get(scope)
            if answer is None:
                await ports.at(number).emit("plan-approval", {"status": "waiting", "estimate_usd": estimate})
                interrupt(plain(proposal.pending(scope, number, problem)))
            try:
                wanted = answered_plan(proposal.plan, answer, say)
            except InputError as exc:
                number, problem = number + 1, str(exc)
                continue
            status: Literal["approved", "edited"] = "approved" if wanted == proposal.plan else "edited"
            await ports.emit("plan-approval", {"status": status, "estimate_usd": estimate})
            return wanted

    async def supervise(self, state: State, runtime: Context) -> Update:
        """Join the sections: return unused grants and deal them once more to the thin ones (SPEC H5)."""
        outcomes = [SectionOutcome.from_json(outcome) for outcome in state.get("outcomes", [])]
        after = sorted({key for outcome in outcomes for key in outcome.after})
        ports = runtime.context.ports(f"supervise/{state['dealt']}", phase="research", after=after)
        shared = {"copies": await find_copies(ports=ports), "shared": await share_out(state, ports=ports)}
        extra = self._second_deal(outcomes, state, ports) if state["dealt"] == 1 else []
        shares = zip(state["sections"], extra, strict=False)
        dealt: JsonObject = {section["title"]: sum(share) for section, share in shares if share}
        await ports.emit("progress", {"step": "supervise", "status": "done", "data": {"dealt": dealt}})
        update: Update = {
            **shared,
            "after": after or state["after"],
            "is_sufficient": bool(outcomes) and all(outcome.is_sufficient for outcome in outcomes),
            "dealt": state["dealt"] + 1,
            "grants": extra,
        }
        if not any(extra):
            findings = await findings_from(state | shared, ports=ports)
            begun = {text["scope"]: text.get("evidence", []) for text in state.get("texts", [])}
            scopes = [f"section/{number}" for number in range(1, len(findings.sections) + 1)]
            update["room"] = within_room(findings, [begun.get(scope, []) for scope in scopes])
        return plain(update)

    @staticmethod
    def _second_deal(outcomes: list[SectionOutcome], state: State, ports: Ports) -> list[list[int]]:
        """Deal what sections did not use to those whose evidence is thin, for the rounds that they have left."""
        depth = ports.request.depth
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
        place = f"section/{state['number']}"
        steps = ((Stage.DRAFT, f"draft/{place}"), (Stage.VERIFY, f"verify/{place}"))
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
            ports = runtime.context.ports(scope, phase="ending", after=after, is_branch=True)
            text |= await guarded(self._machine, stage, state | text, ports)
            after = ports.trail.heads
            gaps += ports.gaps
            if stage is Stage.ANALYZE and "analysis" not in text:
                break
        told = [{**text, "scope": place, "after": list(after)}]
        return plain({"texts": told} | ({"gaps": [gap.to_json() for gap in gaps]} if gaps else {}))

    async def write(self, state: State, runtime: Context) -> Update:
        """Join the texts to a report."""
        after = sorted({key for text in state["texts"] for key in text["after"]})
        update: Update = await self.stage(Stage.WRITE)(state | {"after": after}, runtime)
        return update
