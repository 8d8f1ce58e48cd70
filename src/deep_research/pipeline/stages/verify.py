"""Verify: a verdict for each sentence of the report, in the way that fits its kind. What is refused stays in the text
until it was edited; `accepted` keeps it out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby, zip_longest

from deep_research.errors import CallFailed, UnusableAnswer
from deep_research.pipeline.absences import with_absences_checked
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.fan_out import fan_out
from deep_research.pipeline.outcome import findings_from
from deep_research.pipeline.passages import contexts_of
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.quoting.selection import stands_alone
from deep_research.reasoning.values import Brief, Context, Findings, Judgement, Paragraphs, Support
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import (
    Paragraph,
    Refusal,
    Sentence,
    SentenceKind,
    Verdict,
    VerdictKind,
    sentences_of,
)
from deep_research.text.analyzer import content_terms
from deep_research.text.prompt_injection import find_prompt_injection
from deep_research.value import Strings, Value
from deep_research.verify.amounts import amounts_of, has_amount
from deep_research.verify.calculation import objection_to
from deep_research.verify.coverage import is_related, support_hint, unchecked_reason
from deep_research.verify.particulars import dates_of, figures_of, split_figures
from deep_research.verify.quote import check_quote, find_span
from deep_research.verify.references import find_references, missing_figure
from deep_research.verify.row import check_cells
from deep_research.verify.veto import veto, veto_row

_SHOWN_CHARS = 200
# More things than this nobody counts without a source.
_COUNTED_BY_HAND = 12
# What a judge may call a sentence, as the verdicts that its kind has.
_OF_CONCLUSION: dict[str, VerdictKind] = {
    "supported": "follows", "partly": "goes_beyond", "not_found": "goes_beyond", "contradicted": "contradicts",
}  # fmt: skip
_OF_FINDING: dict[str, VerdictKind] = {
    "follows": "supported", "goes_beyond": "partly", "contradicts": "contradicted",
}  # fmt: skip
_CONNECTIVE = re.compile(r"^(?:So|But|And|Yet|Also)\b,?\s+|\btherefore\b,?\s*|因此，?|所以，?")
_MIN_TERMS_OF_POINT = 2
_LAST_PART = re.compile(r"(.+)(?:[,，;；]|\s(?:by|to|in|until|before|within|at|from)\s).*")
# Goes on with what the sentence before began: the same calculation for another thing, or its contrast ("C则…"). After
# a condition "则" means "then", and in "规则" it is no word.
_GOES_ON = re.compile(
    r"(?i)(?:in (?:the same|a similar) (?:way|manner)|(?:by|on|with) the same|likewise|similarly|correspondingly"
    r"|by (?:contrast|comparison)|in contrast|conversely)\b"
    r"|[^.,;:]{1,60}, (?:by contrast|in contrast|in turn|likewise|correspondingly|on the other hand),"
    r"|[以依]此[类類]推|同理|相[应應]地|[与與]此相[对對反]|相比之下|反之|否[则則]"
    r"|(?!.*(?:如果|若|倘|只要|一旦|[当當]))[^，。；：]{1,24}(?<![规規原准準细細法通总總守])[则則]"
)
# So many of a conclusion's words are its premises', where nobody could judge it.
_NEAR = 0.5
_REFUSED_AS: dict[SentenceKind, VerdictKind] = {
    "finding": "not_found", "conclusion": "goes_beyond",
}  # fmt: skip
# An abbreviation or a name that so many documents use needs no source of its own.
_CAPITALS = re.compile(r"\b[A-Z]{2,6}\b|(?<=[a-z] )[A-Z][a-z]+(?:'s)?")
_SEVERAL = 3
_LEADS_OVER = (":", "：", "?", "？")
_NAMES_WHAT_FOLLOWS = re.compile(r"(?i)\b(?:table|list|below|follow(?:s|ing)?|these)\b|[下如]表|如下|以下|下列|下面")
# So many sentences of neighbouring sections are judged in one go.
_JUDGED_TOGETHER = 30


@dataclass(frozen=True)
class CheckedSources:
    """What sentences are checked against: the question, all evidence that they may cite, and where it stands.

    `planned` are the titles of the plan, which may head a section whatever they say; `figures` is how many there are.
    """

    brief: Brief
    evidence: tuple[Evidence, ...]
    contexts: Mapping[str, Context] = field(default_factory=dict)
    planned: frozenset[str] = frozenset()
    figures: int = 0

    @cached_property
    def known(self) -> frozenset[str]:
        """Return the ids that may be cited."""
        return frozenset(id_ for piece in self.evidence for id_ in (piece.id, piece.header) if id_)

    @cached_property
    def common_names(self) -> str:
        """Return the names that several documents hold: the subject's own, whatever a sentence cites."""
        documents_of: dict[str, set[str]] = {}
        for piece in self.evidence:
            for word in _CAPITALS.findall(piece.quote):
                documents_of.setdefault(word, set()).add(piece.document)
        return " ".join(word for word, documents in documents_of.items() if len(documents) >= _SEVERAL)

    def beside(self, passages: Iterable[Evidence]) -> list[str]:
        """Return what stands around passages and says whose they are, and of when; and the common names."""
        found = [self.common_names]
        for where in (self.contexts[piece.id] for piece in passages if piece.id in self.contexts):
            found += [
                where.title,
                where.author,
                where.opening,
                where.headings,
                where.facts,
                where.published,
                where.near,
            ]
        return found

    def named(self, passages: Iterable[Evidence]) -> list[str]:
        """Return what the passages' documents and parts are called, and what their heads say: a sentence may tell so,
        numbers included.
        """
        found = (self.contexts[piece.id] for piece in passages if piece.id in self.contexts)
        return [text for where in found for text in (where.title, where.headings, where.facts)]

    @property
    def asked(self) -> str:
        """Return what the user wrote, whose names, years and figures are never foreign."""
        return f"{self.brief.original} {self.brief.question}"


class Checked(Value):
    """Paragraphs whose sentences may stand, and the sentences that were kept out of them."""

    paragraphs: Paragraphs = ()
    dropped: tuple[Refusal, ...] = ()


async def verify(state: DeepResearchState, context: StageContext) -> Update:
    """Give each sentence of the draft its verdict."""
    _, sources = await sources_of(state, context)
    drafted = await context.records.load_all(Paragraph, state.draft)
    return {"draft": await context.records.keep(await judged(drafted, sources, context))}


async def sources_of(state: DeepResearchState, context: StageContext) -> tuple[Findings, CheckedSources]:
    """Return everything that was found, and what sentences about it are checked against."""
    findings = await findings_from(state, context.records)
    contexts = await contexts_of(findings.evidence, findings.brief.language, context.records)
    planned = frozenset(findings.plan.titles)
    return findings, CheckedSources(findings.brief, findings.evidence, contexts, planned, len(state.figures))


async def with_passages(sources: CheckedSources, ids: Sequence[str], context: StageContext) -> CheckedSources:
    """Return the sources with more passages that are on record."""
    fresh = await context.records.evidence([id_ for id_ in dict.fromkeys(ids) if id_ not in sources.known])
    contexts = await contexts_of(fresh, sources.brief.language, context.records)
    return replace(sources, evidence=(*sources.evidence, *fresh), contexts={**sources.contexts, **contexts})


async def judged(paragraphs: Sequence[Paragraph], sources: CheckedSources, context: StageContext) -> Paragraphs:
    """Return a text in which each sentence has a verdict; short sections are judged together."""
    done = _Done()
    by_code = []
    for paragraph, after in zip_longest(paragraphs, paragraphs[1:]):
        is_led = after and (after.is_item or after.kind == "table") and after.section == paragraph.section
        led = after.cite_ids if is_led else ()
        sentences = [
            await _by_code(each, paragraph, sources, done, context, led=led if each is paragraph.sentences[-1] else ())
            for each in paragraph.sentences
        ]
        by_code.append(paragraph.replace(sentences=tuple(sentences)))
    by_code = await with_absences_checked(by_code, sources.brief, context)
    groups = _grouped(by_code)
    parts = await fan_out("section", groups, lambda own, at: _by_reasoner(own, done.hints, sources, at), context)
    checked = [paragraph for own in parts for paragraph in own]
    checked = [_with_links(after, before) for after, before in zip(checked, paragraphs, strict=True)]
    for number, (section, own) in enumerate(groupby(checked, key=lambda paragraph: paragraph.section), start=1):
        counted = Counter(each.verdict.kind for each in sentences_of(own) if each.verdict)
        at = context.at("section", number)
        await at.emit("verdict", {"section": section, "counts": dict(sorted(counted.items()))})
    return tuple(checked)


def _grouped(paragraphs: Sequence[Paragraph]) -> list[list[Paragraph]]:
    """Return the sections, neighbours together while a judge has few sentences of them to decide on."""
    groups: list[list[Paragraph]] = []
    count = 0
    for _, section in groupby(paragraphs, key=lambda paragraph: paragraph.section):
        own = list(section)
        undecided = sum(each.verdict is None for each in sentences_of(own))
        if groups and count + undecided <= _JUDGED_TOGETHER:
            groups[-1] += own
            count += undecided
        else:
            groups.append(own)
            count = undecided
    return groups


def _with_links(checked: Paragraph, written: Paragraph) -> Paragraph:
    """Return a paragraph whose unmarked sentences that follow from the others cite nothing, but for the last one."""
    last = len(checked.sentences) - 1
    sentences = [
        _with(before, "supported") if before.kind == "link" and after.is_sound and index < last else after
        for index, (after, before) in enumerate(zip(checked.sentences, written.sentences, strict=True))
    ]
    return checked.replace(sentences=tuple(sentences))


@dataclass(frozen=True)
class _Done:
    """What checking by code brought up: calculations that came out right, whose results others may go on with; and of
    sentences, what a judge should look at.
    """

    results: list[str] = field(default_factory=list)
    hints: dict[str, str] = field(default_factory=dict)


async def _by_code(
    sentence: Sentence,
    paragraph: Paragraph,
    sources: CheckedSources,
    done: "_Done",
    context: StageContext,
    *,
    led: Strings,
) -> Sentence:
    """Return a sentence with the verdict that code can give; what it cannot decide has none.

    `done` is what was checked before; `led` is what the list or table cites that the sentence leads to.
    """
    if sentence.verdict or paragraph.kind == "caption":
        return sentence
    if context.adapters.models and find_prompt_injection(sentence.text):
        return _with(sentence, "not_found", "order")
    if paragraph.kind == "note":
        plain = Sentence(text=sentence.text, kind="link")
        return _with(plain, "supported") if claims_nothing(sentence.text) else _with(plain, "not_found", "unfounded")
    if sentence.kind == "link":
        is_leading = sentence.text.endswith(_LEADS_OVER) or (led and _NAMES_WHAT_FOLLOWS.search(sentence.text))
        if is_leading and claims_nothing(sentence.text, sources.asked):
            return _with(sentence, "supported")
        # What says more than that is the writer's own, drawn from what the paragraph cites, or what it leads to.
        sentence = sentence.replace(kind="conclusion", evidence=paragraph.cite_ids or led)
    unknown = [id_ for id_ in sentence.evidence if id_ not in sources.known]
    if unknown or (not sentence.evidence and sentence.kind != "absence"):
        return _with(sentence, "not_found", f"unknown: {', '.join(unknown)}" if unknown else "uncited")
    sentence, passages = await _under_headers(sentence, context)
    if sentence.kind == "absence":
        return sentence
    titles, named = sources.beside(passages), sources.named(passages)
    verdict = check_quote(sentence, passages) if not sentence.cells else check_cells(sentence, passages)
    if verdict and verdict.kind == "supported":
        # What stands in a source word for word is no conclusion.
        return sentence.replace(verdict=verdict, kind="finding")
    if verdict and (not sentence.cells or not context.adapters.models):
        return sentence.replace(verdict=verdict)
    if sentence.kind == "calculation":
        quotes = [*(piece.quote for piece in passages), *done.results]
        objection = objection_to(sentence.basis, sentence.text, quotes=quotes, asked=sources.asked)
        if objection:
            return _with(sentence, "wrong", objection)
        done.results.extend((sentence.basis, sentence.text))
        return sentence
    language = sources.brief.language
    if sentence.cells:
        is_own = sentence.kind == "conclusion"
        refused = veto_row(
            sentence.cells, passages, titles=titles, asked=sources.asked, is_own=is_own, language=language
        )
    else:
        known = [*named, *(done.results if sentence.kind == "conclusion" else ())]
        refuse = partial(veto, sentence, passages, titles=titles, asked=sources.asked, known=known, language=language)
        refused = refuse()
        if refused and context.adapters.models:
            hint, refused = refused.reason.partition(": ")[2], refuse(is_judged=True)
            done.hints.update({} if refused else {sentence.text: hint})
    if refused and sentence.kind == "conclusion":
        return _with(sentence, "goes_beyond", refused.reason)
    return sentence.replace(verdict=refused)


def _with(sentence: Sentence, kind: VerdictKind, reason: str = "") -> Sentence:
    return sentence.replace(verdict=Verdict(kind=kind, reason=reason))


async def _by_reasoner(
    paragraphs: Sequence[Paragraph], hints: Mapping[str, str], sources: CheckedSources, context: StageContext
) -> Sequence[Paragraph]:
    """Have what code could not decide judged, each sentence beside its neighbours."""
    if all(each.verdict for one in paragraphs if one.kind != "caption" for each in one.sentences):
        return paragraphs
    failures: list[CallFailed] = []
    support = Support(
        brief=sources.brief,
        paragraphs=tuple(paragraphs),
        passages=sources.evidence,
        contexts=dict(sources.contexts),
        hints={each.text: hints[each.text] for each in sentences_of(paragraphs) if each.text in hints},
    )
    judgements = await context.reason(Reasoner.judge, support, on_failure=failures.append)
    answers = {judgement.number: judgement for judgement in judgements}
    is_unusable = any(isinstance(failure, UnusableAnswer) for failure in failures)
    pieces = {piece.id: piece for piece in sources.evidence}
    done, number = [], 0
    for paragraph in paragraphs:
        sentences = []
        for sentence in paragraph.sentences:
            number += 1
            if not sentence.verdict and paragraph.kind != "caption":
                passages = tuple(pieces[id_] for id_ in sentence.evidence if id_ in pieces)
                if is_unusable and sentence.kind != "calculation":
                    # What a model wrote that cannot judge is not believed.
                    sentence = _with(sentence, _REFUSED_AS[sentence.kind], "unreliable")
                else:
                    judgement, named = answers.get(number), sources.named(passages)
                    sentence = _judged(sentence, passages, judgement, named, is_failed=bool(failures))
            sentences.append(sentence)
        done.append(paragraph.replace(sentences=tuple(sentences)))
    return done


def _judged(
    sentence: Sentence,
    passages: tuple[Evidence, ...],
    judgement: Judgement | None,
    named: Sequence[str],
    *,
    is_failed: bool,
) -> Sentence:
    """Return a sentence with the verdict that a judgement of it proves."""
    if not judgement:
        return _unjudged(sentence, passages, "failed" if is_failed else "unproved")
    kind, remark = judgement.verdict, " ".join(judgement.reason.split())[:_SHOWN_CHARS]
    if sentence.kind == "conclusion":
        kind = _OF_CONCLUSION.get(kind, kind)
        premises = tuple(id_ for id_ in judgement.premises if id_ in sentence.evidence) or sentence.evidence
        rests = {"premises": premises, "evidence": premises} if kind == "follows" else {}
        return _with(sentence.replace(**rests), kind, "judged" if kind == "follows" else f"judged: {remark}")
    kind = _OF_FINDING.get(kind, kind)
    verdict = _proved(kind, judgement.span, remark, sentence, passages)
    titles = (text for text in named if is_related(sentence.text, text))
    if verdict.kind == "not_checked" and passages and any(find_span(judgement.span, text) for text in titles):
        # A title, a heading or a head says it.
        first = passages[0]
        verdict = Verdict(kind=kind, reason="judged", evidence=first.id, start=first.start, end=first.end)
    if verdict.kind == "not_checked":
        return _unjudged(sentence, passages, verdict.reason)
    if sentence.kind == "calculation":
        is_sound = verdict.kind in ("supported", "partly")
        return sentence.replace(verdict=verdict.replace(kind="computed" if is_sound else "wrong"))
    if sentence.cells:
        return sentence.replace(verdict=verdict)
    return _with_what_carries(sentence.replace(verdict=verdict), passages)


def _unjudged(sentence: Sentence, passages: tuple[Evidence, ...], reason: str) -> Sentence:
    """Return a sentence that no judge decided on: words that its passages hardly share do not stand unchecked.

    Whether code has computed a calculation is enough; across languages words cannot tell.
    """
    if sentence.kind == "calculation":
        return _with(sentence, "computed", reason)
    likely = unchecked_reason(sentence, passages)
    if likely == "doubtful" and sentence.kind == "conclusion":
        is_near = support_hint(sentence, passages).covered >= _NEAR
        likely = reason if is_near else likely
    if likely != "doubtful":
        return _with(sentence, "not_checked", reason)
    return _with(sentence, _REFUSED_AS[sentence.kind], likely)


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
        and all(any(day.startswith(date.iso) for day in days) for date in dates_of(text))
        and not find_references(text)
    )


def _with_what_carries(sentence: Sentence, passages: Sequence[Evidence]) -> Sentence:
    """Return the sentence without the citations that have nothing in common with it."""
    carrying = [one for one in passages if is_related(sentence.text, one.quote)] or passages
    cited_ids = {id_ for passage in carrying for id_ in (passage.id, passage.header)}
    return sentence.replace(evidence=tuple(id_ for id_ in sentence.evidence if id_ in cited_ids))


async def _under_headers(sentence: Sentence, context: StageContext) -> tuple[Sentence, tuple[Evidence, ...]]:
    """Return the passages that a sentence cites; a table's row says nothing without its header, so both are cited."""
    cited = sentence.evidence
    passages = await context.records.evidence(cited)
    headers = list(dict.fromkeys(piece.header for piece in passages if piece.header and piece.header not in cited))
    passages += await context.records.evidence(headers)
    return sentence.replace(evidence=(*cited, *headers)), tuple(passages)


def _proved(kind: VerdictKind, span: str, remark: str, sentence: Sentence, passages: tuple[Evidence, ...]) -> Verdict:
    """Return the judge's verdict if a span that really stands in a passage proves it, else that nothing is proved.

    "Not found" and "partly" need none: what is not there cannot be shown, and believing it wrongly costs a sentence or
    its mark, never a false one. "Contradicted" does: it says that a source holds something else, and that can be shown.
    Words that have nothing in common with the sentence prove nothing either.
    """
    reason = f": {remark}" if remark else ""
    if kind == "not_found":
        return Verdict(kind="not_found", reason=f"absent{reason}")
    for passage in passages:
        found = find_span(span, passage.quote)
        if not found and passage.header and find_span(span, passage.finding):
            # A row is shown cell by cell, each behind its label.
            found = (0, len(passage.quote))
        if found and is_related(sentence.text, passage.quote[slice(*found)]):
            return Verdict(
                kind=kind,
                reason="judged" if kind == "supported" else f"judged{reason}",
                evidence=passage.id,
                start=passage.start + found[0],
                end=passage.start + found[1],
            )
    if kind == "partly":
        return Verdict(kind=kind, reason=f"judged{reason}")
    return Verdict(kind="not_checked", reason="unproved")


def accepted(paragraphs: Iterable[Paragraph], sources: CheckedSources) -> Checked:
    """Return a text without what was refused, what refers back to that, and lead-overs that lead nowhere."""
    left, dropped = [], []
    asked = {figure.value for figure in figures_of(sources.asked)}
    refused_results: set[float] = set()
    for paragraph in paragraphs:
        own = []
        is_cut = False
        for sentence in paragraph.sentences:
            missing = missing_figure(sentence.text, range(1, sources.figures + 1))
            if missing and paragraph.kind != "caption":
                sentence = _with(sentence, "not_found", f"figure: {missing}")
            is_out = _is_left_out(sentence)
            if is_out and sentence.kind == "calculation":
                refused_results |= {figure.value for figure in figures_of(sentence.text)} - asked
            if is_out or (is_cut and _refers_back(sentence)) or _gives_one_of(refused_results, sentence, sources):
                dropped.append(_refused(sentence, paragraph.section, "" if is_out else "leaning"))
                is_cut = True
            else:
                own.append(sentence)
                is_cut = False
        if own:
            left.append(_absences_cited(paragraph.replace(sentences=tuple(own))))
    headed = _leading_on(_headed(_with_points(left, sources), sources))
    return Checked(paragraphs=tuple(headed), dropped=tuple(dropped))


def _gives_one_of(refused_results: set[float], sentence: Sentence, sources: CheckedSources) -> bool:
    """Return whether a conclusion gives the result of a refused calculation, which its passages do not give."""
    if sentence.kind != "conclusion" or not refused_results:
        return False
    quotes = [piece.quote for piece in sources.evidence if piece.id in sentence.evidence]
    refused_amounts = [amount for amount in amounts_of(sentence.text) if amount.values[0][0] in refused_results]
    return not all(has_amount(amount, quotes) for amount in refused_amounts)


def _absences_cited(paragraph: Paragraph) -> Paragraph:
    """Return a paragraph in which what is absent cites nothing; at the end of others it cites what they do."""
    if paragraph.sentences[-1].kind != "absence":
        return paragraph
    is_note = all(each.kind in ("absence", "link") for each in paragraph.sentences)
    *before, last = paragraph.sentences
    if is_note:
        bare = tuple(each.replace(evidence=()) for each in paragraph.sentences)
        return paragraph.replace(sentences=bare, kind="note")
    nearest = last.evidence or next(each.evidence for each in reversed(before) if each.evidence)
    return paragraph.replace(sentences=(*before, last.replace(evidence=nearest)))


def _with_points(paragraphs: Sequence[Paragraph], sources: CheckedSources) -> list[Paragraph]:
    """Return paragraphs whose list items keep their points: each says nothing that the text or its passages do not."""
    quotes = {piece.id: piece.quote for piece in sources.evidence}
    cited = dict.fromkeys(id_ for paragraph in paragraphs for id_ in paragraph.cite_ids)
    texts = [each.text for each in sentences_of(paragraphs)]
    source_text = " ".join([sources.asked, *texts, *(quotes.get(id_, "") for id_ in cited)])
    return [one.replace(lead=_point(one.lead, source_text)) if one.is_item else one for one in paragraphs]


def _point(lead: str, source_text: str) -> str:
    """Return the point of a list item as far as it claims nothing: "Extend the pilot to Q4 2026" up to its date."""
    while lead and not _is_name(lead, source_text):
        shorter = _LAST_PART.match(lead)
        lead = shorter[1] if shorter and len(content_terms(shorter[1])) >= _MIN_TERMS_OF_POINT else ""
    return lead


def _is_name(text: str, source_text: str) -> bool:
    """Say whether a heading or the point of a list item only names what is written: it holds no figure, date or address
    of its own, and gives no orders.
    """
    return claims_nothing(text, source_text) and not find_prompt_injection(text)


def _headed(paragraphs: Sequence[Paragraph], sources: CheckedSources) -> list[Paragraph]:
    """Return paragraphs under headings that claim nothing; under any other they join the section before."""
    found, before = [], "abstract"
    for title, group in groupby(paragraphs, key=lambda paragraph: paragraph.section):
        own = list(group)
        source_text = " ".join([sources.asked, *(each.text for each in sentences_of(own))])
        before = title if title in sources.planned or _is_name(title, source_text) else before
        found += [paragraph.replace(section=before) for paragraph in own]
    return found


def _refers_back(sentence: Sentence) -> bool:
    """Say whether a sentence hangs in the air without the one before; a conclusion's "so" refers to its premises."""
    text = _CONNECTIVE.sub("", sentence.text) if sentence.kind == "conclusion" else sentence.text
    if sentence.cells:
        return False
    return not stands_alone(text[:1].upper() + text[1:]) or _GOES_ON.match(text) is not None


def _is_left_out(sentence: Sentence) -> bool:
    """Say whether a sentence cannot stand: what is called absent must have been shown to be."""
    is_unproved = sentence.kind == "absence" and (not sentence.verdict or sentence.verdict.kind == "not_checked")
    return sentence.is_refused or is_unproved


def _refused(sentence: Sentence, section: str, reason: str) -> Refusal:
    verdict = sentence.verdict
    return Refusal(
        section=section,
        text=sentence.text,
        evidence=sentence.evidence,
        kind=verdict.kind if verdict else "not_found",
        reason=reason or (verdict.reason if verdict else ""),
    )


def _leading_on(paragraphs: Sequence[Paragraph]) -> Iterable[Paragraph]:
    """Yield paragraphs; a lead-over at the end of one stands alone before a list or a table, and goes elsewhere."""
    for paragraph, after in zip_longest(paragraphs, paragraphs[1:]):
        if paragraph.kind != "claim":
            yield paragraph
            continue
        sentences = list(paragraph.sentences)
        ending: list[Sentence] = []
        while sentences and sentences[-1].kind == "link":
            ending.insert(0, sentences.pop())
        if sentences:
            yield paragraph.replace(sentences=tuple(sentences))
        leads = after and after.section == paragraph.section and (after.mark or after.kind == "table")
        if ending and leads:
            yield Paragraph(section=paragraph.section, kind="note", sentences=tuple(ending))
