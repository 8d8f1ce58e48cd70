"""Draft: from sections and evidence to paragraphs that carry evidence ids."""

from deep_research.pipeline.context import Ports
from deep_research.pipeline.fan_out import fan_out
from deep_research.reasoning.values import Findings, SectionWork
from deep_research.report.paragraph import Paragraph, Sentence


async def draft(findings: Findings, *, ports: Ports) -> list[Paragraph]:
    """Write every section that has evidence, all at once; a sentence without evidence is not written."""
    written = await fan_out(
        "section", [work for work in findings.sections if work.evidence], _draft_section, ports=ports
    )
    return [paragraph for paragraphs in written for paragraph in paragraphs]


async def _draft_section(work: SectionWork, ports: Ports) -> list[Paragraph]:
    paragraphs = await ports.reason("draft", lambda reasoner: reasoner.draft(work))
    known = {evidence.id for evidence in work.evidence}
    kept = []
    for paragraph in paragraphs:
        sentences = tuple(_rests_on(sentence, known) for sentence in paragraph.sentences)
        sentences = tuple(sentence for sentence in sentences if sentence.evidence)
        if sentences:
            kept.append(paragraph.model_copy(update={"section": work.section.title, "sentences": sentences}))
    return kept


def _rests_on(sentence: Sentence, known: set[str]) -> Sentence:
    return sentence.model_copy(update={"evidence": tuple(id_ for id_ in sentence.evidence if id_ in known)})
