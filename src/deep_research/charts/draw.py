"""The program that draws the rules' charts: rows of data on standard input, pictures on standard output, both as JSON.

It runs in a process of its own (`drawing.py` starts it). Its input is data only: no text in it is run or parsed.
"""

import base64
import io
import json
import re
import sys
import unicodedata
import warnings
from collections.abc import Sequence
from datetime import date
from functools import partial
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from deep_research.charts import style

# Widths count an ASCII letter as 1 and a Chinese sign as 2.
_LABEL_WIDTH, _LEGEND_WIDTH, _LINE_WIDTH = 34, 38, 90
# More or longer labels than these stand beside bars, not below them.
_MAX_UPRIGHT, _MAX_UPRIGHT_WIDTH = 8, 10
# So many values stand beside their points; more would touch each other.
_MAX_LABELLED = 14
_SPACING = 1.3
_SCALES = {
    "en": ((1e12, "trillion "), (1e9, "billion "), (1e6, "million ")),
    "zh-Hans": ((1e12, "万亿"), (1e8, "亿"), (1e5, "万")),
    "zh-Hant": ((1e12, "兆"), (1e8, "億"), (1e5, "萬")),
}
_SIZES = {"万": 1e4, "萬": 1e4}
_DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_QUARTER = re.compile(r"(\d{4})[ -]?[QH]([1-4])|[QH]([1-4])[ -]?(\d{4})")
# A word, a Chinese sign with the stops behind it, or white space.
_PIECE = re.compile(
    r"[\u2e80-\u2fff\u3005-\u9fff\uf900-\ufaff][\u3000-\u3004\u3009-\u301f\uff00-\uff65]*|[^\s\u2e80-\u9fff\uf900-\ufaff]+|\s+|."
)
_MISSING = re.compile(r"Glyph (\d+) ")


# What stands for each series in the legend.
Signs = dict[str, Artist]


class ChartRow(NamedTuple):
    """A value, what it belongs to, and the name of its line or colour."""

    label: str
    value: float
    series: str = ""


class Scale(NamedTuple):
    """How large numbers are shown: in millions, say; the values that are drawn stay what they are."""

    size: float
    name: str

    def number(self, value: float, _: object = None) -> str:
        """Return a value as a reader sees it."""
        return f"{float(f'{value / self.size:.6g}'):,.10g}"


def main() -> None:
    """Draw a chart for each line of input, and answer with a line."""
    for line in sys.stdin.buffer:
        try:
            reply = _drawn(json.loads(line))
        except Exception as exc:  # Told to whoever asked; the next drawing may succeed.
            reply = {"error": f"{type(exc).__name__}: {exc}"}
        plt.close("all")
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def _drawn(spec: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        figure, axes = figure_of(spec)
        title = _one_line(spec["title"])
        drawn = {
            "png": base64.b64encode(_saved(figure, "png", title)).decode(),
            "svg": _saved(figure, "svg", title).decode(),
            "plotted": style.plotted(axes),
        }
    missing = sorted({chr(int(match[1])) for each in noticed if (match := _MISSING.match(str(each.message)))})
    return drawn | {"missing": "".join(missing)}


def figure_of(spec: dict[str, Any]) -> tuple[Figure, Axes]:
    """Return a chart of these rows."""
    rows = [ChartRow(_one_line(row["label"]), float(row["value"]), _one_line(row["series"])) for row in spec["rows"]]
    language = spec["language"] if spec["language"] in _SCALES else "en"
    style.apply(language)
    largest = max(abs(row.value) for row in rows)
    size, name = next(((size, name) for size, name in _SCALES[language] if largest >= size), (1.0, ""))
    scale = Scale(_SIZES.get(name, size), name)
    figure, axes = plt.subplots()
    unit = f"{scale.name}{_one_line(spec['unit'])}".strip()
    shape = _lines if spec["chart_type"] == "line" else partial(_bars, figure)
    signs = shape(axes, rows, scale, unit)
    if len(signs) > 1:
        _legend(figure, signs)
    return figure, axes


def _lines(axes: Axes, rows: Sequence[ChartRow], scale: Scale, unit: str) -> Signs:
    labels = list(dict.fromkeys(row.label for row in rows))
    positions = _positions(labels)
    labels.sort(key=lambda label: positions[label])
    names = list(dict.fromkeys(row.series for row in rows))
    signs: Signs = {}
    for name in names:
        own = sorted((row for row in rows if row.series == name), key=lambda row: positions[row.label])
        (signs[name],) = axes.plot([positions[row.label] for row in own], [row.value for row in own])
    axes.margins(x=0.06, y=0.16)
    _name_upright(axes, unit)
    axes.yaxis.set_major_formatter(FuncFormatter(scale.number))
    axes.grid(axis="x", visible=False)
    shown = _spaced_labels(labels, positions)
    axes.set_xticks([positions[label] for label in shown], shown)
    if len(names) == 1 and len(rows) <= _MAX_LABELLED and shown == labels:
        for row in rows:
            annotation = axes.annotate(
                scale.number(row.value),
                (positions[row.label], row.value),
                (0, 8),
                textcoords="offset points",
                ha="center",
            )
            # Readable where the line runs through it.
            annotation.set_path_effects([withStroke(linewidth=3, foreground=style.BACKGROUND)])
    return signs


def _bars(figure: Figure, axes: Axes, rows: Sequence[ChartRow], scale: Scale, unit: str) -> Signs:
    labels = list(dict.fromkeys(row.label for row in rows))
    names = list(dict.fromkeys(row.series for row in rows))
    is_lying = len(labels) > _MAX_UPRIGHT or max(map(_width, labels)) > _MAX_UPRIGHT_WIDTH
    thickness = 0.8 / len(names)
    has_labels = len(rows) <= _MAX_LABELLED * (4 if is_lying else 1)
    signs: Signs = {}
    for at, name in enumerate(names):
        own = [row for row in rows if row.series == name]
        offset = (at - (len(names) - 1) / 2) * thickness
        positions, values = [labels.index(row.label) + offset for row in own], [row.value for row in own]
        drawn = (axes.barh if is_lying else axes.bar)(positions, values, thickness * 0.92)
        signs[name] = drawn.patches[0]
        if has_labels:
            axes.bar_label(drawn, [scale.number(value) for value in values], padding=3, fontsize="small")
    named = [_wrapped(label, _LABEL_WIDTH) for label in labels]
    if is_lying:
        axes.set_yticks(range(len(labels)), named, linespacing=_SPACING)
        axes.invert_yaxis()
        axes.set_xlabel(unit)
        axes.margins(x=0.12, y=0.02)
        tallest = max(label.count("\n") + 1 for label in named)
        figure.set_size_inches(8, max(3.0, 1.4 + len(labels) * max(0.3 * len(names), 0.12 + 0.23 * tallest)))
    else:
        axes.set_xticks(range(len(labels)), named)
        _name_upright(axes, unit)
        axes.margins(x=0.04, y=0.12)
    values_axis, names_axis = (axes.xaxis, axes.yaxis) if is_lying else (axes.yaxis, axes.xaxis)
    values_axis.set_major_formatter(FuncFormatter(scale.number))
    values_axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    names_axis.grid(visible=False)
    names_axis.set_tick_params(length=0)
    return signs


def _name_upright(axes: Axes, unit: str) -> None:
    """Set the unit above the axis that it belongs to, where it is read without turning one's head."""
    axes.set_title(unit, fontsize=plt.rcParams["font.size"], fontweight="normal", pad=8)


def _legend(figure: Figure, signs: Signs) -> None:
    names = [_wrapped(name, _LEGEND_WIDTH) for name in signs]
    widest = max(_width(line) for name in names for line in name.split("\n")) + 8
    columns = max(1, min(len(names), _LINE_WIDTH // widest))
    # The chart stays as large as it is beside a long legend.
    lines = ceil(len(names) / columns) * max(name.count("\n") + 1 for name in names)
    figure.set_figheight(figure.get_figheight() + 0.26 * (lines - 1))
    for text in figure.legend([*signs.values()], names, loc="outside lower left", ncols=columns).get_texts():
        text.set_linespacing(_SPACING)


def _positions(labels: Sequence[str]) -> dict[str, float]:
    """Return where each label stands: on the scale of time where all of them are times, else one after the other."""
    times = [_time(label) for label in labels]
    if None in times:
        return {label: float(at) for at, label in enumerate(labels)}
    return {label: time for label, time in zip(labels, times, strict=True) if time is not None}


def _time(label: str) -> float | None:
    """Return a year, a quarter, a month or a day in years."""
    if quarter := _QUARTER.fullmatch(label):
        parts = 2 if "H" in label else 4
        return int(quarter[1] or quarter[4]) + (int(quarter[2] or quarter[3]) - 1) / parts
    day = _DAY.fullmatch(label.removesuffix("年"))
    if day is None:
        return None
    try:
        start = date(int(day[1]), int(day[2] or 1), int(day[3] or 1))
    except ValueError:
        return None
    return start.year + (start.timetuple().tm_yday - 1) / 366


def _spaced_labels(labels: Sequence[str], positions: dict[str, float]) -> list[str]:
    """Return labels of which none touches the next: all of them, or every second, third and so on."""
    span = (positions[labels[-1]] - positions[labels[0]]) or 1.0
    for step in range(1, len(labels) + 1):
        shown_labels = list(labels[::step])
        if all(
            (positions[after] - positions[before]) / span * _LINE_WIDTH > (_width(before) + _width(after)) / 2 + 2
            for before, after in pairwise(shown_labels)
        ):
            break
    return shown_labels


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _wrapped(text: str, width: int) -> str:
    """Return a text in as few lines of this width as hold it, of about the same length."""
    lines = _broken(text, width)
    for narrower in range(ceil(_width(text) / len(lines)), width):
        if len(even := _broken(text, narrower)) == len(lines):
            return "\n".join(even)
    return "\n".join(lines)


def _broken(text: str, width: int) -> list[str]:
    """Return lines of at most this width, broken between words and between Chinese signs, but not before a stop."""
    lines = [""]
    for piece in _PIECE.findall(text):
        size = max(1, width // 2) if _width(piece) > width else len(piece)
        for at in range(0, len(piece), size):
            part = piece[at : at + size]
            if _width(lines[-1] + part.rstrip()) > width and lines[-1]:
                lines.append("")
            lines[-1] += part if lines[-1] else part.lstrip()
    return [line.rstrip() for line in lines]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _saved(figure: Figure, kind: str, title: str) -> bytes:
    """Return a picture as a file, which names the title; it is not drawn, as the caption below says it."""
    stream = io.BytesIO()
    unwanted = "Date" if kind == "svg" else "Software"
    figure.savefig(stream, format=kind, metadata={"Title": title, unwanted: None})
    return stream.getvalue()
