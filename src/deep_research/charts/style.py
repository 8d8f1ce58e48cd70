"""The one look of every chart: fonts, colours, sizes, and which values it shows.

It stands alone, as a sandbox loads the text of this file.

The colours are those of Okabe and Ito, which people with any colour vision tell apart. Each has a counterpart for dark
pages, so that a picture as SVG turns dark by replacing them.
"""

import importlib.util
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

# Noto's collection draws every sign of Chinese and Japanese in each of these, in the forms of that language.
FONTS = ("Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK SC")
_OWN_FONT = {"zh-Hans": "Noto Sans CJK SC", "zh-Hant": "Noto Sans CJK TC"}
# Without the collection: the font that a package brings.
_PACKAGE, _PACKAGED_FILE = "zhplot", "fonts/NotoSansSC-Regular.ttf"

# Matplotlib rounds the angles of a pie.
_ROUNDING = 1e-5

BACKGROUND, TEXT, GRID = "#ffffff", "#222222", "#d9d9d9"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
_DARK = {
    BACKGROUND: "#1e1e1e",
    TEXT: "#e6e6e6",
    "#000000": "#e6e6e6",
    GRID: "#4a4a4a",
    SERIES[0]: "#4ea8de",
    SERIES[1]: "#f0803c",
    SERIES[2]: "#2fc49a",
    SERIES[5]: "#a5d8f5",
}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def apply(language: str = "en") -> None:
    """Set matplotlib's defaults; the language says in which forms Chinese signs are drawn."""
    import matplotlib
    from cycler import cycler

    matplotlib.rcdefaults()
    matplotlib.use("agg")
    matplotlib.rcParams.update(
        {
            "font.family": fonts(language),
            "font.size": 11,
            # A text is shown as it is: "$5 to $7" is no formula.
            "text.parse_math": False,
            "axes.unicode_minus": False,
            "axes.prop_cycle": cycler(color=SERIES, marker=MARKERS),
            "axes.titlesize": 13,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 12,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "axes.grid": True,
            "axes.facecolor": BACKGROUND,
            "axes.edgecolor": TEXT,
            "axes.labelcolor": TEXT,
            "axes.titlecolor": TEXT,
            "text.color": TEXT,
            "xtick.color": TEXT,
            "ytick.color": TEXT,
            "grid.color": GRID,
            "grid.linewidth": 0.8,
            "lines.linewidth": 2.2,
            "lines.markersize": 6,
            "legend.frameon": False,
            "legend.borderaxespad": 1.3,
            "figure.facecolor": BACKGROUND,
            "figure.figsize": (8, 4.5),
            "figure.dpi": 150,
            "savefig.dpi": 150,
            "figure.constrained_layout.use": True,
            # In inches: nothing touches the edge of the card that a picture stands in.
            "figure.constrained_layout.h_pad": 0.2,
            "figure.constrained_layout.w_pad": 0.2,
            # The same chart is the same bytes.
            "svg.hashsalt": "deep-research",
        }
    )


def fonts(language: str = "en") -> list[str]:
    """Return the fonts that are there, those of the language first."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    if not {*FONTS} <= {font.name for font in manager.ttflist}:
        # Matplotlib keeps its list: what was installed since is not in it.
        listed = {font.fname for font in manager.ttflist}
        for newer in sorted({*font_manager.findSystemFonts()} - listed):
            if "CJK" in newer:
                # A file may be damaged.
                with suppress(OSError, RuntimeError):
                    manager.addfont(newer)
    known = {font.name for font in manager.ttflist}
    wanted = dict.fromkeys((_OWN_FONT.get(language, FONTS[0]), *FONTS))
    found = [name for name in wanted if name in known]
    path = None if found else packaged_font()
    if path:
        manager.addfont(path)
        found.append(font_manager.FontProperties(fname=path).get_name())
    return [*found, "DejaVu Sans"]


def packaged_font() -> Path | None:
    """Return the file of a Chinese font that a package brings, if it is installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    path = Path(next(iter(folders)), _PACKAGED_FILE) if folders else None
    return path if path and path.is_file() else None


def plotted(axes: Any, data: Any = ()) -> list[float]:
    """Return the values that are drawn: of lines and points their height, of bars their length.

    A wedge shows its share of the whole, and so a value of the data where that has the same share.
    """
    found: list[Any] = []
    for line in axes.get_lines():
        # A line that marks a place on the other axis has no height of its own.
        if line.get_transform().contains_branch_seperately(axes.transData)[1]:
            found += list(line.get_ydata(orig=False))
    for bars in axes.containers:
        is_lying = getattr(bars, "orientation", None) == "horizontal"
        found += [bar.get_width() if is_lying else bar.get_height() for bar in bars if hasattr(bar, "get_height")]
    for points in axes.collections:
        if type(points).__name__ == "PathCollection":
            found += [point[1] for point in points.get_offsets()]
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    known = [row["value"] for row in data] if wedges else []
    whole = sum(known) / (sum(wedge.theta2 - wedge.theta1 for wedge in wedges) or 1)
    for wedge in wedges:
        value = (wedge.theta2 - wedge.theta1) * whole
        found.append(next((each for each in known if abs(each - value) <= _ROUNDING * abs(each)), value))
    return [float(value) for value in found if value == value and abs(value) != float("inf")]


def in_dark(svg: str) -> str:
    """Return a picture in the colours for dark pages; a colour that is none of ours stays."""
    return _COLOUR.sub(lambda colour: _DARK.get(colour[0], colour[0]), svg)
