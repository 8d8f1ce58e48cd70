"""Chart: plans figures and has them drawn, or says why there are none."""

from deep_research.pipeline.computation import ComputationEngine
from deep_research.pipeline.context import Ports
from deep_research.reasoning.values import Findings


async def chart(findings: Findings, *, computation: ComputationEngine, ports: Ports) -> list[str]:
    """Return the content ids of the figures."""
    specs = await computation.plan_report_charts(findings, ports=ports)
    reason = ""
    if not specs:
        reason = "the findings hold no series of figures to draw"
    elif ports.sandbox is None:
        reason = "charts are off: no sandbox is available"
    planned = [spec.to_json() for spec in specs]
    await ports.emit("chart-planning", {"charts": planned, "reason": reason} if reason else {"charts": planned})
    if reason:
        ports.skip(reason)
        return []
    return await computation.execute_chart_plan(specs, ports=ports)
