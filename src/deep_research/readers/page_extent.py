"""How large a page is: beyond some size, telling its main text from the rest would take minutes.

trafilatura walks the tree many times, fills up the rows of a table to the width of the widest, and asks other packages
where it finds little, one of which takes quadratic time.
"""

from typing import Final, Literal

from lxml import html

Extent = Literal["common", "large", "too large"]

# Of 389 real pages the largest has 6,210 elements.
_MAX_COMMON_ELEMENTS: Final = 8_000
# At this number trafilatura alone takes some five seconds.
_MAX_ELEMENTS: Final = 50_000
_MAX_FILLED_CELLS: Final = 200_000
_MAX_ROW_CELLS: Final = 2_000
# Browsers take no wider spans, nor does trafilatura.
_MAX_SPAN: Final = 1_000
# Python refuses to read numbers of thousands of digits.
_MAX_SPAN_DIGITS: Final = 1_000


def extent_of(tree: html.HtmlElement) -> Extent:
    """Judge a page by its elements, and by the cells its tables have once they are filled up."""
    count = rows = widest = covered = 0
    for count, element in enumerate(tree.iter()):
        if count > _MAX_ELEMENTS:
            return "too large"
        if element.tag == "tr":
            rows += 1
            spans = [(_span(cell, "colspan"), _span(cell, "rowspan")) for cell in element.iterchildren("td", "th")]
            widest = max(widest, sum(columns for columns, _ in spans))
            covered += sum(columns * lines for columns, lines in spans)
            if len(spans) > _MAX_ROW_CELLS:
                return "too large"
    if covered + rows * min(widest, _MAX_SPAN) > _MAX_FILLED_CELLS:
        return "too large"
    return "large" if count > _MAX_COMMON_ELEMENTS else "common"


def _span(cell: html.HtmlElement, name: str) -> int:
    stated = cell.get(name) or ""
    if len(stated) > _MAX_SPAN_DIGITS:
        return _MAX_FILLED_CELLS + 1
    return max(1, min(int(stated), _MAX_SPAN)) if stated.isdecimal() else 1
