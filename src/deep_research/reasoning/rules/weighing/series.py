"""Series of figures in the evidence, for charts: columns of a table, and sentences that go through several years."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.quoting.drafting import row_of
from deep_research.reasoning.values import ChartSpec, Findings
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import DateMention, find_dates
from deep_research.text.quantities import Quantity, find_quantities
from deep_research.text.sentences import split_sentences
from deep_research.value import canonical_json

MAX_CHARTS = 5
# "Less than 5" is no point of a line.
_LIMIT = re.compile(r"(?i)[<>≤≥~≈]|\b(?:less|more|under|over|up to|at (?:least|most))\b|不足|超过|以[上下]")
_CHANGE = re.compile(r"(?i)\bby\b")
_MIN_POINTS, _MAX_POINTS = 3, 40
_CODE = """import json
import matplotlib.pyplot as plt

data = json.loads({data!r})
figure, axes = plt.subplots(figsize=(8, 4.5))
labels = [point["label"] for point in data["points"]]
values = [point["value"] for point in data["points"]]
axes.plot(labels, values, marker="o") if data["kind"] == "line" else axes.bar(labels, values)
axes.set_title(data["title"])
axes.set_ylabel(data["unit"])
figure.tight_layout()
"""


class Point(NamedTuple):
    """A value, what it belongs to, and the evidence that states it; nothing is ever put between two points."""

    label: str
    value: float
    evidence: str


class Series(NamedTuple):
    """Values of one thing in one unit; `is_dated` if the labels are times."""

    title: str
    unit: str
    points: tuple[Point, ...]
    is_dated: bool


def charts_of(findings: Findings) -> tuple[ChartSpec, ...]:
    """Return a chart for each series, those with most points first."""
    evidence = {piece.id: piece for work in findings.sections for piece in work.evidence}
    found = sorted(find_series(list(evidence.values())), key=lambda series: -len(series.points))
    return tuple(map(_chart, found[:MAX_CHARTS]))


def find_series(evidence: Sequence[Evidence]) -> Iterator[Series]:
    """Yield the series that pieces of evidence hold."""
    rows = sorted((piece for piece in evidence if piece.header), key=lambda piece: (piece.header, piece.start))
    for _, group in groupby(rows, key=lambda piece: piece.header):
        yield from _columns(list(group))
    for piece in evidence:
        if not piece.header:
            yield from _sentences(piece)


def _columns(rows: Sequence[Evidence]) -> Iterator[Series]:
    cells = [row_of(piece) for piece in rows]
    if not _MIN_POINTS <= len(cells) <= _MAX_POINTS or any(len(row.cells) < 2 for row in cells):
        return
    for label, _ in cells[0].cells[1:]:
        points, units = [], set()
        for piece, row in zip(rows, cells, strict=True):
            cell = dict(row.cells).get(label, "")
            quantities = find_quantities(cell)
            if len(quantities) == 1 and not _LIMIT.search(cell):
                points.append(Point(row.cells[0][1], quantities[0].value, piece.id))
                units.add(quantities[0].unit)
        if len(points) == len(cells) and len(units) == 1 and len({point.label for point in points}) == len(points):
            is_dated = all(find_dates(point.label) for point in points)
            in_time = sorted(points, key=lambda point: find_dates(point.label)[0].iso) if is_dated else points
            yield Series(label, units.pop(), tuple(in_time), is_dated)


def _sentences(piece: Evidence) -> Iterator[Series]:
    for start, end in split_sentences(piece.quote):
        sentence = piece.quote[start:end]
        figures, dates = find_quantities(sentence), find_dates(sentence)
        is_series = len(figures) == len(dates) >= _MIN_POINTS and len({figure.unit for figure in figures}) == 1
        # "€88 in 2021, €103 in 2023": each figure has its own date, in the same order throughout.
        turns = {figure.start < date.start for figure, date in zip(figures, dates, strict=False)}
        is_series = is_series and len(turns) == 1 and len({date.iso for date in dates}) == len(dates)
        if is_series and figures[0].unit and not _other_words(sentence, figures, dates):
            pairs = zip(dates, figures, strict=True)
            points = tuple(Point(date.iso, figure.value, piece.id) for date, figure in pairs)
            yield Series(sentence.strip(), figures[0].unit, tuple(sorted(points)), is_dated=True)


def _other_words(sentence: str, figures: Sequence[Quantity], dates: Sequence[DateMention]) -> list[str]:
    """Return the words after the first figure and its date: a series needs none, everything is said before it."""
    mentions: list[Quantity | DateMention] = [*figures, *dates]
    taken = {at for each in mentions for at in range(each.start, each.end)}
    begin = max(figures[0].start, dates[0].start)
    rest = "".join(" " if at in taken else letter for at, letter in enumerate(sentence) if at >= begin)
    return [*content_terms(rest), *_CHANGE.findall(rest)]


def _chart(series: Series) -> ChartSpec:
    kind = "line" if series.is_dated else "bar"
    data = {
        "title": series.title,
        "unit": series.unit,
        "kind": kind,
        "points": [point._asdict() for point in series.points],
    }
    return ChartSpec(title=series.title, chart_type=kind, python_code=_CODE.format(data=canonical_json(data)))
