"""`ResearchAnalyzer` (document 000): the running synthesis, and the critical look at the whole."""

from collections.abc import Mapping
from typing import Any

from deep_research.pipeline.backing import backed_findings
from deep_research.pipeline.context import Ports
from deep_research.reasoning.values import Analysis, Digest, Findings, SectionWork, Synthesis


class ResearchAnalyzer:
    """Brings findings together."""

    async def compress(self, work: SectionWork, *, ports: Ports) -> Digest:
        """Keep the evidence worth keeping; ids that the section does not have are dropped."""
        digest = await ports.reason("compress", lambda reasoner: reasoner.compress(work))
        known = {evidence.id for evidence in work.evidence}
        return digest.model_copy(update={"evidence": tuple(id_ for id_ in digest.evidence if id_ in known)})

    async def intermediate_synthesis(self, work: SectionWork, *, ports: Ports) -> Synthesis:
        """Merge what a round found into the section's synthesis."""
        return await ports.reason("synthesize", lambda reasoner: reasoner.synthesize(work))

    async def critical_analysis_stage(self, findings: Findings, state: Mapping[str, Any], *, ports: Ports) -> Analysis:
        """Look at the findings from several sides, knowing how well their main statements are backed."""
        weighed = await backed_findings(findings, state, ports=ports)
        return await ports.reason("analyze", lambda reasoner: reasoner.analyze(weighed))
