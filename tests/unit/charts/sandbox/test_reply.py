"""What a worker answers is checked before anybody sees it."""

import base64
import io
import json

import matplotlib.pyplot as plt
import pytest
from lxml import etree
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from deep_research.charts.sandbox.reply import execution_of
from deep_research.errors import SourceError
from tests.support.escapes import ACTIVE, PNG, SVG

# As matplotlib 3.11 begins and ends one.
REAL = """<?xml version="1.0" encoding="utf-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="576pt" height="324pt" viewBox="0 0 576 324"
 xmlns="http://www.w3.org/2000/svg" version="1.1">
 <metadata><rdf:RDF xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:cc="http://creativecommons.org/ns#"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><cc:Work>
  <dc:type rdf:resource="http://purl.org/dc/dcmitype/StillImage"/><dc:format>image/svg+xml</dc:format>
 </cc:Work></rdf:RDF></metadata>
 <defs><style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style></defs>
 <g id="figure_1"><!-- 图 -->
 <use xlink:href="#m1" x="1"/><g clip-path="url(#p1)"><path d="M 0 0" style="fill: none"/></g>
 <image xlink:href="data:image/png;base64,AAAA"/></g></svg>"""


def answer(**changed: object) -> dict:
    result = {"error": "", "figures": [PNG], "svgs": [REAL], "plotted": [[1.5]]} | changed
    return {"ending": "done", "output": "printed\n", "result": json.dumps(result)}


def parts_of(svg: str) -> list[tuple]:
    """Return what of a picture is drawn: its elements in order, each with its attributes and text."""
    root = etree.fromstring(svg.encode(), etree.XMLParser(remove_comments=True))
    etree.strip_elements(root, "{http://www.w3.org/2000/svg}metadata", with_tail=False)
    return [(part.tag, dict(part.attrib), (part.text or "").strip(), (part.tail or "").strip()) for part in root.iter()]


def draw_many_ways() -> Figure:
    figure, axes = plt.subplots(3, 3)
    axes[0, 0].plot([1, 2, 3], [2.5, 1, 4], marker="o", label="cost &5 (x) @ <b>")
    axes[0, 0].legend()
    axes[0, 1].bar(["a", "b"], [1, 2], hatch="//", alpha=0.5, yerr=0.3)
    axes[0, 2].imshow([[1, 2], [3, 4]])
    axes[1, 0].pie([1, 2, 3], labels=["x", "y", "z"], shadow=True)
    axes[1, 1].scatter([1, 2, 3], [1, 2, 3], c=[0.1, 0.5, 0.9], s=[10, 50, 90])
    figure.colorbar(axes[1, 2].contourf([[1, 2, 3], [2, 3, 1], [4, 1, 2]]))
    axes[2, 0].fill_between([1, 2, 3], [1, 2, 1])
    axes[2, 0].annotate("peak", (2, 2), (2.5, 1), arrowprops={"arrowstyle": "->"}, rotation=30)
    axes[2, 1].boxplot([[1, 2, 3, 9], [2, 3, 4, 5]])
    axes[2, 2].text(0.1, 0.5, r"$\frac{a}{b}$", path_effects=[withStroke(linewidth=3, foreground="w")])
    return figure


@pytest.mark.parametrize("fonttype", ["path", "none"])
def test_what_matplotlib_draws_is_kept(fonttype):
    stream = io.StringIO()
    with plt.rc_context({"svg.fonttype": fonttype}):
        figure = draw_many_ways()
        figure.savefig(stream, format="svg")
        plt.close(figure)
    assert parts_of(execution_of(answer(svgs=[stream.getvalue()])).svgs[0]) == parts_of(stream.getvalue())


@pytest.mark.parametrize(
    "svg",
    [
        SVG % '<metadata><svg onload="alert(1)"/></metadata>',
        SVG % "<g><!-- <script>alert(1)</script> --></g>",
        "<!DOCTYPE svg [<!ATTLIST svg onload CDATA 'alert(1)'>]>" + SVG % "",
    ],
)
def test_what_is_not_drawn_is_left_out(svg):
    assert "alert" not in execution_of(answer(svgs=[svg])).svgs[0]


def test_a_chart_passes():
    made = execution_of(answer())
    assert (made.stdout, made.plotted) == ("printed\n", ((1.5,),))
    assert parts_of(made.svgs[0]) == parts_of(REAL)
    assert all(left_out not in made.svgs[0] for left_out in ("DOCTYPE", "<metadata", "<!--", "图"))
    assert base64.b64decode(made.figures[0]).startswith(b"\x89PNG")


@pytest.mark.parametrize("svg", ACTIVE.values(), ids=ACTIVE)
def test_a_picture_that_would_do_something_is_refused(svg):
    with pytest.raises(SourceError, match="cannot be used"):
        execution_of(answer(svgs=[svg]))


@pytest.mark.parametrize("plotted", [[[float("nan")]], [[float("inf")]], [[None]], [["x"]], 7])
def test_values_are_numbers(plotted):
    with pytest.raises(SourceError, match="no chart"):
        execution_of(answer(plotted=plotted))


def test_an_error_is_told_with_what_was_printed_and_without_what_a_terminal_obeys():
    with pytest.raises(SourceError) as caught:
        execution_of(answer(error="Traceback\x1b[2J\nKeyError: '年份'") | {"output": "rows: 3\n"})
    assert str(caught.value) == "rows: 3\n\nTraceback\nKeyError: '年份'"


def test_a_plain_picture_passes():
    assert execution_of(answer(svgs=[SVG % "<g/>"])).svgs
