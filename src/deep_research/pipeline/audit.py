"""Audit: the report as it was shipped, checked once more from its files (SPEC V1)."""

from deep_research.pipeline.context import Ports
from deep_research.value import canonical_json
from deep_research.verify.report import Verifier


async def audit(*, ports: Ports) -> bool:
    """Check the files in the run folder; write `verify.json` and `verification.md`; say whether they pass."""
    folder = ports.run.folder
    outcome = Verifier().verify(folder.path / "report.md", folder.path / "paragraphs.jsonl")
    await folder.write("verify.json", canonical_json(outcome.to_json()) + "\n")
    await folder.write("verification.md", outcome.in_words())
    return outcome.passed
