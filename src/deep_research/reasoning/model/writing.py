"""What a model is asked to write and to judge: sections, analysis, the ends of the report, single sentences."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from deep_research.evidence.passage import Evidence
from deep_research.llm.port import ModelReply
from deep_research.messages.words import words
from deep_research.reasoning.model.answers import (
    ChartsAnswer,
    CodeAnswer,
    ConcludeAnswer,
    JudgeAnswer,
    RecallAnswer,
    ReviseAnswer,
    read_answer,
)
from deep_research.reasoning.model.critique import read_critique
from deep_research.reasoning.model.material import fit, show_evidence
from deep_research.reasoning.model.prompting import DRAFT_TAG, NOTES_TAG, SOURCE_TAG, fenced
from deep_research.reasoning.model.prose import LABEL, Prose, is_in_language, read_prose
from deep_research.reasoning.model.repairing import ask
from deep_research.reasoning.model.step import LANGUAGES, ModelSteps, Step, listed
from deep_research.reasoning.rules.strength import in_brief
from deep_research.reasoning.values import (
    Analysis,
    Brief,
    BrokenChart,
    ChartSpec,
    Conclusion,
    Draft,
    Findings,
    Judgement,
    SectionWork,
    Support,
)
from deep_research.report.paragraph import Paragraph, Sentence, note
from deep_research.request import Language, ReportLength

_ANALYZE = Step("analyze", "thinking", 1_600)
_CHARTS = Step("plan_charts", "task", 400)
_REPAIR_CHART = Step("repair_chart", "task", 2_000)
_DRAFT = Step("draft", "thinking", 2_400)
_JUDGE = Step("judge_support", "task", 300)
_REVISE = Step("revise", "task", 250)
_CONCLUDE = Step("conclude", "thinking", 1_600)
_RECALL = Step("recall", "thinking", 500)
_MOST_CHARTS = 5
_LIKE_A_SOURCE = re.compile(r"\[[A-Z]?\d+(?:,\s*[A-Z]?\d+)*\]|(?:https?://|www\.)\S+")
_SECTION_WORDS: dict[ReportLength, int] = {"short": 150, "standard": 300, "long": 500}
_ERROR_CHARS = 2_000


class WritingByModel(ModelSteps):
    """The acts on everything that was found, and those that make the report."""

    async def analyze(self, findings: Findings) -> Analysis:
        """Judge the findings from sides that fit the question; how strong the evidence is, code has counted."""
        evidence = [piece for work in findings.sections for piece in work.evidence]
        counted = await self._stand_in.analyze(findings)
        if not evidence:
            return counted
        closing = words(findings.brief.language)("report.changes")
        task = self._prompts.fill(
            "analyze",
            language=LANGUAGES[findings.brief.language],
            strength=fenced(NOTES_TAG, listed([in_brief(row) for row in findings.strength])),
            closing=closing,
        )
        steps = [(f"research: {work.section.title}", True) for work in findings.sections]
        prose = await self._prose(
            _ANALYZE,
            self._context.tail("analyze", task, steps=[*steps, ("judge the whole", False)]),
            [self._brief(findings.brief)],
            evidence,
            section="analysis",
            language=findings.brief.language,
            reader=partial(read_critique, closing=closing),
        )
        told = [paragraph for paragraph in prose.paragraphs if paragraph.kind != "note"]
        notes = [
            each.text for paragraph in prose.paragraphs if paragraph.kind == "note" for each in paragraph.sentences
        ]
        sides, ends = ([each for each in told if (each.lead == closing) is is_end] for is_end in (False, True))
        changes = tuple(notes) or counted.changes
        return Analysis(paragraphs=(*sides, *counted.paragraphs, *ends), changes=changes)

    async def plan_charts(self, findings: Findings) -> tuple[ChartSpec, ...]:
        """Let the model choose among series that really stand in the evidence; it gives no data of its own."""
        series = await self._stand_in.plan_charts(findings)
        if not series:
            return ()
        task = self._prompts.fill(
            "plan_charts",
            series="\n\n".join(
                fenced(SOURCE_TAG, f"{spec.title} ({spec.chart_type})", id=str(number))
                for number, spec in enumerate(series, start=1)
            ),
            count=str(_MOST_CHARTS),
            language=LANGUAGES[findings.brief.language],
            format=ChartsAnswer.in_words(),
        )
        tail = self._context.tail("plan_charts", task)
        answer = await self._data(_CHARTS, ChartsAnswer, tail, shared=[self._brief(findings.brief)])
        chosen = []
        for place, number in enumerate(dict.fromkeys(answer.charts)):
            if 1 <= number <= len(series):
                title = answer.titles[place] if place < len(answer.titles) else series[number - 1].title
                chosen.append(series[number - 1].model_copy(update={"title": title}))
        return tuple(chosen[:_MOST_CHARTS])

    async def repair_chart(self, broken: BrokenChart) -> ChartSpec:
        """Have the chart's code mended."""
        task = self._prompts.fill(
            "repair_chart",
            code=fenced(DRAFT_TAG, broken.spec.python_code),
            error=fenced(SOURCE_TAG, broken.error[-_ERROR_CHARS:]),
            format=CodeAnswer.in_words(),
        )
        answer = await self._data(_REPAIR_CHART, CodeAnswer, self._context.tail("repair_chart", task))
        return broken.spec.model_copy(update={"python_code": answer.python_code})

    async def draft(self, work: SectionWork) -> tuple[Paragraph, ...]:
        """Write the section; where it was written before, only what its figures left out."""
        language = LANGUAGES[work.brief.language]
        task = self._prompts.fill("draft", language=language, length=str(_SECTION_WORDS[work.brief.length]))
        head = [self._brief(work.brief), self._section_head(work.section)]
        steps = [(f"search for: {query}", True) for query in work.asked]
        prose = await self._prose(
            _DRAFT,
            self._context.tail("draft", task, steps=[*steps, ("write the section", False)]),
            head,
            work.evidence,
            section=work.section.title,
            language=work.brief.language,
            before=work,
        )
        return prose.paragraphs

    async def _prose(
        self,
        step: Step,
        tail: str,
        head: Sequence[str],
        evidence: Sequence[Evidence],
        *,
        section: str,
        language: Language,
        before: SectionWork | None = None,
        reader: Callable[..., Prose] = read_prose,
    ) -> Prose:
        """Return what the model writes about evidence, each sentence with what it rests on."""
        # The second offer repeats what was written: its room is kept free.
        room = self._context.room(*head, tail, max_tokens=2 * step.max_tokens)
        material = show_evidence(evidence, room=room)
        request = self._context.request(
            step.act,
            tail,
            shared=[*head, *material.blocks],
            role=step.role,
            max_tokens=step.max_tokens,
            left_out=material.left_out,
        )
        if before and before.offered:
            wish = self._offer(before, material.labels)
            request = request.model_copy(update={"prompt": f"{request.prompt}\n\n{wish}"})

        def read(reply: ModelReply) -> tuple[Prose | None, str]:
            is_cut = reply.stop in ("length", "loop")
            prose = reader(reply.text, material.labels, section=section, language=language, is_cut=is_cut)
            is_usable = prose.cited and is_in_language(reply.text, language)
            return prose if is_usable else None, prose.problem

        prose = await ask(self._model, request, read, prompts=self._prompts)
        headers = {piece.id: piece.header for piece in evidence if piece.header}
        return prose.resting_on(headers)

    def _offer(self, before: SectionWork, labels: dict[str, str]) -> str:
        """Return what was written, and the wish for what it left out."""
        told = "\n\n".join(_marked(paragraph, labels) for paragraph in before.told)
        missed = [label for label, id_ in labels.items() if id_ in before.offered]
        return self._prompts.fill(
            "draft_more",
            told=fenced(DRAFT_TAG, told),
            labels=", ".join(missed),
            language=LANGUAGES[before.brief.language],
        )

    async def judge_support(self, support: Support) -> Judgement:
        """Judge a sentence by its passages alone."""
        task = self._prompts.fill(
            "judge_support",
            sentence=fenced(DRAFT_TAG, support.sentence.text),
            passages=self._passages(support),
            format=JudgeAnswer.in_words(),
        )
        answer = await self._data(_JUDGE, JudgeAnswer, self._context.tail("judge_support", task))
        return Judgement(verdict=answer.verdict, span=answer.span.strip(), reason=answer.reason)

    async def revise(self, support: Support) -> Sentence | None:
        """Have a sentence cut down; whether only deletions and hedges were made is checked by whoever asks."""
        verdict = support.sentence.verdict
        task = self._prompts.fill(
            "revise",
            sentence=fenced(DRAFT_TAG, support.sentence.text),
            passages=self._passages(support),
            reason=fenced(NOTES_TAG, (verdict.reason or verdict.kind) if verdict else "the passages do not carry it"),
            format=ReviseAnswer.in_words(),
        )
        answer = await self._data(_REVISE, ReviseAnswer, self._context.tail("revise", task))
        text = " ".join(answer.text.split())
        return support.sentence.model_copy(update={"text": text, "verdict": None}) if text else None

    def _passages(self, support: Support) -> str:
        room = self._context.room(support.sentence.text, max_tokens=2 * _JUDGE.max_tokens)
        return show_evidence(support.passages, room=room).text

    async def recall(self, brief: Brief) -> str:
        """Tell what the model knows by itself; an address or a number in brackets in it would look like a source."""
        task = self._prompts.fill("recall", language=LANGUAGES[brief.language], format=RecallAnswer.in_words())
        answer = await self._data(
            _RECALL, RecallAnswer, self._context.tail("recall", task), shared=[self._brief(brief)]
        )
        return " ".join(_LIKE_A_SOURCE.sub("", answer.text).split())

    async def conclude(self, draft: Draft) -> Conclusion:
        """Write the ends of the report from its checked body; an empty body is the rules' matter."""
        if not draft.paragraphs:
            return await self._stand_in.conclude(draft)
        cited = dict.fromkeys(id_ for paragraph in draft.paragraphs for id_ in paragraph.cite_ids)
        labels = {f"{LABEL}{number}": id_ for number, id_ in enumerate(cited, start=1)}
        language = draft.brief.language
        told = [paragraph for paragraph in draft.paragraphs if paragraph.kind != "caption"]
        body = "\n\n".join(_marked(paragraph, labels) for paragraph in told)
        brief = self._brief(draft.brief)
        room = self._context.room(brief, self._ends(draft, ""), max_tokens=_CONCLUDE.max_tokens)
        shown, is_cut = fit(body, room)
        request = self._context.request(
            "conclude",
            self._context.tail("conclude", self._ends(draft, fenced(DRAFT_TAG, shown))),
            shared=[brief],
            role=_CONCLUDE.role,
            max_tokens=_CONCLUDE.max_tokens,
            answer_schema=ConcludeAnswer.schema_for_model(),
            left_out=int(is_cut),
        )

        def read(reply: ModelReply) -> tuple[Conclusion | None, str]:
            answer, problem = read_answer(ConcludeAnswer, reply.text)
            if answer is None:
                return None, problem
            abstract = read_prose(answer.abstract, labels, section="abstract", language=language)
            closing = read_prose(answer.conclusion, labels, section="conclusion", language=language)
            ends = Conclusion(
                is_answered=answer.answered,
                unanswered=tuple(answer.unanswered),
                abstract=abstract.paragraphs,
                conclusion=closing.paragraphs,
                outlook=tuple(note("outlook", text) for text in [answer.outlook.strip()] if text),
            )
            own = [answer.abstract, answer.conclusion, answer.outlook]
            problem = abstract.problem or (
                "" if is_in_language("\n".join(own), language) else "it is in the wrong language"
            )
            is_usable = abstract.cited and all(is_in_language(text, language) for text in own)
            return ends if is_usable else None, problem or (
                "" if is_usable else "parts of it are in the wrong language"
            )

        return await ask(self._model, request, read, prompts=self._prompts)

    def _ends(self, draft: Draft, body: str) -> str:
        return self._prompts.fill(
            "report",
            body=body,
            gaps=listed(draft.gaps),
            language=LANGUAGES[draft.brief.language],
            unit="words" if draft.brief.language == "en" else "characters",
            format=ConcludeAnswer.in_words(),
        )


def _marked(paragraph: Paragraph, labels: dict[str, str]) -> str:
    """Return a paragraph with the marks of its evidence after each sentence."""
    told = []
    for sentence in paragraph.sentences:
        names = [label for label, id_ in labels.items() if id_ in sentence.evidence]
        told.append(f"{sentence.text} [{', '.join(names)}]" if names else sentence.text)
    return " ".join(told)
