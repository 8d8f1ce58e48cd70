"""Whether a quantity can be worked out from what texts hold: a sum, difference, product, share, multiple or duration.

That it can says nothing of whether it is told of the right thing: that is for a judge.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import combinations

from deep_research.text.dates import ends_of
from deep_research.text.number_words import MOST, SHARE, TIMES
from deep_research.text.quantities import Quantity, digits_in
from deep_research.verify.amounts import amounts_of
from deep_research.verify.particulars import days_in, plain_letters

_MAX_VALUES = 40
# "Nearly a third" and "some 40 per cent".
_ROUGHLY = re.compile(
    r"\b(?:about|around|roughly|nearly|almost|close to|some|just|over|under|more than|less than|fewer than|not quite"
    r"|well|good|approximately|up to|at least|little|or so)\b|[约近逾多余强弱]|左右|上下|不到|不足|大概|将近|超过"
)
_HEDGE_CHARS = 16
_ROUGH, _ROUGHER, _WORDED = 0.1, 0.2, 0.07
_MAX_COUNT = 12
_TIME = re.compile(r"(?<![\d:])(\d\d?)(?:[:：分]|\sminutes?\s)([0-5]?\d)(?![\d:])")
# Days of a day, a week, a month and a year.
_PERIODS = (1, 7, 30.44, 365.25)


def is_worked_out(amount: Quantity, sentence: str, texts: Sequence[str]) -> bool:
    """Return whether one or two of the texts' figures, dates or times give a quantity, as roughly as it is told."""
    near = plain_letters(sentence[max(0, amount.start - _HEDGE_CHARS) : amount.end + _HEDGE_CHARS])
    is_number = amount.shown is not None or amount.raw.isdigit()
    is_one_digit = len(f"{abs(amount.value):.6g}".replace(".", "").strip("0")) == 1
    rough = _ROUGHER if is_one_digit else _ROUGH
    part = rough if _ROUGHLY.search(near) else 0.0 if is_number else _WORDED
    least = max(part * abs(amount.value), 0.5001 * _last_step(amount))
    # "Three nights" may be the sentence's own.
    counts = [f"{each.value:g}" for each in amounts_of(sentence) if 1 < each.value <= _MAX_COUNT and each != amount]
    results = list(_results(amount.unit, [*texts, *counts]))
    return any(abs(abs(value) - result) <= least for value, _ in amount.values for result in results)


def _last_step(amount: Quantity) -> float:
    """Return what the last digit that is shown stands for."""
    shown = next(iter(digits_in(amount.raw)), "").replace(",", "")
    if not shown or not float(shown):
        return 0.0
    scale, decimals = abs(amount.value) / float(shown), len(shown.partition(".")[2])
    zeros = 0 if decimals else len(shown) - len(shown.rstrip("0"))
    return float(scale * 10.0 ** (zeros - decimals))


def _results(unit: str, texts: Sequence[str]) -> Iterator[float]:
    held = [(abs(value), own) for text in texts for each in amounts_of(text) for value, own in each.values]
    # What stands twice may be added to itself.
    twice = [one for one, count in Counter(held).items() for _ in range(min(count, 2)) if one[0]]
    for (large, one), (small, other) in combinations(sorted(twice, reverse=True)[:_MAX_VALUES], 2):
        if unit in (SHARE, TIMES, MOST, "pp") and one != other:
            continue
        if unit in (SHARE, MOST, "pp"):
            yield from (100 * small / large, 100 * (large - small) / large, 100 * (large - small) / small)
            yield 100 * large / small
        yield from (large - small, large + small, large * small, large / small, small / large)
        # Metres told in centimetres, and the like.
        yield from (100 * (large - small), 1_000 * (large - small))
    if unit in (SHARE, "pp"):
        yield from (100 - value for value, _ in held if value < 100)
    yield from _column_sums(texts)
    yield from _durations(texts)


def _column_sums(texts: Sequence[str]) -> Iterator[float]:
    """Yield the sums of what stands in the same cells of several rows."""
    rows = [text.strip().strip("|").split("|") for text in texts if text.lstrip().startswith("|")]
    for cells in zip(*rows, strict=False):
        numbers = [own[0].value for cell in cells if (own := amounts_of(cell))]
        if len(numbers) == len(rows) > 2:
            yield sum(numbers)


def _durations(texts: Iterable[str]) -> Iterator[float]:
    """Yield how far apart dates are, in days and longer units, and times of a day, in minutes and hours."""
    held = list(texts)
    isos = (ends_of(iso)[0] for iso in dict.fromkeys(days_in(held)))
    days = [date.fromisoformat(iso if iso.count("-") > 1 else f"{iso}-01") for iso in isos if "-" in iso]
    for one, other in combinations(days[:_MAX_VALUES], 2):
        yield from (abs(one - other).days / length for length in _PERIODS)
    times = {60 * int(hour) + int(minute) for text in held for hour, minute in _TIME.findall(text)}
    for early, late in combinations(sorted(times), 2):
        yield from (late - early, (late - early) / 60, *divmod(late - early, 60))
