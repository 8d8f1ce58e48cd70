"""Charts by rules: the series that the evidence holds, those nearest to the question first."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from deep_research.reasoning.rules.question.analysis import is_answered_first, is_short_answer
from deep_research.reasoning.rules.weighing.columns import series_of_table
from deep_research.reasoning.rules.weighing.dated_figures import series_of_sentences
from deep_research.reasoning.rules.weighing.series import MAX_LINES, Series, is_near, joined_series
from deep_research.reasoning.values import TABLE_KINDS, ChartSpec, Context, Findings
from deep_research.report.evidence.passage import Evidence
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import find_dates

MAX_CHARTS = 5
# Where nobody judges what a reader needs, few are enough.
_MAX_BY_RULES, _MAX_OF_TABLE = 2, 2
# A line that is 30 times smaller cannot be read beside the other.
_MAX_SIZE_RATIO = 30
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*[.、)]?\s+|[一二三四五六七八九十]+、)")


# Weekdays and version numbers: what stands beside them is no development.
_NO_SCALE = re.compile(
    r"(?i)(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?|v?\d+(?:\.\d+){1,3}|(?:星期|周|週)[一二三四五六日天]"
)


def charts_of(findings: Findings) -> tuple[ChartSpec, ...]:
    """Return few charts of series that share a word with the question.

    Where a few sentences or rows answer, only the table that answers is drawn.
    """
    found = possible_series(findings, most=MAX_CHARTS)
    if is_short_answer(findings) and is_answered_first(findings.brief):
        rows = max((each for each in findings.evidence if each.header), key=lambda each: each.score, default=None)
        is_asked = findings.brief.analysis.kind in TABLE_KINDS
        found = [series for series in found if is_asked and series.origin == (rows.header if rows else "")]
    return tuple(map(chart_of, found[:_MAX_BY_RULES]))


def chart_of(series: Series) -> ChartSpec:
    """Return the chart that shows a series."""
    return ChartSpec(
        title=series.title, chart_type="line" if series.is_dated else "bar", unit=series.unit, rows=series.rows
    )


def possible_series(findings: Findings, *, most: int, is_chosen: bool = False) -> list[Series]:
    """Return the series of figures, those nearest to the question first, no table again before every other.

    Unless somebody chooses among them (`is_chosen`), one that shares no word with the question is left out, and columns
    that the question names are one series.
    """
    asked = {*content_terms(findings.brief.question)}
    scores = {piece.id: piece.score for piece in findings.evidence}

    def shared(series: Series) -> int:
        labels = "" if series.is_dated else " ".join(row.label for row in series.rows)
        above = findings.contexts.get(series.rows[0].evidence, Context()).headings.replace("_", " ")
        return len(asked & {*content_terms(f"{series.measure} {labels} {above}")})

    def worth(series: Series) -> tuple[float, int]:
        best = max(scores.get(row.evidence, 0.0) for row in series.rows)
        return shared(series) + best + bool(series.unit), len(series.rows)

    ranked, before = [], Counter[str]()
    found = find_series(findings.evidence, findings.contexts)
    for series in sorted(found if is_chosen else _named_together(found, asked), key=worth, reverse=True):
        if all(_NO_SCALE.fullmatch(row.label) for row in series.rows):
            continue
        # Beside what a table measures, what it counts says little.
        if is_chosen or (shared(series) and (series.unit or not before[series.origin])):
            ranked.append((before[series.origin], series))
            before[series.origin] += bool(series.origin)
    most_of_table = MAX_LINES if is_chosen else _MAX_OF_TABLE
    return [series for times, series in sorted(ranked, key=lambda each: each[0]) if times < most_of_table][:most]


def _named_together(found: Sequence[Series], asked: set[str]) -> list[Series]:
    """Return the series, those columns of a table as one that the question names and that are of one size."""
    tables: dict[tuple[str, str], list[Series]] = {}
    for series in found:
        if series.origin:
            tables.setdefault((series.origin, series.unit), []).append(series)
    kept = list(found)
    for columns in tables.values():
        words = [{*content_terms(each.measure)} for each in columns]
        common = set.intersection(*words)
        named = [each for each, own in zip(columns, words, strict=True) if asked & (own - common)]
        sizes = [max(abs(row.value) for row in each.rows) for each in named]
        joined = joined_series(named) if len(named) > 1 and max(sizes) <= _MAX_SIZE_RATIO * min(sizes) else None
        if joined:
            kept = [joined, *(each for each in kept if each not in named)]
    return kept


def find_series(evidence: Sequence[Evidence], contexts: Mapping[str, Context]) -> list[Series]:
    """Return the series that pieces of evidence hold; `contexts` say where they stand."""
    titles = {piece.document: contexts.get(piece.id, Context()).title or piece.document for piece in evidence}
    places = {id_: f"{each.title} › {each.headings}" for id_, each in contexts.items()}
    found = [*_of_tables(evidence, contexts), *series_of_sentences(evidence, places, titles)]
    return _joined(found, {piece.id: titles[piece.document] for piece in evidence})


def _of_tables(evidence: Iterable[Evidence], contexts: Mapping[str, Context]) -> Iterator[Series]:
    rows = sorted((piece for piece in evidence if piece.header), key=lambda piece: (piece.header, piece.start))
    for _, group in groupby(rows, key=lambda piece: piece.header):
        table = list(group)
        above = contexts.get(table[0].id, Context())
        subject = _NUMBERED.sub("", above.headings.rpartition(" › ")[2]).replace("_", " ")
        dates = {date.iso for date in find_dates(above.headings)} or {date.iso for date in find_dates(above.title)}
        yield from series_of_table(table, subject=subject, when=dates.pop() if len(dates) == 1 else "")


def _joined(found: Iterable[Series], titles: Mapping[str, str]) -> list[Series]:
    """Return the series, those that several tables give as one: sources that differ each with their own values."""
    kept: list[Series] = []
    for series in found:
        at = next((at for at, each in enumerate(kept) if _is_same(each, series)), None)
        if at is None:
            kept.append(series)
            continue
        known = {row.label: row.value for row in kept[at].rows}
        is_named = any(row.series for row in kept[at].rows)
        if not is_named and all(is_near(known.get(row.label, row.value), row.value) for row in series.rows):
            rows = [*kept[at].rows, *(row for row in series.rows if row.label not in known)]
        else:
            named = (row.replace(series=titles[row.evidence]) for row in (*kept[at].rows, *series.rows))
            rows = list({(row.series, row.label): row for row in named}.values())
        kept[at] = kept[at]._replace(rows=tuple(sorted(rows, key=lambda row: row.label) if series.is_dated else rows))
    return kept


def _is_same(one: Series, other: Series) -> bool:
    """Return whether two tables give the same measure for some of the same names or times."""
    is_measure = one.measure.lower() == other.measure.lower() and one.unit == other.unit
    is_plain = not any(row.series for row in other.rows) and one.origin != other.origin
    labels = [{row.label for row in each.rows} for each in (one, other)]
    return is_measure and is_plain and one.is_dated == other.is_dated and not labels[0].isdisjoint(labels[1])
