"""Quantities of a sentence, in digits and in words, against those of its sources: the same, rounded, or computed."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, permutations, product
from typing import NamedTuple

from deep_research.text.analyzer import CJK, analyze, content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.number_words import MOST, ORDER, SHARE, TIMES, implied_numbers, implied_shares, spelled_numbers
from deep_research.text.quantities import Quantity, Values, chinese_number, digits_in, in_base_unit
from deep_research.verify.clauses import CLAUSE_END, letters_of
from deep_research.verify.nearest import Near
from deep_research.verify.particulars import HEDGE, figures_of, split_figures, without_extra_space

# "A third" is 33 %, and 35 % to most writers; "hundreds" are at most some thousand.
_SHARE_POINTS, _SHARE_PART, _ORDER_FACTOR = 2.0, 0.06, 20
_COUNTED_CHARS = 40
# "Two-dimensional" may stand for "2D", and "Palisade 5" for version 5: they name a thing and count nothing.
_NAMING_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?=-?[A-Za-z])|(?<=[A-Za-z] )\d{1,3}(?= [a-z])")
# A numeral of Chinese without a known measure may count, and may be part of a name or an idiom: 七连胜, 三明治.
NAMING = "numeral"
_COUNTER = re.compile(f"个?[{CJK}]")
_NUMERAL = re.compile(
    r"(?<![第数几一二两三四五六七八九十百千万亿零〇点\d])(?:[二三四五六七八九]?十[一二三四五六七八九](?![月日号时点])|[二两三四五六七八九]十?)"
    rf"(?=[{CJK}])(?![一二三四五六七八九十百千万亿])"
)
# "Nearly a third" may be 31 per cent, "less than a fifth" 16, and "fewer than one in ten" 6.
_ABOUT = 0.4
_HEDGE_CHARS = 12
# "A year earlier" is twelve months before.
_ONE_PERIOD = re.compile(r"\ban?\s(year|month|week|day|hour)\b", re.IGNORECASE)
_ROUGHLY = re.compile(rf"{HEDGE.pattern}|\b(?:over|under|less|more|fewer|close to)\b|不到|不足|逾|多", re.IGNORECASE)
# Words that say of a whole, or of the larger part of it, what "most" says too.
_MOSTLY = re.compile(
    r"\b(?:all|every|each|both|whole|entire\w*|always|mostly|mainly|largely|usually|typically|generally|predominant\w*"
    r"|widely|widespread|often|more than half|over half)\b|所有|全部|全体|每|均|都|主要|大都|普遍|过半|通常|一般|大量",
    re.IGNORECASE,
)


def amounts_of(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text, in digits and in words."""
    found = list(chain(*split_figures(text)))
    taken = {offset for each in found for offset in range(each.start, each.end)}
    for match in _NUMERAL.finditer(to_simplified(without_extra_space(text))):
        if match.start() not in taken:
            found.append(Quantity(chinese_number(match[0]), NAMING, *match.span(), match[0]))
    return tuple(sorted(found, key=lambda each: each.start))


def has_amount(amount: Quantity, texts: Iterable[str]) -> bool:
    """Return whether one of the texts holds a quantity, in words or in digits, or another that equals it."""
    return any(_is_in(amount, text) for text in texts)


def _is_in(amount: Quantity, text: str) -> bool:
    unit = amount.unit
    if unit == MOST and _MOSTLY.search(to_simplified(text)):
        return True
    figures = figures_of(text)
    if any(each.shown == amount.shown == each.value and not each.unit for each in figures):
        # "146.2" in a table whose head says "EUR million" is the text's "146.2 million euros".
        return unit != TIMES
    if "." in amount.raw and not unit and re.search(rf"(?<![\d.]){re.escape(amount.raw)}(?![\d.]*\d)", text):
        # It names a version, and counts nothing.
        return True
    # "Fell by 30.4 %" tells "-30.4 %".
    amounts = [each._replace(value=abs(each.value)).values for each in (*figures, *split_figures(text)[1])]
    amounts += [((share, SHARE),) for share in implied_shares(text)]
    amounts += [((1.0, period[1].lower()),) for period in _ONE_PERIOD.finditer(text)]
    if unit not in (SHARE, TIMES, ORDER, MOST):
        bare = spelled_numbers(text) | implied_numbers(text) | set(map(float, _NAMING_NUMBER.findall(text)))
        amounts += [((number, ""),) for number in bare]
    own = amount._replace(value=abs(amount.value)).values
    return any(_are_equal(own, other) for other in amounts)


def _are_equal(one: Values, other: Values) -> bool:
    """Return whether what one quantity plainly is can be said of the other: tripled and doubled only share 200 %."""
    points = _SHARE_POINTS if len(one) > 1 or len(other) > 1 else 0.0
    pairs = (*product(one[:1], other), *product(one, other[:1]))
    return any(_equals(*pair, points) for pair in pairs)


def _equals(one: tuple[float, str], other: tuple[float, str], points: float) -> bool:
    """Return whether two values are equal; shares may differ by so many points, but by no more than a part of them."""
    (value, unit), (amounts, other_unit) = one, other
    if unit == MOST:
        return other_unit in (MOST, SHARE) and value <= amounts <= 100
    if unit == ORDER:
        is_near = other_unit not in (SHARE, TIMES, MOST) and value <= amounts < _ORDER_FACTOR * value
        return amounts == value if other_unit == ORDER else is_near
    if unit == other_unit == SHARE:
        return abs(value - amounts) <= min(points, _SHARE_PART * max(value, amounts))
    if {unit, other_unit} & {SHARE, TIMES, ORDER, MOST}:
        return one == other
    # Pounds without a word for money beside them may still be it.
    if NAMING in (unit, other_unit) or {unit, other_unit} == {"lb", "GBP"}:
        return value == amounts
    return in_base_unit(*one) == in_base_unit(*other) or (value == amounts and not (unit and other_unit))


def has_value(amount: Quantity, texts: Iterable[str]) -> bool:
    """Return whether one of the texts holds a quantity with another unit."""
    return any(abs(each.value) == abs(amount.value) for text in texts for each in figures_of(text))


def has_other(text: str, amount: Quantity) -> bool:
    """Return whether a text holds another quantity of the same unit, or the same of another one."""
    return any(other.unit == amount.unit or other.value == amount.value for other in amounts_of(text))


def rivals(amount: Quantity, text: str, near: Near) -> bool:
    """Return whether a sentence has another quantity of the unit, or of what is counted, that a text does not tell."""
    stated = {other.in_base_unit[0] for other in amounts_of(text)}
    base, counted = amount.in_base_unit[1].removeprefix(NAMING), _counted(text, amount)
    amounts = amounts_of(near.text)
    # The numbers of a row may have their unit in the header.
    is_bare_row = near.is_row and not any(other.unit == amount.unit for other in amounts)
    for other in amounts:
        other_value, other_base = other.in_base_unit
        other_base = other_base.removeprefix(NAMING)
        is_same = other_base == base and (bool(base) or _counted(near.text, other) == counted)
        if (is_same or (is_bare_row and not other_base)) and other_value not in stated:
            return True
    return False


def _counted(text: str, amount: Quantity) -> str:
    """Return the first word behind a quantity that says what it counts."""
    behind = to_simplified(without_extra_space(text)[amount.end :])[:_COUNTED_CHARS]
    if measure := _COUNTER.match(behind):
        return measure[0]
    numbers = {term for worded in split_figures(behind)[1] for term in content_terms(worded.raw)}
    return next((term for term in content_terms(behind) if term not in numbers and not term[0].isdigit()), "")


def is_rounding(amount: Quantity, texts: Iterable[str]) -> bool:
    """Return whether a text holds a figure that is this one once it is rounded to the digits that are shown."""
    units = (amount.unit, "")
    amounts = (each for text in texts for each in figures_of(text) if each.unit in units or not amount.unit)
    return any(_rounds_to(abs(each.value), amount) for each in amounts)


def _rounds_to(value: float, figure: Quantity) -> bool:
    stated = abs(figure.value)
    if not stated:
        return False
    shown = next((each for each in digits_in(figure.raw) if each.strip("0.,")), f"{stated:.12g}").replace(",", "")
    scale = stated / float(shown)
    whole, _, decimals = shown.partition(".")
    zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
    steps = (scale * 10.0**power for power in range(-len(decimals), zeros + 1))
    # What is rounded keeps its order: "100" is not 64 rounded.
    return any(abs(value - stated) <= 0.5001 * step for step in steps if step <= 0.1 * stated)


def is_computed(figure: Quantity, others: Sequence[Quantity], before: str, near: Sequence[Near]) -> bool:
    """Return whether a figure is the sum, difference, share or ratio of those beside it.

    A statement with fewer than two others computes with those before it, or with those of a sentence near it.
    """
    unit = figure.unit
    pools = [others]
    if sum(other.unit == unit for other in others) < 2:
        texts = (before, " ".join(each.text for each in near))
        pools += [[*others, *figures_of(text)] for text in texts]
    for pool in pools:
        values = list(dict.fromkeys(abs(other.value) for other in pool if other.unit != "%"))[:12]
        results = [sum(values)] if len(values) > 2 else []
        if unit == "%":
            shares = [abs(other.value) for other in pool if other.unit == "%"][:12]
            results = [100 * a / b for a, b in permutations(values, 2) if b]
            results += [100 * abs(a - b) / b for a, b in permutations(values, 2) if b]
            results += [sum(shares), 100 - sum(shares), *(abs(a - b) for a, b in combinations(shares, 2))]
        else:
            if unit in ("pp", "x", ""):
                results += [a / b for a, b in permutations(values, 2) if b]
                values = [abs(other.value) for other in pool][:12]
            results += [result for a, b in combinations(values, 2) for result in (abs(a - b), a + b)]
        if any(_rounds_to(result, figure) for result in results):
            return True
    return False


def is_part(amount: Quantity, near: Sequence[Near]) -> bool:
    """Return whether a sentence and its neighbours tell an amount as the share of another: half of 40,000."""
    for each in near:
        amounts = amounts_of(each.around)
        shares = [other.value for other in amounts if other.unit == SHARE]
        if any(_rounds_to(other.value * share / 100, amount) for other, share in product(amounts, shares)):
            return True
    return False


def is_about(amount: Quantity, text: str, near: Sequence[Near]) -> bool:
    """Return whether a statement gives a share or a multiple roughly, and a sentence near it has about this one, or two
    figures that make it.
    """
    for each in near if _ROUGHLY.search(to_simplified(text)) else ():
        figures = figures_of(each.text)
        values = [abs(figure.value) for figure in figures if figure.unit != SHARE][:12]
        ratios = [a / b for a, b in permutations(values, 2) if b]
        shares = [abs(figure.value) for figure in figures if figure.unit == SHARE]
        shares += [100 * form for ratio in ratios for form in (ratio, ratio - 1)]
        value, forms = amount.value, shares if amount.unit == SHARE else ratios
        if any(abs(amounts - value) <= _ABOUT * value for amounts in forms):
            return True
    return False


def is_hedged(amount: Quantity, text: str) -> bool:
    """Return whether a text gives an amount only roughly."""
    before = to_simplified(without_extra_space(text))[: amount.start]
    return bool(_ROUGHLY.search(before[-_HEDGE_CHARS:]))


def exchanged_amount(text: str, near: Sequence[str]) -> str:
    """Return an amount that a source gives for what the text gives another for, and the other way round, or ""."""
    own = _amounts_in_context(text)
    theirs = [amount_here for stated in near for amount_here in _amounts_in_context(stated)]
    for one, other in combinations(own, 2):
        if one.amount == other.amount or one.amount[1] != other.amount[1]:
            continue
        firsts = [each for each in theirs if each.amount == one.amount]
        seconds = [each for each in theirs if each.amount == other.amount]
        found = [_is_exchanged((one, other), pair) for pair in product(firsts, seconds)]
        if found and all(found):
            return one.raw
    return ""


class _AmountInContext(NamedTuple):
    """An amount and the words before and behind it, up to the next amount or the end of its clause."""

    amount: tuple[float, str]
    raw: str
    before: frozenset[str]
    behind: frozenset[str]


def _amounts_in_context(text: str) -> list[_AmountInContext]:
    plain = to_simplified(without_extra_space(text))
    amounts = amounts_of(text)
    ends = sorted({match.start() for match in CLAUSE_END.finditer(plain)} | {0, len(plain)})
    found = []
    for amount in amounts:
        first = max(edge for edge in (*ends, *(each.end for each in amounts)) if edge <= amount.start)
        last = min(edge for edge in (*ends, *(each.start for each in amounts)) if edge >= amount.end)
        before, behind = (_said(part) for part in (plain[first : amount.start], plain[amount.end : last]))
        found.append(_AmountInContext(amount.in_base_unit, amount.raw, before, behind))
    return found


def _said(text: str) -> frozenset[str]:
    terms = [term for term in analyze(text) if content_terms(term) or term in ("from", "to")]
    return letters_of(terms)


def _is_exchanged(
    own: tuple[_AmountInContext, _AmountInContext], theirs: tuple[_AmountInContext, _AmountInContext]
) -> bool:
    """Return whether what stands on one side of two amounts stands beside the other in a source, on either side."""
    is_crossed = is_consistent = False
    sides = ([(pair[0].before, pair[1].before), (pair[0].behind, pair[1].behind)] for pair in (own, theirs))
    for (a, b), (c, d) in product(*sides):
        # What stands beside both tells nothing of either.
        one, other, first, second = a - b, b - a, c - d, d - c
        is_consistent |= bool(one & first and other & second)
        is_crossed |= bool(one & second and other & first) and not (one & first or other & second)
    return is_crossed and not is_consistent
