"""`ReportGenerator`: from checked paragraphs to the numbered report and the files that prove it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from deep_research.documents.readers import PROMPT_INJECTION_FOUND, place_of
from deep_research.events import MAX_EVENT_TEXT_CHARS, FinalReport
from deep_research.pipeline.about import (
    cuts_of,
    gaps_apart,
    in_few_lines,
    limitations_of,
    models_that_wrote,
    unread_of,
    wording_of,
)
from deep_research.pipeline.abstract import bounded
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.earlier import answer_in, follow_notes, followed_in, subject_of, with_section
from deep_research.pipeline.fan_out import both, fan_out
from deep_research.pipeline.figures import chartless, described, figure_files, figure_record, pictures_of, with_figures
from deep_research.pipeline.passages import cited_passages
from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.retrieval import RetrievalHealth, SearchSummary, health_of, title_of
from deep_research.pipeline.stages.analyze import disagreements
from deep_research.pipeline.stages.draft import MOST_IN_ONE_PIECE, as_claims
from deep_research.pipeline.stages.verify import (
    Checked,
    CheckedSources,
    accepted,
    claims_nothing,
    judged,
    sources_of,
    with_passages,
)
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.pipeline.update import changes_since
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.question.analysis import is_short_answer
from deep_research.reasoning.rules.quoting.selection import stands_alone
from deep_research.reasoning.rules.quoting.units import count_prompt_injections, rows_around
from deep_research.reasoning.values import Analysis, Brief, Conclusion, Draft, Findings, Paragraphs, Strings
from deep_research.report.citation import Citations, Source, number_sources
from deep_research.report.edition import Edition
from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import Caption, Figure, Image
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.markdown import render
from deep_research.report.paragraph import Paragraph, Refusal, Sentence, is_quoted, note, sentences_of
from deep_research.report.sources.head import byline_of
from deep_research.report.sources.source_quality import host_of
from deep_research.text.analyzer import content_terms
from deep_research.text.messages.language import UNKNOWN
from deep_research.text.messages.words import Words, words_in
from deep_research.text.script import detect_language
from deep_research.value import JsonObject, canonical_json
from deep_research.verify.particulars import figures_of


@dataclass(frozen=True)
class WrittenReport:
    """The report in its parts, and what else is kept of it."""

    edition: Edition
    evidence: list[Evidence]
    health: RetrievalHealth
    subject: str
    answer: str

    @cached_property
    def text(self) -> str:
        """Return the report as Markdown."""
        edition = self.edition
        return render(edition.report, edition.citations, number_of=edition.number_of, words=words_in(edition.language))


class ReportGenerator:
    """Assembles the report; the words are the reasoner's or the sources', the order and the numbers are ours."""

    async def write_final_report(
        self,
        findings: Findings,
        body: Checked,
        conclusion: Conclusion,
        state: DeepResearchState,
        *,
        analysis: Sequence[Paragraph],
        knowledge: str,
        disagreements: Sequence[Paragraph],
        is_written: bool,
        context: StageContext,
    ) -> WrittenReport:
        """Return the report with its citations numbered; `is_written` says that it was written as a whole."""
        words, records, row = words_in(findings.brief.language), context.records, context.run.row
        earlier, before = await followed_in(state, context)
        is_answer = is_short_answer(findings)
        gaps = [*state.gaps, *context.gaps]
        abstract, chapters = _chapters(findings, body, conclusion, analysis, words)
        paragraphs = [*abstract, *(paragraph for chapter in chapters for paragraph in chapter.paragraphs)]
        report = ReportLayout(
            title=findings.plan.research_title,
            abstract=await _counted(abstract, words, records),
            abstract_title=words("report.answer" if is_answer else "report.abstract"),
            chapters=tuple([await _completed(each, words, records) for each in chapters]),
            disagreements=_untold(disagreements, paragraphs, findings.brief, is_written=is_written),
            knowledge=knowledge,
            gaps=conclusion.unanswered,
            has_references=context.request.enable_references,
            is_answered=conclusion.is_answered and any(paragraph.kind != "note" for paragraph in paragraphs),
            likelihood=round(conclusion.likelihood, 2),
            run_line=words("report.run_line", run=row.id, started=f"{row.created_at:%Y-%m-%d %H:%M:%S} UTC"),
        )
        report, left = await with_figures(report, state.figures, words, records, before=before, is_written=is_written)
        unplaced = [words("figure.left_out", titles=words.listed(left))] if left else []
        stated = [*(before.paragraphs if before else ()), *report.paragraphs]
        evidence = await records.evidence(list(dict.fromkeys(id_ for one in stated for id_ in one.cite_ids)))
        document_of = {piece.id: piece.document for piece in evidence}
        sources, places = await _sources(evidence, words, context)
        best_score = {piece.document: piece.score for piece in sorted(findings.evidence, key=lambda piece: piece.score)}
        # Of what is not cited, what has most on the question comes first.
        sources.sort(key=lambda source: -best_score.get(source.document, float("-inf")))
        known = earlier.cited if earlier else ()
        citations = number_sources(stated, document_of=document_of, sources=sources, earlier=known)
        models = await models_that_wrote(records)
        report = _with_leads(report, document_of, sources, words, is_answer=is_answer)
        foreign = _foreign(report.paragraphs, document_of, citations, words, has_model=bool(models))
        is_open = bool(report.gaps) or any(each.kind == "absence" for each in sentences_of(stated))
        cited_snapshots = [(await records.document(source.document)).snapshot for source in citations.used]
        health = await health_of(cited_snapshots, records, is_followed=earlier is not None)
        account = SearchSummary(health, context.adapters.specs, words)
        doubt = [note("abstract", words("report.doubtful"))] if report.is_doubtful else []
        report = report.replace(
            notice=(*account.notice(), *_unread(findings.brief, words, has_model=bool(models))),
            # Where no source answered, nothing can be said of what they hold.
            abstract=() if health.is_unanswered else (*report.abstract, *doubt),
            gaps=() if health.is_unanswered else (*report.gaps, *(unread_of(gaps, words) if is_open else ())),
            about=in_few_lines(
                words,
                follow_notes(earlier, searched=bool(health.engines), words=words) if earlier else (),
                findings.brief.assumptions,
                (*cuts_of(gaps, context.request.budget, words), *limitations_of(gaps, words), *unplaced),
                (*foreign, *await _noticed(citations, words, records)),
                account.lines(context.request),
                wording_of(report.paragraphs, models, words),
            ),
        )
        whole = with_section(before, report, question=context.request.question, words=words) if before else report
        edition = Edition(
            run=row.id,
            question=row.request.question,
            language=words.language,
            created_at=row.created_at,
            code_version=row.code_version,
            report=whole.replace(pictures=await pictures_of(citations, context)),
            citations=citations,
            passages=await cited_passages(evidence, places, records),
        )
        return WrittenReport(edition, evidence, health, subject_of(findings.brief, earlier), answer_in(report))

    async def write_files(self, written: WrittenReport, context: StageContext) -> None:
        """Write the report and its proofs to the run folder."""
        folder, edition = context.run.folder, written.edition
        numbers = {str(number): source.to_json() for number, source in enumerate(edition.citations.sources, start=1)}
        lines = [
            paragraph.model_dump(mode="json", include={*Paragraph.model_fields})
            | {"id": f"p{number}", "text": paragraph.text, "cite_ids": paragraph.cite_ids}
            | ({"figure": figure_record(paragraph)} if isinstance(paragraph, Caption) else {})
            for number, paragraph in enumerate(edition.report.paragraphs, start=1)
        ]
        address_of = {source.document: source.address for source in edition.citations.cited}
        proofs = [
            piece.to_json() | {"source": address_of[piece.document], "place": edition.passage[piece.id].place}
            for piece in written.evidence
        ]
        await folder.write_json("paragraphs.jsonl", *lines)
        await folder.write_json("evidence.jsonl", *proofs)
        await folder.write_json("citations.json", numbers)
        await folder.write_json("retrieval.json", written.health.to_json())
        for caption in edition.captions:
            for name, content in (await figure_files(caption, edition, context.records)).items():
                await folder.write(name, content)
        await folder.write("report.md", written.text)


def _chapters(
    findings: Findings, body: Checked, conclusion: Conclusion, analysis: Sequence[Paragraph], words: Words
) -> tuple[Paragraphs, list[Chapter]]:
    """Return what answers the question, or comes nearest, and the chapters, which do not say that again."""
    is_nearest = not conclusion.is_answered
    shown = () if is_nearest else (each.text for each in sentences_of(conclusion.abstract))
    said, support, chapters = set(shown), set(conclusion.support), []
    is_short = is_short_answer(findings)
    for title in dict.fromkeys(paragraph.section for paragraph in body.paragraphs if paragraph.section != "abstract"):
        own = [paragraph for paragraph in body.paragraphs if paragraph.section == title]
        left = []
        for paragraph in own:
            following = (*paragraph.sentences[1:], None)
            # What the next sentence refers back to is said again.
            unsaid = (
                each
                for each, after in zip(paragraph.sentences, following, strict=True)
                if each.text not in said or (after and after.text not in said and not stands_alone(after.text))
            )
            if fresh := tuple(each for each in unsaid if not support or support & {*each.evidence}):
                left.append(paragraph.replace(sentences=fresh))
        # A section that was asked for stands, even where the abstract says all of it.
        if left or (own and not is_short and (findings.fixed_titles or not support)):
            chapters.append(Chapter(title=title, paragraphs=tuple(left or own[: 1 if support else None])))
    if not chapters and not conclusion.abstract:
        return (note("abstract", words("nothing.report")),), []
    if is_nearest:
        # What the sources hold instead is shown, not spread out as if it were an answer.
        nothing = note("abstract", words("nothing.answer"))
        if conclusion.abstract and is_short:
            return (nothing, *conclusion.abstract), []
        nearest = tuple(paragraph for chapter in chapters for paragraph in chapter.paragraphs[:1])
        return (nothing,), [Chapter(title=words("report.nearest"), paragraphs=nearest)]
    if analysis:
        chapters.append(Chapter(title=words("report.analysis"), paragraphs=tuple(analysis)))
    ends = ["", *(words(f"report.{key}") for key in ("conclusion", "outlook", "gaps"))]
    return conclusion.abstract, sorted(chapters, key=lambda each: ends.index(each.title) if each.title in ends else 0)


def _untold(
    tables: Iterable[Paragraph], paragraphs: Sequence[Paragraph], brief: Brief, *, is_written: bool
) -> Paragraphs:
    """Return the disagreements of which both sides are left and the report tells one; one that a writer is silent on
    stands where the question is about it, and one that it tells beside each other does not stand again.
    """
    shown = {id_ for paragraph in paragraphs for id_ in paragraph.cite_ids}
    asked = set(content_terms(brief.question))
    stated = [_values(paragraph.text) for paragraph in paragraphs if is_written]
    found = []
    for table in tables:
        sides = [_values(row.lead) for row in table.sentences]
        is_stated = any(sum(not own.isdisjoint(values) for own in sides) > 1 for values in stated)
        is_asked = all(len(asked.intersection(content_terms(row.text))) > 1 for row in table.sentences)
        if len(sides) > 1 and not is_stated and (shown.intersection(table.cite_ids) or (is_written and is_asked)):
            found.append(table)
    return tuple(found)


def _values(text: str) -> set[float]:
    return {figure.in_base_unit[0] for figure in figures_of(text)}


# Whoever is quoted so speaks for somebody whom only the document names.
_SPEAKER = re.compile(r"(?i)\b(?:we|our|us|i|my)\b|我[们們司市]|本(?:公司|社|院|市)")

_TITLE_CHARS = 40
# So much of a report is searched from the list of runs.
_MAX_SEARCHED_CHARS = 200_000


def _with_leads(
    report: ReportLayout, document_of: Mapping[str, str], sources: Sequence[Source], words: Words, *, is_answer: bool
) -> ReportLayout:
    """Return the report; where "we" speaks in a quoted paragraph, or what leads is disputed, it names its document."""
    disputed = {sentence.text for sentence in sentences_of(report.disagreements)}

    def led(paragraph: Paragraph, *, is_lead: bool = False) -> Paragraph:
        quoted = [sentence for sentence in paragraph.sentences if is_quoted(sentence)]
        is_led = any(_SPEAKER.search(each.text) or (is_lead and each.text in disputed) for each in quoted)
        if paragraph.kind != "claim" or not is_led:
            return paragraph
        document = document_of[quoted[0].evidence[0]]
        source = next(source for source in sources if source.document == document)
        day = f" ({source.published[:10]})" if source.published else ""
        return paragraph.replace(lead=words("report.according", title=_label_of(source.title), day=day))

    chapters = (chapter.replace(paragraphs=tuple(map(led, chapter.paragraphs))) for chapter in report.chapters)
    abstract = tuple(led(one, is_lead=not is_answer) for one in report.abstract)
    return report.replace(abstract=abstract, chapters=tuple(chapters))


def _label_of(title: str) -> str:
    """Return a document's title as a label, which is no sentence: it is short and has no stop."""
    label = re.split(r"[.。!?！？;]|: ", title)[0].strip()
    cut = label[:_TITLE_CHARS]
    return label if cut == label else f"{cut.rpartition(' ')[0] or cut}…"


def _unread(brief: Brief, words: Words, *, has_model: bool) -> Strings:
    """Say that rules cannot read the language of the question, and that they do not write the report's."""
    if has_model:
        return ()
    languages = {"nothing.third_language": detect_language(brief.question), "nothing.untranslated": brief.language}
    return tuple(words(key) for key, language in languages.items() if not language.startswith(("en", "zh")))


async def _completed(chapter: Chapter, words: Words, records: RunRecords) -> Chapter:
    """Return a chapter with what the program adds to it."""
    if chapter.title == words("report.gaps"):
        paragraphs = gaps_apart(chapter.paragraphs, len(await records.documents()), words)
    else:
        paragraphs = await _counted(chapter.paragraphs, words, records)
    return chapter.replace(paragraphs=paragraphs)


async def _counted(paragraphs: Sequence[Paragraph], words: Words, records: RunRecords) -> Paragraphs:
    """Return paragraphs in which a table that leaves rows of its source out says how many it shows."""
    found = []
    for paragraph in paragraphs:
        is_quoted_table = paragraph.kind == "table" and all(map(is_quoted, paragraph.sentences))
        cited = await records.evidence(paragraph.cite_ids) if is_quoted_table else []
        tables = {piece.header: piece for piece in cited if piece.header}.values()
        total = sum([rows_around((await records.document(piece.document)).text, piece.start) for piece in tables])
        shown = len(paragraph.sentences)
        left = [words("report.rows", shown=shown, total=total)] if total > shown else []
        lead = " · ".join([paragraph.lead, *left] if paragraph.lead else left)
        found.append(paragraph.replace(lead=lead))
    return tuple(found)


async def _sources(cited: list[Evidence], words: Words, context: StageContext) -> tuple[list[Source], dict[str, str]]:
    """Return everything that was read, by its first address, and where in it each cited passage stands."""
    records, specs = context.records, context.adapters.specs
    sources = []
    places: dict[str, str] = {}
    for id_, address in (await records.documents()).items():
        read = await records.document(id_)
        state = read.delivered
        own = {}
        for piece in sorted((piece for piece in cited if piece.document == id_), key=lambda piece: piece.start):
            place = place_of(read.places, piece.start, piece.end, text=read.text)
            if place:
                own[piece.id] = words(f"place.{place.kind}", label=place.label)
        places |= own
        sources.append(
            Source(
                document=id_,
                address=address,
                places=tuple(dict.fromkeys(own.values())),
                delivered=words(f"report.{state.kind}_from", engine=title_of(state.engine, specs)) if state else "",
                byline=byline_of(read, words, is_page=bool(host_of(address))),
                **read.model_dump(include={"title", "language", "author", "published", "warnings"}),
            )
        )
    return sources, places


def _foreign(
    paragraphs: Sequence[Paragraph],
    document_of: Mapping[str, str],
    citations: Citations,
    words: Words,
    *,
    has_model: bool,
) -> list[str]:
    """Say which sources are quoted in another language than the report's."""
    sentences = sentences_of(paragraphs)
    quoted = {document_of[id_] for sentence in sentences if is_quoted(sentence) for id_ in sentence.evidence}
    titles = [
        source.title
        for source in citations.cited
        if source.document in quoted
        and source.language[:2] not in ("", words.language[:2])
        and words.language != UNKNOWN
    ]
    key = "limits.quoted_languages" if has_model else "limits.languages"
    return [words(key, titles=words.listed(titles))] if titles else []


async def _noticed(citations: Citations, words: Words, records: RunRecords) -> list[str]:
    """Say what readers noticed about the cited sources, and which of all that were read hold a prompt injection."""
    addresses: dict[str, list[str]] = {}
    for source in citations.used:
        for remark in source.warnings:
            addresses.setdefault(remark, []).append(source.address)
    addresses.pop(PROMPT_INJECTION_FOUND, None)
    remarks = [words("limits.noticed", address=words.listed(own), remark=remark) for remark, own in addresses.items()]
    for source in citations.sources:
        text = (await records.document(source.document)).text if PROMPT_INJECTION_FOUND in source.warnings else ""
        if count := count_prompt_injections(text) or count_prompt_injections(source.title):
            remarks.append(words("limits.quarantined", address=source.address, count=count))
    return remarks


async def write(state: DeepResearchState, context: StageContext, reporter: ReportGenerator) -> Update:
    """Edit the report and assemble it; return the content id of what the run's row will keep of it, and what was kept
    out.
    """
    findings, sources = await sources_of(state, context)
    drafted = tuple(await context.records.load_all(Paragraph, state.draft))
    if context.adapters.models:
        # What refutes that something is absent was read for that alone: an editor sees it, and may cite it.
        sources = await with_passages(sources, _refuting(drafted), context)
    brief, evidence = sources.brief, sources.evidence
    documents = dict.fromkeys(piece.document for piece in evidence)
    draft = Draft(
        brief=brief,
        plan=findings.plan,
        paragraphs=drafted,
        words=state.words,
        figures=tuple([described(await context.records.load(Figure, id_)) for id_ in state.figures]),
        evidence=evidence,
        contexts=dict(sources.contexts),
        titles=tuple([(await context.records.document(document)).title for document in documents]),
        gaps=() if state.is_sufficient else tuple(dict.fromkeys(state.open_questions)),
    )
    (edited, sources), disputed = await both(
        _edited(draft, sources, context), _disputed(findings, state, sources, context)
    )
    body = accepted(edited, sources)
    body = await _with_quotes(body, drafted, findings, sources, context)
    words = words_in(brief.language)
    first = [paragraph for paragraph in body.paragraphs if paragraph.section == "abstract"]
    is_written = bool(first)
    if first:
        answer, more = bounded(first, brief.language, has_chapters=draft.words > MOST_IN_ONE_PIECE)
        moved = (paragraph.replace(section=words("report.findings")) for paragraph in more)
        others = (paragraph for paragraph in body.paragraphs if paragraph.section != "abstract")
        body = body.replace(paragraphs=(*answer, *moved, *others))
    draft = draft.replace(paragraphs=body.paragraphs)
    conclusion = await context.reason(Reasoner.conclude, draft)
    # What rules lead with is quoted from the sources, and checked like all else.
    leading = accepted(await judged(as_claims(conclusion.abstract), sources, context.at("abstract")), sources)
    gaps, unfounded = _gaps([*conclusion.unanswered, *draft.gaps], sources)
    conclusion = conclusion.replace(abstract=leading.paragraphs, unanswered=() if is_written else gaps)
    is_unfounded = not evidence and context.request.search.model_knowledge
    knowledge = await context.reason(Reasoner.recall, brief) if is_unfounded else ""
    # Where nothing of a model's analysis could stand, what was counted does; a long report weighs in its chapters.
    is_in_chapters = bool(context.adapters.models) and draft.words > MOST_IN_ONE_PIECE
    titles = {paragraph.section for paragraph in body.paragraphs}
    is_weighed = is_in_chapters or words("report.analysis") in titles
    analysis = Checked() if is_weighed else await _analysis(state, sources, context)
    written = await reporter.write_final_report(
        findings,
        body,
        conclusion,
        state,
        analysis=analysis.paragraphs,
        knowledge=knowledge,
        disagreements=disputed.paragraphs,
        is_written=is_written,
        context=context,
    )
    if earlier := context.request.update:
        line, report = await changes_since(earlier, written.edition, context), written.edition.report
        report = report.replace(about=(line, *report.about))
        written = replace(written, edition=written.edition.replace(report=report))
    await reporter.write_files(written, context)
    refusals = (*body.dropped, *leading.dropped, *analysis.dropped, *disputed.dropped, *unfounded)
    checked = Checked(paragraphs=body.paragraphs, dropped=refusals)
    asked: JsonObject = {"brief": brief.to_json(), "plan": findings.plan.to_json()}
    return {"final_report": await _stored(written, asked, context), "checked": await context.records.keep(checked)}


def _refuting(paragraphs: Sequence[Paragraph]) -> list[str]:
    """Return the evidence that shows a sentence to be false."""
    verdicts = (sentence.verdict for sentence in sentences_of(paragraphs))
    return [verdict.evidence for verdict in verdicts if verdict and verdict.kind == "false" and verdict.evidence]


async def _edited(draft: Draft, sources: CheckedSources, context: StageContext) -> tuple[Paragraphs, CheckedSources]:
    """Return the text as an editor mended it, a long one by chapters first; what was changed is checked again.

    With what was read for that, the sources are more than before.
    """
    if draft.words > MOST_IN_ONE_PIECE:
        chapters = [tuple(own) for _, own in groupby(draft.paragraphs, key=lambda paragraph: paragraph.section)]
        # Length and charts are looked at in the whole.
        parts = [draft.replace(paragraphs=own, words=0, figures=()) for own in chapters]
        edited = await fan_out("chapter", parts, _mended, context)
        whole = await judged([paragraph for own in edited for paragraph in own], sources, context.at("chapters"))
        sources = await with_passages(sources, _refuting(whole), context)
        draft = draft.replace(paragraphs=whole, evidence=sources.evidence, contexts=dict(sources.contexts))
    mended = await _mended(draft, context)
    is_same = mended == draft.paragraphs
    return mended if is_same else await judged(mended, sources, context.at("edited")), sources


async def _mended(draft: Draft, context: StageContext) -> Paragraphs:
    changes = {edit.number: edit.sentences for edit in await context.reason(Reasoner.edit, draft)}
    paragraphs, number = [], 0
    for paragraph in draft.paragraphs:
        own: list[Sentence] = []
        for sentence in paragraph.sentences:
            number += 1
            own += _changed(sentence, changes[number]) if number in changes else [sentence]
        paragraphs += [paragraph.replace(sentences=tuple(own))] if own else []
    return tuple(paragraphs)


def _changed(before: Sentence, after: Sequence[Sentence]) -> list[Sentence]:
    """Return what stands in the place of a sentence; one that stayed the same, but for naming a chart, keeps its
    verdict.
    """
    is_same = [(chartless(each.text), each.kind) == (chartless(before.text), before.kind) for each in after]
    if len(after) == 1 and not is_same[0]:
        return [after[0].replace(revised_from=before.text)]
    return [
        before.replace(text=each.text) if same and set(each.evidence) <= set(before.evidence) else each
        for each, same in zip(after, is_same, strict=True)
    ]


async def _with_quotes(
    body: Checked, drafted: Sequence[Paragraph], findings: Findings, sources: CheckedSources, context: StageContext
) -> Checked:
    """Return the body with quotations in the place of a planned section of which nothing could stand.

    Sections that a user approved stand in their order; where nothing was found for one, it says so.
    """
    stated = {paragraph.section for paragraph in body.paragraphs if paragraph.kind in ("claim", "table")}
    lost = {*(paragraph.section for paragraph in drafted), *findings.fixed_titles} - stated - {"abstract"}
    is_empty = not stated - {"abstract"}
    quoted = await context.adapters.fallback.draft(findings) if is_empty or lost & set(findings.plan.titles) else ()
    wanted = [one for one in quoted if one.section in lost or is_empty]
    checked = accepted(await judged(wanted, sources, context.at("quoted")), sources) if wanted else Checked()
    found = [*body.paragraphs, *checked.paragraphs]
    if found:
        nothing = words_in(findings.brief.language)("nothing.section")
        missing = set(findings.fixed_titles) - {paragraph.section for paragraph in found}
        found += [note(title, nothing) for title in missing]
    sections = (*findings.fixed_titles, *(paragraph.section for paragraph in found), *findings.plan.titles)
    order = list(dict.fromkeys(("abstract", *sections)))
    whole = sorted(found, key=lambda one: order.index(one.section))
    return Checked(paragraphs=tuple(whole), dropped=(*body.dropped, *checked.dropped))


async def _analysis(state: DeepResearchState, sources: CheckedSources, context: StageContext) -> Checked:
    """Return the analysis by rules, checked; what would change the conclusion needs no source."""
    if not state.analysis:
        return Checked()
    analysis = await context.records.load(Analysis, state.analysis)
    words = words_in(sources.brief.language)
    title, lead = words("report.analysis"), words("report.changes")
    notes = tuple(Sentence(text=text) for text in analysis.changes)
    ahead = [Paragraph(section=title, kind="note", lead=lead, sentences=notes)] if notes else []
    shown = [each.replace(section=title) for each in as_claims(analysis.paragraphs)]
    return accepted(await judged([*shown, *ahead], sources, context.at("analysis")), sources)


async def _stored(written: WrittenReport, asked: JsonObject, context: StageContext) -> str:
    """Store the report, and what the run's row keeps of it; return the content id of the latter."""
    store, lease, folder, edition = context.run.store, context.run.lease, context.run.folder, written.edition
    report = await store.put_blob(lease, written.text.encode())
    path = str(folder.path / "report.md")
    about: FinalReport = {"title": edition.report.title, "report": report, "path": path}
    if len(written.text) <= MAX_EVENT_TEXT_CHARS:
        about["text"] = written.text
    await context.emit("final-report", about)
    figures = [Image(address=str(folder.path / one.file(".png")), caption=one.figure.title) for one in edition.captions]
    await folder.write("edition.json", canonical_json(edition.to_json()))
    result = {
        **asked,
        "title": edition.report.title,
        "subject": written.subject,
        "answer": written.answer,
        "text": edition.report.text[:_MAX_SEARCHED_CHARS],
        "language": edition.language,
        "report": report,
        "edition": await context.records.keep(edition),
        "sources": [source.to_json() for source in edition.citations.sources],
        "learnings": [piece.finding for piece in written.evidence],
        "images": [image.to_json() for image in (*figures, *edition.report.pictures)],
        "is_searched": not written.health.is_unanswered,
    }
    return await store.put_blob(lease, canonical_json(result).encode())


async def _disputed(
    findings: Findings, state: DeepResearchState, sources: CheckedSources, context: StageContext
) -> Checked:
    """Return where sources disagree, checked; this needs no answer of a model and is done while one is awaited."""
    tables = await disagreements(findings, state, context.records)
    cited = await context.records.evidence([id_ for table in tables for id_ in table.cite_ids])
    own = replace(sources, evidence=tuple(cited))
    return accepted(await judged(tables, own, context.at("disputed")), own)


def _gaps(open_questions: Sequence[str], sources: CheckedSources) -> tuple[Strings, tuple[Refusal, ...]]:
    """Part what stays open from what only looks like it: a gap names no figure, date or address but the question's."""
    once = dict.fromkeys(open_questions)
    founded = tuple(text for text in once if claims_nothing(text, sources.asked))
    refusals = (Refusal(section="gaps", text=text, reason="unfounded") for text in once if text not in founded)
    return founded, tuple(refusals)
