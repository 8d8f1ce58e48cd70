"""Is a table row of the report a row of its source: the same row, each cell under its own column's header."""

from collections.abc import Iterable, Sequence

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Strings, Verdict, row
from deep_research.text.tables import find_tables
from deep_research.verify.quote import words_of


def check_cells(sentence: Sentence, passages: Sequence[Evidence]) -> Verdict:
    """Return `supported` if a header and a row among the passages carry the cells of a row, else `not_found`.

    Each must be a passage of its own, both of one document, the header first.
    """
    is_shown = sentence.text == row(sentence.cells, ()).text
    for piece in passages if is_shown else ():
        for header in passages:
            is_above = header.document == piece.document and header.end <= piece.start
            if is_above and check_row(sentence.cells, header.quote, piece.quote):
                return Verdict(kind="supported", reason="verbatim", evidence=piece.id, start=piece.start, end=piece.end)
    return Verdict(kind="not_found", reason="" if passages else "uncited")


def check_row(shown_cells: Sequence[tuple[str, str]], header_line: str, row_line: str) -> bool:
    """Return whether the values are the row's in every column that has a shown label, and no others; empty cells aside.

    The row's own label, its first cell, must be among them. Where two columns share a header both must be shown, or
    none: one alone could be the other.
    """
    names, cells = _line(header_line), _line(row_line)
    # A row of another length than its header has merged cells: which stands under which is not known.
    if len(names) != len(cells):
        return False
    expected, shown = _filled(zip(names, cells, strict=True)), _filled(shown_cells)
    shown_names = {_name(label) for label, _ in shown_cells}
    is_labelled = bool(shown) and shown[:1] == expected[:1] and shown_names <= {_name(name) for name in names}
    return is_labelled and shown == [pair for pair in expected if pair[0] in shown_names]


def _line(line: str) -> Sequence[str]:
    """Return the cells of a text that is one line of a table, else none."""
    lines = [line for table in find_tables(line) for line in (table.header, *table.rows) if line]
    return lines[0].cells if len(lines) == 1 and "\n" not in line.strip() else ()


def _filled(cells: Iterable[tuple[str, str]]) -> list[tuple[Strings, Strings]]:
    return [(_name(label), words) for label, value in cells if (words := words_of(value))]


def _name(label: str) -> Strings:
    # "total_cost" is how a data file spells "total cost".
    return words_of(label.replace("_", " "))
