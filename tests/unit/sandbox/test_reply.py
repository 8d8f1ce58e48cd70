"""What a worker answers is checked before anybody sees it."""

import base64
import json

import pytest

from deep_research.errors import SourceError
from deep_research.sandbox.reply import execution_of
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


def test_a_chart_passes():
    made = execution_of(answer())
    assert (made.stdout, made.plotted, made.svgs) == ("printed\n", ((1.5,),), (REAL,))
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
