"""Any report against its sources, statement by statement, by rules alone: what is certainly wrong is a fault.

What rules cannot decide is said to be so and is no fault: they know words, figures, dates and names, not meaning.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from deep_research.text.analyzer import CJK_CHARACTER, content_terms
from deep_research.text.folding import fold_typography, to_simplified
from deep_research.text.script import are_foreign
from deep_research.text.sentences import split_sentences
from deep_research.value import Value
from deep_research.verify.cited_markdown import CitedReport, Statement, read_cited
from deep_research.verify.clauses import terms_of
from deep_research.verify.nearest import MIN_TERMS, NEAR, NOTHING_NEAR, RELATED, SAME, CheckedSource, Near, nearest
from deep_research.verify.objection import ClaimToCheck, ObjectionKind, amount_against, objection_against
from deep_research.verify.particulars import dates_of, figures_of, split_figures
from deep_research.verify.quote import find_quote, find_span, tokens_of

__all__ = ["Audit", "CheckedSource", "CheckedStatement", "audit_report"]

VerdictWord = Literal["word_for_word", "agrees", "undecided", "fault"]
FaultKind = Literal[
    ObjectionKind, "source", "quote", "altered_quote", "absence", "uncited", "no_entry", "never_cited", "no_source",
    "twice", "mixed_entry",
]  # fmt: skip
_MIN_QUOTED_WORDS, _MIN_QUOTED_CJK = 4, 8
_QUOTED = re.compile(r"“([^“”]+)”|「([^「」]+)」|『([^『』]+)』|\"([^\"]+)\"|«([^«»]+)»")
# A question that is left open claims nothing.
_OPEN = re.compile(r"(?i)^(?:whether|which|what|how|why|when|who|where)\b|是否|[?？]$")
_ABSENT = re.compile(
    r"(?i)\b(?:no|none of the|neither of the|not one of the)\s(?:\w+\s){0,2}?"
    r"(?:documents?|sources?|reports?|files?|papers?)"
    r"(?:\s\w+){0,2}?\s(?:gives?|says?|states?|mentions?|names?|reports?|contains?|tells?|holds?|describes?|shows?)\b"
    r"|\b(?:documents?|sources?|reports?|files?)\s(?:do|does)\s(?:not|n't)\s\w+"
    r"|\bnot\s(?:given|mentioned|stated|named|reported|found)\sin\sany\s(?:of\sthe\s)?(?:documents?|sources?)"
    r"|(?:没有|无)(?:任何)?(?:一[份个篇])?(?:资料|文件|文档|来源|报告|材料)(?:给出|提到|提及|说明|记载|披露|列出|提供|写明)?了?"
    r"|(?:资料|文件|文档|来源|报告|材料)(?:中|里)?(?:均|都)?(?:未|没有|没|并未)(?:给出|提到|提及|说明|记载|披露|列出|提供|写明)"
)


class CheckedStatement(Value):
    """What the check of one statement, or of one reference, showed; a fault names its kind and what is wrong."""

    line: int
    text: str
    verdict: VerdictWord
    fault: FaultKind | None = None
    detail: str = ""
    source: str = ""
    passage: str = ""


class Audit(Value):
    """Everything that was checked, in the order of the report."""

    checked: tuple[CheckedStatement, ...]

    @property
    def faults(self) -> list[CheckedStatement]:
        """Return what is wrong."""
        return [each for each in self.checked if each.verdict == "fault"]


def audit_report(text: str, sources: Sequence[CheckedSource]) -> Audit:
    """Check a Markdown report with numbered references against its sources."""
    report = read_cited(text)
    listed, remarks = _listed(report, sources)
    checked = [_check(statement, listed, sources) for statement in report.statements]
    return Audit(checked=tuple(sorted((*remarks, *checked), key=lambda each: each.line)))


def _listed(
    report: CitedReport, sources: Sequence[CheckedSource]
) -> tuple[dict[int, CheckedSource | None], list[CheckedStatement]]:
    """Return which source each number stands for, and what is wrong with the references."""
    used = {number for statement in report.statements for number in statement.numbers}
    listed: dict[int, CheckedSource | None] = {}
    remarks = []
    for entry in report.entries:
        by_address, by_title = _matches(entry.text, sources)
        faults: dict[FaultKind, str] = {}
        if entry.number in listed:
            faults["twice"] = str(entry.number)
        else:
            listed[entry.number] = by_address or by_title
            if not (by_address or by_title):
                faults["no_source"] = str(entry.number)
            elif by_address and by_title and by_address.address != by_title.address:
                faults["mixed_entry"] = f"{by_title.address} / {by_address.address}"
            if entry.is_cited and entry.number not in used:
                faults["never_cited"] = str(entry.number)
        remarks += [
            CheckedStatement(line=entry.line, text=entry.text, verdict="fault", fault=kind, detail=detail)
            for kind, detail in faults.items()
        ]
    return listed, remarks


def _matches(entry: str, sources: Sequence[CheckedSource]) -> tuple[CheckedSource | None, CheckedSource | None]:
    """Return the source whose address stands in a reference, and the one whose title does."""
    shown, plain = _folded(entry), fold_typography(entry).text.casefold()
    names = ((source, (source.address.rstrip("/"), PurePosixPath(source.address).name)) for source in sources)
    by_address = [
        source
        for source, own in names
        if any(
            name and re.search(rf"{re.escape(fold_typography(name).text.casefold())}(?![\w-])", plain) for name in own
        )
    ]
    titled = [(len(title), source) for source in sources if (title := _folded(source.title)) and title in shown]
    longest = max((length for length, _ in titled), default=0)
    by_title = [source for length, source in titled if length == longest]
    address = max(by_address, key=lambda source: len(source.address), default=None)
    if address and address in by_title:
        return address, address
    return address, by_title[0] if by_title else None


def _folded(text: str) -> str:
    return "".join(to_simplified(fold_typography(text).text).casefold().split())


def _check(
    statement: Statement, listed: Mapping[int, CheckedSource | None], sources: Sequence[CheckedSource]
) -> CheckedStatement:
    result = CheckedStatement(line=statement.line, text=statement.text, verdict="undecided")

    def found(verdict: VerdictWord, near: Near) -> CheckedStatement:
        return result.replace(verdict=verdict, source=near.source.address, passage=near.text)

    def fault(kind: FaultKind, detail: str = "", near: Near = NOTHING_NEAR) -> CheckedStatement:
        return found("fault", near).replace(fault=kind, detail=detail)

    unlisted = [number for number in statement.numbers if number not in listed]
    if unlisted:
        return fault("no_entry", "".join(f"[{number}]" for number in unlisted))
    if absent := _absence(statement.text):
        found_text = _false_absence(absent, sources)
        return fault("absence", "", found_text) if found_text else result
    if not statement.numbers:
        uncited = _uncited(statement, sources)
        return fault("uncited", "", uncited) if uncited else result
    cited = [source for number in statement.numbers if (source := listed[number])]
    others = [source for source in sources if source not in cited]
    if not cited:
        # That the reference leads nowhere was said where it stands.
        return result
    if quoted := _quoted(statement, cited):
        return found("word_for_word", quoted)
    if altered := _quotations(statement.text, cited, others):
        return fault(*altered)
    # Across languages words cannot be compared, but figures can.
    is_foreign = are_foreign([source.text for source in cited], statement.text)
    near = [] if is_foreign else nearest(statement.text, cited)
    best = near[0] if near else NOTHING_NEAR
    check = amount_against if is_foreign else objection_against
    objection = check(_claim(statement), near, cited)
    if objection or not is_foreign:
        elsewhere = _elsewhere(statement, others, best, is_refused=bool(objection))
        if elsewhere:
            return fault("source" if statement.has_marker else "uncited", elsewhere.source.address, elsewhere)
    if objection:
        return fault(objection.kind, objection.detail, best)
    if best.share < RELATED:
        return result
    return found("agrees" if figures_of(statement.text) or dates_of(statement.text) else "undecided", best)


def _claim(statement: Statement) -> ClaimToCheck:
    return ClaimToCheck(statement.text, before=statement.before, is_row=statement.is_row)


def _quoted(statement: Statement, sources: Sequence[CheckedSource]) -> Near | None:
    """Return where a source holds a statement word for word."""
    for source in sources:
        if match := find_quote(statement.text, source.text):
            text = source.text[match.start : match.end]
            return Near(source, text, text)
    return None


def _elsewhere(statement: Statement, others: Sequence[CheckedSource], here: Near, *, is_refused: bool) -> Near | None:
    """Return where another source says what the cited one does not."""
    if quoted := _quoted(statement, others):
        return quoted
    if len(terms_of(statement.text)) < MIN_TERMS or (not is_refused and here.share >= RELATED):
        return None
    floor = max(NEAR, here.share) if is_refused else SAME
    found = []
    for source in others:
        there = nearest(statement.text, [source])
        is_nearer = bool(there) and there[0].share >= floor and there[0].alike > here.alike
        if is_nearer and not objection_against(_claim(statement), there, [source]):
            found.append(there[0])
    return max(found, key=lambda each: each.share, default=None)


def _quotations(
    text: str, cited: Sequence[CheckedSource], others: Sequence[CheckedSource]
) -> tuple[FaultKind, str, Near] | None:
    """Return what is wrong with the words that a statement puts in quotation marks."""
    for match in _QUOTED.finditer(text):
        quoted = next(filter(None, match.groups())).strip()
        words = [token.text for token in tokens_of(quoted) if token.text[0].isalnum()]
        # A name or a term in quotation marks is no quotation.
        if len(words) < (_MIN_QUOTED_CJK if CJK_CHARACTER.search(quoted) else _MIN_QUOTED_WORDS):
            continue
        if any(find_span(quoted, source.text) or find_span(quoted, source.title) for source in cited):
            continue
        for source in others:
            if span := find_span(quoted, source.text):
                found_text = source.text[slice(*span)]
                return "source", source.address, Near(source, found_text, found_text)
        near = nearest(quoted, cited)
        source_words = [token.text for each in near[:1] for token in tokens_of(each.text)]
        blocks = SequenceMatcher(None, words, source_words, autojunk=False).get_matching_blocks()
        is_altered = sum(block.size for block in blocks) >= NEAR * len(words)
        return ("altered_quote", quoted, near[0]) if is_altered else ("quote", quoted, NOTHING_NEAR)
    return None


def _absence(text: str) -> str:
    """Return what a statement says that no source holds, or "" if it says no such thing."""
    plain = to_simplified(text)
    match = _ABSENT.search(plain)
    return f"{plain[: match.start()]} {plain[match.end() :]}".strip(" .。") if match else ""


def _false_absence(absent: str, sources: Sequence[CheckedSource]) -> Near | None:
    texts = {source.address: to_simplified(source.text) for source in sources}
    for stretch in stretches_about(absent, absent, texts):
        # A particle parts words that stand together elsewhere.
        passage = texts[stretch.document][stretch.start : stretch.end].replace("的", "")
        is_counted = bool(figures_of(passage) or dates_of(passage))
        if stretch.is_it or (is_counted and terms_of(absent.replace("的", "")) <= terms_of(passage)):
            source = next(each for each in sources if each.address == stretch.document)
            return Near(source, source.text[stretch.start : stretch.end], "")
    return None


# Before a report may claim that no source says something, the sources are searched for it.
# So many stretches are shown to whoever judges.
_SHOWN = 5
# A stretch must hold so much of what was looked for to be worth a look.
_MIN_SHARE = 0.5
# So many words together with a figure say it; fewer, or without one, may say something else.
_TELLING = 2
_ALTERNATIVES = re.compile(r"\s*[|｜;；]\s*|\s+or\s+")


class SourceStretch(NamedTuple):
    """A sentence of a stored text that has to do with what is said to be absent.

    `is_it` if it holds all the words looked for and a figure or a date.
    """

    document: str
    start: int
    end: int
    share: float
    is_it: bool


def stretches_about(basis: str, text: str, documents: Mapping[str, str]) -> list[SourceStretch]:
    """Return the sentences of the documents that hold most of the words looked for, the best first.

    `basis` are the words that a source would use; where there are none, those of the sentence itself are looked for.
    """
    wanted = [frozenset(content_terms(part)) for part in _ALTERNATIVES.split(basis)]
    wanted = [terms for terms in wanted if terms] or [frozenset(content_terms(text))]
    found = [stretch for document, stored in documents.items() for stretch in _in_document(document, stored, wanted)]
    return sorted(found, key=lambda each: (-each.share, each.document, each.start))[:_SHOWN]


def _in_document(document: str, text: str, wanted: Iterable[frozenset[str]]) -> Iterable[SourceStretch]:
    known = frozenset(content_terms(text))
    near = [terms for terms in wanted if len(terms & known) >= _MIN_SHARE * len(terms)]
    for start, end in split_sentences(text) if near else ():
        terms_here = frozenset(content_terms(text[start:end]))
        share = max(len(terms & terms_here) / len(terms) for terms in near)
        if share >= _MIN_SHARE:
            is_counted = bool(figures_of(text[start:end]) or dates_of(text[start:end]))
            is_it = is_counted and any(len(terms) >= _TELLING and terms <= terms_here for terms in near)
            yield SourceStretch(document, start, end, share, is_it)


def _uncited(statement: Statement, sources: Sequence[CheckedSource]) -> Near | None:
    """Return where a statement without a marker may come from, if it claims something."""
    is_open = _OPEN.search(to_simplified(statement.text))
    near = [] if is_open else nearest(statement.text, sources)
    if not near or near[0].text.lstrip("# ") == near[0].source.title:
        return None
    best = near[0]
    has_figures = bool(split_figures(statement.text)[0])
    is_same = best.alike >= NEAR and len(terms_of(statement.text)) >= MIN_TERMS
    is_dated = bool(dates_of(statement.text)) and best.share >= NEAR
    return best if (has_figures and best.share >= RELATED) or is_same or is_dated else None
