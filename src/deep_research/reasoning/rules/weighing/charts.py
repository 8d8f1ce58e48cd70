"""Charts by rules: the series that the evidence holds, those nearest to the question first."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.weighing.columns import series_of_table
from deep_research.reasoning.rules.weighing.dated_figures import series_of_sentences
from deep_research.reasoning.rules.weighing.series import Series
from deep_research.reasoning.values import ChartSpec, Context, Findings
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import find_dates

MAX_CHARTS = 5
_MAX_OF_TABLE = 2
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*[.、)]?\s+|[一二三四五六七八九十]+、)")


def charts_of(findings: Findings, *, most: int = MAX_CHARTS) -> tuple[ChartSpec, ...]:
    """Return a chart for each series, those nearest to the question first."""
    asked = {*content_terms(findings.brief.question)}
    scores = {piece.id: piece.score for piece in findings.evidence}

    def worth(series: Series) -> tuple[float, int]:
        told = {*content_terms(f"{series.measure} {series.subject}")}
        best = max(scores.get(row.evidence, 0.0) for row in series.rows)
        return len(asked & told) + best, len(series.rows)

    chosen: list[Series] = []
    for series in sorted(find_series(findings.evidence, findings.contexts), key=worth, reverse=True):
        if not series.origin or [each.origin for each in chosen].count(series.origin) < _MAX_OF_TABLE:
            chosen.append(series)
    return tuple(
        ChartSpec(
            title=series.title, chart_type="line" if series.is_dated else "bar", unit=series.unit, rows=series.rows
        )
        for series in chosen[:most]
    )


def find_series(evidence: Sequence[Evidence], contexts: Mapping[str, Context]) -> Iterator[Series]:
    """Yield the series that pieces of evidence hold; `contexts` say where they stand."""
    rows = sorted((piece for piece in evidence if piece.header), key=lambda piece: (piece.header, piece.start))
    for _, group in groupby(rows, key=lambda piece: piece.header):
        table = list(group)
        above = contexts.get(table[0].id, Context())
        subject = _NUMBERED.sub("", above.headings.rpartition(" › ")[2]).replace("_", " ")
        dates = {date.iso for date in find_dates(above.headings)} or {date.iso for date in find_dates(above.title)}
        yield from series_of_table(table, subject=subject, when=dates.pop() if len(dates) == 1 else "")
    places = {id_: f"{each.title} › {each.headings}" for id_, each in contexts.items()}
    titles = {piece.document: contexts.get(piece.id, Context()).title for piece in evidence}
    yield from series_of_sentences(evidence, places, titles)
