"""The HTML of a report in a real browser: cards by mouse and keyboard, no scripts, phones, paper, hostile texts."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from deep_research.documents.readers import read
from deep_research.export.html import to_html
from deep_research.report.edition import Edition
from deep_research.report.layout import Chapter
from deep_research.report.paragraph import Paragraph, row
from tests.support.browser import Window, address_of, browser_window
from tests.support.every_kind import contents, edition
from tests.support.programs import needs
from tests.support.waiting import HANG_S
from tests.unit.export.test_html import ATTACKS, hostile, large

pytestmark = [
    pytest.mark.long,
    needs("chromium"),
]
CARD_IS_OPEN = "document.getElementById('card').matches(':popover-open')"
CARD_TEXT = "document.getElementById('card').innerText"
FOCUSED = "document.activeElement.dataset.p || document.activeElement.id || document.activeElement.tagName"
IS_MARKER = "document.activeElement.matches('a.cite:not(.sign)')"


async def until(window: Window, expression: str) -> None:
    """Wait for something to become true in the page."""
    async with asyncio.timeout(HANG_S):
        while not await window.ask(expression):
            await asyncio.sleep(0.02)


async def opened(window: Window, folder: Path, of: Edition | None = None, **options: Any) -> None:
    await window.open(address_of(folder, to_html(contents(of))), **options)


async def test_a_marker_opens_its_passage_by_mouse_and_escape_gives_the_focus_back(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path)
        assert await window.ask(CARD_IS_OPEN) is False
        await window.click("#s3 a.cite")
        await until(window, CARD_IS_OPEN)
        shown = await window.ask(CARD_TEXT)
        for told in (
            "[1] Closing report",
            "2026-02-12",
            "p. 1",
            "Supported: word for word",
            "https://example.org/report",
        ):
            assert told in shown
        assert "3. Cost\nThe plant cost €146.2 million. The budget was €118.0 million. Storm Brida" in shown
        named = "[...document.querySelectorAll('#card b.now')].map(each => each.textContent)"
        assert await window.ask(named) == ["The plant cost €146.2 million."]
        assert await window.ask("document.getElementById('card').contains(document.activeElement)")
        await window.press("Escape")
        await until(window, f"!({CARD_IS_OPEN})")
        await until(window, IS_MARKER)
        assert await window.ask("document.activeElement.closest('.s').id") == "s3"
        assert window.problems == []
        assert window.requests == [(tmp_path / "report.html").as_uri()]


async def test_everything_works_by_keyboard(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path, edition("zh-Hans"))
        for _ in range(40):
            await window.press("Tab")
            if await window.ask(IS_MARKER):
                break
        await window.press("Enter")
        await until(window, CARD_IS_OPEN)
        titles = [await window.ask("document.getElementById('card-title').innerText")]
        for _ in range(2):
            await window.press("ArrowRight")
            titles.append(await window.ask("document.getElementById('card-title').innerText"))
        assert titles == ["[1] 总结报告", "[1] 总结报告", "[2] Open letter"]
        await window.press("ArrowLeft")
        assert await window.ask("document.querySelector('#card .at').textContent") == "2 / 3"
        await window.press("Tab")
        assert await window.ask("document.getElementById('card').contains(document.activeElement)")
        # Past its last element the card closes, and the marker has the focus again.
        for _ in range(10):
            if not await window.ask(CARD_IS_OPEN):
                break
            await window.press("Tab")
        assert not await window.ask(CARD_IS_OPEN)
        await until(window, IS_MARKER)


async def test_a_card_shows_itself_to_pointer_and_focus_and_goes_with_them(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path)
        spot = await window.ask("document.querySelector('#s3 a.cite').getBoundingClientRect().toJSON()")
        at = {"x": spot["x"] + spot["width"] / 2, "y": spot["y"] + spot["height"] / 2}
        await window.call("Input.dispatchMouseEvent", type="mouseMoved", **at)
        await until(window, CARD_IS_OPEN)
        assert await window.ask("document.activeElement === document.body")
        await window.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=at["y"])
        await until(window, f"!({CARD_IS_OPEN})")
        for _ in range(40):
            await window.press("Tab")
            if await window.ask(IS_MARKER):
                break
        assert await window.ask(CARD_IS_OPEN)
        assert await window.ask(IS_MARKER)
        await window.press("Escape")
        await until(window, f"!({CARD_IS_OPEN})")
        assert await window.ask(IS_MARKER)


async def test_a_sign_opens_the_card_of_its_sentence(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path)
        await window.click("#s1 a.sign")
        await until(window, CARD_IS_OPEN)
        assert "Conclusion of this report · follows from its sources" in await window.ask(CARD_TEXT)


async def test_escape_closes_the_contents_where_the_page_was_read(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path, large(100), width=800, height=600)
        await window.ask("scrollTo({top: 900, behavior: 'instant'})")
        await window.ask("document.querySelector('.to-contents').click()")
        seen = "document.getElementById('contents').checkVisibility()"
        await until(window, seen)
        await window.press("Escape")
        await until(window, f"!{seen}")
        assert await window.ask("document.activeElement.className") == "to-contents"
        assert abs(await window.ask("scrollY") - 900) < 3


async def test_markers_are_large_enough_for_fingers(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path, width=390, height=800)
        small = """[...document.querySelectorAll('main a.cite')].map(each => each.getBoundingClientRect())
            .filter(box => box.width < 24 || box.height < 24).length"""
        assert await window.ask(small) == 0


async def test_a_card_leads_to_the_passage_among_the_sources(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path, height=500)
        await window.click("#s3 a.cite")
        await until(window, CARD_IS_OPEN)
        await window.click("#card .show")
        await until(window, f"!({CARD_IS_OPEN})")
        assert await window.ask("location.hash") == "#p1"
        assert await window.ask("document.querySelector('.passage:target .around').checkVisibility()")


async def test_without_scripts_a_marker_leads_to_its_passage_and_the_page_stays_where_it_is(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path, scripts=False, height=500)
        before = await window.ask(
            "document.querySelector('#s5 a.cite').scrollIntoView({block: 'center', behavior: 'instant'}), scrollY"
        )
        await window.click("#s5 a.cite")
        await until(window, "location.hash === '#p2'")
        seen = "document.querySelector('.passage:target').getBoundingClientRect()"
        await until(window, f"{seen}.top < innerHeight && {seen}.bottom > 0")
        assert await window.ask("document.querySelector('.passage:target .around').checkVisibility()")
        assert abs(await window.ask("scrollY") - before) < 5
        assert not await window.ask("document.getElementById('filter').checkVisibility()")
        assert not await window.ask("document.getElementById('theme').checkVisibility()")


async def test_without_scripts_the_contents_open_on_a_phone(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path, scripts=False, width=390, height=800)
        seen = "document.getElementById('contents').checkVisibility()"
        assert not await window.ask(seen)
        await window.click(".to-contents")
        await until(window, seen)
        await window.click("#contents li:nth-child(2) a")
        await until(window, f"!{seen}")


@pytest.mark.parametrize("width", [320, 390, 800, 1100, 1440, 2200])
async def test_no_width_makes_the_page_scroll_sideways(tmp_path: Path, width: int):
    own = edition()
    labels = [f"a long column name {number}" for number in range(60)]
    rows = tuple(row(tuple((label, "word" * 40) for label in labels), ("e1",)) for _ in range(3))
    unbroken = own.report.chapters[0].paragraphs[0].sentences[0].model_copy(update={"text": "x" * 600})
    body = (
        Paragraph(section="C", kind="table", sentences=rows),
        Paragraph(section="C", sentences=(unbroken,)),
        *own.report.chapters[0].paragraphs,
    )
    report = own.report.model_copy(update={"chapters": (Chapter(title="C" * 200, paragraphs=body),)})
    async with browser_window() as window:
        await opened(window, tmp_path, own.model_copy(update={"report": report}), width=width, height=800)
        assert await window.ask("document.documentElement.scrollWidth <= innerWidth")
        assert await window.ask("document.getElementById('sources').scrollWidth <= innerWidth")
        box = "document.querySelector('main .table')"
        assert await window.ask(f"{box}.scrollWidth > {box}.clientWidth")
        await window.ask(f"{box}.scrollTop = 60")
        assert await window.ask(
            f"{box}.querySelector('th').getBoundingClientRect().top - {box}.offsetTop + scrollY < 4"
        )


async def box_of(window: Window, selector: str) -> dict[str, float]:
    box = f"JSON.stringify(document.querySelector({selector!r}).getBoundingClientRect())"
    return cast(dict[str, float], json.loads(await window.ask(box)))


@pytest.mark.parametrize(("width", "height"), [(390, 800), (800, 560), (800, 1000), (1100, 800), (1440, 700)])
async def test_a_card_covers_neither_its_sentence_nor_the_bar_and_shows_its_foot(
    tmp_path: Path, width: int, height: int
):
    own = large(8, around=400)
    async with browser_window() as window:
        await opened(window, tmp_path, own, width=width, height=height)
        for at in (0, 10, 23):
            await window.click(f"#s{at + 1} a.cite")
            await until(window, CARD_IS_OPEN)
            card, foot = await box_of(window, "#card"), await box_of(window, "#card .card-foot")
            mark, bar = await box_of(window, f"#s{at + 1} a.cite"), await box_of(window, ".bar")
            assert card["left"] >= 0
            assert card["right"] <= width
            assert card["top"] >= bar["bottom"] - 1
            assert foot["bottom"] <= card["bottom"] <= height + 1
            assert mark["right"] <= card["left"] or mark["bottom"] <= card["top"] or mark["top"] >= card["bottom"]
            scrolling = """[...document.querySelectorAll('#card, #card *')].filter(
                e => e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflowY === 'auto').length"""
            assert await window.ask(scrolling) <= 1
            await window.press("Escape")
            await until(window, f"!({CARD_IS_OPEN})")


async def test_typing_filters_sources_and_passages(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path)
        shown = "[...document.querySelectorAll('.passage, .source')].filter(e => e.checkVisibility()).map(e => e.id)"
        every = await window.ask(shown)
        typed = """(() => {{ const field = document.getElementById('filter'); field.value = {!r};
            field.dispatchEvent(new Event('input')) }})()"""
        await window.ask(typed.format("Emissions FELL"))
        assert await window.ask(shown) == ["source-1", "p2"]
        await window.ask(typed.format("letter.md"))
        assert await window.ask(shown) == ["source-2", "p3"]
        await window.ask(typed.format("choir"))
        assert await window.ask(shown) == ["source-4"]
        # What stands around a passage is not shown here, so it is not searched.
        await window.ask(typed.format("Storm Brida"))
        assert await window.ask(shown) == []
        assert await window.ask("document.getElementById('nothing').checkVisibility()")
        await window.ask(typed.format("emissions"))
        assert await window.ask("CSS.highlights.get('found').size") >= 1
        await window.ask(typed.format(""))
        assert await window.ask(shown) == every
        # A card leads to its passage whatever is typed.
        await window.ask(typed.format("choir"))
        await window.click("#s3 a.cite")
        await until(window, CARD_IS_OPEN)
        await window.click("#card .show")
        await until(window, "document.getElementById('p1').checkVisibility()")


async def test_the_reader_chooses_light_or_dark_pictures_too(tmp_path: Path):
    background = "getComputedStyle(document.body).backgroundColor"
    picture = "document.querySelector('figure img').currentSrc"
    async with browser_window() as window:
        await opened(window, tmp_path)
        light = [await window.ask(background), await window.ask(picture)]
        await window.prefer(prefers_color_scheme="dark")
        await until(window, f"{picture} !== {light[1]!r}")
        dark = [await window.ask(background), await window.ask(picture)]
        assert dark[0] != light[0]
        await window.click("#theme")
        await until(window, f"{picture} === {light[1]!r}")
        assert await window.ask(background) == light[0]
        await window.click("#theme")
        await until(window, f"{picture} === {dark[1]!r}")
        assert await window.ask("document.querySelector('figure img').naturalWidth") > 0


async def test_the_section_that_is_read_is_marked_in_the_contents(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path, large(100))
        current = "document.querySelector('#contents [aria-current]')?.textContent"
        await until(window, f"{current} === 'C 0'")
        await window.ask("document.querySelector('#part-2').scrollIntoView({behavior: 'instant'})")
        await until(window, f"{current} === 'C 40'")


async def test_hostile_texts_run_nothing_and_load_nothing(tmp_path: Path):
    async with browser_window() as window:
        for number, attack in enumerate(ATTACKS):
            folder = tmp_path / str(number)
            folder.mkdir()
            page = address_of(folder, to_html(contents(hostile(f"a {attack} b", edition()))))
            await (window.go(page) if number else window.open(page))
            await window.ask("window.alert = () => { window.hit = true }")
            await window.ask("document.querySelectorAll('main a.cite').forEach(each => each.click())")
            await window.ask(
                "document.querySelectorAll('a').forEach(each => each.dispatchEvent(new Event('mouseover')))"
            )
            assert await window.ask("window.hit") is None
            assert await window.ask("document.scripts.length") == 1
        assert window.problems == []
        assert {address.rpartition("/")[2] for address in window.requests} == {"report.html"}


async def test_the_policy_stops_what_would_get_in(tmp_path: Path):
    async with browser_window() as window:
        page = to_html(contents()).replace(
            b"</body>", b"<script>window.hit = 1</script><img src=http://a.example/></body>"
        )
        await window.open(address_of(tmp_path, page))
        assert await window.ask("window.hit") is None
        assert window.refused == ["http://a.example/"]
        assert len(window.problems) == 2


async def test_on_paper_passages_are_endnotes_and_bars_are_gone(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path)
        text = read(await window.printed(), name="report.pdf").text
        told = " ".join(text.split())
        assert "Sources and passages" in told
        assert "The budget was €118.0 million." in told
        assert told.index("What did the plant cost") < told.index("Sources and passages")
        assert "Choir programme" in told
        assert "Light / dark" not in told
        assert "Skip to the report" not in told


async def test_five_hundred_pages_open(tmp_path: Path):
    async with browser_window() as window:
        await opened(window, tmp_path, large(5_000, around=40))
        await window.ask("[...document.querySelectorAll('main a.cite')].at(-1).click()")
        await until(window, CARD_IS_OPEN)
        assert "p. 4999" in await window.ask(CARD_TEXT)
        assert window.problems == []
