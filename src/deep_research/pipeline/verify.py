"""Verify: a verdict for each sentence of a section or of the analysis, and the facts that the writing left out."""

from collections.abc import Sequence
from typing import Any

from deep_research.messages.words import words
from deep_research.pipeline.checking import Checked, check, ids_of
from deep_research.pipeline.context import Ports
from deep_research.pipeline.draft import as_claims
from deep_research.pipeline.untold import quotes_of, untold
from deep_research.reasoning.values import Analysis, Findings, SectionWork
from deep_research.report.paragraph import Paragraph, Refusal, Sentence
from deep_research.value import Value

# Where the analysis stands among the texts of a run; a section's text stands at its own scope.
ANALYSIS = "analysis"


class CheckedBody(Value):
    """The report's checked sections and analysis, and every sentence that was kept out so far."""

    paragraphs: tuple[Paragraph, ...] = ()
    analysis: tuple[Paragraph, ...] = ()
    dropped: tuple[Refusal, ...] = ()


async def verify(work: SectionWork, drafted: Sequence[Paragraph], *, ports: Ports) -> Checked:
    """Check a section as it was written; see to it that it tells the figures of its evidence."""
    title, known, said = work.section.title, ids_of(work.evidence), words(work.brief.language)
    checked = await check(drafted, known=known, ports=ports)
    if any(paragraph.kind == "claim" for paragraph in checked.paragraphs):
        missing = untold(title, work.evidence, checked.sentences)
    else:
        missing = quotes_of(title, work.evidence)
    aside = ports.at("untold")
    quoted = await check(missing, known=known, ports=aside)
    ports.trail.join([ports.trail, aside.trail])
    told = [paragraph for paragraph in (*checked.paragraphs, *quoted.paragraphs) if paragraph.kind == "claim"]
    tables = [paragraph for paragraph in checked.paragraphs if paragraph.kind == "table"]
    further = [paragraph for paragraph in quoted.paragraphs if paragraph.kind == "table"]
    if further:
        caption = Sentence(text=said("report.further_figures"))
        further.insert(0, Paragraph(section=title, kind="caption", sentences=(caption,)))
    return Checked(paragraphs=(*told, *tables, *further), dropped=(*checked.dropped, *quoted.dropped))


async def verify_analysis(analysis: Analysis, findings: Findings, *, ports: Ports) -> Checked:
    """Check the analysis, which may rest on whatever was found; what would change the conclusion needs no source."""
    said = words(findings.brief.language)
    title, lead = said("report.analysis"), said("report.changes")
    known = ids_of(piece for work in findings.sections for piece in work.evidence)
    notes = tuple(Sentence(text=text) for text in analysis.changes)
    ahead = [Paragraph(section=title, kind="note", lead=lead, sentences=notes)] if notes else []
    return await check([*as_claims(analysis.paragraphs, title), *ahead], known=known, ports=ports)


async def body_from(state: dict[str, Any], *, ports: Ports) -> CheckedBody:
    """Return the texts of a run as they were checked, in plan order."""
    sections: list[Checked] = []
    analysis = Checked()
    for text in state.get("texts", []):
        if text.get("checked"):
            checked = await ports.load(Checked, text["checked"])
            if text["scope"] == ANALYSIS:
                analysis = checked
            else:
                sections.append(checked)
    return CheckedBody(
        paragraphs=tuple(paragraph for section in sections for paragraph in section.paragraphs),
        analysis=analysis.paragraphs,
        dropped=tuple(refusal for one in (*sections, analysis) for refusal in one.dropped),
    )
