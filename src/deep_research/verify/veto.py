"""What code refuses before a judge may look: figures, dates, names and addresses that no cited passage holds, and
turned negations.

It only ever refuses; a sentence that passes here is as undecided as before.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from deep_research.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Verdict
from deep_research.text.analyzer import CJK, content_terms
from deep_research.text.dates import find_months
from deep_research.text.number_words import (
    ORDER,
    SHARE,
    TIMES,
    Values,
    Worded,
    implied_numbers,
    implied_shares,
    spelled_numbers,
)
from deep_research.text.quantities import DateMention, Quantity
from deep_research.verify.particulars import dates_of, figures_of, split_figures, without_idle_space, without_negations
from deep_research.verify.quote import whole_sentences
from deep_research.verify.references import unknown_reference

# Of the terms of two sentences together, how many they must share before one can contradict the other.
_SAME_SUBJECT, _SAME_WORDS = 0.7, 0.85
# "A third" is 33 %, and 35 % to most writers; "hundreds" are at most some thousand.
_SHARE_POINTS, _SHARE_PART, _ORDER_REACH = 2.0, 0.06, 20
_OWN_COUNT = 12
# "Two-dimensional" may stand for "2D", which names a thing and counts nothing.
_NAMING_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?=-?[A-Za-z])")
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
# A name in Latin letters ends where they end: the characters of Chinese right behind it are no part of it.
_LATIN = r"A-Za-z\d_\u00c0-\u024f"
_NAME = re.compile(rf"(?<![{_LATIN}(（-])[A-Z][{_LATIN}&'’-]*[{_LATIN}](?:\s+[A-Z][{_LATIN}&'’-]*[{_LATIN}])*")
# A capital letter after one of these begins a clause, and makes no name.
_CLAUSE_END = ".:;!?。：；！？—–|•"
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

    def contradicts(self, reason: str) -> Verdict:
        end = self.start + len(self.text)
        return Verdict(kind="contradicted", reason=reason, evidence=self.passage.id, start=self.start, end=end)


def veto(
    sentence: Sentence,
    passages: Sequence[Evidence],
    *,
    titles: Sequence[str] = (),
    asked: str = "",
    results: Sequence[str] = (),
) -> Verdict | None:
    """Return why the passages cannot carry the sentence, or None if code knows no reason.

    Dates and names may also stand in the titles of the passages' documents, or beside the passages: "the annual report
    of 2024" says whose figures they are; and those that the user asked about are never foreign. A conclusion may hold
    the figures of the question too, and of the `results` that were computed before it.
    """
    if not passages:
        return Verdict(kind="not_found", reason="uncited")
    if reference := unknown_reference(sentence.text, [passage.quote for passage in passages]):
        return Verdict(kind="not_found", reason=f"reference: {reference}")
    in_digits, in_words = split_figures(sentence.text)
    is_conclusion = sentence.kind == "conclusion"
    named = {figure.value for text in (asked, *results) for figure in figures_of(text)} if is_conclusion else set()
    texts = [*(passage.quote for passage in passages), *titles, asked]
    days = days_told(sentence.text, texts)
    for figure in in_digits:
        if figure.value not in named and figure.start not in days and (reason := figure_objection(figure, passages)):
            return _refuse(sentence.text, passages, f"{reason}: {figure.raw}", other_than=(figure.value, figure.unit))
    for worded in in_words:
        # "The two totals differ", citing both or more, counts what it brings together: a judge sees whether rightly.
        is_count_of_sources = 1 < worded.values[0][0] <= len(passages) and not worded.values[0][1]
        # What a conclusion counts are its own steps: "two measures come first".
        is_own_count = is_conclusion and worded.values[0][0] <= _OWN_COUNT and not worded.values[0][1]
        is_free = is_count_of_sources or is_own_count
        if not is_free and not any(holds_worded(passage.quote, worded) for passage in passages):
            return _refuse(sentence.text, passages, f"number: {worded.raw}", other_than=worded.values[0])
    held = [date.iso for text in texts for date in dates_of(text)]
    for date in dates_of(sentence.text):
        if not is_told_day(date.iso, held, is_own=is_conclusion):
            return _refuse(sentence.text, passages, f"date: {date.raw}", other_than=date)
    if name := unknown_name(sentence.text, " ".join(texts)):
        return Verdict(kind="not_found", reason=f"name: {name}")
    near = None if is_conclusion else _nearest(sentence.text, passages, floor=_SAME_WORDS, subject_of=_subject)
    if near and (without_negations(sentence.text)[1] - without_negations(near.text)[1]) % 2:
        return near.contradicts("negation")
    return None


def days_told(sentence: str, texts: Sequence[str]) -> set[int]:
    """Return the offsets of a sentence that belong to a day without a year which one of the texts names too."""
    mentions = [mention for mention in find_months(without_idle_space(sentence)) if len(mention.iso) > len("????-01")]
    told = {mention.iso for text in (texts if mentions else ()) for mention in find_months(without_idle_space(text))}
    return {at for mention in mentions if mention.iso in told for at in range(mention.start, mention.end)}


def veto_row(
    cells: Sequence[tuple[str, str]],
    passages: Sequence[Evidence],
    *,
    titles: Sequence[str] = (),
    asked: str = "",
    is_own: bool = False,
) -> Verdict | None:
    """Return why the passages cannot carry a row that somebody wrote: a value holds digits or a name that they do not.

    Its labels are the writer's own words, and may hold the unit of the figures below. A row `is_own` if it concludes.
    """
    texts = [*(passage.quote for passage in passages), *titles, asked]
    held = {_digits(match[0]) for text in texts for match in _DIGITS.finditer(text)}
    held |= {number for text in texts for number in spelled_numbers(text)}
    days = [date.iso for text in texts for date in dates_of(text)]
    for _, value in cells:
        bare = value
        for date in dates_of(value):
            if not is_told_day(date.iso, days, is_own=is_own):
                return Verdict(kind="not_found", reason=f"date: {date.raw}")
            bare = bare.replace(date.raw, " ")
        for match in _DIGITS.finditer(bare):
            if _digits(match[0]) not in held:
                return Verdict(kind="not_found", reason=f"number: {match[0]}")
        if name := unknown_name(value, " ".join(texts)):
            return Verdict(kind="not_found", reason=f"name: {name}")
    return None


def figure_objection(figure: Quantity, passages: Sequence[Evidence]) -> str:
    """Return `number` or `unit` for a figure that no passage holds so, else ""."""
    has_value = False
    for passage in passages:
        for held in figures_of(passage.quote):
            # "Fell by 30.4 %" tells "-30.4 %"; which way it went is for a judge.
            if abs(held.value) == abs(figure.value):
                if not held.unit or not figure.unit or held.unit == figure.unit:
                    return ""
                has_value = True
            # "146.2" in a table whose head says "EUR million" is the text's "146.2 million euros".
            if not held.unit and _digits(held.raw) == _digits(figure.raw) == held.value:
                return ""
    if any(_is_spelled(figure, passage.quote) for passage in passages):
        return ""
    return "unit" if has_value else "number"


def _is_spelled(figure: Quantity, quote: str) -> bool:
    own = ((figure.value, figure.unit),)
    return any(_are_equal(own, worded.values) for worded in split_figures(quote)[1]) or (
        figure.unit not in (SHARE, TIMES) and figure.value in spelled_numbers(quote) | implied_numbers(quote)
    )


def holds_worded(quote: str, worded: Worded) -> bool:
    """Return whether a passage holds a quantity in words or in digits, or another that equals it."""
    held = [(figure.value, figure.unit) for figure in figures_of(quote)]
    held += [(share, SHARE) for share in implied_shares(quote)]
    if worded.values[0][1] != ORDER:
        held += [(number, "") for number in spelled_numbers(quote) | implied_numbers(quote)]
        held += [(float(digits), "") for digits in _NAMING_NUMBER.findall(quote)]
    in_words = [other.values for other in split_figures(quote)[1]]
    return any(_are_equal(worded.values, other) for other in (*in_words, *((value,) for value in held)))


def _are_equal(one: Values, other: Values) -> bool:
    """Return whether what one quantity plainly is can be said of the other: tripled and doubled only share 200 %."""
    points = _SHARE_POINTS if len(one) > 1 or len(other) > 1 else 0.0
    return any(_equals(one[0], value, points) for value in other) or any(
        _equals(value, other[0], points) for value in one
    )


def _equals(one: tuple[float, str], other: tuple[float, str], points: float) -> bool:
    """Return whether two values are equal; shares may differ by so many points, but by no more than a part of them."""
    (value, unit), (held, held_unit) = one, other
    if unit == ORDER:
        is_near = held_unit not in (SHARE, TIMES) and value <= held < _ORDER_REACH * value
        return held == value if held_unit == ORDER else is_near
    if unit == held_unit == SHARE:
        return abs(value - held) <= min(points, _SHARE_PART * max(value, held))
    if {unit, held_unit} & {SHARE, TIMES, ORDER}:
        return one == other
    return value == held and (unit == held_unit or not unit or not held_unit)


def _digits(raw: str) -> float | None:
    match = _DIGITS.search(raw)
    return float(match[0].replace(",", "")) if match else None


def is_told_day(wanted: str, held: Sequence[str], *, is_own: bool) -> bool:
    """Return whether a date is one that is held; of the report's own steps, one on the way to 2027 may be of 2026."""
    is_between = is_own and held and min(held)[:4] < wanted[:4] < max(held)[:4]
    return bool(is_between) or any(_is_date_of(wanted, iso) for iso in held)


def _is_date_of(wanted: str, held: str) -> bool:
    """Return whether a date of the passage is, or lies in, the wanted one; a coarser date cannot refute a finer one."""
    if "Q" in wanted or "Q" in held:
        return wanted == held or (("Q" in wanted) != ("Q" in held) and wanted[:4] == held[:4])
    return held.startswith(wanted) or wanted.startswith(held)


def _refuse(
    text: str, passages: Sequence[Evidence], reason: str, *, other_than: tuple[float, str] | DateMention
) -> Verdict:
    near = _nearest(text, passages, floor=_SAME_SUBJECT, subject_of=_uncounted)
    if near and has_other(near.text, other_than):
        return near.contradicts(reason)
    return Verdict(kind="not_found", reason=reason)


def has_other(text: str, figure: tuple[float, str] | DateMention) -> bool:
    """Return whether a text holds another figure of the same unit, or another date."""
    if isinstance(figure, DateMention):
        return any(date.iso != figure.iso for date in dates_of(text))
    held = [(other.value, other.unit) for other in figures_of(text)]
    held += [other.values[0] for other in split_figures(text)[1]]
    return any(unit == figure[1] or value == figure[0] for value, unit in held)


def unknown_name(text: str, quotes: str) -> str:
    """Return the first name in Latin letters that the quotes do not hold; quotes in another script cannot tell."""
    words = _LATIN_WORD.findall(quotes)
    if len(_CJK.findall(quotes)) > len(words) and not _CJK.search(text):
        return ""
    stems = {word.lower()[:_NAME_STEM] for word in words}
    stems |= {stem for pair in _PEOPLES if not stems.isdisjoint(pair) for stem in pair}
    initials = "".join(word[0].upper() for word in words)
    for match in _NAME.finditer(text):
        parts = match[0].split()
        if "".join(part[0] for part in parts if part.lower() not in _UNNAMED) in words:
            continue
        before = text[: match.start()].rstrip()
        begins = not before.strip("\"'“‘「") or before[-1] in _CLAUSE_END
        for part in parts[1:] if begins else parts:
            if part.removesuffix("s").isupper() and part.removesuffix("s") in initials:
                continue
            letters = [word.lower() for word in _LATIN_WORD.findall(part) if word[0].isupper()]
            if any(word[:_NAME_STEM] not in stems and word not in _UNNAMED for word in letters if len(word) > 1):
                return part
    return ""


def _nearest(
    text: str, passages: Sequence[Evidence], *, floor: float, subject_of: Callable[[str], set[str]]
) -> _Near | None:
    """Return the passages' sentence that shares most terms with the text, figures and negations aside."""
    wanted = subject_of(text)
    best, found = floor, None
    for passage in passages:
        for span in whole_sentences(passage.quote):
            held = passage.quote[span.start : span.end]
            subject = subject_of(held)
            # Of an empty union nothing is shared.
            share = len(wanted & subject) / max(1, len(wanted | subject))
            if share >= best:
                best, found = share, _Near(passage, passage.start + span.start, held)
    return found


def _uncounted(text: str) -> set[str]:
    """Return what a text is about without its quantities in words."""
    for worded in split_figures(text)[1]:
        text = text.replace(worded.raw, " ")
    return _subject(text)


def _subject(text: str) -> set[str]:
    return {term for term in content_terms(without_negations(text)[0]) if not any(map(str.isdigit, term))}
