"""What checking a report showed: `verify.json`, and the same in words for `verification.md`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from pydantic import Field

from deep_research.report.escaping import escape, escape_cell, escape_line, unescape
from deep_research.report.paragraph import SOUND, Refusal, Strings, VerdictKind
from deep_research.request import Language
from deep_research.text.messages.words import Words, words_in
from deep_research.value import Value

_SHOWN_CHARS, _SHOWN_CHINESE = 120, 60


class ReportCheck(Value):
    """What the report file shows."""

    report_passed: bool
    problem: str = ""
    checked_paragraphs: int = 0
    paragraph_without_citation_count: int = 0
    uncited_paragraphs: Strings = ()
    uncited_rows: Strings = ()
    markers: int = 0
    unresolved_markers: tuple[int, ...] = ()
    markers_of_uncited_sources: tuple[int, ...] = ()
    references: int = 0
    references_are_numbered: bool = True
    malformed_references: Strings = ()
    unused_references: tuple[int, ...] = ()
    foreign: Strings = ()
    lost: Strings = ()
    language: Language = "en"


class CheckedSentence(Value):
    """A sentence with what its check showed and where it was found."""

    text: str
    kind: VerdictKind
    reason: str = ""
    numbers: tuple[int, ...] = ()
    evidence: str = ""
    place: str = ""
    start: int = -1
    end: int = -1
    revised_from: str = ""


class ParagraphCheck(Value):
    """What `paragraphs.jsonl` shows, and whether `edition.json` beside it says that the question is answered."""

    paragraphs_jsonl_cite_ids_passed: bool
    is_answered: bool = True
    problem: str = ""
    paragraphs: int = 0
    claims: int = 0
    uncited_claims: Strings = ()
    unknown_ids: Strings = ()
    broken_lines: Strings = ()
    refused: Strings = ()
    figures: int = 0
    figure_rows: int = 0
    unstated_rows: Strings = ()
    missing_files: Strings = ()
    kinds: dict[str, int] = Field(default_factory=dict)
    verdicts: dict[str, int] = Field(default_factory=dict)
    # Each sentence is in `paragraphs.jsonl` already: `verify.json` holds counts.
    sentences: tuple[CheckedSentence, ...] = Field(default=(), exclude=True)


class Verification(Value):
    """`verify.json`: whether every claim is cited, and every citation resolves."""

    passed: bool
    report_passed: bool
    paragraphs_jsonl_cite_ids_passed: bool
    paragraph_end_citation_passed: bool
    paragraph_without_citation_count: int
    report: ReportCheck
    paragraphs: ParagraphCheck
    dropped: Strings = ()
    refusals: tuple[Refusal, ...] = ()

    def in_words(self, notes: Sequence[str] = ()) -> str:
        """Return `verification.md` in the report's language; `notes` stand below what was done."""
        words = words_in(self.report.language)
        sentences = self.paragraphs.sentences
        chapters = {
            "problems": _bullets(self._problems(words)),
            "unsupported": _bullets(_unsupported(one, words) for one in sentences if one.kind not in SOUND),
            "revised": _bullets(_revised(one, words) for one in sentences if one.revised_from),
            "dropped": _bullets(_refused(refusal, words) for refusal in self.refusals),
            "all": _table(sentences, words),
        }
        parts = [
            f"# {words(f'verification.{self._outcome}')}",
            words("verification.method"),
            *notes,
            _bullets(self._counts(words)),
            *(f"## {words(f'verification.{name}')}\n\n{body}" for name, body in chapters.items() if body),
        ]
        return "\n\n".join(parts) + "\n"

    @property
    def _outcome(self) -> str:
        if not self.passed:
            return "failed"
        if not self.paragraphs.verdicts:
            return "nothing"
        return "passed" if self.paragraphs.is_answered else "unanswered"

    def in_short(self) -> list[str]:
        """Return what is wrong and what was counted, a line each, in the report's language."""
        words = words_in(self.report.language)
        return [*map(unescape, self._problems(words)), *self._counts(words)]

    def _counts(self, words: Words) -> list[str]:
        listed = self.paragraphs
        verdicts = counted_verdicts(listed.verdicts, words)
        return [
            words("verification.nothing")
            if self.passed and not verdicts
            else words("verification.sentences", verdicts=verdicts or words("verification.none")),
            words(
                "verification.paragraphs",
                checked=self.report.checked_paragraphs,
                bare=self.paragraph_without_citation_count,
            ),
            words("verification.markers", count=self.report.markers, unresolved=len(self.report.unresolved_markers)),
            words("verification.references", count=self.report.references, unused=len(self.report.unused_references)),
            *([words("verification.figures", count=listed.figures, rows=listed.figure_rows)] if listed.figures else []),
        ]

    def _problems(self, words: Words) -> list[str]:
        report, listed = self.report, self.paragraphs
        found = [
            words(f"verification.file_{problem}", name=name)
            for name, problem in (("report.md", report.problem), ("paragraphs.jsonl", listed.problem))
            if problem
        ]

        def each(key: str, name: str, values: Iterable[object]) -> list[str]:
            return [words(f"verification.{key}", **{name: value}) for value in values]

        def quoted(texts: Iterable[str]) -> list[str]:
            # Blocks of the report, which are Markdown already.
            return [escape(_shorten(unescape(text), words)) for text in texts]

        return [
            *found,
            *each("foreign", "text", quoted(report.foreign)),
            *each("lost", "text", quoted(report.lost)),
            *each("unresolved", "number", report.unresolved_markers),
            *each("misplaced", "number", report.markers_of_uncited_sources),
            *each("bare", "text", quoted(report.uncited_paragraphs)),
            *each("bare_row", "text", quoted(report.uncited_rows)),
            *each("unused", "number", report.unused_references),
            *each("malformed", "text", quoted(report.malformed_references)),
            *([] if report.references_are_numbered else [words("verification.misnumbered")]),
            *each("uncited_claim", "id", listed.uncited_claims),
            *each("unknown_id", "id", listed.unknown_ids),
            *each("broken_line", "place", listed.broken_lines),
            *each("refused", "text", quoted(listed.refused)),
            *each("unstated_row", "text", map(escape, listed.unstated_rows)),
            *each("missing_file", "name", listed.missing_files),
        ]


def counted_verdicts(counted: Mapping[str, int], words: Words) -> str:
    """Return how many sentences got which verdict, the supported ones first; "" where there are none."""
    return words.listed(
        words(f"verification.counted_{kind}", count=counted[kind])
        for kind in get_args(VerdictKind)
        if counted.get(kind)
    )


def verdict_in_words(kind: str, reason: str, words: Words) -> str:
    """Return what a check showed, and why."""
    verdict, why = words(f"verification.{kind}"), _reason(reason, words)
    return f"{verdict}{words('report.colon')}{why}" if why else verdict


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _unsupported(sentence: CheckedSentence, words: Words) -> str:
    text, markers = escape_line(_one_line(sentence.text)), _marked(sentence)
    line = words("verification.unsupported_item", text=text, markers=markers, why=escape(_verdict(sentence, words)))
    return line if markers else line.replace("  ", " ")


def _revised(sentence: CheckedSentence, words: Words) -> str:
    line = words(
        "verification.revised_item",
        text=escape(_one_line(sentence.text)),
        markers=_marked(sentence),
        why=escape(_verdict(sentence, words)),
        written=escape(_one_line(sentence.revised_from)),
    )
    return line.replace("  ", " ")


def _refused(refusal: Refusal, words: Words) -> str:
    line = words(
        "verification.dropped_item",
        section=words("report.abstract") if refusal.section == "abstract" else refusal.section,
        text=_one_line(refusal.text),
        why=_verdict(refusal, words),
    )
    return escape_line(line)


def _verdict(sentence: CheckedSentence | Refusal, words: Words) -> str:
    return verdict_in_words(sentence.kind, sentence.reason, words)


def _table(sentences: Sequence[CheckedSentence], words: Words) -> str:
    if not sentences:
        return ""
    head = [words(f"verification.column_{name}") for name in ("sentence", "verdict", "source", "place", "passage")]
    rows = [[f"{number}", *_cells(sentence, words)] for number, sentence in enumerate(sentences, start=1)]
    lines = [["", *head], ["---"] * (len(head) + 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(sentence: CheckedSentence, words: Words) -> list[str]:
    place = f"{sentence.start}–{sentence.end}" if sentence.start >= 0 else ""
    return [
        escape_cell(_shorten(sentence.text, words)),
        escape_cell(_verdict(sentence, words)),
        _marked(sentence),
        escape_cell(words.listed(filter(None, (sentence.place, place)))),
        f"`{sentence.evidence}`" if sentence.evidence else "",
    ]


def _reason(reason: str, words: Words) -> str:
    """Return a reason that code gives in words; whatever else stands in a verdict is shown as it is."""
    code, _, detail = reason.partition(": ")
    key = f"verification.reason_{code}"
    if key not in words.templates:
        return reason
    known = words(key)
    return f"{known}{words('report.colon')}{detail}" if detail else known


def _marked(sentence: CheckedSentence) -> str:
    return "".join(f"[{number}]" for number in sentence.numbers)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shorten(text: str, words: Words) -> str:
    line = _one_line(text)
    limit = _SHOWN_CHINESE if words.language.startswith("zh") else _SHOWN_CHARS
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
