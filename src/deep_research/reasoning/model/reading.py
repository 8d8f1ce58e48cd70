"""What a model is asked about what was fetched: which passages help, what they say together, whether they suffice."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from deep_research.documents.readers import PROMPT_INJECTION_FOUND
from deep_research.errors import UnusableAnswer
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.acts import NONE, ModelActs, listed, searched, section_notes
from deep_research.reasoning.model.answers import ExtractAnswer, ReflectAnswer, item_at
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
from deep_research.reasoning.values import Digest, Dimensions, Finding, ReadingRequest, Reflection, SectionWork
from deep_research.report.sources.dating import days_of
from deep_research.report.sources.hit import SearchQuery
from deep_research.text.messages.language import language_name

_EXTRACT = Act("extract", "task", 500)
_REFLECT = Act("reflect", "thinking", 900)
# A section is sufficient where the mean of all five dimensions, and coverage by itself, reach this.
_SUFFICIENT = 7
# A model's relevance of 10 weighs as much as the best unit that rules find.
_SCORE_OF_TEN = 6.0
_USUAL_RELEVANCE = 6
# So many passages of one document become evidence.
_MAX_FINDINGS = 12
_MAX_GAPS = 5
# A section may hold so much of the window before passages are chosen among; whoever judges it sees the best of them.
_SECTION_SHARE = 0.1
_MAX_JUDGED = 4_000
_MAX_SYNTHESIS = 800
_MAX_TITLE_CHARS = 200
# Less text than this is a title and little else, which rules read as well.
_HOLLOW_TOKENS = 25
# A document that takes no more of the window, and no more tokens, is read whole by whoever writes.
_WHOLE_SHARE, _MAX_WHOLE = 0.05, 3_000


class ReadingByModel(ModelActs):
    """The four reading acts."""

    async def extract(self, reading: ReadingRequest) -> tuple[Finding, ...]:
        """Let the model choose among a document's passages by number, so that what it chooses is really there.

        The prompt is the same for every section that asks, so that the journal has the document read once in a run.
        """
        outline = reading.outline or (reading.section.title,)
        brief = self._brief(reading.brief)
        size, is_suspect = tokens_at_most(reading.document.text), PROMPT_INJECTION_FOUND in reading.document.warnings
        if size < _HOLLOW_TOKENS:
            return await self.fallback.extract(reading)
        if size <= min(self.context.share(_WHOLE_SHARE), _MAX_WHOLE) and not is_suspect:
            return await self._whole(reading)
        candidates = await self.fallback.passages(reading.document, reading.brief.question)
        blocks = numbered([candidate.finding for candidate in candidates])
        # Where the document's text holds a prompt injection, the mark around its title says so.
        warning = WARNING if is_suspect else ""
        title = fenced(SOURCE_TAG, f"Title: {reading.document.title[:_MAX_TITLE_CHARS]}", warning=warning)
        task = self._extract_task(outline, title)
        available_tokens = self.context.available_tokens(brief, task, max_tokens=_EXTRACT.max_tokens)
        shown = sum(taken <= available_tokens for taken in accumulate(map(tokens_at_most, blocks)))
        if not shown:
            raise UnusableAnswer("extract: not one passage fits the model's window")
        task = self._extract_task(outline, "\n\n".join((title, *blocks[:shown])))

        def problem_of(answer: ExtractAnswer) -> str:
            is_chosen = not answer.passages or any(1 <= number <= shown for number in answer.passages)
            return "" if is_chosen else f"its numbers name no passage that was given; use 1 to {shown}, or none"

        answer = await self._data(
            _EXTRACT, ExtractAnswer, task, shared=[brief], left_out=len(blocks) - shown, problem_of=problem_of
        )
        return tuple(_findings(answer, candidates[:shown], outline))

    async def _whole(self, reading: ReadingRequest) -> tuple[Finding, ...]:
        """Return all of a short document: to have it read whole by whoever writes costs less than to ask what matters.

        What rules would choose of it keeps their score and section, so that it comes first where not all fit.
        """
        chosen = await self.fallback.extract(reading)
        found = []
        for candidate in await self.fallback.passages(reading.document, reading.brief.question, is_whole=True):
            near = [one for one in chosen if one.start < candidate.end and candidate.start < one.end]
            best = max(near, key=lambda one: one.score, default=Finding(start=0, end=0, finding=""))
            found.append(candidate.replace(score=best.score, section=best.section))
        return tuple(found)

    def _extract_task(self, outline: Sequence[str], passages: str) -> str:
        titles = "\n".join(f"{number}. {title}" for number, title in enumerate(outline, start=1))
        return self._task("extract", ExtractAnswer, sections=fenced(NOTES_TAG, titles), passages=passages)

    async def compress(self, work: SectionWork) -> Digest:
        """Keep everything in its order while it fits; whoever writes chooses."""
        size = sum(tokens_at_most(piece.quote) for piece in work.evidence)
        if len(work.evidence) <= work.brief.evidence_limit or size <= self.context.share(_SECTION_SHARE):
            return Digest(evidence=tuple(piece.id for piece in work.evidence))
        return await self.fallback.compress(work)

    async def reflect(self, work: SectionWork) -> Reflection:
        """Merge the round into what is known and judge five dimensions; whether they suffice is a rule."""
        task = self._task(
            "reflect",
            ReflectAnswer,
            # Where rules brought it together, it is quoted.
            synthesis=fenced(SOURCE_TAG, fit(work.synthesis, _MAX_SYNTHESIS)[0]) if work.synthesis else NONE,
            round=str(work.round),
            left=str(work.queries_left),
            asked=listed(work.asked),
            sources=_describe_sources(work),
            language=language_name(work.brief.language),
        )
        head = [self._brief(work.brief), self.prompts.fill("section", notes=section_notes(work.section))]
        # The tail's recitations are short; a prompt of their size is kept free for them.
        available_tokens = self.context.available_tokens(*head, task, task, max_tokens=_REFLECT.max_tokens)
        answer = await self._data(
            _REFLECT,
            ReflectAnswer,
            task,
            steps=searched(work.asked, "judge whether this is enough", "write the section"),
            failures=work.failures,
            shared=[*head, *show_evidence(work.evidence, limit=min(available_tokens, _MAX_JUDGED)).blocks],
        )
        dimensions = Dimensions.from_json({name: getattr(answer, name) for name in Dimensions.model_fields})
        fresh = [query for query in dict.fromkeys(answer.next_queries) if query not in work.asked]
        is_enough = bool(work.evidence) and min(dimensions.overall, answer.coverage) >= _SUFFICIENT
        return Reflection(
            is_sufficient=is_enough,
            overall_score=dimensions.overall,
            dimensions=dimensions,
            synthesis=answer.synthesis,
            coverage=round(dimensions.coverage / 10, 2),
            gaps=() if is_enough else tuple(answer.gaps[:_MAX_GAPS]),
            next_queries=tuple(SearchQuery(query=query, goal=work.section.title) for query in fresh),
            reasoning=answer.reasoning,
        )


def _describe_sources(work: SectionWork) -> str:
    """Return how many sources there are and how old, which no passage says."""
    dated = sorted(days[1].year for source in work.sources if (days := days_of(source.published)))
    sites = len({source.host for source in work.sources if source.host})
    count = f"{len(work.sources)} documents, of {sites} sites on the web" if sites else f"{len(work.sources)} documents"
    years = f"dated {dated[0]} to {dated[-1]}" if dated else ""
    undated = f"{len(work.sources) - len(dated)} without a date" if len(dated) < len(work.sources) else ""
    return "; ".join(filter(None, (count, years, undated))) if work.sources else NONE


def _findings(answer: ExtractAnswer, candidates: Sequence[Finding], outline: Sequence[str]) -> Iterator[Finding]:
    """Yield what was chosen, with its section; a passage for a section that does not exist goes to the first."""
    valid = [(number, index) for index, number in enumerate(answer.passages) if 1 <= number <= len(candidates)]
    first = dict(reversed(valid))
    for number, index in list(reversed(first.items()))[:_MAX_FINDINGS]:
        wanted = item_at(answer.sections, index, 1)
        section = outline[wanted - 1 if 1 <= wanted <= len(outline) else 0]
        relevance = item_at(answer.relevance, index, _USUAL_RELEVANCE)
        score = round(_SCORE_OF_TEN * min(relevance, 10) / 10, 6)
        yield candidates[number - 1].replace(score=score, section=section)
