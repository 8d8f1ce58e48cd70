"""`StateMachine` (document 001): one overridable method a stage, each a short adapter around the stage's function."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deep_research.errors import ClarificationFailed, StageFailed
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.copies import find_copies, without_copies
from deep_research.pipeline.outcome import findings_from, section_work, stop_of
from deep_research.pipeline.stages.analyze import ResearchAnalyzer, analyze
from deep_research.pipeline.stages.audit import audit
from deep_research.pipeline.stages.cache import cache
from deep_research.pipeline.stages.chart import ComputationEngine, chart
from deep_research.pipeline.stages.draft import begin_draft, draft, even_room
from deep_research.pipeline.stages.extract import extract
from deep_research.pipeline.stages.fetch import fetch
from deep_research.pipeline.stages.harvest import SearchExecutor, harvest
from deep_research.pipeline.stages.intake import assess, brief_from, inquiry_from, save_clarification
from deep_research.pipeline.stages.plan import ResearchPlanner, plan
from deep_research.pipeline.stages.reflect import compress, reflect
from deep_research.pipeline.stages.verify import CheckedBody, body_from, verify, verify_analysis
from deep_research.pipeline.stages.write import ReportGenerator, write
from deep_research.pipeline.state import Stage, Update, plain
from deep_research.reasoning.values import Analysis, Brief, Exchange, Reading, Reflection, SectionPlan
from deep_research.report.paragraph import Paragraph
from deep_research.sources.document import Document
from deep_research.sources.hit import Hit, SearchQuery
from deep_research.store.port import RunRow


@dataclass(frozen=True)
class RunState:
    """A run as `runs show` reads it; a stage's copy also carries the stage, its scope, input and ports."""

    run: RunRow
    stage: Stage | None = None
    scope: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    bound: StageContext | None = None

    @property
    def context(self) -> StageContext:
        """Return what the stage may touch."""
        if self.bound is None:
            raise RuntimeError("a run's record has ports only inside a stage")
        return self.bound


class StateMachine:
    """The stages of a run. Override a `_stage_*` method to change one; collaborators can be exchanged whole.

    An override may be sync or async and returns an update of the state, or True to go on, or False to stop the run as
    failed (SPEC R1).
    """

    def __init__(
        self,
        *,
        planner: ResearchPlanner | None = None,
        executor: SearchExecutor | None = None,
        analyzer: ResearchAnalyzer | None = None,
        computation: ComputationEngine | None = None,
        reporter: ReportGenerator | None = None,
    ) -> None:
        self.planner = planner or ResearchPlanner()
        self.executor = executor or SearchExecutor()
        self.analyzer = analyzer or ResearchAnalyzer()
        self.computation = computation or ComputationEngine()
        self.reporter = reporter or ReportGenerator()

    async def run_stage(self, state: RunState) -> Update:
        """Run the stage that `state` names, whatever its override looks like, and return its update."""
        method = getattr(self, f"_stage_{state.stage}")
        result: Any = method(state)
        if inspect.isawaitable(result):
            result = await result
        if result is False:
            raise StageFailed(f"The stage {state.stage} stopped the run at {state.scope}.")
        if result is True:
            return {}
        if not isinstance(result, Mapping):
            raise StageFailed(
                f"The stage {state.stage} returned {type(result).__name__}; it must return an update or a bool."
            )
        try:
            return plain(dict(result))
        except (TypeError, ValueError) as exc:
            raise StageFailed(f"The stage {state.stage} returned an update that is not plain JSON: {exc}.") from exc

    async def _stage_intake(self, state: RunState) -> Update | bool:
        request, given = state.context.request, state.input
        inquiry = inquiry_from(
            request,
            language=given["language"],
            exchanges=tuple(Exchange.from_json(exchange) for exchange in given.get("exchanges", ())),
            known_terms=tuple(given.get("known_terms", ())),
            unknown_terms=tuple(given.get("unknown_terms", ())),
        )
        assessment = await assess(inquiry, context=state.context)
        await save_clarification(inquiry, assessment, context=state.context)
        if assessment.next_action == "CANNOT_DO":
            raise ClarificationFailed(assessment.reasoning)
        today = f"{state.context.run.row.created_at:%Y-%m-%d}"
        brief = brief_from(inquiry, assessment, length=request.length, today=today)
        return {
            "assessment": assessment.to_json(),
            "brief": brief.to_json(),
            "clarified_query": brief.question,
            "is_clarified": assessment.is_clear,
            "pending_question": assessment.clarification_question,
        }

    async def _stage_plan(self, state: RunState) -> Update | bool:
        drawn = await plan(Brief.from_json(state.input["brief"]), planner=self.planner, context=state.context)
        return {"plan": drawn.to_json()}

    async def _stage_harvest(self, state: RunState) -> Update | bool:
        hits = await harvest(SearchQuery.from_json(state.input["query"]), executor=self.executor, context=state.context)
        return {"hits": await state.context.keep(hits)}

    async def _stage_fetch(self, state: RunState) -> Update | bool:
        document = await fetch(Hit.from_json(state.input["hit"]), context=state.context)
        return {"document": document.id}

    async def _stage_extract(self, state: RunState) -> Update | bool:
        document: Document = await state.context.store.get_document(state.input["document"])
        reading = Reading(
            brief=Brief.from_json(state.input["brief"]),
            section=SectionPlan.from_json(state.input["section"]),
            outline=tuple(state.input.get("outline", ())),
            query=SearchQuery.from_json(state.input["query"]),
            document=document,
        )
        own: list[str] = []
        shared: list[str] = []
        for evidence in await extract(reading, context=state.context):
            (own if evidence.section == reading.section.title else shared).append(evidence.id)
        return {"gathered_info": own, "shared": shared}

    async def _stage_compress(self, state: RunState) -> Update | bool:
        work = await section_work(state.input, context=state.context)
        digest = await compress(work, analyzer=self.analyzer, context=state.context)
        return {"evidence": list(digest.evidence)}

    async def _stage_reflect(self, state: RunState) -> Update | bool:
        work, given = await section_work(state.input, context=state.context), state.input

        def stop(judged: Reflection) -> str:
            after = {**given, "is_sufficient": judged.is_sufficient, "grants": given["grants"][1:]}
            return stop_of(after, most_rounds=state.context.request.depth.max_iterations)

        synthesis, reflection = await reflect(
            work, analyzer=self.analyzer, planner=self.planner, stop=stop, context=state.context
        )
        return {
            "synthesis": await state.context.keep(synthesis),
            "coverage": synthesis.coverage,
            "is_sufficient": reflection.is_sufficient,
            "open_questions": list(reflection.gaps),
            "queries": [query.to_json() for query in reflection.next_queries],
        }

    async def _stage_analyze(self, state: RunState) -> Update | bool:
        findings = await findings_from(state.input, context=state.context)
        analysis = await analyze(findings, state.input, analyzer=self.analyzer, context=state.context)
        return {} if analysis is None else {"analysis": await state.context.keep(analysis)}

    async def _stage_chart(self, state: RunState) -> Update | bool:
        findings = await findings_from(state.input, context=state.context)
        return {"figures": await chart(findings, computation=self.computation, context=state.context)}

    async def _stage_draft(self, state: RunState) -> Update | bool:
        given, context = state.input, state.context
        work = await section_work(given, context=context)
        if given.get("is_first"):
            # Of the section's own pages alone: which others are read by now, nobody can say a second time.
            copies = await find_copies(context=context, among={piece.document for piece in work.evidence})
            own = await without_copies(work.evidence, copies, context=context)
            work = even_room(work.model_copy(update={"evidence": tuple(own)}), len(given["outline"]))
            written = await begin_draft(work, context=context)
            return {"draft": await context.keep(written), "evidence": [piece.id for piece in work.evidence]}
        begun = await context.load_all(Paragraph, given["draft"]) if given.get("draft") else []
        return {"draft": await context.keep(await draft(work, begun, context=context))}

    async def _stage_verify(self, state: RunState) -> Update | bool:
        given, context = state.input, state.context
        if "analysis" in given:
            analysis = await context.load(Analysis, given["analysis"])
            findings = await findings_from(given, context=context)
            return {"checked": await context.keep(await verify_analysis(analysis, findings, context=context))}
        work = await section_work(given, context=context)
        # Where nothing could be written, the evidence is quoted.
        drafted = await context.load_all(Paragraph, given["draft"]) if given.get("draft") else []
        return {"checked": await context.keep(await verify(work, drafted, context=context))}

    async def _stage_write(self, state: RunState) -> Update | bool:
        findings = await findings_from(state.input, context=state.context)
        body = await body_from(state.input, context=state.context)
        written, dropped = await write(findings, body, state.input, reporter=self.reporter, context=state.context)
        whole = body.model_copy(update={"dropped": (*body.dropped, *dropped)})
        return {"final_report": written, "checked": await state.context.keep(whole)}

    async def _stage_audit(self, state: RunState) -> Update | bool:
        checked = await state.context.load(CheckedBody, state.input["checked"])
        return {"is_verified": await audit(checked, language=state.input["language"], context=state.context)}

    async def _stage_cache(self, state: RunState) -> Update | bool:
        await cache(context=state.context)
        return True
