"""Whether a page is so large that telling its main text from the rest would take minutes.

trafilatura walks the tree many times, and fills up the rows of a table to the width of the widest.
"""

from typing import Final

from lxml import html

# Real pages have a few thousand elements; at this number trafilatura takes some five seconds.
_MAX_ELEMENTS: Final = 50_000
_MAX_FILLED_CELLS: Final = 200_000
_MAX_ROW_CELLS: Final = 2_000
# Browsers take no wider spans, nor does trafilatura.
_MAX_SPAN: Final = 1_000
# Python refuses to read numbers of thousands of digits.
_MAX_SPAN_DIGITS: Final = 1_000


def is_too_large(tree: html.HtmlElement) -> bool:
    """Say whether a page has more elements, or more cells once its tables are filled up, than can be looked through."""
    rows = widest = covered = 0
    for count, element in enumerate(tree.iter()):
        if count > _MAX_ELEMENTS:
            return True
        if element.tag == "tr":
            rows += 1
            spans = [(_span(cell, "colspan"), _span(cell, "rowspan")) for cell in element.iterchildren("td", "th")]
            widest = max(widest, sum(columns for columns, _ in spans))
            covered += sum(columns * lines for columns, lines in spans)
            if len(spans) > _MAX_ROW_CELLS:
                return True
    return covered + rows * min(widest, _MAX_SPAN) > _MAX_FILLED_CELLS


def _span(cell: html.HtmlElement, name: str) -> int:
    stated = cell.get(name) or ""
    if len(stated) > _MAX_SPAN_DIGITS:
        return _MAX_FILLED_CELLS + 1
    return max(1, min(int(stated), _MAX_SPAN)) if stated.isdecimal() else 1
