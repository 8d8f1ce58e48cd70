"""`ComputationEngine`: plans charts and has them drawn in a sandbox; its failure never fails a run."""

from deep_research.errors import CallFailed
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.outcome import findings_from
from deep_research.pipeline.state import RunState, Update
from deep_research.reasoning.values import ChartSpec, Findings

MAX_CHARTS = 5


class ComputationEngine:
    """Turns findings into figures."""

    async def plan_report_charts(self, findings: Findings, context: StageContext) -> tuple[ChartSpec, ...]:
        """Plan at most five charts."""
        specs = await context.reason("plan_charts", lambda reasoner: reasoner.plan_charts(findings))
        return specs[:MAX_CHARTS]

    async def execute_chart_plan(self, specs: tuple[ChartSpec, ...], context: StageContext) -> list[str]:
        """Draw the charts; return the content ids of the figures."""
        sandbox = context.sandbox
        figures: list[str] = []
        if sandbox is None:
            return figures
        for spec in specs:
            try:
                execution = await sandbox.execute(spec.python_code)
            except CallFailed as failure:
                await context.emit("chart-result", {"title": spec.title, "status": "failed", "error": str(failure)})
                continue
            figures.append(await context.records.keep(execution))
            await context.emit("chart-result", {"title": spec.title, "status": "done"})
        return figures


async def chart(state: RunState, computation: ComputationEngine) -> Update:
    """Plan the figures and have them drawn, or say why there are none."""
    context = state.context
    specs = await computation.plan_report_charts(await findings_from(state.input, context.records), context)
    reason = ""
    if not specs:
        reason = "the findings hold no series of figures to draw"
    elif context.sandbox is None:
        reason = "charts are off: no sandbox is available"
    planned = [spec.to_json() for spec in specs]
    await context.emit("chart-planning", {"charts": planned, "reason": reason} if reason else {"charts": planned})
    if reason:
        context.skip(reason)
        return {"figures": []}
    return {"figures": await computation.execute_chart_plan(specs, context)}
