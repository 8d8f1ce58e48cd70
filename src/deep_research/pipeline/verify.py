"""Verify: a verdict for each sentence, by code first; what code cannot decide the reasoner may judge."""

from collections import Counter

from deep_research.evidence.passage import Evidence
from deep_research.pipeline.context import Ports
from deep_research.pipeline.fan_out import fan_out
from deep_research.reasoning.values import Support
from deep_research.report.paragraph import Paragraph, Sentence, Verdict
from deep_research.verify.quote import check_quote


async def verify(paragraphs: list[Paragraph], *, ports: Ports) -> list[Paragraph]:
    """Give every sentence its verdict; sentences without support in any passage are dropped."""
    checked = await fan_out("paragraph", paragraphs, _check_paragraph, ports=ports)
    kept = [paragraph for paragraph in checked if paragraph.sentences]
    counts: dict[str, Counter[str]] = {}
    for paragraph in kept:
        kinds = [sentence.verdict.kind for sentence in paragraph.sentences if sentence.verdict]
        counts.setdefault(paragraph.section, Counter()).update(kinds)
    for section, counted in counts.items():
        await ports.emit("verdict", {"section": section, "counts": dict(sorted(counted.items()))})
    return kept


async def _check_paragraph(paragraph: Paragraph, ports: Ports) -> Paragraph:
    if paragraph.kind == "note":
        return paragraph
    sentences = await fan_out("sentence", paragraph.sentences, _check_sentence, ports=ports)
    kept = tuple(sentence for sentence in sentences if sentence.verdict and sentence.verdict.kind != "not_found")
    return paragraph.model_copy(update={"sentences": kept})


async def _check_sentence(sentence: Sentence, ports: Ports) -> Sentence:
    passages = tuple(await ports.store.get_evidence(ports.run.row.id, sentence.evidence))
    verdict = check_quote(sentence, passages)
    if verdict is None:
        support = Support(sentence=sentence, passages=passages)
        judgement = await ports.reason("judge_support", lambda reasoner: reasoner.judge_support(support))
        verdict = _proved(judgement.verdict, judgement.span, passages) or Verdict(
            kind="not_checked", reason="the judge named no passage that is there"
        )
    return sentence.model_copy(update={"verdict": verdict})


def _proved(kind: str, span: str, passages: tuple[Evidence, ...]) -> Verdict | None:
    """Return the judge's verdict if the span it relies on really stands in a passage."""
    for passage in passages:
        at = passage.quote.find(span) if span else -1
        if at >= 0:
            start = passage.start + at
            found = {"kind": kind, "reason": "judged", "evidence": passage.id, "start": start, "end": start + len(span)}
            return Verdict.from_json(found)
    return None
