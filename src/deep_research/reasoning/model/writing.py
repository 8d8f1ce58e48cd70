"""What a model is asked to write and to judge: the report, its sentences, and what to mend of it."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import get_args

from deep_research.errors import UnusableAnswer
from deep_research.llm.port import ModelReply, ModelRequest
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.acts import NONE, ModelActs, listed
from deep_research.reasoning.model.answers import (
    ChartsAnswer,
    CodeAnswer,
    EditAnswer,
    HeldAnswer,
    JudgeAnswer,
    ProgramsAnswer,
    RecallAnswer,
    padded,
)
from deep_research.reasoning.model.draft_text import columns_of, is_to_mend, marked, reason_against, shown_text
from deep_research.reasoning.model.planted import planted_statements
from deep_research.reasoning.model.prompting import (
    ANSWER_SHARE,
    DRAFT_TAG,
    LABEL,
    NOTES_TAG,
    SOURCE_TAG,
    Act,
    fenced,
    fit,
    numbered,
    show_evidence,
)
from deep_research.reasoning.model.prose import ParsedProse, is_in_language, read_report, read_row, read_sentences
from deep_research.reasoning.model.reading import MOST_READ
from deep_research.reasoning.rules.question.analysis import is_short_answer
from deep_research.reasoning.rules.quoting.drafting import MAX_ABSTRACT_LENGTH
from deep_research.reasoning.rules.weighing.charts import MAX_CHARTS, chart_of, possible_series
from deep_research.reasoning.rules.weighing.connections import connections_of, in_words
from deep_research.reasoning.rules.weighing.series import joined_series
from deep_research.reasoning.rules.weighing.strength import in_brief
from deep_research.reasoning.values import (
    AbsenceCheck,
    Analysis,
    Brief,
    BrokenChart,
    ChartSpec,
    Conclusion,
    Context,
    Draft,
    Findings,
    HeldStretch,
    Judgement,
    Paragraphs,
    QuestionKind,
    SentenceEdit,
    Stretch,
    Support,
)
from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import ChartType
from deep_research.report.paragraph import Sentence, VerdictKind, numbered_sentences
from deep_research.request import Language
from deep_research.text.in_thread import in_thread
from deep_research.text.messages.language import language_name
from deep_research.text.messages.words import Words, words_in
from deep_research.value import canonical_json

_CHARTS = Act("plan_charts", "task", 400)
_PROGRAMS = Act("plan_charts", "task", 2_500)
_REPAIR_CHART = Act("repair_chart", "task", 2_000)
_DRAFT, _CHAPTER = Act("draft", "thinking", 5_000), Act("draft", "thinking", 3_000)
_JUDGE = Act("judge", "judge", 2_600)
_FIND_HELD = Act("find_held", "task", 600)
_EDIT = Act("edit", "thinking", 2_000)
_RECALL = Act("recall", "thinking", 500)
# Series that a model chooses among, how long its titles may be, and tokens of what is known about each section.
_MAX_SERIES, _MAX_TITLE_CHARS, _MAX_KNOWN = 12, 120, 1_200
_DIGITS = re.compile(r"\d+").findall
# So many tokens a word of a report takes, with its marks; Chinese says it in two characters.
_TOKENS_A_WORD = 3
# Chinese says in so many characters what English says in a word.
CHARACTERS_A_WORD = 1.8
# A name in Latin letters is no longer than a character.
_CHARACTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*|[^\W_]")
_LENGTH_TOLERANCE = 0.12
# A critical look from fewer sides is none.
_MIN_PERSPECTIVES = 2
# So much of the window is filled with passages, and no more than that: more is read less carefully, and paid for.
_MATERIAL_SHARE, _MAX_MATERIAL, _MAX_OF_CHAPTER = 0.75, 48_000, 22_000
# Of each document that a chapter is written from, so many passages at least are shown.
_OF_EACH = 4
# More sentences than this a judge begins to skip.
_JUDGED_AT_ONCE = 30
# So many false statements are planted among them: about a fifth of what is judged, and one among few.
_MAX_PLANTED, _JUDGED_FOR_ONE = 2, 4
# So much of the window is filled with stretches that could hold what is called absent, and so many tokens for each.
_SEARCHED_SHARE, _SEARCHED_FOR_ONE = 0.45, 4_000
_LIKE_A_SOURCE = re.compile(r"\[[A-Z]?\d+(?:,\s*[A-Z]?\d+)*\]|(?:https?://|www\.)\S+")
_LABELS = re.compile(rf"{LABEL}\d+")
_ERROR_CHARS = 2_000
# What the marks around a stretch take.
_FENCE_TOKENS = 16
_VERDICTS: dict[str, VerdictKind] = {
    kind: kind for kind in ("supported", "partly", "contradicted", "not_found", "follows", "goes_beyond", "contradicts")
}
# What the first sentences of a report are, by the kind of answer that is asked for, and what comes after them.
_ANSWERS: dict[QuestionKind, str] = {
    "fact": "the one thing asked for, in the first sentence, then what it rests on",
    "yes_no": "yes or no in the first words, then why, and under which condition it would be otherwise",
    "who_when_where": "the one thing asked for, in the first sentence, then what it rests on",
    "list": "how many there are, then the list",
    "extreme": "the one thing asked for, in the first sentence, then the next ones",
    "trend": "the direction and the figures at both ends, then what changed on the way",
    "comparison": "which is better for what, and by how much",
    "reason": "the main cause, then the others in the order of their weight",
    "procedure": "the steps in one sentence",
    "overview": "what it comes to, in {opening}",
    "advice": "what to do, as one decision with its reasons and the facts that decide it, in {opening}",
    "open": "what is known, as one statement with the figures that matter most, in {opening}",
}
_STEPS = (
    "a numbered list of four to seven recommendations, the most valuable first. Each is one item: what to do, in bold,"
    " ending with a full stop and without a mark; then, in two to four sentences, the fact it rests on and why it"
    ' matters; how, who and by when, counted from the decision ("within a year") where neither the question nor a'
    " passage sets dates still ahead; and how success is seen: by a test that anyone can run, or a figure of the same"
    " definition with a threshold and why that one. Where the question names a period, place each step within it, to"
    " its end. Word what you propose yourself as a proposal."
)
_WRITTEN = (
    "The other chapters as they are written, each sentence with its kind, and its mark, which may be cited again:"
)
_LAST = (
    "Where it says what to do, it rests on the other chapters: what they found necessary has its step, a step stands"
    " after those it needs, and what they call doubtful or unsettled is no step. First it ranks the options that the"
    " asker has, in a table where there are several: what each costs, gives and risks, with one or two calculations"
    " that carry the order, and why the others come after. What the sources ask of somebody in the asker's place (must,"
    " should, never) is in the steps. It ends with {steps} No table tells the steps again."
)
_FORMS: dict[QuestionKind, str] = {
    "list": "The list is a table with every item that meets the condition.",
    "trend": "The figures over time are a table.",
    "comparison": "The comparison is a table with one column for each thing compared.",
    "procedure": "The steps are a numbered list.",
    "advice": (
        "What is asked besides advice comes next, in the question's order, in a table or a few lines. Then, under a"
        " heading, {steps}"
    ),
    "open": "The findings follow in the order of the question; what to do with them comes last, if it helps.",
}
# How long the answer at the start is.
_OPENING = "100 to 180"
_CLOSING = (
    "Then, only where it says something new, `## {conclusion}`: two to four sentences with insights that only the"
    " sections together give; and `## {outlook}`: one to three sentences on what to watch, decide or find out next."
    " Every sentence of these two is marked `[so: …]`."
)
_NO_CLOSING = "No conclusion and no outlook: one thing is asked for."


class WritingByModel(ModelActs):
    """The acts on everything that was found, and those that make the report."""

    async def analyze(self, findings: Findings) -> Analysis:
        """Return how well the main statements are backed, which rules count; whoever writes weighs the matter."""
        return await self.fallback.analyze(findings)

    async def plan_charts(self, findings: Findings) -> tuple[ChartSpec, ...]:
        """Let the model choose among series that really stand in the evidence, and write the programs that draw them
        where they can be run; it gives no data of its own.
        """
        series = await in_thread(possible_series, findings, most=_MAX_SERIES, is_chosen=True)
        if not series:
            return ()
        kind = ProgramsAnswer if findings.has_sandbox else ChartsAnswer
        known = [fit(findings.synthesis, _MAX_KNOWN)[0]] if findings.synthesis else []
        task = self._task(
            "plan_charts",
            kind,
            known="\n\n".join(numbered(known)),
            series="\n\n".join(numbered([_shown_series(chart_of(one), findings.contexts) for one in series])),
            count=str(MAX_CHARTS),
            language=language_name(findings.brief.language),
        )
        act = _PROGRAMS if findings.has_sandbox else _CHARTS
        answer = await self._data(act, kind, task, shared=[self._brief(findings.brief)])
        programs, forms = (answer.programs, answer.forms) if isinstance(answer, ProgramsAnswer) else ([], [])
        columns = map(padded, (answer.titles, answer.joined, programs, forms))
        rows = zip(answer.charts, *columns, strict=False)
        chosen = []
        for index, (number, title, joined, code, form) in enumerate(rows):
            if 1 <= number <= len(series) and number not in answer.charts[:index]:
                others = dict.fromkeys(map(int, _DIGITS(joined)))
                parts = [series[at - 1] for at in (number, *others) if 1 <= at <= len(series)]
                spec = chart_of(joined_series(list(dict.fromkeys(parts))) or parts[0])
                digits = {
                    number for text in (spec.title, *(row.label for row in spec.rows)) for number in _DIGITS(text)
                }
                # A title names what is shown: another number in it would be a claim.
                is_fit = 0 < len(title) <= _MAX_TITLE_CHARS and digits.issuperset(_DIGITS(title))
                about = {"title": title if is_fit else spec.title, "python_code": code}
                if code and form in get_args(ChartType):
                    about["chart_type"] = form
                chosen.append(spec.replace(**about))
        return tuple(chosen[:MAX_CHARTS])

    async def repair_chart(self, broken: BrokenChart) -> ChartSpec:
        task = self._task(
            "repair_chart",
            CodeAnswer,
            data=fenced(SOURCE_TAG, f"{broken.spec.title}\n{canonical_json(broken.spec.data)}"),
            code=fenced(DRAFT_TAG, broken.spec.python_code),
            error=fenced(SOURCE_TAG, broken.error[-_ERROR_CHARS:]),
        )
        answer = await self._data(_REPAIR_CHART, CodeAnswer, task)
        return broken.spec.replace(python_code=answer.python_code)

    async def draft(self, findings: Findings) -> Paragraphs:
        """Write the whole report in one piece, or a chapter of it, with everything that was found for it in view."""
        if not findings.evidence:
            return await self.fallback.draft(findings)
        language, words = findings.brief.language, words_in(findings.brief.language)
        act = _CHAPTER if findings.chapter else _DRAFT
        act = act._replace(max_tokens=max(act.max_tokens, findings.words * _TOKENS_A_WORD))
        length = length_in_words(min(findings.words, words_in_one_answer(self.options.window)), language)
        own = self._chapter_task(findings, length) if findings.chapter else self._whole_task(findings, length)
        task = f"{own}\n\n{self.prompts.fill('marks')}"
        request, labels = self._over_all(act, task, findings)
        titles = () if findings.chapter else findings.fixed_titles

        def read(reply: ModelReply) -> tuple[ParsedProse | None, str]:
            prose = read_prose(reply, labels, language, titles)
            found = dict.fromkeys(paragraph.section for paragraph in prose.paragraphs if paragraph.section in titles)
            unkept = "" if tuple(found) == titles else f"its sections must be, in this order: {'; '.join(titles)}"
            sides = {one.lead for one in prose.paragraphs if one.section == words("report.analysis") and one.lead}
            if findings.asks_for_analysis and not titles and len(sides) < _MIN_PERSPECTIVES:
                unkept = f"it needs a section `## {words('report.analysis')}` with two to four sides, each under `### `"
            return prose if prose.cited else None, prose.problem or unkept

        return (await self._ask(request, read)).paragraphs

    def _whole_task(self, findings: Findings, length: str) -> str:
        """Return what a report in one piece is asked to be."""
        language, kind = findings.brief.language, findings.brief.analysis.kind
        words, unit = words_in(language), counted_in(language)
        return self.prompts.fill(
            "draft",
            language=language_name(language),
            length=length,
            answer=answer_form(kind, f"{_OPENING} {unit}"),
            form=_FORMS.get(kind, _FORMS["open"]).format(steps=_STEPS),
            sections=_sections(findings, words("report.analysis")),
            open=words("report.gaps"),
            limit=f"{MAX_ABSTRACT_LENGTH} {unit}",
            closing=_closing(findings, words),
        )

    def _chapter_task(self, findings: Findings, length: str) -> str:
        """Return what a chapter of a long report is asked to be."""
        outline = [f"{at} {each.title}: {each.settles}" for at, each in enumerate(findings.chapters, start=1)]
        own = findings.chapters[findings.chapter - 1]
        named = (
            f"\nIt has a row or a sentence for each of these, where the passages tell of it: {'; '.join(own.entries)}"
        )
        head = fenced(NOTES_TAG, own.columns + (named if own.entries else ""))
        table = (
            "A pipe table with these columns, a mark in the last cell of each row, and a row for everything of this"
            " kind that the passages tell of and the question is about; a cell is a phrase that says something by"
            f" itself. A column of which most cells would be empty is left out.\n{head}"
            if own.columns
            else "Prose, without a table."
        )
        written = fenced(DRAFT_TAG, shown_text(findings.written, labels_of((*findings.evidence, *findings.cited))))
        return self.prompts.fill(
            "chapter",
            outline=fenced(NOTES_TAG, "\n".join(outline)),
            written=f"{_WRITTEN}\n\n{written}\n\n" if findings.written else "",
            number=str(findings.chapter),
            table=table,
            steps=f"\n- {_LAST.format(steps=_STEPS)}" if findings.chapter == len(findings.chapters) else "",
            length=length,
            language=language_name(findings.brief.language),
        )

    def _over_all(self, act: Act, task: str, findings: Findings) -> tuple[ModelRequest, Mapping[str, str]]:
        """Return a request with all that was found in view, and the labels of its passages.

        What acts share stands before what each has for itself.
        """
        brief, noted = self._brief(findings.brief), self._noted(findings)
        tail = self.context.tail(act, task)
        available_tokens = self.context.available_tokens(brief, *noted, tail, max_tokens=act.max_tokens)
        most = _MAX_OF_CHAPTER if findings.chapter else _MAX_MATERIAL
        available_tokens = min(available_tokens, self.context.share(_MATERIAL_SHARE), most)
        # What the account says rests on passages that are to be seen.
        settled = [each.description for each in findings.plan.sections]
        sought = " ".join([findings.brief.question, *findings.plan.titles, *settled, findings.synthesis])
        if findings.chapter:
            own = findings.chapters[findings.chapter - 1]
            sought = " ".join([own.title, own.settles, own.columns, own.sought, *own.entries])
        material = show_evidence(
            findings.evidence,
            limit=available_tokens,
            contexts=findings.contexts,
            sought=sought,
            of_each=_OF_EACH if findings.chapter else 0,
        )
        # What the chapters before say can be cited as they cite it.
        labels = {**material.labels, **labels_of(findings.cited, after=len(findings.evidence))}
        pairs = in_words(connections_of(findings), {id_: label for label, id_ in labels.items()})
        paired = [f"Figures of two documents that may belong together:\n{listed(pairs)}"] if pairs else []
        shared = [brief, *material.blocks, *noted, *paired]
        # Of so many pages nobody chose passages: what does not fit is no loss.
        left_out = 0 if findings.brief.depth.max_pages > MOST_READ else material.left_out
        return self.context.request(act, tail, shared=shared, left_out=left_out), labels

    def _noted(self, findings: Findings) -> list[str]:
        """Return what was planned and counted: sections, how well figures are backed, where sources differ."""
        backed = [in_brief(row) for row in findings.strength]
        disputed = ["; ".join(row.text for row in table.sentences) for table in findings.disputed]
        notes = {
            "Planned sections": () if findings.chapter else findings.plan.titles,
            "How well the main figures are backed": backed,
            "Where sources give different figures": disputed,
        }
        return [f"{head}:\n{listed(lines)}" for head, lines in notes.items() if lines]

    async def judge(self, support: Support) -> tuple[Judgement, ...]:
        """Judge all sentences of a text that have no verdict in as few calls as the window allows."""
        captions = {each for one in support.paragraphs if one.kind == "caption" for each in one.sentences}
        sentences = numbered_sentences(support.paragraphs)
        wanted = [number for number, each in sentences if not each.verdict and each not in captions]
        parts = [wanted[at : at + _JUDGED_AT_ONCE] for at in range(0, len(wanted), _JUDGED_AT_ONCE)]
        return tuple([judgement for part in parts for judgement in await self._judged(part, support)])

    async def _judged(self, wanted: Sequence[int], support: Support) -> list[Judgement]:
        sentences = dict(numbered_sentences(support.paragraphs))
        cited = {id_ for number in wanted for id_ in sentences[number].evidence}
        brief = self._brief(support.brief)
        available_tokens = self.context.available_tokens(
            brief, *(each.text for each in sentences.values()), max_tokens=_JUDGE.max_tokens
        )
        material = show_evidence(support.passages, limit=available_tokens, contexts=support.contexts, only=cited)
        if material.left_out and len(wanted) > 1:
            # Nobody is judged by passages that are not shown.
            half = len(wanted) // 2
            return [*await self._judged(wanted[:half], support), *await self._judged(wanted[half:], support)]
        shown = [piece for piece in support.passages if piece.id in cited]
        most = min(_MAX_PLANTED, len(wanted) // _JUDGED_FOR_ONE or 1)
        titles = {id_: where.title for id_, where in support.contexts.items()}
        planted = planted_statements([sentences[number] for number in wanted], shown, most, titles)
        text, order = _with_planted(support, wanted, planted, material.labels)
        task = self._task("judge", JudgeAnswer, text=fenced(DRAFT_TAG, text))
        answer = await self._data(
            _JUDGE, JudgeAnswer, task, shared=[brief, *material.blocks], left_out=material.left_out
        )
        found = {}
        columns = map(padded, (answer.verdicts, answer.spans, answer.passages, answer.reasons))
        for at, word, span, passages, reason in zip(answer.sentences, *columns, strict=False):
            verdict = _VERDICTS.get("_".join(word.lower().split()))
            number = order[at - 1] if 0 < at <= len(order) else None
            if verdict in ("supported", "follows") and number == 0:
                raise UnusableAnswer("judge: the model calls a statement supported that was made false")
            if number and verdict:
                labels = [label for label in _LABELS.findall(passages) if label in material.labels]
                premises = tuple(material.labels[label] for label in labels)
                found[number] = Judgement(number=number, verdict=verdict, span=span, premises=premises, reason=reason)
        return list(found.values())

    async def find_held(self, check: AbsenceCheck) -> tuple[HeldStretch, ...]:
        """Let the model read the stretches that could hold what is called absent."""
        brief = self._brief(check.brief)
        statements = "\n".join(f"{number} {each}" for number, each in enumerate(check.statements, start=1))
        task = self._task("find_held", HeldAnswer, statements=fenced(DRAFT_TAG, statements))
        available_tokens = self.context.available_tokens(brief, task, max_tokens=_FIND_HELD.max_tokens)
        available_tokens = min(
            available_tokens, self.context.share(_SEARCHED_SHARE), _SEARCHED_FOR_ONE * (1 + len(check.statements))
        )
        sizes = accumulate(tokens_at_most(f"{each.text} {each.headings}") + _FENCE_TOKENS for each in check.stretches)
        count = sum(taken <= available_tokens for taken in sizes)
        shown = _joined(check.stretches[:count])
        blocks = []
        for number, each in enumerate(shown, start=1):
            is_new = number == 1 or shown[number - 2].document != each.document
            title = {"of": each.title} if is_new else {}
            blocks.append(fenced(SOURCE_TAG, each.text, id=str(number), **title, at=each.headings))
        answer = await self._data(_FIND_HELD, HeldAnswer, task, shared=[brief, *blocks])
        rows = zip(answer.statements, answer.stretches, padded(answer.spans), strict=False)
        return tuple(
            HeldStretch(number=number, stretch=shown[at - 1], span=span)
            for number, at, span in rows
            if 0 < number <= len(check.statements) and 0 < at <= len(shown)
        )

    async def edit(self, draft: Draft) -> tuple[SentenceEdit, ...]:
        """Have a text looked over once, or what was refused of a chapter; whoever asks checks again what changes."""
        sentences = dict(numbered_sentences(draft.paragraphs))
        refused = {number: sentence for number, sentence in sentences.items() if is_to_mend(sentence)}
        if not refused and not draft.words:
            return ()
        beside = [paragraph for paragraph in draft.paragraphs if any(map(is_to_mend, paragraph.sentences))]
        refuting = {each.verdict.evidence for each in refused.values() if each.verdict}
        needed = refuting.union(*(paragraph.cite_ids for paragraph in beside))
        brief, language = self._brief(draft.brief), draft.brief.language
        words = words_in(language)
        labels = labels_of(draft.evidence)
        shown = fenced(DRAFT_TAG, shown_text(draft.paragraphs, labels))
        task = self._task(
            "edit",
            EditAnswer,
            text=shown,
            refused=listed(
                [f"{number}: {reason_against(sentence, labels)}" for number, sentence in refused.items()],
                most=len(refused),
            ),
            figures=listed([words("figure.caption", number=at, title=one) for at, one in enumerate(draft.figures, 1)]),
            mention=words("figure.mention", number=1),
            length=_length_problem(draft),
            language=language_name(language),
        )
        # In a long report more changes.
        act = _EDIT._replace(max_tokens=max(_EDIT.max_tokens, tokens_at_most(shown) // 4))
        available_tokens = self.context.available_tokens(brief, task, max_tokens=act.max_tokens)
        material = show_evidence(draft.evidence, limit=available_tokens, contexts=draft.contexts, only=needed)
        answer = await self._data(act, EditAnswer, task, shared=[brief, *material.blocks], left_out=material.left_out)
        columns = [columns_of(paragraph) for paragraph in draft.paragraphs for _ in paragraph.sentences]
        edits = []
        for number, text in zip(answer.sentences, padded(answer.texts), strict=False):
            if number in sentences:
                names = columns[number - 1]
                fresh = read_row(text, names, labels, language) if names else read_sentences(text, labels, language)
                # What was to become another row and is none changes nothing.
                edits += [SentenceEdit(number=number, sentences=tuple(fresh))] if fresh or not text.strip() else []
        return tuple(edits)

    async def recall(self, brief: Brief) -> str:
        """Tell what the model knows by itself; an address or a number in brackets in it would look like a source."""
        task = self._task("recall", RecallAnswer, language=language_name(brief.language))
        answer = await self._data(_RECALL, RecallAnswer, task, shared=[self._brief(brief)])
        return " ".join(_LIKE_A_SOURCE.sub("", answer.text).split())

    async def conclude(self, draft: Draft) -> Conclusion:
        """Return the answer that the report was written with; where none could stand, rules make one of its body."""
        abstract = tuple(paragraph for paragraph in draft.paragraphs if paragraph.section == "abstract")
        return Conclusion(abstract=abstract) if abstract else await self.fallback.conclude(draft)


def labels_of(evidence: Sequence[Evidence], *, after: int = 0) -> dict[str, str]:
    """Return the labels of passages that stand after so many others; none has to be shown."""
    return {f"{LABEL}{number}": piece.id for number, piece in enumerate(evidence, start=after + 1)}


def _shown_series(spec: ChartSpec, contexts: Mapping[str, Context]) -> str:
    """Return a series as a model sees it: what it is, the documents it stands in, and every value with its label."""
    documents = dict.fromkeys(contexts[row.evidence].title for row in spec.rows if row.evidence in contexts)
    rows = [(row.series, row.label, f"{row.value:g}") for row in spec.rows]
    lines = [" | ".join(filter(None, row)) for row in (("series" if rows[0][0] else "", "label", "value"), *rows)]
    return "\n".join([f"{spec.title}; {spec.chart_type}; unit: {spec.unit or NONE}", *documents, *lines])


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return stretches in the order of their documents; those that follow on each other are one."""
    found: list[Stretch] = []
    for each in sorted(stretches, key=lambda one: (one.document, one.start)):
        last = found[-1] if found else None
        if last and (last.document, last.end) == (each.document, each.start):
            found[-1] = last.replace(end=each.end, text=last.text + each.text)
        else:
            found.append(each)
    return found


def _with_planted(
    support: Support, wanted: Sequence[int], planted: Sequence[Sentence], labels: Mapping[str, str]
) -> tuple[str, list[int]]:
    """Return the paragraphs of the wanted sentences as a judge reads them, numbered from 1, with planted ones among
    them; and for each number that of its sentence in the whole text, 0 for a planted one.
    """
    marks = {id_: label for label, id_ in labels.items()}
    sentences = dict(numbered_sentences(support.paragraphs))
    # Far from the sentences on the same passages, and before another one: so never at the end.
    places: dict[int, Sentence] = {}
    for one in planted:
        near = [at for at, number in enumerate(wanted) if {*one.evidence} & {*sentences[number].evidence}]
        free = [at for at, number in enumerate(wanted) if number not in places]
        if free:
            best = max(free, key=lambda at: min((abs(at - other) for other in near), default=0))
            places[wanted[best]] = one
    lines = []
    order = []
    number, section = 0, ""
    for paragraph in support.paragraphs:
        numbers = range(number + 1, number + 1 + len(paragraph.sentences))
        number += len(paragraph.sentences)
        if not any(each in wanted for each in numbers):
            continue
        lines += [f"## {paragraph.section}"] if paragraph.section != section else []
        section = paragraph.section
        lines += [f"**{paragraph.lead}**"] if paragraph.lead else []
        for each, sentence in zip(numbers, paragraph.sentences, strict=True):
            if each not in wanted:
                lines.append(sentence.text)
                continue
            if each in places:
                order.append(0)
                lines.append(f"{len(order)} {marked(places[each], marks)}")
            order.append(each)
            hint = support.hints.get(sentence.text)
            noted = f" (not in the passages as it stands: “{hint}”)" if hint else ""
            lines.append(f"{len(order)} {marked(sentence, marks)}{noted}")
        lines.append("")
    return "\n".join(lines).strip(), order


def answer_form(kind: QuestionKind, opening: str) -> str:
    """Return what the first sentences of a report are."""
    return _ANSWERS.get(kind, _ANSWERS["open"]).format(opening=opening)


def words_in_one_answer(window: int) -> int:
    """Return how many words fit one answer of a model with such a window: no more is asked for."""
    return int(ANSWER_SHARE * window) // _TOKENS_A_WORD


def length_in_words(words: int, language: Language) -> str:
    """Return how long a report should be."""
    unit = counted_in(language)
    count = words if unit == "words" else round(words * CHARACTERS_A_WORD, -2)
    latin = " (a name or figure in Latin letters is one)" if unit == "characters" else ""
    return f"{0.9 * count:.0f} to {1.1 * count:.0f} {unit}{latin}, tables and lists included, marks not"


def _length_problem(draft: Draft) -> str:
    """Return what an editor is told about the length of a text: more than so much off is mended."""
    unit = counted_in(draft.brief.language)
    # A row's text repeats the names of its columns.
    texts = [
        " ".join(value for _, value in each.cells) if each.cells else each.text
        for paragraph in draft.paragraphs
        for each in paragraph.sentences
    ]
    count = sum(len(_CHARACTER.findall(text) if unit == "characters" else text.split()) for text in texts)
    wanted = round(draft.words * CHARACTERS_A_WORD) if unit == "characters" else draft.words
    if wanted and count > (1 + _LENGTH_TOLERANCE) * wanted:
        return (
            f"The text has {count} {unit} and should have {wanted}: delete what matters least, some {count - wanted}."
        )
    if wanted and count < (1 - _LENGTH_TOLERANCE) * wanted:
        return f"The text has {count} {unit} and may have {wanted}: say more where passages add what matters."
    return "The length is right: do not make the text longer."


def counted_in(language: Language) -> str:
    """Return what the length of a text is counted in: words where there are spaces between them."""
    return "characters" if language[:2] in ("zh", "ja", "th") else "words"


def _closing(findings: Findings, words: Words) -> str:
    """Return which parts end a report: none where one thing is asked for."""
    if is_short_answer(findings):
        return _NO_CLOSING
    return _CLOSING.format(conclusion=words("report.conclusion"), outlook=words("report.outlook"))


def read_prose(
    reply: ModelReply, labels: Mapping[str, str], language: Language, titles: Collection[str]
) -> ParsedProse:
    """Return what a model wrote; nothing of it is cited where it is in another language."""
    words, is_cut = words_in(language), reply.stop in ("length", "loop")
    names = [words("report.abstract"), words("report.answer")]
    prose = read_report(reply.text, labels, language=language, abstract=names, titles=titles, is_cut=is_cut)
    return prose if is_in_language(reply.text, language) else prose._replace(cited=0)


def _sections(findings: Findings, analysis: str) -> str:
    """Return which sections a report has: the user's own as they stand, others as a guide."""
    if is_short_answer(findings):
        return "only the planned one, with the few sentences that support the answer or limit it"
    if findings.fixed_titles:
        return "exactly the planned ones, with their titles and in their order, also where little or nothing was found"
    planned = "the planned ones as the answer needs them: take them, merge them or leave them out"
    weighed = (
        f". One more, `## {analysis}`, weighs the matter from two to four sides, each under a line `### ` with its name"
        " and in two to four sentences: those of who gains and who pays, the short and the long term, how strong the"
        " evidence is, what speaks against the obvious conclusion, that could change the decision. It does not retell"
    )
    return planned + (weighed if findings.asks_for_analysis else "")
