"""Analyze: a critical look at the findings, where the question asks for one."""

from collections.abc import Mapping
from typing import Any

from deep_research.pipeline.analyzer import ResearchAnalyzer
from deep_research.pipeline.context import Ports
from deep_research.reasoning.critique import asks_for_judgement
from deep_research.reasoning.values import Analysis, Findings


async def analyze(
    findings: Findings, state: Mapping[str, Any], *, analyzer: ResearchAnalyzer, ports: Ports
) -> Analysis | None:
    """Return the analysis, or None with the reason on record."""
    if not asks_for_judgement(findings.brief.original):
        ports.skip("the question does not ask for an analysis")
        return None
    analysis = await analyzer.critical_analysis_stage(findings, state, ports=ports)
    if not analysis.paragraphs and not analysis.changes:
        ports.skip("nothing was found that could be weighed")
        return None
    return analysis
