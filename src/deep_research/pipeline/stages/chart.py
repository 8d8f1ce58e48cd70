"""`ComputationEngine`: plans charts from the evidence and has them drawn; its failure never fails a run."""

from base64 import b64decode
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from deep_research.charts.sandbox.port import Execution
from deep_research.errors import CallFailed, SourceError, SourceRefused
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.outcome import findings_from
from deep_research.pipeline.passages import contexts_of, whole_tables
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.weighing.charts import MAX_CHARTS
from deep_research.reasoning.values import BrokenChart, ChartSpec, Findings
from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import DataRow, Figure
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from deep_research.value import canonical_json

_MIN_ROWS = 3
# A chart takes a second or two; on a machine that is busy with much else it may take this long.
_DRAWING_S = 30.0


class ComputationEngine:
    """Turns findings into figures: a model's programs run in the sandbox only, rows without one are drawn by ours."""

    async def plan_report_charts(self, findings: Findings, context: StageContext) -> tuple[ChartSpec, ...]:
        """Plan at most five charts; one whose values do not all stand in the evidence is none."""
        specs = await context.reason(Reasoner.plan_charts, findings)
        evidence = {piece.id: piece for piece in findings.evidence}
        return tuple(spec for spec in specs if _is_backed(spec.rows, evidence))[:MAX_CHARTS]

    async def execute_chart_plan(
        self, specs: Sequence[ChartSpec], context: StageContext, language: Language
    ) -> list[str]:
        """Draw the charts; return the content ids of the figures. After some failures in a row the rest is skipped."""
        words, most = words_in(language), context.adapters.max_chart_failures
        figures = []
        failures = 0

        async def lose(title: str, why: CallFailed | str, status: Literal["failed", "skipped"]) -> None:
            await context.lost("chart", title, why)
            await context.emit("chart-result", {"title": title, "status": status, "error": str(why)})

        for spec in specs:
            if failures >= most:
                await lose(spec.title, words("chart.stopped", count=failures), "skipped")
                continue
            try:
                figure = await self._drawn(spec, context, language)
            except CallFailed as failure:
                failures += 1
                await lose(spec.title, failure, "failed")
            else:
                failures = 0
                figures.append(await context.records.keep(figure))
                about = figure.to_json()
                await context.emit("chart-result", {"title": spec.title, "status": "done", "figure": about})
        return figures

    async def _drawn(self, spec: ChartSpec, context: StageContext, language: Language) -> Figure:
        """Return a chart; a model's program that fails, or shows something else, is mended once."""
        try:
            return await self._figure(spec, context, language)
        except SourceError as failure:
            if not spec.python_code or not context.adapters.sandbox:
                raise
            if isinstance(failure, SourceRefused):
                # Ours draws lines and bars.
                shape = "bar" if spec.chart_type in ("bar", "stacked", "pie") else "line"
                plain = spec.replace(python_code="", chart_type=shape)
                return await self._figure(plain, context, language)
            broken = BrokenChart(spec=spec, error=str(failure))
        mended = await context.reason(Reasoner.repair_chart, broken)
        # Only the program changes: its data stay what the evidence says.
        return await self._figure(spec.replace(python_code=mended.python_code), context, language)

    async def _figure(self, spec: ChartSpec, context: StageContext, language: Language) -> Figure:
        sandbox, draw = context.adapters.sandbox, context.adapters.draw
        if spec.python_code and sandbox:
            program = spec.python_code, spec.data
            asked = canonical_json(program)
            execution = await context.draw("sandbox", asked, lambda: sandbox.execute(*program), sandbox.timeout_s)
        elif draw:
            execution = await context.draw(
                "draw",
                [spec.title, spec.chart_type, spec.unit, spec.data, language],
                lambda: draw(
                    title=spec.title, chart_type=spec.chart_type, unit=spec.unit, rows=spec.rows, language=language
                ),
                _DRAWING_S,
            )
        else:
            raise SourceError(context.adapters.no_drawing)
        if problem := difference(spec.rows, execution):
            raise SourceError(problem)
        store, lease = context.run.store, context.run.lease
        return Figure(
            title=spec.title,
            chart_type=spec.chart_type,
            unit=spec.unit,
            rows=spec.rows,
            png=await store.put_blob(lease, b64decode(execution.figures[0])),
            svg=await store.put_blob(lease, execution.svgs[0].encode()) if execution.svgs else "",
        )


def _is_backed(rows: Sequence[DataRow], evidence: Mapping[str, Evidence]) -> bool:
    """Return whether there are enough rows, and each piece of evidence states the value that it stands for."""
    return len(rows) >= _MIN_ROWS and all(
        row.evidence in evidence and row.is_stated_in(evidence[row.evidence].quote) for row in rows
    )


def difference(rows: Sequence[DataRow], execution: Execution) -> str:
    """Say in which way what was drawn is not one figure of exactly these values; "" if it is."""
    if len(execution.figures) != 1 or len(execution.plotted) != 1:
        return f"One figure is wanted, and {len(execution.figures)} were drawn."
    shown = Counter(f"{value:.6g}" for value in execution.plotted[0] if value == value)
    plotted = Counter(f"{row.value:.6g}" for row in rows)
    if added := shown - plotted:
        return f"The figure shows values that are not in the data: {', '.join(sorted(added))}."
    if missing := plotted - shown:
        return f"The figure does not show these values of the data: {', '.join(sorted(missing))}."
    return ""


async def chart(state: DeepResearchState, context: StageContext, computation: ComputationEngine) -> Update:
    """Plan the figures and have them drawn, or say why there are none."""
    adapters = context.adapters
    if not (adapters.draw or adapters.sandbox or adapters.no_drawing):
        context.skip("charts are off")
        return {}
    found = await findings_from(state, context.records)
    findings = await whole_tables(found, context.records)
    language = findings.brief.language
    contexts = await contexts_of(findings.evidence, language, context.records)
    has_sandbox = bool(adapters.models) and await _can_run(context)
    specs = await computation.plan_report_charts(findings.replace(contexts=contexts, has_sandbox=has_sandbox), context)
    planned = [spec.to_json() for spec in specs]
    if not specs:
        reason = "the findings hold no series of figures to draw"
        await context.emit("chart-planning", {"charts": planned, "reason": reason})
        context.skip(reason)
        return {}
    await context.emit("chart-planning", {"charts": planned})
    # Rows that nobody had quoted are cited now.
    used, known = {row.evidence for spec in specs for row in spec.rows}, {piece.id for piece in found.evidence}
    fresh = [piece for piece in findings.evidence if piece.id in used - known]
    await context.run.store.put_evidence(context.run.lease, fresh)
    words = words_in(language)
    if not adapters.draw and not any(spec.python_code and adapters.sandbox for spec in specs):
        reason = words("chart.no_drawing", count=len(specs), reason=adapters.no_drawing)
        context.gaps.append(Gap(kind="chart", scope=context.scope, subject="", reason=reason))
        context.skip(reason)
        return {}
    if adapters.models and not has_sandbox:
        # Nothing is missing for the reader, so that it is no error.
        context.gaps.append(Gap(kind="chart", scope=context.scope, subject="", reason=words("chart.no_sandbox")))
    return {"figures": await computation.execute_chart_plan(specs, context, language)}


async def _can_run(context: StageContext) -> bool:
    """Return whether a model's programs can be run, as it was when the run first asked."""
    sandbox = context.adapters.sandbox
    if not sandbox:
        return False

    async def lookup() -> str:
        try:
            return await sandbox.check()
        except SourceRefused:
            return ""

    return bool(await context.decide("sandbox", (), lookup))
