"""Draft: from sections and evidence to paragraphs that carry evidence ids."""

from deep_research.pipeline.context import Ports
from deep_research.pipeline.fan_out import fan_out
from deep_research.reasoning.selection import share_room
from deep_research.reasoning.values import Findings, SectionWork
from deep_research.report.paragraph import Paragraph, Sentence

# Pieces of evidence that each section tells, however well the others do.
_LEAST = 2


async def draft(findings: Findings, *, ports: Ports) -> list[Paragraph]:
    """Write every section that has evidence, all at once; a sentence without evidence is not written."""
    written = await fan_out("section", _within_room(findings), _draft_section, ports=ports)
    return [paragraph for paragraphs in written for paragraph in paragraphs]


def _within_room(findings: Findings) -> list[SectionWork]:
    """Return the sections that have evidence, with what of it the whole report has room for."""
    shared = share_room([work.evidence for work in findings.sections], room=findings.brief.room, least=_LEAST)
    works = zip(findings.sections, shared, strict=True)
    return [work.model_copy(update={"evidence": tuple(kept)}) for work, kept in works if kept]


async def _draft_section(work: SectionWork, ports: Ports) -> list[Paragraph]:
    paragraphs = await ports.reason("draft", lambda reasoner: reasoner.draft(work))
    known = {id_ for piece in work.evidence for id_ in (piece.id, piece.header) if id_}
    kept = []
    for paragraph in paragraphs:
        sentences = tuple(_rests_on(sentence, known) for sentence in paragraph.sentences)
        sentences = tuple(sentence for sentence in sentences if sentence.evidence)
        if sentences:
            kept.append(paragraph.model_copy(update={"section": work.section.title, "sentences": sentences}))
    return kept


def _rests_on(sentence: Sentence, known: set[str]) -> Sentence:
    return sentence.model_copy(update={"evidence": tuple(id_ for id_ in sentence.evidence if id_ in known)})
