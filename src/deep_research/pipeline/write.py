"""Write: abstract, conclusion and outlook from the reasoner, checked like the body, then the report and its proofs."""

from collections.abc import Sequence
from typing import Any

from deep_research.pipeline.backing import disagreements
from deep_research.pipeline.checking import Checked, check, claims_nothing, ids_of
from deep_research.pipeline.context import Ports
from deep_research.pipeline.draft import as_claims
from deep_research.pipeline.fan_out import both
from deep_research.pipeline.outcome import unanswered
from deep_research.pipeline.reporter import ReportGenerator, result_of
from deep_research.pipeline.verify import CheckedBody
from deep_research.reasoning.values import Brief, Conclusion, Draft, Findings
from deep_research.report.paragraph import Paragraph, Refusal
from deep_research.value import canonical_json


async def write(
    findings: Findings, body: CheckedBody, state: dict[str, Any], *, reporter: ReportGenerator, ports: Ports
) -> tuple[str, tuple[Refusal, ...]]:
    """Write the report; return the content id of what the run's row will keep of it, and what was kept out here."""
    draft = Draft(
        brief=findings.brief,
        plan=findings.plan,
        paragraphs=body.paragraphs,
        evidence=tuple(piece for work in findings.sections for piece in work.evidence),
        titles=await _titles(findings, ports=ports),
        gaps=tuple(unanswered(state.get("outcomes", []), findings)),
    )
    conclusion, disputed = await both(
        ports.reason("conclude", lambda reasoner: reasoner.conclude(draft)), _disputed(findings, state, ports)
    )
    known = ids_of(draft.evidence)
    checked = await check(_claims(conclusion), known=known, ports=ports)
    abstract, dropped = checked.of("abstract"), (*checked.dropped, *disputed.dropped)
    if not abstract:
        # None was written, or none could stand: the body's own sentences make one.
        extracted = await ports.run.parts.stand_in.conclude(_sound(draft))
        again = await check(extracted.abstract, known=known, ports=ports.at("extracted"))
        abstract, dropped = again.paragraphs, (*dropped, *again.dropped)
    gaps, unfounded = _gaps([*conclusion.unanswered, *draft.gaps], findings.brief)
    dropped = (*dropped, *unfounded)
    kept = {
        "abstract": abstract,
        "conclusion": checked.of("conclusion"),
        "outlook": checked.of("outlook"),
        "unanswered": gaps,
    }
    is_unfounded = not draft.evidence and ports.request.search.model_knowledge
    knowledge = await ports.reason("recall", lambda reasoner: reasoner.recall(findings.brief)) if is_unfounded else ""
    written = await reporter.write_final_report(
        findings,
        body,
        conclusion.model_copy(update=kept),
        state,
        knowledge=knowledge,
        disagreements=disputed.paragraphs,
        ports=ports,
    )
    await reporter.write_files(written, ports=ports)
    report = await ports.store.put_blob(ports.run.claim, written.text.encode())
    path = str(ports.run.folder.path / "report.md")
    await ports.emit("final-report", {"title": written.title, "report": report, "path": path})
    result = await ports.store.put_blob(ports.run.claim, canonical_json(result_of(written, report=report)).encode())
    return result, dropped


async def _disputed(findings: Findings, state: dict[str, Any], ports: Ports) -> Checked:
    """Return where sources disagree, checked; this needs no answer of a model and is done while one is awaited."""
    tables = await disagreements(findings, state, ports=ports)
    return await check(tables, known={id_ for table in tables for id_ in table.cite_ids}, ports=ports.at("disputed"))


def _claims(conclusion: Conclusion) -> list[Paragraph]:
    """Return abstract, conclusion and outlook to be checked; only an outlook may hold notes, which need no source."""
    ahead = [paragraph for paragraph in conclusion.outlook if paragraph.kind == "note"]
    return [
        *as_claims(conclusion.abstract, "abstract"),
        *as_claims(conclusion.conclusion, "conclusion"),
        *as_claims([paragraph for paragraph in conclusion.outlook if paragraph.kind != "note"], "outlook"),
        *(paragraph.model_copy(update={"section": "outlook"}) for paragraph in ahead),
    ]


def _gaps(told: Sequence[str], brief: Brief) -> tuple[tuple[str, ...], tuple[Refusal, ...]]:
    """Part what stays open from what only looks like it: a gap names no figure, date or address but the question's."""
    asked = f"{brief.original} {brief.question}"
    once = dict.fromkeys(told)
    founded = tuple(text for text in once if claims_nothing(text, asked))
    refusals = (Refusal(section="gaps", text=text, reason="unfounded") for text in once if text not in founded)
    return founded, tuple(refusals)


def _sound(draft: Draft) -> Draft:
    """Return the draft with its supported sentences alone."""
    kept = []
    for paragraph in draft.paragraphs:
        sound = [each for each in paragraph.sentences if each.verdict and each.verdict.kind == "supported"]
        kept += [paragraph.model_copy(update={"sentences": tuple(sound)})] if sound else []
    return draft.model_copy(update={"paragraphs": tuple(kept)})


async def _titles(findings: Findings, *, ports: Ports) -> tuple[str, ...]:
    documents = dict.fromkeys(piece.document for work in findings.sections for piece in work.evidence)
    return tuple([(await ports.store.get_document(document)).title for document in documents])
