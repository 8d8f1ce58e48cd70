"""What speaks for a sentence or a row as the answer to a question: some seventy features, each with a name.

All are numbers, mostly between 0 and 1. What each is worth is learned by `tools/train_answers.py`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from deep_research.reasoning.rules.question.analysis import ordinals_in
from deep_research.reasoning.rules.quoting.answer import (
    _ACTUAL,
    _CAUSAL,
    _CURRENCIES,
    _DAY,
    _DECIDED,
    _DURATIONS,
    _IN_BRACKETS,
    _MONEY_LABEL,
    _ORGANISATION,
    _PERSON,
    _PLACE,
    _PLANNED,
    _SHARES,
    TABLE_KINDS,
    Subjects,
)
from deep_research.reasoning.rules.quoting.relevance import Weights
from deep_research.reasoning.rules.quoting.selection import stands_alone
from deep_research.reasoning.rules.quoting.table_answer import is_computed
from deep_research.reasoning.rules.quoting.units import Unit, cells_of, states_nothing
from deep_research.reasoning.values import QuestionAnalysis
from deep_research.text.analyzer import analyze, content_terms
from deep_research.text.columns import OF_YEARS
from deep_research.text.dates import ANY_YEAR, find_dates, find_months, lies_in
from deep_research.text.folding import to_simplified
from deep_research.text.number_words import find_worded
from deep_research.text.quantities import find_quantities
from evals.answer_ranking.meaning import Vector, likeness, vector_of

_NAME = re.compile(r"[A-Z][A-Za-zÀ-ÿ\d&.-]*|[「《“\"『].{2,40}?[」》”\"』]")
_ENUMERATES = re.compile(r"[,;、；](?=\s?\w)|\b(?:and|or)\b|[和及与]")
_NEGATES = re.compile(r"\b(?:not?|never|none|neither|nor|without|cannot)\b|n['’]t\b|[不没无未非]")
# Words of so many letters are near each other where they begin alike.
_LOOSE = 5
_FEW = 6


class UnitContext(NamedTuple):
    """Where a unit stands: its title and headings, the terms beside it and in the document's first lines, its date."""

    around: str
    neighbours: frozenset[str] = frozenset()
    published: str = ""
    opening: frozenset[str] = frozenset()
    # What the title and the first lines give as its date.
    dated: tuple[str, ...] = ()
    # Its place in the document, from 0; a row has none.
    position: int = 0
    is_item: bool = False
    # Of a row: how well its table suits the question, and how many of its rows meet the question's conditions.
    fit: float = 0.0
    rows: int = 0
    # The sentences right before and after it.
    beside: tuple[str, ...] = ()


@lru_cache(maxsize=4_096)
def terms_of(text: str) -> frozenset[str]:
    """Return the terms of a text."""
    return frozenset(analyze(text.replace("_", " ")))


class Held(NamedTuple):
    """What a text holds, whatever is asked: figures by unit, dates, and things by their form."""

    text: str
    units: frozenset[str]
    values: frozenset[tuple[float, str]]
    dates: tuple[str, ...]
    has_day: bool
    has_money_label: bool
    names: tuple[str, ...]
    size: int
    pairs: frozenset[tuple[str, str]]


@lru_cache(maxsize=8_192)
def held_by(text: str, is_row: bool) -> Held:
    """Return what a text holds; a column's label may hold the unit of its cells: "Yield (%)"."""
    simple = to_simplified(text)
    cells = cells_of(simple) if is_row else ()
    measured = [f"{value} {held[1]}" for label, value in cells if (held := _IN_BRACKETS.search(label))]
    quantities = find_quantities("; ".join((simple, *measured)))
    worded = [each for found in find_worded(simple) for each in found.values]
    terms = content_terms(text)
    told = "; ".join(value for _, value in cells) if is_row else simple
    return Held(
        text=simple,
        units=frozenset({quantity.unit for quantity in quantities} | {unit for _, unit in worded}),
        values=frozenset({(quantity.value, quantity.unit) for quantity in quantities} | {*worded}),
        dates=tuple(dates_of(text)),
        has_day=_DAY.search(simple) is not None,
        has_money_label=is_row and _MONEY_LABEL.search(simple) is not None,
        names=tuple(_NAME.findall(told[1:])),
        size=len(terms),
        pairs=frozenset(pairwise(terms)),
    )


def dates_of(text: str) -> list[str]:
    """Return the dates of a text, and the months of those that name no year; a number in a row is no year by itself."""
    cells = cells_of(text)
    if len(cells) > 1:
        text = "; ".join(
            label if value.isdigit() and not OF_YEARS.search(label) else f"{label}: {value}" for label, value in cells
        )
    found = [mention.iso for mention in find_dates(text)]
    return found or [mention.iso for mention in find_months(text)]


def meets(found: Iterable[str], wanted: Iterable[str]) -> bool:
    """Return whether a date lies in a wanted period, or is a part of one."""
    return any(lies_in(date, period) for date in found if date for period in wanted)


@dataclass(frozen=True)
class AnswerSought:
    """What an answer must hold: the question's terms by weight, and its anchors; `question` is as the user wrote it."""

    analysis: QuestionAnalysis
    weights: Weights
    # What of the question no document holds.
    unknown: frozenset[str] = frozenset()
    question: str = ""
    beside: Subjects = Subjects()

    @cached_property
    def names(self) -> tuple[frozenset[str], ...]:
        """Return the terms of each name."""
        return tuple(terms for name in self.analysis.names if (terms := frozenset(content_terms(name))))

    @cached_property
    def held(self) -> Held:
        return held_by(self.question, False)

    @cached_property
    def asks_for_rows(self) -> bool:
        """Return whether what is asked for stands in several rows, or is computed from them."""
        return self.analysis.kind in TABLE_KINDS or is_computed(self.question)

    @cached_property
    def vector(self) -> Vector:
        return vector_of(self.question)

    @cached_property
    def figures(self) -> frozenset[str]:
        return frozenset(term for term in self.weights.of if any(map(str.isdigit, term)))

    @cached_property
    def heaviest(self) -> str:
        return max(self.weights.of, key=self.weights.of.__getitem__, default="")


def _share(found: int, of: int) -> float:
    return found / of if of else 0.0


def features(sought: AnswerSought, unit: Unit, place: UnitContext) -> dict[str, float]:
    """Return the features of a unit as the answer to a question."""
    own, around = unit.terms, terms_of(place.around)
    weights = sought.weights
    is_row = unit.header is not None
    held = held_by(unit.text, is_row)
    found: dict[str, float] = {"any": 1.0}
    share = weights.share(own)
    near = weights.share(own | place.neighbours)
    headed = weights.share(own | place.neighbours | around)
    opened = weights.share(own | place.neighbours | around | place.opening)
    found |= {
        "own": share,
        "own squared": share * share,
        "beside": near - share,
        "above": headed - near,
        "above alone": weights.share(own | around) - share,
        "opening": opened - headed,
        "loosely": _loosely(weights, own, held.text),
        "pairs": _share(len(sought.held.pairs & held.pairs), len(sought.held.pairs)),
        "density": min(1.0, 3 * _share(len(weights.of.keys() & own), held.size)),
        "heaviest": float(sought.heaviest in own),
        "heaviest above": float(sought.heaviest in around and sought.heaviest not in own),
        "unknown": _share(len(sought.unknown), len(sought.unknown) + len(weights.of)),
        "few terms": 1 / (1 + len(weights.of)),
        "meaning": likeness(sought.vector, vector_of(unit.text)),
        "meaning beside": max((likeness(sought.vector, vector_of(text)) for text in place.beside), default=0.0),
    }
    reaches = (own, own | around, own | around | place.neighbours | place.opening)
    for name, label in zip(reaches, ("name own", "name above", "name beside"), strict=True):
        found[label] = _share(sum(terms <= name for terms in sought.names), len(sought.names))
    found["name above"] -= found["name own"]
    found["name beside"] -= found["name own"] + found["name above"]
    found["name missing"] = 1 - found["name own"] - found["name above"] - found["name beside"] if sought.names else 0.0
    found["figure own"] = _share(len(sought.figures & own), len(sought.figures))
    found["figure missing"] = _share(len(sought.figures - own - around), len(sought.figures))
    found |= _period(sought, unit, place, held)
    found |= _numbered(sought, unit.text, place.around)
    found |= _sort(sought, held)
    found |= _says(sought, unit, held, place)
    words = max(1, held.size)
    found |= {
        "row": float(is_row),
        "item": float(place.is_item),
        "short": float(words < _FEW),
        "long": max(0.0, min(1.0, (words - 20) / 40)),
        "first": float(place.position == 0 and not is_row),
        "early": 0.0 if is_row else 1 / (1 + place.position),
        "leans": float(not is_row and not stands_alone(unit.text)),
    }
    if is_row:
        cells = cells_of(unit.text)
        labels = frozenset().union(*(terms_of(label) for label, _ in cells))
        values = frozenset().union(*(terms_of(value) for _, value in cells))
        found["row own"] = share
        found["row meaning"] = found["meaning"]
        found["suits"] = place.fit
        if sought.asks_for_rows:
            found |= {"asked for rows": 1.0, "suits, asked for rows": place.fit, "few rows": 1 / max(1, place.rows)}
        found["asked in values"] = weights.share(values)
        found["asked in labels"] = weights.share(labels - values)
    return found


def _loosely(weights: Weights, own: frozenset[str], text: str) -> float:
    """Return what share of the question is only held in another form: a word that begins alike, two Chinese letters."""
    lost = [term for term in weights.of if term not in own]
    if not lost:
        return 0.0
    heads = {term[:_LOOSE] for term in own if len(term) >= _LOOSE}
    total = 0.0
    for term in lost:
        if term.isascii():
            total += weights.of[term] * (len(term) >= _LOOSE and term[:_LOOSE] in heads)
        else:
            total += weights.of[term] * all(letter in text for letter in term) * 0.5
    return total / weights.total if weights.total else 0.0


def _period(sought: AnswerSought, unit: Unit, place: UnitContext, held: Held) -> dict[str, float]:
    wanted = sought.analysis.periods
    if not wanted:
        return {}
    is_of_then = float(meets((place.published, *place.dated), wanted))
    if sought.analysis.kind == "overview":
        # A meeting is told by the document of its day, whatever days it names; others may mention it.
        return {"overview of then": is_of_then}
    if unit.header:
        # A bare number is a year where its column is one of years.
        cells = cells_of(unit.text)
        told = "; ".join(
            f"{label} {value if OF_YEARS.search(label) or not value.isdigit() else ''}" for label, value in cells
        )
        dates = dates_of(told)
    else:
        dates = list(held.dates)
    near = dates_of(place.around)
    # A month that names no year is of the year that it stands under.
    own = [date.replace(ANY_YEAR, near[-1][:4] if near else ANY_YEAR) for date in dates]
    if meets(own, wanted):
        return {"period own": 1.0}
    if meets(near, wanted):
        return {"period above": 1.0, "period above, other own": float(bool(own))}
    if own:
        return {"period other": 1.0}
    return {"period missing": 1.0, "period of document": is_of_then}


def _numbered(sought: AnswerSought, text: str, around: str) -> dict[str, float]:
    found = {"number own": 0.0, "number above": 0.0, "number other": 0.0, "number missing": 0.0}
    wanted = ordinals_in(" ".join(sought.analysis.ordinals)) if sought.analysis.ordinals else []
    for kind, number in wanted:
        own = {other for noun, other in ordinals_in(text) if noun == kind}
        near = {other for noun, other in ordinals_in(around) if noun == kind}
        if number in own:
            key = "number own"
        elif own or (near and number not in near):
            key = "number other"
        else:
            key = "number above" if number in near else "number missing"
        found[key] += 1 / len(wanted)
    return found


def _sort(sought: AnswerSought, held: Held) -> dict[str, float]:
    """Return whether a unit holds a thing of the sort that is asked for, other than those of the question."""
    sort, asked = sought.analysis.asks_for, sought.held
    new = {unit for value, unit in held.values - asked.values}
    match sort:
        case "money":
            degree = float(bool(new & _CURRENCIES) or held.has_money_label)
        case "share" | "rate":
            degree = float(bool(new & _SHARES))
        case "duration":
            degree = float(bool(new & _DURATIONS))
        case "count":
            degree = float(bool(new - _CURRENCIES - _SHARES))
        case "date":
            degree = float(bool({*held.dates} - {*sought.analysis.periods}) or held.has_day)
        case "person" | "organisation" | "place":
            pattern = {"person": _PERSON, "organisation": _ORGANISATION, "place": _PLACE}[sort]
            degree = float(any(match.group() not in asked.text for match in pattern.finditer(held.text)))
        case _:
            others = [name for name in held.names if name not in asked.text]
            return {"name is new": float(bool(others)), "figure is new": float(bool(new))}
    return {f"holds {sort}": degree, f"lacks {sort}": 1 - degree}


def _says(sought: AnswerSought, unit: Unit, held: Held, place: UnitContext) -> dict[str, float]:
    """Return how a unit says what it says, beside what the question wants said."""
    asked, text, kind = sought.held.text, held.text, sought.analysis.kind
    is_planned, is_actual = _PLANNED.search(text) is not None, _ACTUAL.search(text) is not None
    found = {
        "planned": float(is_planned and not is_actual and not _PLANNED.search(asked)),
        "asks or wishes": float(unit.header is None and states_nothing(unit.text)),
        "another": float(sought.beside.is_another(f"{text} {place.around}")),
        "negates": float(bool(_NEGATES.search(text)) and not _NEGATES.search(asked)),
    }
    if _ACTUAL.search(asked):
        around = to_simplified(place.around)
        found["outcome"] = float(is_actual)
        found["only planned"] = float(not is_actual and (is_planned or _PLANNED.search(around) is not None))
    if kind == "reason":
        found["causal"] = float(_CAUSAL.search(text) is not None)
    if kind == "overview":
        found["decided"] = float(_DECIDED.search(f"{text} {to_simplified(place.around)}") is not None)
    if kind in ("procedure", "list"):
        found[f"item of {kind}"] = float(place.is_item)
    if kind == "list":
        found["enumerates"] = min(1.0, len(_ENUMERATES.findall(text)) / 4)
    return found
