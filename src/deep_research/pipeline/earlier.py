"""The run that a follow-up follows: what it asked, answered, read and cited, at hand without asking anybody."""

from collections.abc import Iterable

from pydantic import Field

from deep_research.errors import UsageError
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.state import DeepResearchState, TaskState
from deep_research.reasoning.rules.question.material import topic_of
from deep_research.reasoning.values import Brief, ReadingRequest, RelatedText, Strings
from deep_research.report.citation import Source
from deep_research.report.edition import Edition
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.paragraph import Paragraph, note
from deep_research.report.sources.hit import Hit
from deep_research.request import Language, ResearchRequest
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import Words
from deep_research.text.script import tells_script
from deep_research.text.shortening import shortened
from deep_research.value import Value, json_of

# So many of its passages are shown to who plans, one of each source.
_SHOWN_PASSAGES = 12
_MAX_ANSWER_CHARS = 4_000
_SECTION_TITLE_CHARS = 120


class Earlier(Value):
    """What a follow-up knows of the run before it.

    `question` is the one that was researched, `subject` what it and those before it are about. `cited` are the sources
    in the order of their numbers, `documents` all that was read, by address, those cited first. `edition` is the
    content id of its report in parts.
    """

    run: str
    question: str
    subject: str
    answer: str
    language: Language
    cited: tuple[Source, ...] = ()
    documents: dict[str, str] = Field(default_factory=dict)
    passages: tuple[RelatedText, ...] = ()
    edition: str

    @property
    def as_related_text(self) -> RelatedText:
        """Return question and answer as background for another question."""
        return RelatedText(title=self.question, text=self.answer)

    def hits(self) -> list[Hit]:
        """Return what was read as if a search had found it, each document once."""
        first = {id_: address for address, id_ in reversed(self.documents.items())}
        return [Hit(address=address, title=address) for address in self.documents if address in first.values()]


def request_following(request: ResearchRequest, row: RunRow) -> ResearchRequest:
    """Return a request that names the run it follows by its whole id; raise `UsageError` where it cannot follow it."""
    if row.status != "done" or row.result is None:
        raise UsageError().with_message("fault.follow_unfinished", run=row.short_id, status=row.status)
    if "edition" not in row.result:
        raise UsageError().with_message("fault.follow_old", run=row.short_id)
    language = row.result.get("language")
    if request.add and request.language not in (None, language):
        raise UsageError().with_message("fault.follow_language", run=row.short_id, language=language)
    asked = report_language(request.question, request.language)
    # "那成本呢" is written alike in both scripts.
    is_either = asked == "zh-Hans" and language == "zh-Hant" and not tells_script(request.question)
    own = {"language": language} if request.add or (is_either and not request.language) else {}
    return request.replace(follow=row.id, **own)


async def bring_along(context: StageContext) -> str:
    """Let a run refer to all that the one before it read, and return the content id of what is known of that one.

    It is on record: the earlier run may be deleted meanwhile.
    """

    async def lookup() -> str:
        return await context.records.keep(await _gathered(context))

    return await context.decide("earlier", [context.request.follow], lookup)


async def _gathered(context: StageContext) -> Earlier:
    store, lease, request = context.run.store, context.run.lease, context.request
    row = await store.get_run(request.follow)
    request_following(request, row)
    assert row.result is not None, "checked above"
    raw = await store.get_blob(str(row.result["edition"]))
    edition = Edition.from_json(json_of(raw))
    addresses = await store.list_addresses(row.id)
    for address, document in addresses.items():
        await store.put_document(lease, await store.get_document(document), address=address)
    if request.add:
        cited = await store.get_evidence(row.id, [passage.id for passage in edition.passages])
        headers = sorted({piece.header for piece in cited if piece.header})
        await store.put_evidence(lease, [*cited, *await store.get_evidence(row.id, headers)])
        for picture in {id_ for one in edition.report.captions for id_ in (one.figure.png, one.figure.svg) if id_}:
            await store.put_blob(lease, await store.get_blob(picture))
    order = {source.document: number for number, source in enumerate(edition.citations.cited)}
    in_order = sorted(addresses.items(), key=lambda one: (order.get(one[1], len(order)), one[0]))
    best = {passage.document: passage for passage in reversed(edition.passages)}
    shown = [source for source in edition.citations.used if source.document in best][:_SHOWN_PASSAGES]
    question = Brief.from_json(row.result["brief"]).question
    return Earlier(
        run=row.id,
        question=question,
        subject=str(row.result.get("subject") or topic_of(question)),
        answer=str(row.result.get("answer") or answer_in(edition.report))[:_MAX_ANSWER_CHARS],
        language=edition.language,
        cited=edition.citations.cited,
        documents=dict(in_order),
        passages=tuple(
            RelatedText(title=source.title, text=best[source.document].quote, published=source.published)
            for source in shown
        ),
        edition=await store.put_blob(lease, raw),
    )


async def nearest(earlier: Earlier, task: TaskState, context: StageContext) -> list[Hit]:
    """Return what was read, that first in which rules find most for a section."""
    scores = {}
    for hit in earlier.hits():
        reading = ReadingRequest(
            brief=task.brief,
            section=task.section,
            documents=(await context.records.document(earlier.documents[hit.address]),),
        )
        found = await context.adapters.fallback.extract(reading)
        scores[hit.address] = max((finding.score for finding in found), default=float("-inf"))
    return sorted(earlier.hits(), key=lambda hit: -scores[hit.address])


async def followed_in(state: DeepResearchState, context: StageContext) -> tuple[Earlier | None, ReportLayout | None]:
    """Return what is known of the run that is followed, and its report where that is to be added to."""
    if not state.earlier:
        return None, None
    earlier = await context.records.load(Earlier, state.earlier)
    return earlier, (await context.records.load(Edition, earlier.edition)).report if context.request.add else None


def subject_of(brief: Brief, earlier: Earlier | None) -> str:
    """Return what a question is about; one that follows another goes on about the same, unless it names another."""
    return earlier.subject if earlier and earlier.subject in brief.question else topic_of(brief.question)


def answer_in(report: ReportLayout) -> str:
    """Return what a report answers, as plain text: its abstract, without notes about the run."""
    shown = [paragraph for paragraph in report.abstract if paragraph.kind in ("claim", "table")]
    return "\n".join(paragraph.text for paragraph in shown)


def with_section(before: ReportLayout, added: ReportLayout, *, question: str, words: Words) -> ReportLayout:
    """Return an earlier report with the answer to another question as its last section, all else as it was.

    The chapters of the answer stand under small headings; what the report says already is not said again.
    """
    title = shortened(question, _SECTION_TITLE_CHARS)
    said = {sentence.text for sentence in before.sentences}
    figures = [{row.lead for row in table.sentences} for table in before.disagreements]

    def as_own(paragraphs: Iterable[Paragraph], heading: str = "") -> list[Paragraph]:
        return [
            each.replace(section=title, lead=each.lead or ("" if each.is_item else heading))
            for each in paragraphs
            if not said.issuperset(sentence.text for sentence in each.sentences)
        ]

    shown = as_own(added.abstract)
    for chapter in added.chapters:
        shown += as_own(chapter.paragraphs, chapter.title)
    shown = shown or [note(title, words("follow.nothing_new"))]
    disputed = (table for table in added.disagreements if {row.lead for row in table.sentences} not in figures)
    notes = (line for line in (*added.notice, *added.about) if line not in before.about)
    return before.replace(
        chapters=(*before.chapters, Chapter(title=title, paragraphs=tuple(shown))),
        disagreements=(*before.disagreements, *disputed),
        knowledge="\n\n".join(filter(None, (before.knowledge, added.knowledge))),
        gaps=tuple(dict.fromkeys((*before.gaps, *added.gaps))),
        about=(*before.about, *(f"{words('follow.section', title=title)}{line}" for line in notes)),
        run_line=added.run_line,
        has_references=added.has_references,
        is_answered=before.is_answered or added.is_answered,
    )


def follow_notes(earlier: Earlier, *, searched: bool, words: Words) -> Strings:
    """Say which run a report follows, how far that one's sources went, and whether it is in another language."""
    asked = words("follow.of", run=earlier.run, question=earlier.question, count=len(set(earlier.documents.values())))
    scope_note = words("follow.searched" if searched else "follow.sufficient")
    other = (words("follow.language"),) if earlier.language != words.language else ()
    return (f"{asked} {scope_note}", *other)
