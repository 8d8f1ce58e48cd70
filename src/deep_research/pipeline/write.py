"""Write: abstract and conclusion from the reasoner, then the report file and its proofs."""

from collections.abc import Sequence
from typing import Any

from deep_research.messages.words import words
from deep_research.pipeline.context import Ports
from deep_research.pipeline.outcome import unanswered
from deep_research.pipeline.reporter import ReportGenerator, result_of
from deep_research.pipeline.verify import verify
from deep_research.reasoning.disagreement import find_disagreements
from deep_research.reasoning.values import Draft, Findings
from deep_research.report.paragraph import Paragraph
from deep_research.value import canonical_json


async def write(
    findings: Findings, body: Sequence[Paragraph], state: dict[str, Any], *, reporter: ReportGenerator, ports: Ports
) -> str:
    """Write the report; return the content id of what the run's row will keep of it."""
    draft = Draft(
        brief=findings.brief,
        plan=findings.plan,
        paragraphs=tuple(body),
        evidence=tuple(piece for work in findings.sections for piece in work.evidence),
        titles=await _titles(findings, ports=ports),
        gaps=tuple(unanswered(state.get("outcomes", []))),
    )
    conclusion = await ports.reason("conclude", lambda reasoner: reasoner.conclude(draft))
    abstract = await verify(conclusion.abstract, ports=ports.at("abstract"))
    closing = await verify(conclusion.conclusion, ports=ports.at("conclusion"))
    disputed = find_disagreements(draft.evidence, section=words(findings.brief.language)("report.disagreements"))
    disagreements = await verify(disputed, ports=ports.at("disagreements"))
    checked = conclusion.model_copy(update={"abstract": abstract.paragraphs, "conclusion": closing.paragraphs})
    written = await reporter.write_final_report(
        findings, body, checked, state, disagreements=disagreements.paragraphs, ports=ports
    )
    await reporter.write_files(written, ports=ports)
    report = await ports.store.put_blob(ports.run.claim, written.text.encode())
    path = str(ports.run.folder.path / "report.md")
    await ports.emit("final-report", {"title": written.title, "report": report, "path": path})
    return await ports.store.put_blob(ports.run.claim, canonical_json(result_of(written, report=report)).encode())


async def _titles(findings: Findings, *, ports: Ports) -> tuple[str, ...]:
    documents = dict.fromkeys(piece.document for work in findings.sections for piece in work.evidence)
    return tuple([(await ports.store.get_document(document)).title for document in documents])
