"""What rules have against a sentence and the sources it cites, whoever wrote it: a figure, sum, date or name that is
not theirs, a clause that was added, or the contrary of what they say. What they do not know is no objection.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from deep_research.text.analyzer import CJK_CHARACTER, content_terms, stem
from deep_research.text.dates import ANY_YEAR, find_months
from deep_research.text.number_words import MOST, ORDER, SHARE, TIMES
from deep_research.text.quantities import Quantity
from deep_research.verify.amounts import (
    NAMING,
    amounts_of,
    exchanged_amount,
    has_amount,
    has_other,
    has_value,
    is_about,
    is_computed,
    is_hedged,
    is_part,
    is_rounding,
    rivals,
)
from deep_research.verify.calculation import objection_to
from deep_research.verify.clauses import added_clause, terms_of
from deep_research.verify.derived import is_worked_out
from deep_research.verify.names import exchanged_name, unknown_name
from deep_research.verify.nearest import ALIKE, NEAR, NOTHING_NEAR, RELATED, REVERSED, SAME, CheckedSource, Near
from deep_research.verify.opposition import has_side, is_inverted
from deep_research.verify.particulars import (
    NEGATION_WORD,
    count_negations,
    dates_of,
    days_in,
    figures_of,
    spell_negations,
    without_extra_space,
)
from deep_research.verify.quote import tokens_of
from deep_research.verify.references import unknown_reference

ObjectionKind = Literal["reference", "number", "unit", "sum", "date", "name", "added", "negation"]
_MAX_INVERTED_WORDS, _MAX_OWN_WORDS = 4, 3
# So few things a table, a conclusion or a report counts itself.
MAX_COUNTED = 12
# Sentences that share nearly as much with a statement as the best one speak of the same.
_AS_NEAR = 0.8
_EQUATION = re.compile(r"[\d(][\d.,\s()%€$£¥+\-−–*/×÷]*[+\-−–*/×÷][\d.,\s()%€$£¥+\-−–*/×÷]*[=＝]\s*[€$£¥]?\d[\d.,]*")
_LIST_JOINT = re.compile(r",\s+and\s+|,\s+|\s+and\s+|;\s+|[、，；]|以?及|[和与與]")
_NAMED_BEFORE = re.compile(r"(?i)\b(?:all|these|those|both)\s*$|[这這那]|上述|以上|全部$")
_PROPOSES = re.compile(
    r"(?i)\b(?:propos\w*|targets?|thresholds?|deadlines?|aim\w*|goals?|success)\b|目[标標]|[建提][议議]|[门門][槛檻]|期限|力[争爭]|成功"
)
# "L-2024-03" names a thing.
_CODE = re.compile(r"(?<!\w)[A-Za-z]\w*(?:[-/.]\w+)*[-/.]\d\w*")
_AFTER_BRACKET = re.compile(r"[)）]\s+(?=[A-Z])")


class ClaimToCheck(NamedTuple):
    """A sentence to be checked.

    `before` is what its paragraph says before it. Names and dates of `known` are never foreign, nor are the figures of
    `given`; a clause may come from `titles`. A sentence `is_own` if it concludes, and `is_exact` if its figures must
    stand in the sources as they are: not rounded, and not computed from others. Where it `is_judged` later, a judge
    will see what was worked out from the sources' figures.
    """

    text: str
    before: str = ""
    known: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    allowed_figures: tuple[str, ...] = ()
    is_own: bool = False
    is_row: bool = False
    is_exact: bool = False
    is_judged: bool = False

    @property
    def proposes(self) -> bool:
        """Return whether it is a recommendation that may set a target, threshold or deadline of its own."""
        return self.is_own and self.is_judged and _PROPOSES.search(self.text) is not None


class Objection(NamedTuple):
    """What cannot be carried, and whether the nearest sentence says something else in its place."""

    kind: ObjectionKind
    detail: str = ""
    is_contrary: bool = False


def objection_against(claim: ClaimToCheck, near: Sequence[Near], cited: Sequence[CheckedSource]) -> Objection | None:
    """Return what the cited sources cannot carry of a sentence, or None if rules know nothing against it."""
    checks = (
        _reference(claim, cited),
        _equation(claim, cited),
        amount_against(claim, near, cited),
        _date(claim, near, cited),
        _name(claim, near, cited),
        _contradiction(claim, near),
        _added(claim, near, cited),
    )
    return next(filter(None, checks), None)


def _reference(claim: ClaimToCheck, cited: Sequence[CheckedSource]) -> Objection | None:
    reference = unknown_reference(claim.text, [source.text for source in cited]) if claim.is_exact else ""
    return Objection("reference", reference) if reference else None


def _equation(claim: ClaimToCheck, cited: Sequence[CheckedSource]) -> Objection | None:
    for match in _EQUATION.finditer(claim.text) if not claim.is_exact else ():
        objection = objection_to(match[0], claim.text, quotes=[claim.text, *(source.text for source in cited)])
        if objection.startswith("result"):
            return Objection("sum", objection.removeprefix("result: "))
    return None


def amount_against(claim: ClaimToCheck, near: Sequence[Near], cited: Sequence[CheckedSource]) -> Objection | None:
    """Return a quantity that the cited sources do not hold, or hold of something else."""
    # What an equation says was computed; its result, stated beside it, is as good.
    text = claim.text if claim.is_exact else _EQUATION.sub(" ", claim.text)
    results = [] if claim.is_exact else _EQUATION.findall(claim.text)
    whole = [source.text for source in cited]
    beside = [] if claim.is_exact else [source.about for source in cited]
    days = _supported_day_offsets(text, [*whole, *beside, *claim.known])
    allowed_figures = {amount.value for each in claim.allowed_figures for amount in amounts_of(each)}
    best = near[0] if near else NOTHING_NEAR
    amounts = amounts_of(text)
    for amount in amounts:
        value, unit = amount.value, amount.unit
        in_digits = amount.shown is not None
        is_count = (claim.is_row or claim.is_own) and value <= MAX_COUNTED and (amount.raw.isdigit() or not in_digits)
        # Whether a conclusion's "most" follows is for a judge to say.
        is_count |= claim.is_own and claim.is_exact and unit == MOST
        if amount.start in days or value in allowed_figures or (is_count and unit in ("", MOST)):
            continue
        # What the sentences say that come nearest is what counts; they may be as near as the best.
        same = [each.text for each in near if each.alike >= _AS_NEAR * best.alike]
        is_same = best.is_same_subject or (best.share >= SAME and not claim.is_row)
        others = [other for other in amounts if other is not amount]
        if unit == ORDER:
            # What the sentence tells in digits is not what it calls dozens.
            same, whole = ([_without(others, each) for each in texts] for texts in (same, whole))
        if has_amount(amount, [*same, *results]):
            continue
        is_strict = claim.is_exact and not is_hedged(amount, text)
        is_derived = not is_strict and (is_part(amount, near) or is_rounding(amount, [each.around for each in near]))
        is_derived |= bool(unit) and is_computed(amount, (), "", near[:1])
        is_derived |= not claim.is_exact and _is_derived(amount, others, claim, near, [*results, *beside])
        is_derived |= claim.proposes or (
            claim.is_judged
            and (
                (value <= MAX_COUNTED and unit not in (SHARE, TIMES, ORDER, MOST)) or is_worked_out(amount, text, whole)
            )
        )
        if is_derived:
            continue
        # "The two totals differ", citing both or more, counts what it brings together: a judge sees whether rightly.
        is_free = value == 1 or (unit == NAMING and value <= MAX_COUNTED)
        is_free |= not in_digits and not unit and (1 < value <= len(cited) or _counts_what_it_lists(amount, text))
        # A report rounds, reckons with dates and takes shares of its own.
        is_rough = bool(unit) or value > MAX_COUNTED
        is_free |= not (in_digits or claim.is_exact or unit in (ORDER, MOST, TIMES)) and is_rough
        is_known = has_amount(amount, [*whole, *beside]) or (not is_strict and is_rounding(amount, whole))
        is_same |= unit == NAMING and not is_known
        meant = near if unit == NAMING and not is_known else near[:1]
        has_rival = is_same and any(rivals(amount, text, each) for each in meant)
        if (is_known or is_free) and not has_rival:
            continue
        is_contrary = best.alike >= REVERSED and has_other(best.text, amount)
        if claim.is_exact and in_digits and not is_known and has_value(amount, whole):
            return Objection("unit", amount.raw.strip(), is_contrary)
        is_sum = in_digits and sum(unit in (other.unit, "%") for other in others) > 1
        return Objection("sum" if is_sum and not claim.is_exact else "number", amount.raw.strip(), is_contrary)
    around = [each.around for each in near] if not (claim.is_row or claim.is_judged) else []
    exchanged = exchanged_amount(text, around)
    return Objection("number", exchanged, is_contrary=True) if exchanged else None


def _counts_what_it_lists(amount: Quantity, text: str) -> bool:
    """Return whether a small number counts what the sentence lists behind a colon, or what was named before it."""
    if amount.value > MAX_COUNTED:
        return False
    _, colon, listed = text[amount.end :].replace("：", ":").partition(":")
    is_listed = bool(colon) and len(_LIST_JOINT.split(listed)) == amount.value
    return is_listed or _NAMED_BEFORE.search(text[: amount.start]) is not None


def _is_derived(
    amount: Quantity, others: Sequence[Quantity], claim: ClaimToCheck, near: Sequence[Near], results: Sequence[str]
) -> bool:
    """Return whether a quantity comes from those that the sources hold near it: rounded, roughly, or computed."""
    in_digits = amount.shown is not None
    bare = amount._replace(value=amount.shown or 0.0, unit="")
    return (
        is_rounding(amount, results)
        # An equation may leave scales and units out.
        or (in_digits and is_rounding(bare, results))
        or (amount.unit in (SHARE, TIMES) and not in_digits and is_about(amount, claim.text, near))
        or (in_digits and is_computed(amount, others, claim.before, near))
    )


def _without(amounts: Sequence[Quantity], text: str) -> str:
    for amount in amounts:
        text = text.replace(amount.raw, " ")
    return text


def _supported_day_offsets(sentence: str, texts: Sequence[str]) -> set[int]:
    """Return the offsets of a sentence that belong to a day or month without a year, or to a thing's number, which one
    of the texts names too.
    """
    plain = without_extra_space(sentence)
    mentions, codes = find_months(plain), list(_CODE.finditer(plain))
    spans = [code.span() for code in codes if any(code[0] in text for text in texts)]
    if mentions:
        held = [without_extra_space(text) for text in texts]
        stated = [mention.iso for text in held for mention in find_months(text)]
        stated += [ANY_YEAR + iso[len(ANY_YEAR) :] for iso in days_in(held)]
        spans += [(each.start, each.end) for each in mentions if any(iso.startswith(each.iso) for iso in stated)]
    return {at for span in spans for at in range(*span)}


def _date(claim: ClaimToCheck, near: Sequence[Near], cited: Sequence[CheckedSource]) -> Objection | None:
    beside = [*claim.known, *(source.about for source in cited)]
    around = days_in([*(each.around for each in near), *beside])
    whole, stated = days_in(source.text for source in cited), days_in([claim.text])
    best = near[0] if near else NOTHING_NEAR
    for date in dates_of(claim.text) if not claim.proposes else ():
        if any(sources_iso.startswith(date.iso) for sources_iso in around):
            continue
        if claim.is_judged and date.iso.isdigit() and any(_is_next(date.iso, iso) for iso in (*around, *whole)):
            # "Next year" of the minutes of 2024 is 2025.
            continue
        # A coarser date elsewhere, "in 2025", tells nothing where the same sentence names another day.
        rival_dates = days_in([best.text]) if best.alike >= ALIKE else []
        is_other = any(len(sources_iso) >= len(date.iso) and sources_iso not in stated for sources_iso in rival_dates)
        if (is_other and not claim.is_own) or not is_supported_day(date.iso, [*around, *whole], is_own=claim.is_own):
            return Objection("date", date.raw, best.alike >= REVERSED and bool(rival_dates))
    return None


def _is_next(year: str, iso: str) -> bool:
    return iso[:4].isdigit() and abs(int(year) - int(iso[:4])) == 1


def is_supported_day(wanted: str, sources_iso: Sequence[str], *, is_own: bool) -> bool:
    """Return whether a date is one that is held; of the report's own steps, one on the way to 2027 may be of 2026."""
    is_between = is_own and sources_iso and min(sources_iso)[:4] < wanted[:4] < max(sources_iso)[:4]
    return bool(is_between) or any(_is_date_of(wanted, iso) for iso in sources_iso)


def _is_date_of(wanted: str, sources_iso: str) -> bool:
    """Return whether a date of the passage is, or lies in, the wanted one; a coarser date cannot refute a finer one."""
    if ("Q" in wanted) != ("Q" in sources_iso):
        return wanted[:4] == sources_iso[:4]
    return sources_iso.startswith(wanted) or wanted.startswith(sources_iso)


def _name(claim: ClaimToCheck, near: Sequence[Near], cited: Sequence[CheckedSource]) -> Objection | None:
    text = _AFTER_BRACKET.sub(". ", _EQUATION.sub(" ", claim.text))
    for figure in figures_of(text):
        # "840 MWh" names nobody.
        text = text.replace(figure.raw, " ")
    whole = " ".join([*(f"{source.about} {source.text}" for source in cited), *claim.known])
    best = near[0] if near else NOTHING_NEAR
    name = unknown_name(text, whole) if claim.is_exact or best.share >= RELATED else ""
    if not name and best.share >= NEAR and not claim.is_own:
        name = exchanged_name(text, best, " ".join([*(each.around for each in near), *claim.known]), whole)
    return Objection("name", name) if name else None


def _added(claim: ClaimToCheck, near: Sequence[Near], cited: Sequence[CheckedSource]) -> Objection | None:
    if claim.is_own or claim.is_row:
        return None
    near_terms = frozenset[str]().union(*(terms_of(each.text) for each in near))
    sentences = [terms_of(stated) for stated in (claim.before, *claim.titles, *(source.about for source in cited))]
    sentences += [terms for source in cited for _, terms, _ in source.sentences]
    # What brings many sources together has words of its own.
    clause = added_clause(claim.text, near_terms, sentences, min_words=min(len(cited), _MAX_OWN_WORDS))
    # What it says in figures and dates was looked at by itself.
    is_looked_at = dates_of(clause) or any(amount.unit not in (ORDER, MOST) for amount in amounts_of(clause))
    return Objection("added", clause) if clause and not (claim.is_judged and is_looked_at) else None


def _contradiction(claim: ClaimToCheck, near: Sequence[Near]) -> Objection | None:
    """Return whether the nearest sentence is the same but for a negation, an opposite, or who does it to whom."""
    if not near or claim.is_own:
        return None
    best = near[0]
    # Who does what to whom, a judge tells better.
    if not claim.is_judged and is_inverted(claim.text, [each.text for each in near]):
        return Objection("negation", is_contrary=True)
    if best.alike < ALIKE and best.share < SAME:
        return None
    is_more = count_negations(claim.text) != count_negations(best.text)
    own, theirs = _words(claim.text), _words(best.text)
    matcher = SequenceMatcher(None, own, theirs, autojunk=False)
    for change, a, b, c, d in matcher.get_opcodes():
        here, there = own[a:b], theirs[c:d]
        is_denied = (here.count(NEGATION_WORD) - there.count(NEGATION_WORD)) % 2
        if not is_more or change == "equal" or not is_denied:
            continue
        # "Fell short of" for "did not reach" turns nothing.
        is_short = max(len(here), len(there)) <= _MAX_INVERTED_WORDS and not any(
            map(has_side, (*_content(here), *_content(there)))
        )
        if _content(here) == _content(there) or (matcher.ratio() >= SAME and is_short):
            return Objection("negation", is_contrary=True)
    return None


def _words(text: str) -> list[str]:
    return [stem(token.text) for token in tokens_of(spell_negations(text)) if token.text[0].isalnum()]


def _content(words: Sequence[str]) -> frozenset[str]:
    joined = "".join(words) if words and CJK_CHARACTER.match(words[-1]) else " ".join(words)
    return frozenset(content_terms(joined)) - {NEGATION_WORD}
