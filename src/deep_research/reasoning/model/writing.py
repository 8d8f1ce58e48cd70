"""What a model is asked to write and to judge: sections, analysis, the ends of the report, single sentences."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from deep_research.evidence.passage import Evidence
from deep_research.llm.port import ModelReply
from deep_research.messages.words import words_in
from deep_research.reasoning.model.acts import LANGUAGES, ModelActs, listed, searched
from deep_research.reasoning.model.answers import (
    ChartsAnswer,
    CodeAnswer,
    ConcludeAnswer,
    JudgeAnswer,
    RecallAnswer,
    ReviseAnswer,
    item_at,
    read_answer,
)
from deep_research.reasoning.model.prompting import (
    DRAFT_TAG,
    LABEL,
    NOTES_TAG,
    SOURCE_TAG,
    Act,
    Steps,
    fenced,
    fit,
    numbered,
    show_evidence,
)
from deep_research.reasoning.model.prose import Prose, is_in_language, read_critique, read_prose
from deep_research.reasoning.rules.weighing.strength import in_brief
from deep_research.reasoning.values import (
    Analysis,
    Brief,
    BrokenChart,
    ChartSpec,
    Conclusion,
    Draft,
    Findings,
    Judgement,
    Paragraphs,
    SectionWork,
    Support,
)
from deep_research.report.paragraph import Paragraph, Sentence, note
from deep_research.request import Language, ReportLength

_ANALYZE = Act("analyze", "thinking", 1_600)
_CHARTS = Act("plan_charts", "task", 400)
_REPAIR_CHART = Act("repair_chart", "task", 2_000)
_DRAFT = Act("draft", "thinking", 2_400)
_JUDGE = Act("judge_support", "task", 300)
_REVISE = Act("revise", "task", 250)
_CONCLUDE = Act("conclude", "thinking", 1_600)
_RECALL = Act("recall", "thinking", 500)
_MAX_CHARTS = 5
_LIKE_A_SOURCE = re.compile(r"\[[A-Z]?\d+(?:,\s*[A-Z]?\d+)*\]|(?:https?://|www\.)\S+")
_SECTION_WORDS: dict[ReportLength, int] = {"short": 150, "standard": 300, "long": 500}
_ERROR_CHARS = 2_000


class WritingByModel(ModelActs):
    """The acts on everything that was found, and those that make the report."""

    async def analyze(self, findings: Findings) -> Analysis:
        """Judge the findings from sides that fit the question; how strong the evidence is, code has counted."""
        evidence = [piece for work in findings.sections for piece in work.evidence]
        counted = await self._fallback.analyze(findings)
        if not evidence:
            return counted
        closing = words_in(findings.brief.language)("report.changes")
        task = self._prompts.fill(
            "analyze",
            language=LANGUAGES[findings.brief.language],
            strength=fenced(NOTES_TAG, listed([in_brief(row) for row in findings.strength])),
            closing=closing,
        )
        prose = await self._prose(
            _ANALYZE,
            task,
            [*((f"research: {work.section.title}", True) for work in findings.sections), ("judge the whole", False)],
            [self._brief(findings.brief)],
            evidence,
            section="analysis",
            language=findings.brief.language,
            reader=partial(read_critique, closing=closing),
        )
        written = [paragraph for paragraph in prose.paragraphs if paragraph.kind != "note"]
        notes = [
            each.text for paragraph in prose.paragraphs if paragraph.kind == "note" for each in paragraph.sentences
        ]
        # What would change the conclusion stands last.
        ordered = sorted((*written, *counted.paragraphs), key=lambda paragraph: paragraph.lead == closing)
        return Analysis(paragraphs=tuple(ordered), changes=tuple(notes) or counted.changes)

    async def plan_charts(self, findings: Findings) -> tuple[ChartSpec, ...]:
        """Let the model choose among series that really stand in the evidence; it gives no data of its own."""
        series = await self._fallback.plan_charts(findings)
        if not series:
            return ()
        task = self._task(
            "plan_charts",
            ChartsAnswer,
            series="\n\n".join(numbered([f"{spec.title} ({spec.chart_type})" for spec in series])),
            count=str(_MAX_CHARTS),
            language=LANGUAGES[findings.brief.language],
        )
        answer = await self._data(_CHARTS, ChartsAnswer, task, shared=[self._brief(findings.brief)])
        chosen = []
        for place, number in enumerate(dict.fromkeys(answer.charts)):
            if 1 <= number <= len(series):
                spec = series[number - 1]
                chosen.append(spec.model_copy(update={"title": item_at(answer.titles, place, spec.title)}))
        return tuple(chosen[:_MAX_CHARTS])

    async def repair_chart(self, broken: BrokenChart) -> ChartSpec:
        task = self._task(
            "repair_chart",
            CodeAnswer,
            code=fenced(DRAFT_TAG, broken.spec.python_code),
            error=fenced(SOURCE_TAG, broken.error[-_ERROR_CHARS:]),
        )
        answer = await self._data(_REPAIR_CHART, CodeAnswer, task)
        return broken.spec.model_copy(update={"python_code": answer.python_code})

    async def draft(self, work: SectionWork) -> Paragraphs:
        """Write the section; where it was written before, only what its figures left out."""
        length = str(_SECTION_WORDS[work.brief.length])
        prose = await self._prose(
            _DRAFT,
            self._prompts.fill("draft", language=LANGUAGES[work.brief.language], length=length),
            searched(work.asked, "write the section"),
            [self._brief(work.brief), self._section_head(work.section)],
            work.evidence,
            section=work.section.title,
            language=work.brief.language,
            before=work if work.offered else None,
        )
        return prose.paragraphs

    async def _prose(
        self,
        act: Act,
        task: str,
        steps: Steps,
        head: Sequence[str],
        evidence: Sequence[Evidence],
        *,
        section: str,
        language: Language,
        before: SectionWork | None = None,
        reader: Callable[..., Prose] = read_prose,
    ) -> Prose:
        """Return what the model writes about evidence, each sentence with what it rests on."""
        tail = self._context.tail(act, task, steps=steps)
        # The second offer repeats what was written: its room is kept free.
        material = show_evidence(evidence, room=self._context.room(*head, tail, max_tokens=2 * act.max_tokens))
        request = self._context.request(act, tail, shared=[*head, *material.blocks], left_out=material.left_out)
        if before:
            # What was written, and the request for what it left out.
            offer = self._prompts.fill(
                "draft_more",
                told=fenced(
                    DRAFT_TAG, "\n\n".join(_marked(paragraph, material.labels) for paragraph in before.written)
                ),
                labels=", ".join(label for label, id_ in material.labels.items() if id_ in before.offered),
                language=LANGUAGES[language],
            )
            request = request.model_copy(update={"prompt": f"{request.prompt}\n\n{offer}"})

        def read(reply: ModelReply) -> tuple[Prose | None, str]:
            is_cut = reply.stop in ("length", "loop")
            prose = reader(reply.text, material.labels, section=section, language=language, is_cut=is_cut)
            is_usable = prose.cited and is_in_language(reply.text, language)
            return prose if is_usable else None, prose.problem

        prose = await self._ask(request, read)
        return prose.resting_on({piece.id: piece.header for piece in evidence if piece.header})

    async def judge_support(self, support: Support) -> Judgement:
        sentence = fenced(DRAFT_TAG, support.sentence.text)
        task = self._task("judge_support", JudgeAnswer, sentence=sentence, passages=self._passages(support))
        answer = await self._data(_JUDGE, JudgeAnswer, task)
        return Judgement(verdict=answer.verdict, span=answer.span.strip(), reason=answer.reason)

    async def revise(self, support: Support) -> Sentence | None:
        """Have a sentence cut down; whether only deletions and hedges were made is checked by whoever asks."""
        verdict = support.sentence.verdict
        task = self._task(
            "revise",
            ReviseAnswer,
            sentence=fenced(DRAFT_TAG, support.sentence.text),
            passages=self._passages(support),
            reason=fenced(NOTES_TAG, (verdict.reason or verdict.kind) if verdict else "the passages do not carry it"),
        )
        answer = await self._data(_REVISE, ReviseAnswer, task)
        text = " ".join(answer.text.split())
        return support.sentence.model_copy(update={"text": text, "verdict": None}) if text else None

    def _passages(self, support: Support) -> str:
        room = self._context.room(support.sentence.text, max_tokens=2 * _JUDGE.max_tokens)
        return "\n\n".join(show_evidence(support.passages, room=room).blocks)

    async def recall(self, brief: Brief) -> str:
        """Tell what the model knows by itself; an address or a number in brackets in it would look like a source."""
        task = self._task("recall", RecallAnswer, language=LANGUAGES[brief.language])
        answer = await self._data(_RECALL, RecallAnswer, task, shared=[self._brief(brief)])
        return " ".join(_LIKE_A_SOURCE.sub("", answer.text).split())

    async def conclude(self, draft: Draft) -> Conclusion:
        """Write the ends of the report from its checked body; an empty body is the rules' matter."""
        if not draft.paragraphs:
            return await self._fallback.conclude(draft)
        cited = dict.fromkeys(id_ for paragraph in draft.paragraphs for id_ in paragraph.cite_ids)
        labels = {f"{LABEL}{number}": id_ for number, id_ in enumerate(cited, start=1)}
        language = draft.brief.language
        body = "\n\n".join(_marked(each, labels) for each in draft.paragraphs if each.kind != "caption")
        brief = self._brief(draft.brief)
        room = self._context.room(brief, self._ends_task(draft, ""), max_tokens=_CONCLUDE.max_tokens)
        shown, is_cut = fit(body, room)
        request = self._context.request(
            _CONCLUDE,
            self._context.tail(_CONCLUDE, self._ends_task(draft, fenced(DRAFT_TAG, shown))),
            shared=[brief],
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
                is_answered=answer.answered or not draft.brief.analysis.is_precise,
                unanswered=tuple(answer.unanswered),
                abstract=abstract.paragraphs,
                conclusion=closing.paragraphs,
                outlook=tuple(note("outlook", text) for text in [answer.outlook.strip()] if text),
            )
            own = [answer.abstract, answer.conclusion, answer.outlook]
            problem = abstract.problem
            if not problem and not is_in_language("\n".join(own), language):
                problem = "it is in the wrong language"
            if abstract.cited and all(is_in_language(text, language) for text in own):
                return ends, problem
            return None, problem or "parts of it are in the wrong language"

        return await self._ask(request, read)

    def _ends_task(self, draft: Draft, body: str) -> str:
        return self._task(
            "report",
            ConcludeAnswer,
            body=body,
            gaps=listed(draft.gaps),
            language=LANGUAGES[draft.brief.language],
            unit="words" if draft.brief.language == "en" else "characters",
        )


def _marked(paragraph: Paragraph, labels: dict[str, str]) -> str:
    """Return a paragraph with the marks of its evidence after each sentence."""
    marked = []
    for sentence in paragraph.sentences:
        names = ", ".join(label for label, id_ in labels.items() if id_ in sentence.evidence)
        marked.append(f"{sentence.text} [{names}]" if names else sentence.text)
    return " ".join(marked)
