"""Analyze: a critical look at the findings, where the question asks for one."""

from deep_research.pipeline.analyzer import ResearchAnalyzer
from deep_research.pipeline.context import Ports
from deep_research.reasoning.values import Analysis, Findings

# SPEC C1, in the three scripts. The mixed patterns and the length rule come with the analysis itself.
ANALYSIS_WORDS = (
    *("分析", "评估", "批判", "比较", "为什么", "評估", "比較", "為什麼"),
    *("analyse", "analyze", "analysis", "assess", "evaluate", "critique", "compare", "why"),
)


async def analyze(findings: Findings, *, analyzer: ResearchAnalyzer, ports: Ports) -> Analysis | None:
    """Return the analysis, or None with the reason on record."""
    if not asks_for_analysis(findings.brief.original):
        ports.skip("the question does not ask for an analysis")
        return None
    analysis = await analyzer.critical_analysis_stage(findings, ports=ports)
    if not analysis.paragraphs:
        ports.skip("there is no analysis without a model")
        return None
    return analysis


def asks_for_analysis(question: str) -> bool:
    """Say whether a question asks for judgement."""
    return any(word in question.lower() for word in ANALYSIS_WORDS)
