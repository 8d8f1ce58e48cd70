"""What a model is asked about what was fetched: which passages help, what they say together, whether they suffice."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from deep_research.documents.readers import PROMPT_INJECTION_FOUND
from deep_research.errors import UnusableAnswer
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.acts import NONE, ModelActs, listed, searched
from deep_research.reasoning.model.answers import ExtractAnswer, ReflectAnswer, item_at, padded
from deep_research.reasoning.model.prompting import (
    NOTES_TAG,
    SOURCE_TAG,
    WARNING,
    Act,
    fenced,
    fit,
    numbered,
    show_evidence,
)
from deep_research.reasoning.values import (
    Context,
    Digest,
    Dimensions,
    Entries,
    Finding,
    MapEntry,
    ReadingRequest,
    Reflection,
    SectionWork,
)
from deep_research.report.evidence.passage import Evidence
from deep_research.report.sources.dating import days_of
from deep_research.report.sources.document import Document
from deep_research.report.sources.head import head_of
from deep_research.report.sources.hit import SearchQuery
from deep_research.text.messages.language import language_name

_EXTRACT = Act("extract", "task", 500)
_REFLECT = Act("reflect", "thinking", 1_600)
# A section is sufficient where the mean of all five dimensions, and coverage by itself, reach this.
_SUFFICIENT = 7
# A model's relevance of 10 weighs as much as the best unit that rules find.
_SCORE_OF_TEN = 6.0
_USUAL_RELEVANCE = 6
# So many passages of one document become evidence.
_MAX_FINDINGS, _LEAST_CHOSEN = 12, 5
_MAX_GAPS = 5
# Whoever judges a round sees the best passages of each document that it read.
_MAX_JUDGED = 6_000
_MAX_SYNTHESIS = 1_600
_MAX_ENTRIES = 160
_MAX_TITLE_CHARS, _MAX_HEAD_CHARS = 200, 500
# Less text than this is a title and little else, which rules read as well.
_HOLLOW_TOKENS = 25
# Several long documents are read in one call, so many tokens of them; each lengthens the answer by so many.
_READ_AT_ONCE, _TOKENS_A_DOCUMENT = 6_000, 150
# Of more pages than this a model chooses nothing: of so many tokens of each, its chapters' prompts show what fits
# them best.
MOST_READ, _TOKENS_OF_MANY, _FIRST_OF_MANY = 100, 4_000, 2
# The marks around a passage take so many.
_MARK_TOKENS = 16
# A document that takes no more of the window, and no more tokens, is read whole by whoever writes.
_WHOLE_SHARE, _MAX_WHOLE = 0.05, 3_000


class ReadingByModel(ModelActs):
    """The four reading acts."""

    async def extract(self, reading: ReadingRequest) -> tuple[Finding, ...]:
        """Return the passages that help: of short documents all, of long ones what the model chooses by number.

        Several long ones are shown in one call, those that do not fit it in another. Where there are too many for that,
        what rules would offer of each is left to whoever writes.
        """
        found: list[Finding] = []
        long: list[Document] = []
        brief = self._brief(reading.brief)
        room = self.context.available_tokens(brief, self._extract_task(reading, []), max_tokens=_EXTRACT.max_tokens)
        is_bulk = reading.brief.depth.max_pages > MOST_READ
        for document in reading.documents:
            size, is_suspect = tokens_at_most(document.text), PROMPT_INJECTION_FOUND in document.warnings
            alone = reading.replace(documents=(document,))
            is_short = size <= min(self.context.share(_WHOLE_SHARE), _MAX_WHOLE)
            if size < _HOLLOW_TOKENS:
                found += await self.fallback.extract(alone)
            elif is_suspect or not (is_short or is_bulk):
                long.append(document)
            else:
                found += await self._unchosen(document, alone, is_whole=not is_bulk)
        share = _READ_AT_ONCE // max(len(long), 1)
        offered = [await self._offered(document, reading, share=share, room=room) for document in long]
        for group in _grouped(offered, min(room, _READ_AT_ONCE)):
            found += await self._chosen(group, reading, brief)
        # Of many pages the list of documents tells what their heads say, and that can be cited.
        return tuple(found if is_bulk else _with_heads(reading, found))

    async def _offered(self, document: Document, reading: ReadingRequest, *, share: int, room: int) -> "_Offered":
        """Return the passages of a long document that a model chooses among: what is worth most of its share of a
        call, as much as fits the window.
        """
        offered = await self.fallback.passages(document, (reading.brief.question, *reading.sought))
        head = _head(document)
        # Where the document's text holds a prompt injection, the mark around its title says so.
        warning = WARNING if PROMPT_INJECTION_FOUND in document.warnings else ""
        known = "; ".join([document.title[:_MAX_TITLE_CHARS], *([" ".join(head.finding.split())] if head else [])])
        title = fenced(SOURCE_TAG, f"Title: {known[:_MAX_HEAD_CHARS]}", warning=warning)
        size = tokens_at_most(title)
        worth_it = _fitting(offered, share - size) or offered[:1]
        taken = list(accumulate(map(tokens_at_most, numbered([each.finding for each in worth_it]))))
        fitting = sum(each <= room - size for each in taken)
        if not fitting:
            raise UnusableAnswer("extract: not one passage fits the model's window")
        passages = sorted(
            (each.replace(document=document.id) for each in worth_it[:fitting]), key=lambda each: each.start
        )
        return _Offered(title, tuple(passages), size + taken[fitting - 1], len(worth_it) - fitting)

    async def _chosen(self, offered: Sequence["_Offered"], reading: ReadingRequest, brief: str) -> Iterator[Finding]:
        """Return what the model chooses of several documents, by number, so that what it chooses is really there.

        The prompt is the same for every section that asks, so that the journal has a document read once in a run.
        """
        candidates = [candidate for one in offered for candidate in one.passages]
        blocks = iter(numbered([candidate.finding for candidate in candidates]))
        lines = [line for one in offered for line in (one.title, *islice(blocks, len(one.passages)))]
        act = _EXTRACT._replace(max_tokens=_EXTRACT.max_tokens + (len(offered) - 1) * _TOKENS_A_DOCUMENT)

        def problem_of(answer: ExtractAnswer) -> str:
            is_chosen = not answer.passages or any(1 <= number <= len(candidates) for number in answer.passages)
            return (
                "" if is_chosen else f"its numbers name no passage that was given; use 1 to {len(candidates)}, or none"
            )

        answer = await self._data(
            act,
            ExtractAnswer,
            self._extract_task(reading, lines),
            shared=[brief],
            left_out=sum(one.left_out for one in offered),
            problem_of=problem_of,
        )
        outline = reading.outline or (reading.section.title,)
        return _findings(answer, candidates, outline)

    async def _unchosen(self, document: Document, reading: ReadingRequest, *, is_whole: bool) -> list[Finding]:
        """Return all of a short document, or the best of a long one, for whoever writes: less than asking what matters.

        What rules would choose of it keeps their score and section, so that it comes first where not all fit; of what
        is not whole, what a reader should see first comes before.
        """
        chosen, found = await self.fallback.extract(reading), []
        ranked = await self.fallback.passages(document, (reading.brief.question, *reading.sought), is_whole=is_whole)
        passages = _below(_head(document), ranked) if is_whole else _fitting(ranked, _TOKENS_OF_MANY)
        # How it begins, and what became of it.
        first = () if is_whole else passages[:_FIRST_OF_MANY]
        for candidate in sorted(passages, key=lambda each: each.start):
            near = [one for one in chosen if one.start < candidate.end and candidate.start < one.end]
            best = max(near, key=lambda one: one.score, default=Finding(start=0, end=0, finding=""))
            score = _SCORE_OF_TEN if candidate in first else best.score
            found.append(candidate.replace(document=document.id, score=score, section=best.section))
        return found

    def _extract_task(self, reading: ReadingRequest, lines: Sequence[str]) -> str:
        outline = reading.outline or (reading.section.title,)
        titles = "\n".join(f"{number}. {title}" for number, title in enumerate(outline, start=1))
        return self._task(
            "extract",
            ExtractAnswer,
            sections=fenced(NOTES_TAG, titles),
            most=str(max(_MAX_FINDINGS // len(reading.documents), _LEAST_CHOSEN)),
            passages="\n\n".join(lines),
        )

    async def compress(self, work: SectionWork) -> Digest:
        """Keep everything in its order: whoever writes chooses."""
        return Digest(evidence=tuple(piece.id for piece in work.evidence))

    async def reflect(self, work: SectionWork) -> Reflection:
        """Add the round to what is known and what is looked for, and judge five dimensions; whether they suffice is a
        rule.
        """
        task = self._task(
            "reflect",
            ReflectAnswer,
            entries=fenced(NOTES_TAG, "\n".join(lines_of(work.entries))) if work.entries else NONE,
            sections=fenced(NOTES_TAG, "\n".join(f"{at} {title}" for at, title in enumerate(work.outline, 1))),
            # Where rules brought it together, it is quoted.
            synthesis=fenced(SOURCE_TAG, fit(work.synthesis, _MAX_SYNTHESIS)[0]) if work.synthesis else NONE,
            round=str(work.round),
            left=str(work.queries_left),
            asked=listed(work.asked),
            sources=_describe_sources(work),
            pages=fenced(SOURCE_TAG, "\n".join(f"{at} {title}" for at, title in enumerate(work.pages, 1)))
            if work.pages
            else NONE,
            language=language_name(work.brief.language),
        )
        brief = self._brief(work.brief)
        # The tail's recitations are short; a prompt of their size is kept free for them.
        available_tokens = self.context.available_tokens(brief, task, task, max_tokens=_REFLECT.max_tokens)
        # What a head says stands in the list of documents.
        fresh = [
            piece
            for piece in work.evidence
            if piece.id in {*work.fresh} and not _is_head(piece, work.contexts.get(piece.id))
        ]
        limit = min(available_tokens, _MAX_JUDGED)
        material = show_evidence(fresh, limit=limit, contexts=work.contexts, sought=work.brief.question, of_each=1)
        answer = await self._data(
            _REFLECT,
            ReflectAnswer,
            task,
            steps=searched(work.asked, "judge whether this is enough", "write the report"),
            failures=work.failures,
            shared=[brief, *material.blocks],
        )
        dimensions = Dimensions.from_json({name: getattr(answer, name) for name in Dimensions.model_fields})
        queries = [query for query in dict.fromkeys(answer.next_queries) if query not in work.asked]
        is_enough = bool(work.evidence) and min(dimensions.overall, answer.coverage) >= _SUFFICIENT
        return Reflection(
            is_sufficient=is_enough,
            overall_score=dimensions.overall,
            dimensions=dimensions,
            synthesis="\n\n".join(filter(None, (work.synthesis, answer.added))),
            coverage=round(dimensions.coverage / 10, 2),
            gaps=() if is_enough else tuple(answer.gaps[:_MAX_GAPS]),
            entries=_judged_entries(work, answer),
            pages=tuple(dict.fromkeys(number for number in answer.pages if 1 <= number <= len(work.pages))),
            next_queries=tuple(SearchQuery(query=query) for query in queries),
            reasoning=answer.reasoning,
        )


def lines_of(entries: Entries) -> list[str]:
    """Return what is looked for, a line each, with its number and where it stands."""
    states = {"open": "open", "found": "found", "set_aside": "set aside"}
    return [
        f"{number} {entry.name} ({states.get(entry.status, 'not found')}"
        f"{', asked for' if entry.queries and entry.status == 'open' else ''})"
        for number, entry in enumerate(entries, start=1)
    ]


def _judged_entries(work: SectionWork, answer: ReflectAnswer) -> Entries:
    """Return what is looked for, as the answer changes it; what was found, or a reader decided, stays so."""
    reasons = dict(zip(answer.set_aside, padded(answer.reasons), strict=False))
    entries = []
    for number, entry in enumerate(work.entries, start=1):
        if number in answer.settled and not entry.is_struck:
            entry = entry.replace(status="found")
        elif number in reasons and entry.status == "open" and not entry.from_reader:
            entry = entry.replace(status="set_aside", reason=reasons[number])
        entries.append(entry)
    known = {entry.name.casefold() for entry in entries}
    for index, name in enumerate(dict.fromkeys(answer.new_entries)):
        if name.casefold() not in known:
            at = item_at(answer.entry_sections, index, 0)
            entries.append(MapEntry(name=name, section=work.outline[at - 1] if 1 <= at <= len(work.outline) else ""))
    return tuple(entries[:_MAX_ENTRIES])


def _describe_sources(work: SectionWork) -> str:
    """Return how many sources there are and how old, which no passage says."""
    dated = sorted(days[1].year for source in work.sources if (days := days_of(source.published)))
    sites = len({source.host for source in work.sources if source.host})
    count = f"{len(work.sources)} documents, of {sites} sites on the web" if sites else f"{len(work.sources)} documents"
    years = f"dated {dated[0]} to {dated[-1]}" if dated else ""
    undated = f"{len(work.sources) - len(dated)} without a date" if len(dated) < len(work.sources) else ""
    return "; ".join(filter(None, (count, years, undated))) if work.sources else NONE


def _is_head(piece: Evidence, where: Context | None) -> bool:
    facts = where.facts if where else ""
    return bool(facts) and facts.split("; ")[0] in " ".join(piece.quote.split())


def _head(document: Document) -> Finding | None:
    """Return the head of a document, in which its status and dates stand, as one passage."""
    if not (span := head_of(document.text)):
        return None
    return Finding(document=document.id, start=span[0], end=span[1], finding=document.text[slice(*span)])


def _below(head: Finding | None, candidates: Sequence[Finding]) -> list[Finding]:
    """Return the passages that do not stand in the head."""
    return [each for each in candidates if not head or each.end <= head.start or head.end <= each.start]


def _with_heads(reading: ReadingRequest, chosen: Sequence[Finding]) -> Iterator[Finding]:
    """Yield what was chosen, with the head of each document of which something was: what it says can be cited then."""
    yield from chosen
    for document in reading.documents:
        own = [each for each in chosen if each.document == document.id]
        if own and (head := _head(document)):
            best = max(own, key=lambda each: each.score)
            yield head.replace(score=best.score, section=best.section)


class _Offered(NamedTuple):
    """A long document as a model sees it: its title, the passages to choose among, their size, and how many are left
    out.
    """

    title: str
    passages: tuple[Finding, ...]
    size: int
    left_out: int


def _fitting(ranked: Iterable[Finding], room: int) -> list[Finding]:
    """Return the first passages that fit a room together; one that is too long makes room for others."""
    chosen = []
    for each in ranked:
        if (size := tokens_at_most(each.finding) + _MARK_TOKENS) <= room:
            room -= size
            chosen.append(each)
    return chosen


def _grouped(offered: Sequence[_Offered], room: int) -> Iterator[list[_Offered]]:
    """Yield the documents in groups that fit a call."""
    group: list[_Offered] = []
    for one in offered:
        if group and sum(each.size for each in (*group, one)) > room:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _findings(answer: ExtractAnswer, candidates: Sequence[Finding], outline: Sequence[str]) -> Iterator[Finding]:
    """Yield what was chosen, with its section; a passage for a section that does not exist goes to the first."""
    valid = [(number, index) for index, number in enumerate(answer.passages) if 1 <= number <= len(candidates)]
    first = dict(reversed(valid))
    counts = Counter[str]()
    for number, index in reversed(first.items()):
        wanted = item_at(answer.sections, index, 1)
        section = outline[wanted - 1 if 1 <= wanted <= len(outline) else 0]
        relevance = item_at(answer.relevance, index, _USUAL_RELEVANCE)
        score = round(_SCORE_OF_TEN * min(relevance, 10) / 10, 6)
        candidate = candidates[number - 1]
        counts[candidate.document] += 1
        if counts[candidate.document] <= _MAX_FINDINGS:
            yield candidate.replace(score=score, section=section)
