"""A series of figures: values of one measure in one unit, each with the evidence that states it."""

import re
from collections.abc import Sequence
from math import isclose
from typing import NamedTuple

from deep_research.report.figure import DataRow
from deep_research.text.analyzer import CJK_CHARACTER, content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.quantities import SCALES, Quantity

MIN_POINTS, MAX_LINES = 3, 6
# Values nearer than this are one, rounded.
_ROUNDING = 0.02
_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_NUMBER = re.compile(rf"[-+]?\d[\d,.]*\s?(?:(?:{_SCALE})(?![a-z]))?", re.IGNORECASE)


class Series(NamedTuple):
    """Values of one measure; `is_dated` if their labels are times, `when` is the period of all if they are not.

    `subject` is what stands above a table, `by` what its labels are, `origin` the table itself or "".
    """

    measure: str
    unit: str
    rows: tuple[DataRow, ...]
    is_dated: bool
    subject: str = ""
    by: str = ""
    when: str = ""
    origin: str = ""

    @property
    def title(self) -> str:
        """Return what is measured, of which period, and in which unit."""
        is_chinese = bool(CJK_CHARACTER.search(self.measure))
        colon, comma, opening, closing = "：，（）" if is_chinese else (": ", ", ", " (", ")")
        what = self.measure[:1].upper() + self.measure[1:]
        words, above = (set(content_terms(text)) for text in (self.measure, self.subject))
        # One word says too little: "Heat", "容积".
        if (len(self.measure) <= 4 if is_chinese else len(words) < 2) and not above <= words:
            what = f"{self.subject}{colon}{what}"
        if self.by and not is_chinese:
            what += f" by {self.by.lower()}"
        labels = sorted({row.label for row in self.rows}) if self.is_dated else [self.when]
        between = "–" if len(labels[0]) == 4 else "至" if is_chinese else " to "
        when = between.join(dict.fromkeys((labels[0], labels[-1])))
        in_unit = f"{opening}{self.unit}{closing}" if self.unit else ""
        return f"{what}{'' if when in what else comma + when}{in_unit}"


def joined_series(parts: Sequence[Series]) -> Series | None:
    """Return series as the lines or colours of one; None where they differ in unit or in what they run over."""
    names = [each.measure for each in parts]
    if len({*names}) < len(names):
        names = [each.title for each in parts]
    kinds = {(each.unit, each.is_dated, any(row.series for row in each.rows)) for each in parts}
    labels = set.intersection(*({row.label for row in each.rows} for each in parts))
    if len(kinds) > 1 or max(kinds)[2] or not labels or not 1 < len({*names}) == len(names) <= MAX_LINES:
        return None
    rows: list[DataRow] = []
    for name, each in zip(names, parts, strict=True):
        rows += (row.replace(series=name) for row in each.rows)
    colon, comma = "：、" if CJK_CHARACTER.search(names[0]) else (": ", ", ")
    subjects = {each.subject for each in parts}
    above = f"{parts[0].subject}{colon}" if parts[0].subject and len(subjects) == 1 else ""
    return parts[0]._replace(measure=above + comma.join(names), rows=tuple(rows))


def unit_of(figure: Quantity) -> str:
    """Return the unit in its source's own word or sign."""
    if not figure.unit:
        return ""
    number = _NUMBER.search(to_simplified(figure.raw))
    start, end = number.span() if number else (0, 0)
    return (figure.raw[:start] + figure.raw[end:]).strip(" -") or figure.unit


def is_near(one: float, other: float) -> bool:
    """Return whether two values may be the same, rounded."""
    return isclose(one, other, rel_tol=_ROUNDING)
