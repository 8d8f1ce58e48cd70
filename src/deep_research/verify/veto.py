"""What code refuses before a judge may look: figures, dates, names and addresses that no cited passage holds, and
turned negations.

It only ever refuses; a sentence that passes here is as undecided as before.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from deep_research.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Verdict, VerdictKind
from deep_research.text.analyzer import CJK, content_terms
from deep_research.text.quantities import DateMention, Quantity, chinese_number
from deep_research.verify.particulars import dates_of, figures_of, without_negations
from deep_research.verify.quote import whole_sentences
from deep_research.verify.references import unknown_reference

# Of the terms of two sentences together, how many they must share before one can contradict the other.
_SAME_SUBJECT, _SAME_WORDS = 0.7, 0.85
_SPELLED = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_SPELLED)})\b|[零〇一二两三四五六七八九十]+", re.IGNORECASE)
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_NAME = re.compile(r"(?<![\w(（-])[A-Z][\w&'’-]*[\w](?:\s+[A-Z][\w&'’-]*[\w])*")
_LATIN_WORD = re.compile(r"[^\W\d_]+")
_CJK = re.compile(f"[{CJK}]")
_UNNAMED = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday the this these in on at it".split()
)
# "Germany" and "German" name the same thing and share this many letters.
_NAME_STEM = 4
# A people and its land that share fewer.
_PEOPLES = tuple(
    pair.split("/")
    for pair in (
        "amer/unit brit/unit dani/denm dutc/neth engl/brit finn/finl fren/fran iris/irel poli/pola span/spai swis/swit "
        "wels/wale"
    ).split()
)


class _Near(NamedTuple):
    """A passage's sentence that speaks about the same thing."""

    passage: Evidence
    start: int
    text: str


def veto(sentence: Sentence, passages: Sequence[Evidence], *, titles: Sequence[str] = ()) -> Verdict | None:
    """Return why the passages cannot carry the sentence, or None if code knows no reason.

    Dates and names may also stand in the titles of the passages' documents: "the annual report of 2024" says whose
    figures they are.
    """
    if not passages:
        return Verdict(kind="not_found", reason="uncited")
    reference = unknown_reference(sentence.text, [passage.quote for passage in passages])
    if reference:
        return Verdict(kind="not_found", reason=f"reference: {reference}")
    for figure in figures_of(sentence.text):
        reason = _figure_objection(figure, passages)
        if reason:
            return _refuse(sentence.text, passages, f"{reason}: {figure.raw}", other_than=figure)
    texts = [*(passage.quote for passage in passages), *titles]
    held = [date.iso for text in texts for date in dates_of(text)]
    for date in dates_of(sentence.text):
        if not any(_is_date_of(date.iso, iso) for iso in held):
            return _refuse(sentence.text, passages, f"date: {date.raw}", other_than=date)
    name = _unknown_name(sentence.text, " ".join(texts))
    if name:
        return Verdict(kind="not_found", reason=f"name: {name}")
    return _turned(sentence.text, passages)


def _figure_objection(figure: Quantity, passages: Sequence[Evidence]) -> str:
    has_value = False
    for passage in passages:
        for held in figures_of(passage.quote):
            if held.value == figure.value:
                if not held.unit or not figure.unit or held.unit == figure.unit:
                    return ""
                has_value = True
            # "146.2" in a table whose head says "EUR million" is the text's "146.2 million euros".
            if not held.unit and _digits(held.raw) == _digits(figure.raw) == held.value:
                return ""
        if figure.value in _spelled_numbers(passage.quote):
            return ""
    return "unit" if has_value else "number"


def _digits(raw: str) -> float | None:
    match = _DIGITS.search(raw)
    return float(match.group().replace(",", "")) if match else None


def _spelled_numbers(text: str) -> set[float]:
    found = (match.group().lower() for match in _NUMBER_WORD.finditer(text))
    return {float(_SPELLED[word]) if word in _SPELLED else chinese_number(word) for word in found}


def _is_date_of(wanted: str, held: str) -> bool:
    """Say whether a date of the passage is, or lies in, the wanted one; a coarser date cannot refute a finer one."""
    if "Q" in wanted or "Q" in held:
        return wanted == held or (("Q" in wanted) != ("Q" in held) and wanted[:4] == held[:4])
    return held.startswith(wanted) or wanted.startswith(held)


def _refuse(text: str, passages: Sequence[Evidence], reason: str, *, other_than: Quantity | DateMention) -> Verdict:
    near = _nearest(text, passages, floor=_SAME_SUBJECT)
    if near and _has_other(near.text, other_than):
        return _against("contradicted", reason, near)
    return Verdict(kind="not_found", reason=reason)


def _has_other(text: str, figure: Quantity | DateMention) -> bool:
    if isinstance(figure, DateMention):
        return any(date.iso != figure.iso for date in dates_of(text))
    held = figures_of(text)
    return any(other.unit == figure.unit or other.value == figure.value for other in held)


def _unknown_name(text: str, quotes: str) -> str:
    """Return the first name in Latin letters that the quotes do not hold; quotes in another script cannot tell."""
    words = _LATIN_WORD.findall(quotes)
    if len(_CJK.findall(quotes)) > len(words) and not _CJK.search(text):
        return ""
    stems = {word.lower()[:_NAME_STEM] for word in words}
    stems |= {stem for pair in _PEOPLES if not stems.isdisjoint(pair) for stem in pair}
    initials = "".join(word[0].upper() for word in words)
    for match in _NAME.finditer(text):
        parts = match.group().split()
        if "".join(part[0] for part in parts if part.lower() not in _UNNAMED) in words:
            continue
        begins = not text[: match.start()].strip(" \"'“‘(")
        for part in parts[1:] if begins else parts:
            if part.removesuffix("s").isupper() and part.removesuffix("s") in initials:
                continue
            letters = [word.lower() for word in _LATIN_WORD.findall(part) if word[0].isupper()]
            if any(word[:_NAME_STEM] not in stems and word not in _UNNAMED for word in letters if len(word) > 1):
                return part
    return ""


def _turned(text: str, passages: Sequence[Evidence]) -> Verdict | None:
    near = _nearest(text, passages, floor=_SAME_WORDS)
    if near and (without_negations(text)[1] - without_negations(near.text)[1]) % 2:
        return _against("contradicted", "negation", near)
    return None


def _against(kind: VerdictKind, reason: str, near: _Near) -> Verdict:
    return Verdict(
        kind=kind, reason=reason, evidence=near.passage.id, start=near.start, end=near.start + len(near.text)
    )


def _nearest(text: str, passages: Sequence[Evidence], *, floor: float) -> _Near | None:
    """Return the passages' sentence that shares most terms with the text, figures and negations aside."""
    wanted = _subject(text)
    best, found = floor, None
    for passage in passages:
        for span in whole_sentences(passage.quote):
            held = passage.quote[span.start : span.end]
            share = _shared(wanted, _subject(held))
            if share >= best:
                best, found = share, _Near(passage, passage.start + span.start, held)
    return found


def _subject(text: str) -> set[str]:
    return {term for term in content_terms(without_negations(text)[0]) if not any(map(str.isdigit, term))}


def _shared(wanted: set[str], held: Iterable[str]) -> float:
    both = wanted.union(held)
    return len(wanted.intersection(held)) / len(both) if both else 0.0
