"""`StateMachine`: one method a stage, each to be overridden alone; the stages themselves are in `stages/`."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from deep_research.errors import StageFailed
from deep_research.pipeline.stages.analyze import ResearchAnalyzer, analyze
from deep_research.pipeline.stages.audit import audit
from deep_research.pipeline.stages.cache import cache
from deep_research.pipeline.stages.chart import ComputationEngine, chart
from deep_research.pipeline.stages.compress import compress
from deep_research.pipeline.stages.draft import draft
from deep_research.pipeline.stages.extract import extract
from deep_research.pipeline.stages.fetch import fetch
from deep_research.pipeline.stages.harvest import SearchExecutor, harvest
from deep_research.pipeline.stages.intake import intake
from deep_research.pipeline.stages.plan import ResearchPlanner, plan
from deep_research.pipeline.stages.reflect import reflect
from deep_research.pipeline.stages.verify import verify
from deep_research.pipeline.stages.write import ReportGenerator, write
from deep_research.pipeline.state import RunState, Update

StageResult = Update | bool


@dataclass(kw_only=True, eq=False)
class StateMachine:
    """The stages of a run. Override a `_stage_*` method to change one; collaborators can be exchanged whole.

    An override may be sync or async and returns an update of the state, or True to go on, or False to stop the run as
    failed.
    """

    planner: ResearchPlanner = field(default_factory=ResearchPlanner)
    executor: SearchExecutor = field(default_factory=SearchExecutor)
    analyzer: ResearchAnalyzer = field(default_factory=ResearchAnalyzer)
    computation: ComputationEngine = field(default_factory=ComputationEngine)
    reporter: ReportGenerator = field(default_factory=ReportGenerator)

    async def run_stage(self, state: RunState) -> Update:
        """Run the stage that `state` names, whatever its override looks like, and return its update."""
        result: Any = getattr(self, f"_stage_{state.stage}")(state)
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
            checked = type(state.input).model_validate({**dict(state.input), **result})
        except ValidationError as exc:
            fields = ", ".join(str(problem["loc"][0]) for problem in exc.errors())
            raise StageFailed(f"The stage {state.stage} returned an update that does not fit: {fields}.") from exc
        return {name: value for name, value in checked if name in result}

    async def _stage_intake(self, state: RunState) -> StageResult:
        return await intake(state.input, state.context)

    async def _stage_plan(self, state: RunState) -> StageResult:
        return await plan(state.input, state.context, self.planner, self.executor)

    async def _stage_harvest(self, state: RunState) -> StageResult:
        return await harvest(state.input, state.context, self.executor)

    async def _stage_fetch(self, state: RunState) -> StageResult:
        return await fetch(state.input, state.context)

    async def _stage_extract(self, state: RunState) -> StageResult:
        return await extract(state.input, state.context)

    async def _stage_compress(self, state: RunState) -> StageResult:
        return await compress(state.input, state.context)

    async def _stage_reflect(self, state: RunState) -> StageResult:
        return await reflect(state.input, state.context, self.analyzer, self.planner)

    async def _stage_analyze(self, state: RunState) -> StageResult:
        return await analyze(state.input, state.context, self.analyzer)

    async def _stage_chart(self, state: RunState) -> StageResult:
        return await chart(state.input, state.context, self.computation)

    async def _stage_draft(self, state: RunState) -> StageResult:
        return await draft(state.input, state.context)

    async def _stage_verify(self, state: RunState) -> StageResult:
        return await verify(state.input, state.context)

    async def _stage_write(self, state: RunState) -> StageResult:
        return await write(state.input, state.context, self.reporter)

    async def _stage_audit(self, state: RunState) -> StageResult:
        return await audit(state.input, state.context)

    async def _stage_cache(self, state: RunState) -> StageResult:
        return await cache(state.input, state.context)
