"""What of a document answers a question best: sentences with what belongs to them, lists of steps, rows of tables."""

from collections.abc import Iterator, Sequence

from deep_research.reasoning.rules.quoting.table_answer import choose_rows
from deep_research.reasoning.rules.quoting.units import SourceSentence, Unit, headings_above, labelled, runs_of
from deep_research.reasoning.values import QuestionAnalysis
from deep_research.report.sources.document import Document
from deep_research.text.analyzer import content_terms
from deep_research.text.sentences import TextSpan, line_kind
from deep_research.text.tables import find_tables
from evals.answer_ranking.features import (
    UnitContext,
    dates_of,
    terms_of,
)

# Of one document, so many sentences and, where no table is asked for, rows may answer.
_FEW_SENTENCES, _ROWS = 4, 2
_SENTENCES = {"overview": 30}
# So many characters of a document name whom it is from.
_OPENING = 240
# A sentence is near its neighbours: two before it and one after.
_BEFORE, _AFTER = 2, 2
# Another table of the same document answers too if it is nearly as good.
_NEARLY = 0.9
# A cause is told in so many sentences of a paragraph, a list has so many items.
_CAUSE, _LONGEST_LIST, MIN_STEPS = 4, 10, 3


def opening_of(text: str) -> frozenset[str]:
    """Return the terms of a document's first lines."""
    return terms_of(text[:_OPENING])


def opening_dates(title: str, text: str) -> tuple[str, ...]:
    """Return the dates that a document's title and first lines name."""
    return (*dates_of(title), *dates_of(text[:_OPENING]))


Placed = tuple[Sequence[SourceSentence], int, Unit, UnitContext]


def placed_sentences(document: Document, stretches: Sequence[tuple[int, int]]) -> list[Placed]:
    """Return the sentences of a document, each with its run, its number there, itself, and where it stands."""
    found: list[Placed] = []
    opening, dated = opening_of(document.text), opening_dates(document.title, document.text)
    for start, end in stretches:
        for headings, run in runs_of(document.text[start:end], start):
            for at, sentence in enumerate(run):
                place = UnitContext(
                    f"{document.title} {headings}",
                    neighbours=frozenset().union(*(each.terms for each in run[max(0, at - _BEFORE) : at + _AFTER])),
                    published=document.published,
                    opening=opening,
                    dated=dated,
                    position=len(found),
                    is_item=line_kind(document.text, sentence.start) == "item",
                    beside=tuple(each.text for each in (*run[max(0, at - 1) : at], *run[at + 1 : at + 2])),
                )
                found.append((run, at, Unit((sentence,), headings), place))
    return found


PlacedRows = list[tuple[Unit, UnitContext]]


def rows_of(document: Document, question: str, analysis: QuestionAnalysis) -> Iterator[PlacedRows]:
    """Yield of each table of a document the rows that meet the question's conditions, with where they stand."""
    asked = frozenset(content_terms(question))
    opening, dated = opening_of(document.text), opening_dates(document.title, document.text)
    for table in find_tables(document.text):
        headings = headings_above(document.text, table.start)
        around = f"{document.title} {headings}"
        chosen = choose_rows(table, question, analysis, around) if table.header else None
        if chosen is None or table.header is None or not chosen.rows:
            continue
        cells = table.header.cells
        place = UnitContext(
            around,
            neighbours=terms_of(" ".join(cells)),
            published=document.published,
            opening=opening,
            dated=dated,
            fit=chosen.fit,
            rows=len(chosen.rows),
        )
        header = TextSpan(table.header.start, table.header.end)
        sentences = [SourceSentence(row.start, row.end, labelled(cells, row.cells, asked)) for row in chosen.rows]
        yield [(Unit((sentence,), headings, header), place) for sentence in sentences]
