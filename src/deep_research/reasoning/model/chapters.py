"""What a model is asked about a long report beside its text: which chapters it has, and what they come to."""

import re
from collections.abc import Sequence

from deep_research.llm.port import ModelReply
from deep_research.reasoning.model.acts import NONE, ModelActs, listed
from deep_research.reasoning.model.answers import OutlineAnswer, padded
from deep_research.reasoning.model.draft_text import shown_text
from deep_research.reasoning.model.prompting import (
    DRAFT_TAG,
    NOTES_TAG,
    SOURCE_TAG,
    Act,
    fenced,
    fit,
)
from deep_research.reasoning.model.prose import ParsedProse
from deep_research.reasoning.model.reading import lines_of
from deep_research.reasoning.model.writing import answer_form, counted_in, labels_of, length_in_words, read_prose
from deep_research.reasoning.values import ChapterPlan, Draft, Findings, Paragraphs
from deep_research.text.messages.language import language_name
from deep_research.text.messages.words import words_in

_OUTLINE = Act("outline", "thinking", 2_500)
_ANSWER = Act("answer", "thinking", 1_500)
_MAX_ACCOUNT = 1_600
# A chapter has about so many words.
WORDS_A_CHAPTER = 800
# The answer of a long report has so many words, or twice as many characters, at most.
_MAX_ANSWER = 280
_FACT_CHARS = 120
_NUMBERS = re.compile(r"\d+")


class ChaptersByModel(ModelActs):
    """The acts before and after the chapters of a long report are written."""

    async def outline(self, findings: Findings) -> tuple[ChapterPlan, ...]:
        """Have the chapters named, each with the documents that it is written from."""
        language = findings.brief.language
        counts: dict[str, int] = {}
        for piece in findings.evidence:
            counts[piece.document] = counts.get(piece.document, 0) + 1
        contexts = {piece.document: findings.contexts[piece.id] for piece in findings.evidence}
        lines = [
            f"{number} {where.title} ({counts[document]}){' — ' if where.facts else ''}{where.facts[:_FACT_CHARS]}"
            for number, (document, where) in enumerate(contexts.items(), start=1)
        ]
        task = self._task(
            "outline",
            OutlineAnswer,
            documents=fenced(SOURCE_TAG, "\n".join(lines)),
            entries=fenced(NOTES_TAG, "\n".join(lines_of(findings.entries))) if findings.entries else NONE,
            account=fenced(SOURCE_TAG, fit(findings.synthesis, _MAX_ACCOUNT)[0]) if findings.synthesis else NONE,
            sections=listed(findings.plan.titles),
            titles="Its chapters are exactly the planned sections, in their order." if findings.fixed_titles else "",
            count=f"{max(findings.words // WORDS_A_CHAPTER - 1, 2)} to {findings.words // WORDS_A_CHAPTER + 1}",
            length=length_in_words(findings.words, language),
            language=language_name(language),
        )
        ids = list(contexts)

        def problem_of(answer: OutlineAnswer) -> str:
            if findings.fixed_titles not in ((), tuple(answer.titles)):
                return f"its titles must be, in this order: {'; '.join(findings.fixed_titles)}"
            return (
                "" if any(each.documents for each in _chapters(answer, ids, findings)) else "no chapter has a document"
            )

        answer = await self._data(
            _OUTLINE, OutlineAnswer, task, shared=[self._brief(findings.brief)], problem_of=problem_of
        )
        return tuple(chapter for chapter in _chapters(answer, ids, findings) if chapter.documents)

    async def answer(self, draft: Draft) -> Paragraphs:
        """Have the answer written that the chapters lead to, from their sentences and marks."""
        language = draft.brief.language
        words, unit = words_in(language), counted_in(language)
        labels = labels_of(draft.evidence)
        limit = f"{_MAX_ANSWER * (1 if unit == 'words' else 2)} {unit}"
        own = self.prompts.fill(
            "answer",
            text=fenced(DRAFT_TAG, shown_text(draft.paragraphs, labels)),
            missing=listed(draft.gaps),
            answer=answer_form(draft.brief.analysis.kind, "its first paragraph"),
            limit=limit,
            open=words("report.gaps"),
            language=language_name(language),
        )
        tail = self.context.tail(_ANSWER, f"{own}\n\n{self.prompts.fill('marks')}")
        request = self.context.request(_ANSWER, tail, shared=[self._brief(draft.brief)])

        def read(reply: ModelReply) -> tuple[ParsedProse | None, str]:
            prose = read_prose(reply, labels, language, ())
            return prose if prose.cited else None, prose.problem

        return (await self._ask(request, read)).paragraphs


def _chapters(answer: OutlineAnswer, ids: list[str], findings: Findings) -> list[ChapterPlan]:
    """Return the chapters that an answer names."""
    columns = map(padded, (answer.settles, answer.columns, answer.documents, answer.entries, answer.words))
    names = [entry.name for entry in findings.entries]
    return [
        ChapterPlan(
            title=title,
            settles=settles,
            columns=head,
            documents=_numbered_in(documents, ids),
            entries=_numbered_in(entries, names),
            sought=sought,
        )
        for title, settles, head, documents, entries, sought in zip(answer.titles, *columns, strict=False)
    ]


def _numbered_in(answer: str, listed: Sequence[str]) -> tuple[str, ...]:
    """Return what an answer names by its numbers, from 1, each once."""
    numbers = dict.fromkeys(int(number) for number in _NUMBERS.findall(answer))
    return tuple(listed[number - 1] for number in numbers if 1 <= number <= len(listed))
