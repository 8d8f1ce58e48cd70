"""Charts drawn from rows by our own program: what they show, in which fonts and colours, and what is said if not."""

import asyncio
import base64
import os
import signal
import sys
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from deep_research.charts import drawing, style
from deep_research.charts.drawing import Drawer, missing
from deep_research.charts.sandbox.port import Execution
from deep_research.errors import SourceError
from deep_research.report.figure import DataRow
from tests.support.charts import draw
from tests.support.longer import first_of
from tests.support.programs import FONTS, needs

pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")
pyplot = pytest.importorskip("matplotlib.pyplot")
Image = pytest.importorskip("PIL.Image")

YEARS = [("2018", 1.2), ("2019", 1.9), ("2020", 3.5), ("2022", 12.1)]
SAMPLE = "中文 標題 日本語カタカナ"


def rows(pairs: list[tuple[str, float]], series: str = "") -> list[DataRow]:
    return [DataRow(label=label, value=value, evidence="e", series=series) for label, value in pairs]


def drawn(**given: Any) -> Execution:
    chart = {"title": "Capacity, 2018–2022 (GW)", "chart_type": "line", "unit": "GW", "rows": rows(YEARS), **given}
    return asyncio.run(draw(**chart))


@pytest.mark.parametrize("chart_type", ["line", "bar"])
def test_a_chart_shows_the_values_of_its_rows_and_no_others(chart_type: str) -> None:
    given = rows(YEARS, "Agency") + rows([("2018", -1.3), ("2021", 6e9)], "Ministry")
    shown = drawn(chart_type=chart_type, rows=given)
    assert sorted(shown.plotted[0]) == sorted(row.value for row in given)
    assert base64.b64decode(shown.figures[0]).startswith(b"\x89PNG")
    assert ElementTree.fromstring(shown.svgs[0]).tag.endswith("svg")


@pytest.mark.parametrize("language", first_of(["zh-Hant", "en", "zh-Hans"]))
@pytest.mark.parametrize("sample", [SAMPLE, pytest.param(f"{SAMPLE} 한국어", marks=needs(FONTS))])
def test_chinese_japanese_and_korean_are_drawn_with_a_glyph_for_each_sign(language: str, sample: str) -> None:
    assert drawn(
        title=sample, unit="亿元", rows=rows([(sample, 1), ("東京", 2), ("北京", 3)]), language=language
    ).figures


def test_a_sign_that_no_font_has_is_named_and_never_drawn_as_a_box() -> None:
    with pytest.raises(SourceError, match="𓀀"):
        drawn(chart_type="bar", rows=rows([("The sign 𓀀", 1), ("b", 2), ("c", 3)]))


def have_only(installed: list[Path], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return matplotlib's list of fonts, without Chinese ones, on a system that has these files."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.name == "DejaVu Sans"])
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(path) for path in installed])
    return font_manager


def test_a_font_that_was_installed_after_matplotlib_made_its_list_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zhplot")
    font = pytest.importorskip("fontTools.ttLib").TTFont(style.packaged_font())
    for record in font["name"].names:
        record.string = "Noto Sans CJK SC" if record.nameID in (1, 4, 16) else record.string
    newer, damaged = tmp_path / "NotoSansCJK-Regular.ttf", tmp_path / "NotoSansCJK-Bold.ttf"
    font.save(newer)
    damaged.write_bytes(b"no font")
    have_only([damaged, newer], monkeypatch)
    assert style.fonts("zh-Hans") == ["Noto Sans CJK SC", "DejaVu Sans"]


def test_a_package_brings_chinese_where_the_system_has_no_such_font(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("zhplot")
    font_manager = have_only([], monkeypatch)
    found = style.fonts("zh-Hans")
    assert found[-1] == "DejaVu Sans"
    path = font_manager.findfont(found[0], fallback_to_default=False)
    signs = set("中文标题標題日本語カタカナ")
    assert signs <= {chr(code) for code in font_manager.get_font(path).get_charmap()}


@needs(FONTS)
def test_the_forms_of_the_language_come_first_then_those_of_the_others() -> None:
    assert style.fonts("en") == ["Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK SC", "DejaVu Sans"]
    assert style.fonts("zh-Hans")[:2] == ["Noto Sans CJK SC", "Noto Sans CJK JP"]
    assert style.fonts("zh-Hant")[:2] == ["Noto Sans CJK TC", "Noto Sans CJK JP"]


@pytest.mark.parametrize(
    "title", first_of([r"\frac{1}{2} $x^2$", "From $5 to $7 (50% off)", "a_b {c} #1 & <b>", "_hidden"])
)
def test_texts_are_shown_and_never_parsed(title: str) -> None:
    given = rows([(title, 1), ("b", 2), ("c", 3)], title) + rows([("b", 2)], "_x")
    assert drawn(title=title, chart_type="bar", unit=title, rows=given).figures


def test_the_same_chart_is_the_same_bytes_whatever_settings_lie_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn()
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: red\nfont.size: 30\n", encoding="utf-8")
    (tmp_path / "json.py").write_text("raise SystemExit('not this one')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    assert drawn() == before


def test_the_program_gets_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}
    start = asyncio.create_subprocess_exec

    async def noted(*command: Any, **given: Any) -> Any:
        seen.update(given["env"])
        return await start(*command, **given)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    assert drawn().figures
    assert set(seen) < set(os.environ)
    assert "sk-secret" not in seen.values()


def test_nothing_is_left_of_a_process_that_was_ended_for_want_of_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = []
    start = asyncio.create_subprocess_exec

    async def noted(*command: Any, **given: Any) -> Any:
        processes.append(await start(*command, **given))
        return processes[-1]

    monkeypatch.setattr(drawing, "_UNUSED_S", 0.0)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)

    async def draw_and_wait() -> None:
        drawer = Drawer()
        for _ in range(2):
            assert (await drawer.draw(title="Costs", chart_type="line", unit="GW", rows=rows(YEARS))).figures
            # The process gets its signal, and nobody has seen its end yet.
            await asyncio.sleep(0.01)
        await drawer.close()

    asyncio.run(draw_and_wait())
    assert [process.returncode for process in processes] == [-signal.SIGKILL] * 2


@pytest.mark.processes
@pytest.mark.usefixtures("processes_end_at_once")
async def test_a_program_that_ended_at_once_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    program = [sys.executable, "-c", "import sys; sys.exit('no room')"]
    monkeypatch.setattr(drawing, "isolated", lambda *_: (program, {}))
    with pytest.raises(SourceError, match="No chart was drawn: no room"):
        await draw(title="Costs", chart_type="line", unit="GW", rows=rows(YEARS))


@pytest.mark.processes
async def test_charts_are_drawn_by_one_process_after_the_other() -> None:
    drawer = Drawer()
    for _ in range(2):
        shown = await drawer.draw(title="Costs", chart_type="line", unit="GW", rows=rows(YEARS))
        assert shown.plotted == (tuple(value for _, value in YEARS),)
        assert drawer._process
        drawer._process.kill()
        await drawer._process.wait()
        with pytest.raises(SourceError, match="No chart was drawn"):
            await drawer.draw(title="Costs", chart_type="line", unit="GW", rows=rows(YEARS))
    await drawer.close()


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing() == ""
    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    assert "pip install 'deep-research[charts]'" in missing()
    with pytest.raises(SourceError, match="deep-research\\[charts\\]"):
        drawn()


def test_what_cannot_be_drawn_is_an_error_of_ours() -> None:
    with pytest.raises(SourceError, match="No chart was drawn"):
        drawn(rows=[])


LONG_EN = "Department for Regional Infrastructure and Public Transport, section {}"
LONG_ZH = "内蒙古自治区呼和浩特市和林格尔新区储能示范项目第{}期工程"
MONTHS = [(f"{year}-{month:02}", float(month * year % 17)) for year in (2021, 2022, 2023) for month in range(1, 13)]
CROWDED: dict[str, dict[str, Any]] = {
    "long names": {
        "title": LONG_EN.format(1) + ", all budgets together, 2019 to 2024 (million EUR)",
        "chart_type": "bar",
        "unit": "million EUR",
        "rows": rows([(LONG_EN.format(at), at * 1.7e6) for at in range(1, 21)]),
    },
    "long Chinese names": {
        "title": LONG_ZH.format("一") * 3,
        "chart_type": "bar",
        "unit": "元",
        "language": "zh-Hans",
        "rows": rows([(LONG_ZH.format(at), at * 1.3e8) for at in range(1, 16)], LONG_ZH.format("甲"))
        + rows([(LONG_ZH.format(at), at * 1.1e8) for at in range(1, 16)], LONG_ZH.format("乙")),
    },
    "many months": {"title": "Index by month", "chart_type": "line", "unit": "%", "rows": rows(MONTHS)},
    "months in Chinese": {
        "title": "各月指数",
        "chart_type": "line",
        "unit": "%",
        "language": "zh-Hant",
        "rows": rows([(f"{year}年{month}月", float(month)) for year in (2022, 2023) for month in range(1, 13)]),
    },
    "uneven years": {
        "title": "Population",
        "chart_type": "line",
        "unit": "people",
        "rows": rows([("1950", 2.5e9), ("2000", 6.1e9), ("2001", 6.2e9), ("2002", 6.3e9), ("2024", 8.1e9)]),
    },
    "many sources": {
        "title": "Five sources differ",
        "chart_type": "line",
        "unit": "t",
        "rows": [row for at in range(5) for row in rows(YEARS, LONG_EN.format(at))],
    },
    "upright bars": {
        "title": "Eight towns",
        "chart_type": "bar",
        "unit": "EUR",
        "rows": rows([(f"Townville {at}"[:10], at * 123_456.7) for at in range(1, 9)]),
    },
    "below zero": {
        "title": "Loss",
        "chart_type": "bar",
        "unit": "元",
        "rows": rows([("甲", -5), ("乙", 3), ("丙", -1)]),
    },
}


@pytest.mark.parametrize("name", CROWDED)
def test_no_text_touches_another_or_leaves_the_picture(name: str) -> None:
    from matplotlib.text import Text

    from deep_research.charts.draw import figure_of

    given = {"language": "en", **CROWDED[name]}
    figure, axes = figure_of(given | {"rows": [row.model_dump() for row in given["rows"]]})
    figure.draw_without_rendering()
    low, high = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    ticks = {
        id(tick.label1): lies
        for axis, ends in ((axes.xaxis, low), (axes.yaxis, high))
        for tick in axis.get_major_ticks()
        if (lies := not ends[0] <= tick.get_loc() <= ends[1])
    }
    texts = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in ticks
    ]
    boxes = {text: text.get_window_extent() for text in texts}
    page = figure.bbox
    pyplot.close(figure)
    assert len(texts) > 5
    for text, box in boxes.items():
        assert page.x0 - 1 <= box.x0 <= box.x1 <= page.x1 + 1, text
        assert page.y0 - 1 <= box.y0 <= box.y1 <= page.y1 + 1, text
    touching = [
        (one.get_text(), other.get_text())
        for one, other in combinations(texts, 2)
        if boxes[one].padded(-1).overlaps(boxes[other].padded(-1))
    ]
    assert touching == []


@pytest.mark.parametrize("name", CROWDED)
def test_a_chart_keeps_off_the_edge_of_its_card_and_leaves_its_title_to_the_caption(name: str) -> None:
    from matplotlib.text import Text

    from deep_research.charts.draw import figure_of

    given = {"language": "en", **CROWDED[name]}
    figure, _ = figure_of(given | {"rows": [row.model_dump() for row in given["rows"]]})
    figure.draw_without_rendering()
    said = " ".join(" ".join(text.get_text() for text in figure.findobj(Text)).split())
    page, box = figure.bbox, figure.get_tightbbox().transformed(figure.dpi_scale_trans)
    pyplot.close(figure)
    assert given["title"] not in said
    # A tenth of an inch and more at each side.
    least = 0.1 * figure.dpi
    assert min(box.x0 - page.x0, page.x1 - box.x1, box.y0 - page.y0, page.y1 - box.y1) >= least


@pytest.mark.parametrize("title", ["Capacity & cost, 2018–2022 (GW)", "装机容量（GW）"])
def test_a_picture_that_stands_alone_names_its_title(title: str) -> None:
    shown = drawn(title=title)
    svg = ElementTree.fromstring(shown.svgs[0])
    assert title in [each.text for each in svg.iter("{http://purl.org/dc/elements/1.1/}title")]
    picture = Image.open(BytesIO(base64.b64decode(shown.figures[0])))
    assert picture.info["Title"] == title


def test_large_numbers_are_read_in_the_words_of_the_language() -> None:
    from deep_research.charts.draw import figure_of

    def unit_of(value: float, unit: str, language: str) -> str:
        shown = [{"label": str(at), "value": value, "series": ""} for at in (2020, 2021, 2022)]
        _, axes = figure_of({"title": "", "chart_type": "line", "unit": unit, "rows": shown, "language": language})
        pyplot.close("all")
        return str(axes.get_title(loc="left"))

    assert unit_of(2.5e9, "EUR", "en") == "billion EUR"
    assert unit_of(2.5e9, "元", "zh-Hans") == "亿元"
    assert unit_of(2.5e9, "元", "zh-Hant") == "億元"
    assert unit_of(125_600, "辆", "zh-Hans") == "万辆"
    assert unit_of(4_200, "GWh", "en") == "GWh"


def _contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("turned", [lambda colour: colour, style.in_dark], ids=["light", "dark"])
def test_text_and_lines_stand_out_on_light_and_on_dark_pages(turned: Any) -> None:
    background = turned(style.BACKGROUND)
    assert _contrast(turned(style.TEXT), background) >= 7
    assert all(_contrast(turned(colour), background) >= 3 for colour in style.SERIES[:4])


def test_a_picture_for_dark_pages_has_no_light_ground() -> None:
    svg = drawn().svgs[0]
    dark = style.in_dark(svg)
    assert style.BACKGROUND in svg
    assert not any(colour in dark for colour in (style.BACKGROUND, style.TEXT, style.SERIES[0]))
    assert ElementTree.fromstring(dark).tag.endswith("svg")
