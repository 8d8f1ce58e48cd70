"""`StateMachine`: one method a stage, each to be overridden alone; the stages themselves are in `stages/`."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

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
StageMethod = Callable[["StateMachine", RunState], Awaitable[StageResult]]


def _stage(run: Callable[..., Awaitable[Update]], *collaborators: str) -> StageMethod:
    """Return the method that runs a stage with these collaborators of its machine."""

    async def run_here(self: "StateMachine", state: RunState) -> StageResult:
        return await run(state.input, state.context, *(getattr(self, name) for name in collaborators))

    return run_here


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
        result = getattr(self, f"_stage_{state.stage}")(state)
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

    _stage_intake = _stage(intake)
    _stage_plan = _stage(plan, "planner", "executor")
    _stage_harvest = _stage(harvest, "executor")
    _stage_fetch = _stage(fetch)
    _stage_extract = _stage(extract)
    _stage_compress = _stage(compress)
    _stage_reflect = _stage(reflect, "analyzer", "planner")
    _stage_analyze = _stage(analyze, "analyzer")
    _stage_chart = _stage(chart, "computation")
    _stage_draft = _stage(draft)
    _stage_verify = _stage(verify)
    _stage_write = _stage(write, "reporter")
    _stage_audit = _stage(audit)
    _stage_cache = _stage(cache)
