"""Verify: a verdict for each sentence of a section or of the analysis, and the facts that the writing left out."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from deep_research.evidence.passage import Evidence
from deep_research.messages.words import words_in
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.fan_out import fan_out
from deep_research.pipeline.missing_figures import missing_figures, quotes_of
from deep_research.pipeline.outcome import findings_from, section_work
from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.stages.draft import as_claims
from deep_research.pipeline.state import RunState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.values import Analysis, Findings, Judgement, SectionWork, Support
from deep_research.report.paragraph import Paragraph, Refusal, Sentence, Verdict
from deep_research.value import Value
from deep_research.verify.coverage import adds_to, is_related, unchecked_reason
from deep_research.verify.particulars import dates_of, split_figures
from deep_research.verify.quote import check_quote, find_span
from deep_research.verify.references import find_references
from deep_research.verify.revision import only_weakens
from deep_research.verify.row import check_cells
from deep_research.verify.veto import veto

# From worst to best. What could not be checked stands above what was refused: it is never shown as refuted.
_ORDER = ("contradicted", "not_found", "not_checked", "partly", "supported")
_TO_MEND = ("contradicted", "not_found", "partly")
_SHOWN_CHARS = 200
# More things than this nobody counts without a source.
_COUNTED_BY_HAND = 12


class Checked(Value):
    """Paragraphs whose sentences carry verdicts, and the sentences that were kept out of them."""

    paragraphs: tuple[Paragraph, ...] = ()
    dropped: tuple[Refusal, ...] = ()

    @property
    def sentences(self) -> list[Sentence]:
        """Return all sentences that were kept."""
        return [sentence for paragraph in self.paragraphs for sentence in paragraph.sentences]

    def of(self, section: str) -> tuple[Paragraph, ...]:
        """Return the paragraphs of a section."""
        return tuple(paragraph for paragraph in self.paragraphs if paragraph.section == section)


def ids_of(evidence: Iterable[Evidence]) -> frozenset[str]:
    """Return the ids that sentences written from this evidence may cite."""
    return frozenset(id_ for piece in evidence for id_ in (piece.id, piece.header) if id_)


async def check(paragraphs: Sequence[Paragraph], known: Collection[str], context: StageContext) -> Checked:
    """Give every sentence its verdict; what no passage carries is revised once, then dropped.

    A sentence that cites nothing, or an id that is not `known`, is refused unread.
    """
    checked = await fan_out("paragraph", paragraphs, lambda each, at: _check_paragraph(each, known, at), context)
    kept = tuple(paragraph for paragraph, _ in checked if paragraph.sentences)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for paragraph in kept:
        counts[paragraph.section].update(each.verdict.kind for each in paragraph.sentences if each.verdict)
    for section, counted in counts.items():
        await context.emit("verdict", {"section": section, "counts": dict(sorted(counted.items()))})
    return Checked(paragraphs=kept, dropped=tuple(refusal for _, refused in checked for refusal in refused))


async def _check_paragraph(
    paragraph: Paragraph, known: Collection[str], context: StageContext
) -> tuple[Paragraph, list[Refusal]]:
    if paragraph.kind == "note":
        results: Sequence[Sentence | Refusal] = [_check_note(each, paragraph.section) for each in paragraph.sentences]
    else:
        results = await fan_out(
            "sentence",
            paragraph.sentences,
            lambda each, at: _check_sentence(each, paragraph.section, known, at),
            context,
        )
    kept = tuple(result for result in results if isinstance(result, Sentence))
    refused = [result for result in results if isinstance(result, Refusal)]
    return paragraph.model_copy(update={"sentences": kept}), refused


def _check_note(sentence: Sentence, section: str) -> Sentence | Refusal:
    """Let a note stand that claims nothing: a figure, a date or an address needs a source."""
    return Sentence(text=sentence.text) if claims_nothing(sentence.text) else _refused(sentence, section, "unfounded")


def _refused(sentence: Sentence, section: str, reason: str, **more: Any) -> Refusal:
    return Refusal(section=section, text=sentence.text, evidence=sentence.evidence, reason=reason, **more)


def claims_nothing(text: str, asked: str = "") -> bool:
    """Say whether a text holds no figure, date or address beyond those that the user named."""
    asked_digits, asked_words = split_figures(asked)
    named = {figure.value for figure in asked_digits} | {worded.values[0][0] for worded in asked_words}
    days = {date.iso for date in dates_of(asked)}
    in_digits, in_words = split_figures(text)
    # A note may count its own things: "two questions stay open".
    stated = [worded.values[0] for worded in in_words]
    return (
        all(figure.value in named for figure in in_digits)
        and all(value in named or (not unit and value <= _COUNTED_BY_HAND) for value, unit in stated)
        and all(date.iso in days for date in dates_of(text))
        and not find_references(text)
    )


async def _check_sentence(
    sentence: Sentence, section: str, known: Collection[str], context: StageContext
) -> Sentence | Refusal:
    unknown = [id_ for id_ in sentence.evidence if id_ not in known]
    if unknown or not sentence.evidence:
        return _refused(sentence, section, f"unknown: {', '.join(unknown)}" if unknown else "uncited")
    sentence, passages = await _under_headers(sentence, context)
    checked = sentence.model_copy(update={"verdict": await _verdict(sentence, passages, context)})
    revision = ""
    if _kind(checked) in _TO_MEND and not sentence.cells:
        checked, revision = await _mend(checked, passages, context)
    if _kind(checked) not in ("contradicted", "not_found"):
        return checked if checked.cells else _with_what_carries(checked, passages)
    verdict = checked.verdict or Verdict(kind="not_found")
    return _refused(sentence, section, verdict.reason, kind=verdict.kind, revision=revision)


def _with_what_carries(sentence: Sentence, passages: Sequence[Evidence]) -> Sentence:
    """Return the sentence with the citations that have a share in it; where nobody could check it, with all."""
    verdict = sentence.verdict
    if verdict is None or not verdict.evidence:
        return sentence
    proof = next(passage for passage in passages if passage.id == verdict.evidence)
    carrying = [proof, *(one for one in passages if adds_to(sentence.text, one.quote, proof.quote))]
    kept = {id_ for passage in carrying for id_ in (passage.id, passage.header)}
    return sentence.model_copy(update={"evidence": tuple(id_ for id_ in sentence.evidence if id_ in kept)})


async def _under_headers(sentence: Sentence, context: StageContext) -> tuple[Sentence, tuple[Evidence, ...]]:
    """Return the passages that a sentence cites; a table's row says nothing without its header, so both are cited."""
    cited = sentence.evidence
    passages = await context.records.evidence(cited)
    headers = list(dict.fromkeys(piece.header for piece in passages if piece.header and piece.header not in cited))
    passages += await context.records.evidence(headers)
    return sentence.model_copy(update={"evidence": (*cited, *headers)}), tuple(passages)


async def _mend(sentence: Sentence, passages: tuple[Evidence, ...], context: StageContext) -> tuple[Sentence, str]:
    """Have a sentence revised, once; return the better of the two, and what was tried."""
    support = Support(sentence=sentence, passages=passages)
    answer = await context.reason("revise", lambda reasoner: reasoner.revise(support))
    text = " ".join(answer.text.split()) if answer else ""
    if text == sentence.text or not only_weakens(text, sentence.text):
        return sentence, ""
    again = context.at("revised")
    revised = sentence.model_copy(update={"text": text, "revised_from": sentence.text})
    revised = revised.model_copy(update={"verdict": await _verdict(revised, passages, again)})
    context.trail.join([again.trail])
    return max(sentence, revised, key=lambda each: _ORDER.index(_kind(each))), text


async def _verdict(sentence: Sentence, passages: tuple[Evidence, ...], context: StageContext) -> Verdict:
    """Let code decide, else the reasoner, which never gets to see what code has refused."""
    by_code = await _by_code(sentence, passages, context)
    if by_code is not None:
        return by_code
    support = Support(sentence=sentence.model_copy(update={"verdict": None}), passages=passages)
    asked: list[Reasoner] = []

    async def ask(reasoner: Reasoner) -> Judgement:
        asked.append(reasoner)
        return await reasoner.judge_support(support)

    judgement = await context.reason("judge_support", ask)
    if context.run.adapters.models and asked[-1] is context.run.adapters.fallback:
        return Verdict(kind="not_checked", reason="failed")
    if judgement.verdict == "not_checked":
        return Verdict(kind="not_checked", reason=unchecked_reason(sentence, passages))
    return _proved(judgement, sentence, passages)


async def _by_code(sentence: Sentence, passages: tuple[Evidence, ...], context: StageContext) -> Verdict | None:
    if sentence.cells:
        return check_cells(sentence, passages)
    verdict = check_quote(sentence, passages) or veto(sentence, passages)
    if verdict is not None and verdict.reason.startswith(("name", "date")):
        documents = dict.fromkeys(passage.document for passage in passages)
        titles = [(await context.records.document(document)).title for document in documents]
        return veto(sentence, passages, titles=titles)
    return verdict


def _proved(judgement: Judgement, sentence: Sentence, passages: tuple[Evidence, ...]) -> Verdict:
    """Return the judge's verdict if a span that really stands in a passage proves it, else that nothing is proved.

    "Not found" needs none: what is not there cannot be shown, and believing it wrongly costs a sentence, never a false
    one. "Contradicted" does: it says that a source holds something else, and that can be shown. Words that have nothing
    in common with the sentence prove nothing either.
    """
    remark = " ".join(judgement.reason.split())[:_SHOWN_CHARS]
    reason = f": {remark}" if remark else ""
    if judgement.verdict == "not_found":
        return Verdict(kind="not_found", reason=f"absent{reason}")
    for passage in passages:
        found = find_span(judgement.span, passage.quote)
        if found and is_related(sentence.text, passage.quote[slice(*found)]):
            return Verdict(
                kind=judgement.verdict,
                reason="judged" if judgement.verdict == "supported" else f"judged{reason}",
                evidence=passage.id,
                start=passage.start + found[0],
                end=passage.start + found[1],
            )
    return Verdict(kind="not_checked", reason="unproved")


def _kind(sentence: Sentence) -> str:
    return sentence.verdict.kind if sentence.verdict else "not_checked"


# Where the analysis stands among the texts of a run; a section's text stands at its own scope.
ANALYSIS = "analysis"


class CheckedBody(Value):
    """The report's checked sections and analysis, and every sentence that was kept out so far."""

    paragraphs: tuple[Paragraph, ...] = ()
    analysis: tuple[Paragraph, ...] = ()
    dropped: tuple[Refusal, ...] = ()


async def verify(state: RunState) -> Update:
    """Check a section as it was drafted, or the analysis."""
    given, records = state.input, state.context.records
    if "analysis" in given:
        analysis = await records.load(Analysis, given["analysis"])
        checked = await verify_analysis(analysis, await findings_from(given, records), state.context)
    else:
        # Where nothing could be written, the evidence is quoted.
        drafted = await records.load_all(Paragraph, given.get("draft", ""))
        checked = await verify_section(await section_work(given, records), drafted, state.context)
    return {"checked": await records.keep(checked)}


async def verify_section(work: SectionWork, drafted: Sequence[Paragraph], context: StageContext) -> Checked:
    """Check a section as it was written; see to it that it holds the figures of its evidence."""
    title, known, words = work.section.title, ids_of(work.evidence), words_in(work.brief.language)
    checked = await check(drafted, known, context)
    if any(paragraph.kind == "claim" for paragraph in checked.paragraphs):
        missing = missing_figures(title, work.evidence, checked.sentences)
    else:
        missing = quotes_of(title, work.evidence)
    apart = context.at("untold")
    quoted = await check(missing, known, apart)
    context.trail.join([context.trail, apart.trail])
    claims = [paragraph for paragraph in (*checked.paragraphs, *quoted.paragraphs) if paragraph.kind == "claim"]
    tables = [paragraph for paragraph in checked.paragraphs if paragraph.kind == "table"]
    further = [paragraph for paragraph in quoted.paragraphs if paragraph.kind == "table"]
    if further:
        caption = Sentence(text=words("report.further_figures"))
        further.insert(0, Paragraph(section=title, kind="caption", sentences=(caption,)))
    return Checked(paragraphs=(*claims, *tables, *further), dropped=(*checked.dropped, *quoted.dropped))


async def verify_analysis(analysis: Analysis, findings: Findings, context: StageContext) -> Checked:
    """Check the analysis, which may rest on whatever was found; what would change the conclusion needs no source."""
    words = words_in(findings.brief.language)
    title, lead = words("report.analysis"), words("report.changes")
    known = ids_of(piece for work in findings.sections for piece in work.evidence)
    notes = tuple(Sentence(text=text) for text in analysis.changes)
    ahead = [Paragraph(section=title, kind="note", lead=lead, sentences=notes)] if notes else []
    return await check([*as_claims(analysis.paragraphs, title), *ahead], known, context)


async def body_from(state: dict[str, Any], records: RunRecords) -> CheckedBody:
    """Return the texts of a run as they were checked, in plan order."""
    texts = {
        text["scope"]: await records.load(Checked, text["checked"])
        for text in state.get("texts", [])
        if text.get("checked")
    }
    analysis = texts.pop(ANALYSIS, Checked())
    return CheckedBody(
        paragraphs=tuple(paragraph for section in texts.values() for paragraph in section.paragraphs),
        analysis=analysis.paragraphs,
        dropped=tuple(refusal for text in (*texts.values(), analysis) for refusal in text.dropped),
    )
