"""Verify: a verdict for each sentence, by code first; what code cannot decide the reasoner may judge."""

from collections import Counter
from collections.abc import Sequence

from deep_research.evidence.passage import Evidence
from deep_research.pipeline.context import Ports
from deep_research.pipeline.fan_out import fan_out
from deep_research.reasoning.values import Judgement, Support
from deep_research.report.paragraph import Paragraph, Sentence, Verdict
from deep_research.value import Value
from deep_research.verify.coverage import unchecked_reason
from deep_research.verify.quote import check_quote
from deep_research.verify.row import check_cells
from deep_research.verify.veto import veto


class Checked(Value):
    """Paragraphs whose sentences carry verdicts, and the sentences that were dropped because nothing carried them."""

    paragraphs: tuple[Paragraph, ...] = ()
    dropped: tuple[Sentence, ...] = ()


async def verify(paragraphs: Sequence[Paragraph], *, ports: Ports) -> Checked:
    """Give every sentence its verdict; what no passage carries is revised once, then dropped."""
    checked = await fan_out("paragraph", paragraphs, _check_paragraph, ports=ports)
    kept = tuple(paragraph for paragraph, _ in checked if paragraph.sentences)
    counts: dict[str, Counter[str]] = {}
    for paragraph in kept:
        kinds = [sentence.verdict.kind for sentence in paragraph.sentences if sentence.verdict]
        counts.setdefault(paragraph.section, Counter()).update(kinds)
    for section, counted in counts.items():
        await ports.emit("verdict", {"section": section, "counts": dict(sorted(counted.items()))})
    return Checked(paragraphs=kept, dropped=tuple(sentence for _, dropped in checked for sentence in dropped))


async def _check_paragraph(paragraph: Paragraph, ports: Ports) -> tuple[Paragraph, list[Sentence]]:
    if paragraph.kind == "note":
        return paragraph, []
    sentences = await fan_out("sentence", paragraph.sentences, _check_sentence, ports=ports)
    kept = tuple(sentence for sentence in sentences if not _is_refused(sentence.verdict))
    return paragraph.model_copy(update={"sentences": kept}), [each for each in sentences if _is_refused(each.verdict)]


async def _check_sentence(sentence: Sentence, ports: Ports) -> Sentence:
    passages = tuple(await ports.store.get_evidence(ports.run.row.id, sentence.evidence))
    verdict = await _verdict(sentence, passages, ports)
    if _is_refused(verdict) and passages and not sentence.cells:
        support = Support(sentence=sentence, passages=passages)
        revised = await ports.reason("revise", lambda reasoner: reasoner.revise(support))
        if revised is not None and revised.text != sentence.text:
            second = await _verdict(revised, passages, ports.at("revised"))
            if not _is_refused(second):
                return revised.model_copy(update={"verdict": second})
    return sentence.model_copy(update={"verdict": verdict})


async def _verdict(sentence: Sentence, passages: tuple[Evidence, ...], ports: Ports) -> Verdict:
    """Let code decide, else the reasoner; a judge that relies on a span must name one that is there."""
    by_code = check_cells(sentence, passages) if sentence.cells else None
    by_code = by_code or check_quote(sentence, passages) or veto(sentence, passages)
    if by_code is not None:
        return by_code
    support = Support(sentence=sentence, passages=passages)
    judgement = await ports.reason("judge_support", lambda reasoner: reasoner.judge_support(support))
    return _proved(judgement, passages) or Verdict(kind="not_checked", reason=unchecked_reason(sentence, passages))


def _is_refused(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.kind in ("not_found", "contradicted")


def _proved(judgement: Judgement, passages: tuple[Evidence, ...]) -> Verdict | None:
    """Return the judge's verdict if the span it relies on really stands in a passage."""
    for passage in passages:
        at = passage.quote.find(judgement.span) if judgement.span else -1
        if at >= 0:
            start = passage.start + at
            end = start + len(judgement.span)
            return Verdict(kind=judgement.verdict, reason="judged", evidence=passage.id, start=start, end=end)
    return None
