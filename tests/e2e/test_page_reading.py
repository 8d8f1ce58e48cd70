"""Reading and keeping in a real browser: report, citations, sources, exports, follow-up, update, history, documents."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from deep_research.export.formats import FORMATS
from deep_research.settings import Settings
from tests.support.every_kind import edition
from tests.support.examples import EXAMPLES
from tests.support.kept_reports import hostile_report, keep_report, keep_runs, long_report
from tests.support.longer import first_of
from tests.support.page import chromium, needs_chromium, reading
from tests.support.server import QUESTION, Client, serving, settings_for

pytestmark = needs_chromium
CHINESE = "青岚市的海绵城市改造花了多少钱，效果如何？"
NAUGHTY = Path(__file__).parents[3] / "shared" / "evaldata" / "hostile" / "naughty_strings.json"
ATTACK = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
SECRET = "sk-" + "verysecret" * 4


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


class Site(Client):
    """A server with documents that a test may change, and with the settings of its store."""

    def __init__(self, address: str, settings: Settings, documents: Path) -> None:
        super().__init__(address)
        self.settings, self.documents = settings, documents


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("reading")
    documents = Path(shutil.copytree(EXAMPLES, folder / "documents"))
    settings = settings_for(folder, docs=documents, tavily_api_key=SECRET)
    with serving(settings) as client:
        site = Site(client.address, settings, documents)
        yield site
        site.http.close()


@pytest.fixture(scope="module")
def report(client: Site) -> str:
    return str(client.finished()["id"])


def is_inside_window(page: Page, selector: str) -> bool:
    return bool(
        page.evaluate(
            """(selector) => { const box = document.querySelector(selector).getBoundingClientRect();
            return box.top < innerHeight && box.bottom > 0; }""",
            selector,
        )
    )


def test_a_citation_shows_its_passage_and_leads_to_the_stored_source(browser: Browser, client: Site, report: str):
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto(f"/runs/{report}")
        expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
        expect(page.get_by_text("Verified: every sentence stands in its source")).to_be_visible()
        card = page.locator("#card")
        sentence = page.locator("main p > [id^=s]:has(a.cite)").first
        sentence.locator("a.cite").first.hover()
        expect(card).to_be_visible()
        expect(card).to_contain_text("Supported")
        said = sentence.inner_text().partition("[")[0].strip()
        assert said in " ".join(card.locator("mark").inner_text().split())
        page.mouse.move(5, 5)
        expect(card).to_be_hidden()
        sentence.locator("a.cite").first.focus()
        page.keyboard.press("Enter")
        expect(card).to_be_visible()
        read = card.locator(".card-foot .read")
        read.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/sources/**")
        assert said in " ".join(page.locator("article mark").first.inner_text().split())
        assert is_inside_window(page, "#at")
        with page.expect_download() as download:
            page.get_by_role("link", name="Download the original").click()
        assert download.value.path().stat().st_size > 100


@pytest.mark.long
def test_a_long_question_without_an_answer_has_a_short_title_and_is_not_called_verified(browser: Browser, client: Site):
    asked = f"Who won the 1994 chess championship? {'It matters who played in the final. ' * 100}".strip()[:3000]
    run = client.finished(asked)["id"]
    assert client.http.get(f"/api/runs/{run}/report").json()["is_answered"] is False
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto(f"/runs/{run}")
        expect(page.get_by_text("No answer found")).to_be_visible()
        expect(page.get_by_text("Verified:")).to_have_count(0)
        assert len(page.get_by_role("heading", level=1).inner_text()) <= 240
        assert len(page.title()) <= 100
        page.locator("details.asked summary").click()
        expect(page.locator("details.asked p")).to_have_text(asked)
        page.goto("/runs?q=chess")
        assert len(page.locator(".run h2").inner_text()) <= 200


def test_every_format_can_be_had(browser: Browser, client: Site, report: str):
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto(f"/runs/{report}")
        page.locator("#main summary", has_text="Export").click()
        links = page.locator(".exports a")
        expect(links).to_have_count(len(FORMATS))
        for at in range(len(FORMATS)):
            with page.expect_download() as download:
                links.nth(at).click()
            assert download.value.path().stat().st_size > 100, links.nth(at).inner_text()
            page.locator(".exports").evaluate("each => each.closest('details').open = true")


@pytest.mark.long
def test_a_follow_up_is_asked_and_the_chain_is_shown(browser: Browser, client: Site, report: str):
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto(f"/runs/{report}")
        page.get_by_role("link", name="Follow up").click()
        expect(page.get_by_role("textbox", name="Ask a follow-up question")).to_be_focused()
        page.keyboard.type("What do the critics count?")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.wait_for_url(lambda address: report not in address)
        follow = page.url.rpartition("/")[2]
        assert client.wait(follow)["follow"] == report
        page.goto(f"/runs/{follow}")
        page.get_by_role("link", name="Follow-up to a report").click()
        page.wait_for_url(f"**/runs/{report}")
        later = page.locator(".chain").get_by_role("link", name="What do the critics count?")
        expect(later).to_have_attribute("href", f"/runs/{follow}")
        page.goto("/runs?q=critics")
        expect(page.locator(".run .origin")).to_contain_text(QUESTION)
        page.goto(f"/runs/{report}")
        page.get_by_role("textbox", name="Ask a follow-up question").fill("Who paid for it?")
        page.get_by_text("As a section of this report").click()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.wait_for_url("**#part-*")
        expect(page.get_by_role("heading", name="Who paid for it?")).to_be_in_viewport()
        expect(page.get_by_role("heading", name=QUESTION)).not_to_be_in_viewport()


@pytest.mark.long
def test_an_update_shows_what_has_changed(browser: Browser, client: Site):
    changed = client.documents / "ratepayers opinion 2026.md"
    earlier = client.finished()["id"]
    before = changed.read_text(encoding="utf-8")
    assert "163.8" in before
    same = client.wait(client.http.post(f"/api/runs/{earlier}/update").json()["id"])["id"]
    changed.write_text(before.replace("163.8", "171.2"), encoding="utf-8")
    try:
        with reading(browser, client.address) as reader:
            page = reader.page
            page.goto(f"/runs/{same}")
            expect(page.locator(".changes-notice")).to_contain_text("Nothing has changed.")
            page.get_by_role("link", name="See what was compared").click()
            expect(page.locator(".changes")).to_contain_text("Nothing has changed.")
            page.goto(f"/runs/{earlier}")
            page.get_by_role("button", name="Update").click()
            page.wait_for_url(lambda address: earlier not in address)
            update = page.url.rpartition("/")[2]
            client.wait(update)
            page.goto(f"/runs/{update}")
            page.get_by_role("link", name="See what has changed").click()
            part = page.locator(".changes .changed")
            expect(part.get_by_role("heading")).to_contain_text("Changed")
            expect(part.locator("del").first).to_have_text("163.8")
            expect(part.locator("ins").first).to_have_text("171.2")
            expect(page.locator(".changes .still")).to_be_visible()
    finally:
        changed.write_text(before, encoding="utf-8")


@pytest.mark.long
def test_runs_are_found_tagged_and_deleted(browser: Browser, client: Site):
    run = client.finished("What did the plant cost in 2025?", tags=["energy"])["id"]
    waiting = client.wait(client.ask("Tell me about it")["id"])["id"]
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto("/runs")
        page.get_by_role("searchbox").fill("plant cost in 2025")
        page.keyboard.press("Enter")
        expect(page.locator(".run")).to_have_count(1)
        row = page.locator(f"#run-{run}")
        row.get_by_role("button", name="Tags").click()
        page.locator("#tag-field").fill("energy, 能源，<b>bold</b>")
        page.keyboard.press("Enter")
        expect(row.locator(".chip", has_text="<b>bold</b>")).to_be_visible()
        row.get_by_role("link", name="能源").click()
        expect(page.locator(".run")).to_have_count(1)
        assert client.run(run)["tags"] == ["energy", "能源", "<b>bold</b>"]
        page.goto("/runs")
        page.locator("#status").select_option("waiting")
        expect(page.locator(".run")).to_have_count(1)
        expect(page.locator(f"#run-{waiting}")).to_be_visible()
        page.goto("/runs?q=plant+cost+in+2025")
        row.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert client.run(run)["status"] == "done"
        row.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("Nothing found")).to_be_visible()
        assert client.http.get(f"/api/runs/{run}").status_code == 404


@pytest.mark.long
def test_a_thousand_runs_are_paged(browser: Browser, client: Site):
    keep_runs(client.settings, [f"Kept question {number}" for number in range(1000)])
    seen: list[str] = []
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto("/runs?q=Kept+question")
        for _ in range(3):
            seen += page.locator(".run h2").all_text_contents()
            page.get_by_role("link", name="Older").click()
            page.wait_for_load_state()
        page.get_by_role("link", name="Newest").click()
        expect(page.locator(".run h2").first).to_have_text(seen[0])
    assert seen == [f"Kept question {number}" for number in range(90)]


@pytest.mark.long
def test_documents_are_uploaded_read_searched_and_deleted(browser: Browser, client: Site, tmp_path: Path):
    note = tmp_path / "Notiz <b> 笔记.md"
    note.write_text("# Heat\n\nThe boiler of Kettle Point burns wood chips.\n", encoding="utf-8")
    program = tmp_path / "program.pdf"
    program.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 8)
    damaged = tmp_path / "cut.pdf"
    damaged.write_bytes(bytes(range(256)) * 8)
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto("/documents")
        page.locator("#name").fill(f"Papers {ATTACK}")
        page.get_by_role("button", name="Create").click()
        page.wait_for_url("**/documents/*")
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Papers {ATTACK}")
        page.set_input_files("#choose", [note, program, damaged])
        expect(page.locator("#uploads li", has_text="cut.pdf")).to_contain_text("the file is damaged")
        expect(page.locator("#uploads li", has_text="program.pdf")).to_contain_text("cannot be read")
        row = page.locator(".files tbody tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("1 passage")
        expect(row).not_to_contain_text("1 passages")
        page.get_by_role("link", name="Research over these").click()
        expect(page.locator("#documents option:checked")).to_contain_text("Papers")
        page.go_back()
        page.locator("#q").fill("wood chips")
        page.keyboard.press("Enter")
        expect(page.locator(".found blockquote")).to_contain_text("burns wood chips")
        row.get_by_role("button").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("No files yet")).to_be_visible()
        page.get_by_role("button", name="Delete collection").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        page.wait_for_url("**/documents")
        expect(page.get_by_text("Papers")).to_have_count(0)


@pytest.mark.parametrize(
    ("locale", "told"), first_of([("en-US", "Cannot be used:"), ("zh-CN", "无法使用，原因（英文）：")])
)
def test_a_damaged_file_says_so_where_it_is_attached_and_names_no_collection(
    browser: Browser, client: Site, locale: str, told: str
):
    damaged = (EXAMPLES / "audit-letter-truncated.pdf").read_bytes()
    note = f"The boiler of Kettle Point burns wood chips, {locale}.".encode()
    files = [
        {"name": name.replace(".", f"-{locale}."), "mimeType": "", "buffer": content}
        for name, content in (("none.md", b""), ("cut.pdf", damaged), ("kept.md", note))
    ]
    with reading(browser, client.address, locale=locale) as reader:
        page = reader.page
        page.goto("/")
        page.locator("[data-file-input]").set_input_files(files)  # type: ignore[arg-type]  # a list of payloads
        row = page.locator(".files li", has_text="cut-")
        expect(row).to_contain_text(told)
        expect(row).to_contain_text("damaged")
        expect(row).to_have_class("refused")
        expect(page.locator(".files [data-kept]")).to_have_count(1)
        expect(page.locator("#documents option:checked")).to_have_text(re.compile("^kept"))
        names = [each["name"] for each in client.http.get("/api/collections").json()["collections"]]
        assert sum(name.startswith("kept") for name in names) == 1
        assert not [name for name in names if name.startswith(("none", "cut"))]
        (own,) = [each for each in client.http.get("/api/collections").json()["collections"] if locale in each["name"]]
        assert own["files"] == 1
        client.http.delete(f"/api/collections/{own['id']}")


@pytest.mark.parametrize(
    ("locale", "badge", "doubt"),
    [
        ("en-US", "Verified: every sentence stands in its source", "Not verified"),
        ("zh-CN", "已核查：每句话都见于来源", "未通过核查"),
        ("zh-TW", "已查核：每句話都見於來源", "未通過查核"),
    ],
)
def test_history_tells_what_was_not_verified_and_finds_the_words_of_reports(
    browser: Browser, client: Site, report: str, locale: str, badge: str, doubt: str
):
    own = edition().model_copy(update={"question": f"Asked in {locale}?"})
    text = f"Bills fell by 7 % in zanzibar-{locale}."
    bad = keep_report(client.settings, own, is_verified=False, searched=text)
    with reading(browser, client.address, locale=locale, viewport={"width": 390, "height": 844}) as reader:
        page = reader.page
        page.goto(f"/runs/{report}")
        expect(page.locator(".over .chip.good")).to_have_text(badge)
        assert reader.overflow() <= 0
        page.goto(f"/runs?q=Fell+by+7+%25+in+zanzibar-{locale}")
        expect(page.locator(".run")).to_have_count(1)
        expect(page.locator(f"#run-{bad} .chip.warn")).to_have_text(doubt)
        page.goto("/runs?q=Ratepayers")
        expect(page.locator(f"#run-{report}")).to_have_count(1)
        expect(page.locator(f"#run-{report} .chip.warn")).to_have_count(0)
        client.http.delete(f"/api/runs/{bad}")
        page.goto(f"/runs?q=zanzibar-{locale}")
        expect(page.locator(".run")).to_have_count(0)


@pytest.mark.long
@pytest.mark.parametrize("locale", first_of(["en-US", "zh-CN"]))
def test_buttons_and_choices_have_room_for_their_words(browser: Browser, client: Site, report: str, locale: str):
    with reading(browser, client.address, locale=locale, viewport={"width": 390, "height": 844}) as reader:
        page = reader.page
        page.goto(f"/runs/{report}")
        boxes = page.locator(".over .acts > :visible").evaluate_all(
            "all => all.map((each) => each.getBoundingClientRect()).map(({x, y, width}) => [x, y, x + width])"
        )
        rows = {y: [box for box in boxes if box[1] == y] for _, y, _ in boxes}
        assert len({(row[0][0], row[-1][2]) for row in rows.values()}) == 1, "each row fills the line"
    with reading(browser, client.address, locale=locale, viewport={"width": 1400, "height": 900}) as reader:
        page = reader.page
        page.goto("/")
        page.locator(".options summary").click()
        room, needed = page.locator("#clarify").evaluate(
            """each => { const style = getComputedStyle(each);
            const canvas = document.createElement("canvas").getContext("2d");
            canvas.font = style.font;
            return [each.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight),
                    Math.max(...[...each.options].map((option) => canvas.measureText(option.text).width))]; }"""
        )
        assert needed <= room


def test_settings_name_what_is_missing_and_no_secret(browser: Browser, client: Site):
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto("/settings")
        expect(page.locator(".checks li", has_text="Model")).to_contain_text("rules without a model research and write")
        page.get_by_text("Every setting").click()
        row = page.locator(".settings tr", has=page.get_by_role("rowheader", name="tavily_api_key", exact=True))
        expect(row).to_contain_text("set")
        expect(row).to_contain_text("TAVILY_API_KEY")
        assert SECRET not in page.content()
        page.locator("#filter").fill("max_file_mb")
        expect(page.locator(".settings tbody tr:visible")).to_have_count(1)


@pytest.mark.long
def test_schedules_are_paused_and_deleted(browser: Browser, client: Site):
    asked = {"question": f"{QUESTION} {ATTACK}", "every": "7d"}
    made = client.http.post("/api/schedules", json=asked)
    assert made.status_code == 201, made.text
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto("/settings")
        row = page.locator("[data-schedule]")
        expect(row).to_contain_text(ATTACK)
        row.get_by_role("button", name="Pause").click()
        expect(row).to_contain_text("paused")
        assert client.http.get(f"/api/schedules/{made.json()['id']}").json()["is_paused"] is True
        row.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("No schedules.")).to_be_visible()


@pytest.mark.long
def test_long_reports_stay_usable(browser: Browser, client: Site):
    run = keep_report(client.settings, long_report())
    with reading(browser, client.address) as reader:
        page = reader.page
        for width in (360, 800, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(f"/runs/{run}")
            assert reader.overflow() <= 0
            assert page.locator("article p.s, article .s").count() == 600
            page.locator("#filter").fill("Survey 179 ")
            expect(page.locator("#cited .source:visible")).to_have_count(1)
        page.locator("#part-37").scroll_into_view_if_needed()
        current = page.locator("#contents [aria-current]")
        expect(current).to_contain_text("city 3")
        expect(current).to_be_in_viewport()
        line = page.evaluate(
            """() => { const p = document.querySelector('article section p');
            const height = parseFloat(getComputedStyle(p).lineHeight);
            return p.textContent.length / Math.round(p.getBoundingClientRect().height / height); }"""
        )
        assert 45 <= line <= 80


@pytest.mark.long
@pytest.mark.parametrize("locale", first_of(["zh-CN", "zh-TW"]))
def test_everything_speaks_the_language_of_the_reader(browser: Browser, client: Site, locale: str):
    run = client.finished(CHINESE)["id"]
    words = {"zh-CN": ("已核查", "历史记录", "文档", "设置"), "zh-TW": ("已查核", "歷史記錄", "文件", "設定")}[locale]
    with reading(browser, client.address, locale=locale, viewport={"width": 360, "height": 780}) as reader:
        page = reader.page
        for address, word in zip((f"/runs/{run}", "/runs", "/documents", "/settings"), words, strict=True):
            page.goto(address)
            expect(page.locator("main")).to_contain_text(word)
            assert reader.overflow() <= 0
            # Addresses among the settings have such names in them.
            shown = page.locator("main").inner_text() if address != "/settings" else ""
            assert re.findall(r"\{[a-z_]+\}", shown) == []


def naughty_texts() -> list[str]:
    texts = json.loads(NAUGHTY.read_text(encoding="utf-8")) if NAUGHTY.exists() else []
    return [text for text in texts if isinstance(text, str) and "<" in text and text.strip()]


def is_only_text(browser: Browser, client: Site, texts: list[str]) -> str:
    """Read reports, sources and the history that say these texts; return the last run."""
    with reading(browser, client.address) as reader:
        page, run = reader.page, ""
        for text in texts:
            run = keep_report(client.settings, hostile_report(text), tags=[text[:90]])
            page.goto(f"/runs/{run}")
            page.locator("a.cite").first.click()
            expect(page.locator("#card")).to_be_visible()
            page.goto(page.locator("#card .card-foot .read").get_attribute("href") or "")
            assert page.locator("main script, main img, main iframe").count() == 0
        page.goto("/runs")
        assert page.locator("main script, main img, main iframe").count() == 0
    return run


def test_hostile_texts_are_text_everywhere(browser: Browser, client: Site):
    run = is_only_text(browser, client, [ATTACK, "javascript:alert(3)", "{{7*7}}${7*7}<%= 7*7 %>"])
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto(f"/runs/{run}")
        page.get_by_role("textbox", name="Ask a follow-up question").fill(ATTACK)
        page.get_by_role("button", name="Ask", exact=True).click()
        page.wait_for_load_state()


@pytest.mark.long
def test_no_text_of_a_public_list_is_more_than_text(browser: Browser, client: Site):
    is_only_text(browser, client, naughty_texts())
