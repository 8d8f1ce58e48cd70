"""Verify: a verdict for each sentence of the draft and of the analysis, and the facts that the writing left out."""

from collections.abc import Sequence

from deep_research.messages.words import Words, words
from deep_research.pipeline.checking import Checked, check, ids_of
from deep_research.pipeline.context import Ports
from deep_research.pipeline.draft import as_claims, within_room
from deep_research.pipeline.fan_out import fan_out
from deep_research.pipeline.untold import quotes_of, untold
from deep_research.reasoning.values import Findings, SectionWork
from deep_research.report.paragraph import Paragraph, Refusal, Sentence
from deep_research.value import Value


class CheckedBody(Value):
    """The report's checked sections and analysis, and every sentence that was kept out so far."""

    paragraphs: tuple[Paragraph, ...] = ()
    analysis: tuple[Paragraph, ...] = ()
    dropped: tuple[Refusal, ...] = ()


async def verify(
    findings: Findings, drafted: Sequence[Paragraph], analysis: Sequence[Paragraph], *, ports: Ports
) -> CheckedBody:
    """Check what was written; see to it that each section tells the figures of its evidence."""
    said = words(findings.brief.language)
    sections = await fan_out(
        "section", within_room(findings), lambda work, at: _verify_section(work, drafted, said, at), ports=ports
    )
    known = ids_of(piece for work in findings.sections for piece in work.evidence)
    aside = ports.at("analysis")
    analyzed = await check(as_claims(analysis, said("report.analysis")), known=known, ports=aside)
    ports.trail.join([ports.trail, aside.trail])
    return CheckedBody(
        paragraphs=tuple(paragraph for section in sections for paragraph in section.paragraphs),
        analysis=analyzed.paragraphs,
        dropped=(*(refusal for section in sections for refusal in section.dropped), *analyzed.dropped),
    )


async def _verify_section(work: SectionWork, drafted: Sequence[Paragraph], said: Words, ports: Ports) -> Checked:
    title, known = work.section.title, ids_of(work.evidence)
    checked = await check([each for each in drafted if each.section == title], known=known, ports=ports)
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
