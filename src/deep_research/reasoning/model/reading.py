"""What a model is asked about what was fetched: which passages help, what they say together, whether they suffice."""

from collections.abc import Iterator, Sequence

from deep_research.errors import UnusableAnswer
from deep_research.llm.tokens import tokens_at_most
from deep_research.readers import PROMPT_INJECTION_FOUND
from deep_research.reasoning.model.answers import CompressAnswer, ExtractAnswer, ReflectAnswer, SynthesisAnswer
from deep_research.reasoning.model.material import Material, show_evidence
from deep_research.reasoning.model.prompting import NOTES_TAG, SOURCE_TAG, WARNING, fenced
from deep_research.reasoning.model.prose import LABEL
from deep_research.reasoning.model.step import LANGUAGES, NONE, ModelSteps, Step, listed, shortened
from deep_research.reasoning.values import Digest, Dimensions, Finding, Reading, Reflection, SectionWork, Synthesis
from deep_research.sources.dating import days_of
from deep_research.sources.document import Document
from deep_research.sources.hit import SearchQuery

_EXTRACT = Step("extract", "task", 900)
_COMPRESS = Step("compress", "task", 600)
_SYNTHESIZE = Step("synthesize", "task", 900)
_REFLECT = Step("reflect", "thinking", 900)
# SPEC L2: where all five dimensions together, and coverage by itself, let the section rest.
_SUFFICIENT, _SUFFICIENT_COVERAGE = 7, 7
# A model's relevance of 10 weighs as much as the best unit that rules find.
_SCORE_OF_TEN = 6.0
_USUAL_RELEVANCE = 6
# Of one document, so many passages at most become evidence.
_MOST_FINDINGS = 8
_MOST_GAPS = 5
_MOST_SYNTHESIS = 800
_MOST_TITLE_CHARS = 200


class ReadingByModel(ModelSteps):
    """The four reading acts."""

    async def extract(self, reading: Reading) -> tuple[Finding, ...]:
        """Let the model choose among a document's passages by number, so that what it chooses is really there.

        The prompt is the same for every section that asks, so that the journal has the document read once in a run.
        """
        outline = reading.outline or (reading.section.title,)
        brief = self._brief(reading.brief)
        candidates = await self._stand_in.passages(reading.document, reading.brief.question)
        blocks = [
            fenced(SOURCE_TAG, candidate.finding, id=str(number))
            for number, candidate in enumerate(candidates, start=1)
        ]
        title = _title(reading.document)
        task = self._reading_task(reading, outline, title)
        room = self._context.room(brief, task, max_tokens=_EXTRACT.max_tokens)
        shown = _how_many_fit(blocks, room)
        if not blocks:
            return ()
        if not shown:
            raise UnusableAnswer("extract: not one passage fits the model's window")
        task = self._reading_task(reading, outline, "\n\n".join((title, *blocks[:shown])))
        answer = await self._data(
            _EXTRACT,
            ExtractAnswer,
            self._context.tail("extract", task),
            shared=[brief],
            left_out=len(blocks) - shown,
        )
        return tuple(_findings(answer, candidates[:shown], outline))

    def _reading_task(self, reading: Reading, outline: Sequence[str], passages: str) -> str:
        return self._prompts.fill(
            "extract",
            sections=fenced(
                NOTES_TAG, "\n".join(f"{number}. {title}" for number, title in enumerate(outline, start=1))
            ),
            passages=passages,
            language=LANGUAGES[reading.brief.language],
            format=ExtractAnswer.in_words(),
        )

    async def compress(self, work: SectionWork) -> Digest:
        """Keep everything in its order while there is room; only then let the model choose."""
        room = work.brief.room
        if len(work.evidence) <= room:
            return Digest(evidence=tuple(piece.id for piece in work.evidence))
        task = self._prompts.fill("compress", count=str(room), format=CompressAnswer.in_words())
        shared, material = self._section(work, task, _COMPRESS)
        tail = self._context.tail("compress", task, steps=_steps(work, "keep the best passages"))
        answer = await self._data(_COMPRESS, CompressAnswer, tail, shared=shared, left_out=material.left_out)
        wanted = {
            material.labels[label]
            for label in (f"{LABEL}{number}" for number in answer.keep)
            if label in material.labels
        }
        # The order stays, so that the next prompt begins like this one.
        kept = [piece.id for piece in work.evidence if piece.id in wanted][:room]
        return Digest(evidence=tuple(kept), note=answer.note) if kept else await self._stand_in.compress(work)

    async def synthesize(self, work: SectionWork) -> Synthesis:
        """Merge the round into what is known; without any evidence there is nothing to merge."""
        if not work.evidence:
            return Synthesis(text="", coverage=0.0)
        task = self._prompts.fill(
            "synthesize",
            before=_fenced_synthesis(work),
            language=LANGUAGES[work.brief.language],
            format=SynthesisAnswer.in_words(),
        )
        shared, material = self._section(work, task, _SYNTHESIZE)
        tail = self._context.tail(
            "synthesize", task, steps=_steps(work, "bring the findings together"), failures=work.failures
        )
        answer = await self._data(_SYNTHESIZE, SynthesisAnswer, tail, shared=shared, left_out=material.left_out)
        return Synthesis(text=answer.text, coverage=round(answer.coverage, 2))

    async def reflect(self, work: SectionWork) -> Reflection:
        """Judge five dimensions; whether they suffice is a rule."""
        task = self._prompts.fill(
            "reflect",
            synthesis=_fenced_synthesis(work),
            round=str(work.round),
            left=str(work.queries_left),
            asked=listed(work.asked),
            sources=_sources_in_words(work),
            format=ReflectAnswer.in_words(),
        )
        shared, material = self._section(work, task, _REFLECT)
        tail = self._context.tail(
            "reflect", task, steps=_steps(work, "judge whether this is enough"), failures=work.failures
        )
        answer = await self._data(_REFLECT, ReflectAnswer, tail, shared=shared, left_out=material.left_out)
        dimensions = Dimensions.from_json({name: getattr(answer, name) for name in Dimensions.model_fields})
        fresh = [query for query in dict.fromkeys(answer.next_queries) if query not in work.asked]
        is_enough = (
            dimensions.overall >= _SUFFICIENT and answer.coverage >= _SUFFICIENT_COVERAGE and bool(work.evidence)
        )
        return Reflection(
            is_sufficient=is_enough,
            overall_score=dimensions.overall,
            dimensions=dimensions,
            gaps=() if is_enough else tuple(answer.gaps[:_MOST_GAPS]),
            next_queries=tuple(SearchQuery(query=query, goal=work.section.title) for query in fresh),
            reasoning=answer.reasoning,
        )

    def _section(self, work: SectionWork, task: str, step: Step) -> tuple[list[str], Material]:
        """Return what the prompts of a section share, passages in the order in which they came."""
        head = [self._brief(work.brief), self._section_head(work.section)]
        # The tail's recitations are short; a prompt of their size is kept free for them.
        room = self._context.room(*head, task, task, max_tokens=step.max_tokens)
        material = show_evidence(work.evidence, room=room)
        return [*head, *material.blocks], material


def _steps(work: SectionWork, now: str) -> Sequence[tuple[str, bool]]:
    """Return what a section has done and what it does now."""
    done = [(f"search for: {query}", True) for query in work.asked]
    return [*done, (now, False), ("write the section", False)]


def _title(document: Document) -> str:
    """Return a document's title between marks; where orders were set aside in its text, the mark says so."""
    warning = WARNING if PROMPT_INJECTION_FOUND in document.warnings else ""
    return fenced(SOURCE_TAG, f"Title: {document.title[:_MOST_TITLE_CHARS]}", warning=warning)


def _fenced_synthesis(work: SectionWork) -> str:
    """Return what is known so far between marks: where rules brought it together, it is quoted."""
    return fenced(SOURCE_TAG, shortened(work.synthesis, _MOST_SYNTHESIS)) if work.synthesis else NONE


def _sources_in_words(work: SectionWork) -> str:
    """Return how many sources there are and how old, which no passage says."""
    dated = sorted(days[1].year for source in work.sources if (days := days_of(source.published)))
    sites = len({source.host for source in work.sources if source.host})
    count = f"{len(work.sources)} documents, of {sites} sites on the web" if sites else f"{len(work.sources)} documents"
    years = f"dated {dated[0]} to {dated[-1]}" if dated else ""
    undated = f"{len(work.sources) - len(dated)} without a date" if len(dated) < len(work.sources) else ""
    return "; ".join(filter(None, (count, years, undated))) if work.sources else NONE


def _how_many_fit(blocks: Sequence[str], room: int) -> int:
    taken = 0
    for count, block in enumerate(blocks):
        taken += tokens_at_most(block)
        if taken > room:
            return count
    return len(blocks)


def _findings(answer: ExtractAnswer, candidates: Sequence[Finding], outline: Sequence[str]) -> Iterator[Finding]:
    """Yield what was chosen, with its section; a passage for a section that does not exist goes to the first."""
    valid = [(number, place) for place, number in enumerate(answer.passages) if 1 <= number <= len(candidates)]
    first = dict(reversed(valid))
    for number, place in list(reversed(first.items()))[:_MOST_FINDINGS]:
        wanted = answer.sections[place] if place < len(answer.sections) else 1
        section = outline[wanted - 1 if 1 <= wanted <= len(outline) else 0]
        relevance = answer.relevance[place] if place < len(answer.relevance) else _USUAL_RELEVANCE
        finding = candidates[number - 1]
        told = answer.findings[place] if place < len(answer.findings) else ""
        # A row's finding is the row itself, cell by cell.
        text = told if told and not finding.header else finding.finding
        score = round(_SCORE_OF_TEN * min(relevance, 10) / 10, 6)
        yield finding.model_copy(update={"finding": text, "score": score, "section": section})
