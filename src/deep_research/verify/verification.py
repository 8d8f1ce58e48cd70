"""What checking a report showed: `verify.json`, and the same in words for `verification.md`."""

from collections.abc import Mapping, Sequence
from typing import get_args

from pydantic import Field

from deep_research.messages.words import Words, words
from deep_research.report.escaping import escape, escape_cell, escape_line, unescape
from deep_research.report.paragraph import Refusal, VerdictKind
from deep_research.request import Language
from deep_research.value import Value

_SHOWN_CHARS = {"en": 120, "zh-Hans": 60, "zh-Hant": 60}
# The reasons that code gives; whatever else stands in a verdict is shown as it is.
_REASONS = frozenset(
    "verbatim trimmed judged absent failed unproved likely doubtful uncited unknown unfounded reference number unit "
    "date name negation".split()
)
# Parts of a report that have a name in every language; other sections bear the plan's.
_PARTS = frozenset({"abstract", "conclusion", "outlook"})


class ReportCheck(Value):
    """What the report file shows."""

    report_passed: bool
    problem: str = ""
    checked_paragraphs: int = 0
    paragraph_without_citation_count: int = 0
    uncited_paragraphs: tuple[str, ...] = ()
    uncited_rows: tuple[str, ...] = ()
    markers: int = 0
    unresolved_markers: tuple[int, ...] = ()
    markers_of_uncited_sources: tuple[int, ...] = ()
    references: int = 0
    references_are_numbered: bool = True
    malformed_references: tuple[str, ...] = ()
    unused_references: tuple[int, ...] = ()
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
    """What `paragraphs.jsonl` shows."""

    paragraphs_jsonl_cite_ids_passed: bool
    problem: str = ""
    paragraphs: int = 0
    claims: int = 0
    uncited_claims: tuple[str, ...] = ()
    unknown_ids: tuple[str, ...] = ()
    broken_lines: tuple[str, ...] = ()
    verdicts: dict[str, int] = Field(default_factory=dict)
    # Each sentence is in `paragraphs.jsonl` already: `verify.json` holds counts.
    sentences: tuple[CheckedSentence, ...] = Field(default=(), exclude=True)


class Verification(Value):
    """`verify.json` (SPEC V1)."""

    passed: bool
    report_passed: bool
    paragraphs_jsonl_cite_ids_passed: bool
    paragraph_end_citation_passed: bool
    paragraph_without_citation_count: int
    report: ReportCheck
    paragraphs: ParagraphCheck
    dropped: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    def in_words(self) -> str:
        """Return `verification.md` in the report's language."""
        say = words(self.report.language)
        sentences = self.paragraphs.sentences
        parts = [
            f"# {say('verification.passed' if self.passed else 'verification.failed')}",
            say("verification.method"),
            _bullets(self._counts(say)),
            _chapter(say("verification.problems"), _bullets(self._problems(say))),
            _chapter(
                say("verification.unsupported"),
                _bullets([_unsupported(sentence, say) for sentence in sentences if sentence.kind != "supported"]),
            ),
            _chapter(
                say("verification.revised"),
                _bullets([_revised(sentence, say) for sentence in sentences if sentence.revised_from]),
            ),
            _chapter(say("verification.dropped"), _bullets([_refused(refusal, say) for refusal in self.refusals])),
            _chapter(say("verification.all"), _table(sentences, say)),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _counts(self, say: Words) -> list[str]:
        verdicts = counted_verdicts(self.paragraphs.verdicts, say)
        is_empty = self.passed and not verdicts
        return [
            say("verification.nothing")
            if is_empty
            else say("verification.sentences", verdicts=verdicts or say("verification.none")),
            say(
                "verification.paragraphs",
                checked=self.report.checked_paragraphs,
                bare=self.paragraph_without_citation_count,
            ),
            say("verification.markers", count=self.report.markers, unresolved=len(self.report.unresolved_markers)),
            say("verification.references", count=self.report.references, unused=len(self.report.unused_references)),
        ]

    def _problems(self, say: Words) -> list[str]:
        report, listed = self.report, self.paragraphs
        found = [
            say(f"verification.file_{problem}", name=name)
            for name, problem in (("report.md", report.problem), ("paragraphs.jsonl", listed.problem))
            if problem
        ]
        found += [say("verification.unresolved", number=number) for number in report.unresolved_markers]
        found += [say("verification.misplaced", number=number) for number in report.markers_of_uncited_sources]
        found += [say("verification.bare", text=_quoted(text, say)) for text in report.uncited_paragraphs]
        found += [say("verification.bare_row", text=_quoted(text, say)) for text in report.uncited_rows]
        found += [say("verification.unused", number=number) for number in report.unused_references]
        found += [say("verification.malformed", text=_quoted(text, say)) for text in report.malformed_references]
        if not report.references_are_numbered:
            found.append(say("verification.misnumbered"))
        found += [say("verification.uncited_claim", id=id_) for id_ in listed.uncited_claims]
        found += [say("verification.unknown_id", id=id_) for id_ in listed.unknown_ids]
        found += [say("verification.broken_line", place=place) for place in listed.broken_lines]
        return found


def counted_verdicts(counted: Mapping[str, int], say: Words) -> str:
    """Return how many sentences got which verdict, the supported ones first; "" where there are none."""
    return say("report.list_separator").join(
        say("verification.count", count=counted[kind], verdict=say(f"verification.{kind}"))
        for kind in get_args(VerdictKind)
        if counted.get(kind)
    )


def _chapter(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _unsupported(sentence: CheckedSentence, say: Words) -> str:
    text, markers = escape_line(_one_line(sentence.text)), _marked(sentence)
    line = say("verification.unsupported_item", text=text, markers=markers, why=escape(_verdict(sentence, say)))
    return line if markers else line.replace("  ", " ")


def _revised(sentence: CheckedSentence, say: Words) -> str:
    line = say(
        "verification.revised_item",
        text=escape(_one_line(sentence.text)),
        markers=_marked(sentence),
        why=escape(_verdict(sentence, say)),
        written=escape(_one_line(sentence.revised_from)),
    )
    return line.replace("  ", " ")


def _refused(refusal: Refusal, say: Words) -> str:
    key = "verification.dropped_revised" if refusal.revision else "verification.dropped_item"
    line = say(
        key,
        section=say(f"report.{refusal.section}") if refusal.section in _PARTS else refusal.section,
        text=_one_line(refusal.text),
        why=_verdict(refusal, say),
        **({"revision": refusal.revision} if refusal.revision else {}),
    )
    return escape_line(line)


def _verdict(sentence: CheckedSentence | Refusal, say: Words) -> str:
    verdict, reason = say(f"verification.{sentence.kind}"), _reason(sentence.reason, say)
    return f"{verdict}{say('report.colon')}{reason}" if reason else verdict


def _table(sentences: Sequence[CheckedSentence], say: Words) -> str:
    if not sentences:
        return ""
    head = [say(f"verification.column_{name}") for name in ("sentence", "verdict", "source", "place", "passage")]
    rows = [[f"{number}", *_cells(sentence, say)] for number, sentence in enumerate(sentences, start=1)]
    lines = [["", *head], ["---"] * (len(head) + 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(sentence: CheckedSentence, say: Words) -> list[str]:
    place = f"{sentence.start}–{sentence.end}" if sentence.start >= 0 else ""
    return [
        escape_cell(_shorten(sentence.text, say)),
        escape_cell(_verdict(sentence, say)),
        _marked(sentence),
        escape_cell(say("report.list_separator").join(part for part in (sentence.place, place) if part)),
        f"`{sentence.evidence}`" if sentence.evidence else "",
    ]


def _reason(reason: str, say: Words) -> str:
    code, _, detail = reason.partition(": ")
    if code not in _REASONS:
        return reason
    known = say(f"verification.reason_{code}")
    return f"{known}{say('report.colon')}{detail}" if detail else known


def _marked(sentence: CheckedSentence) -> str:
    return "".join(f"[{number}]" for number in sentence.numbers)


def _quoted(text: str, say: Words) -> str:
    """Return the beginning of a block of the report, which is Markdown already."""
    return escape(_shorten(unescape(text), say))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shorten(text: str, say: Words) -> str:
    line = _one_line(text)
    limit = _SHOWN_CHARS[say.language]
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
