"""A figure of a report: what was drawn, from which rows, and the evidence behind each; and pictures of its sources."""

import re
from math import isclose
from typing import Literal

from deep_research.report.paragraph import Paragraph, Strings
from deep_research.text.quantities import find_quantities
from deep_research.value import Value

_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")

# Ours are the first two; a model's programs draw the others.
ChartType = Literal["line", "bar", "stacked", "area", "scatter", "pie"]


class DataRow(Value):
    """One value of a chart, what it belongs to, and the evidence that states it; `series` names its line or colour."""

    label: str
    value: float
    evidence: str
    series: str = ""

    def is_stated_in(self, text: str) -> bool:
        """Return whether a text holds the value, as it is written there, at its full size or in its least unit."""
        numbers = [float(number.replace(",", "")) for number in _NUMBER.findall(text)]
        sizes = (size for each in find_quantities(text) for size in (each.value, each.in_base_unit[0]))
        return any(isclose(self.value, number, rel_tol=1e-9) for number in (*numbers, *sizes))


class Figure(Value):
    """A chart that was drawn; `png` and `svg` are content ids of its pictures."""

    title: str
    chart_type: ChartType
    unit: str = ""
    rows: tuple[DataRow, ...]
    png: str
    svg: str = ""

    @property
    def named_columns(self) -> Strings:
        """Return what the values are named by: fields of a row."""
        return ("series", "label") if any(row.series for row in self.rows) else ("label",)


class Image(Value):
    """A picture: a figure of the report by its path, or one in a cited source, which was not loaded, by its address.

    `source` is the address of that source and `number` its citation number. It can be opened like a path.
    """

    address: str
    caption: str = ""
    source: str = ""
    number: int = 0

    def __fspath__(self) -> str:
        return self.address


class Caption(Paragraph):
    """What stands where a figure is: the picture, its title, and the sources of its rows."""

    number: int
    figure: Figure

    def file(self, ending: str) -> str:
        """Return the name of a file of the figure, seen from the report."""
        return f"figures/figure-{self.number}{ending}"
