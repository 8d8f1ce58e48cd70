"""Research in a real browser: a question with files, asked back, planned, watched, reloaded, cut off, and done."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.analyst import act_of, answer_over_the_wire
from tests.support.model_dialects import Answer, Asked
from tests.support.model_server import ModelServer
from tests.support.page import chromium, needs_chromium, reading
from tests.support.server import QUESTION, VAGUE, Client, ServerProcess, server_process, serving, settings_for

pytestmark = needs_chromium
NOTES = "The Halden plant cost 30 million euros in 2021.\n\nIt produced 5 GWh of heat in its first year.\n"
OPTIONS = ("The plant of Halden", "Another plant")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def by_rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(settings_for(tmp_path_factory.mktemp("rules"))) as client:
        yield client


@dataclass
class SlowModel:
    """Asks back once where it is told to, and holds each draft until it is let go on."""

    asks: bool = True
    is_let: threading.Event = field(default_factory=threading.Event)
    drafts: int = 0

    def answer(self, asked: Asked) -> Answer:
        act = act_of(asked.text)
        answer = answer_over_the_wire(asked)
        if act == "assess" and self.asks:
            self.asks = False
            doubt = {"topic_explicit": False, "question": "Which plant is meant?", "options": list(OPTIONS)}
            return replace(answer, text=json.dumps(json.loads(answer.text) | doubt))
        if act == "draft":
            self.drafts += 1
            # Half of the text comes, the rest when somebody lets it.
            return answer if self.is_let.is_set() else replace(answer, pace_s=0.02, hang_after=20)
        return answer


@pytest.fixture
def slow() -> Iterator[tuple[SlowModel, ModelServer]]:
    model = SlowModel()
    with ModelServer(model.answer) as server:
        yield model, server


def _ask(page: Page, question: str) -> None:
    page.goto("/")
    page.get_by_role("textbox", name="What do you want to know?").fill(question)


def _watch_shifts(page: Page) -> None:
    page.evaluate(
        """() => { window.shifted = 0; new PerformanceObserver((seen) => {
        for (const entry of seen.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
        }).observe({type: "layout-shift", buffered: true}); }"""
    )


@pytest.mark.long
def test_a_question_with_files_is_asked_back_planned_watched_and_survives_reload_and_restart(
    browser: Browser, slow: tuple[SlowModel, ModelServer], tmp_path: Path
) -> None:
    model, models = slow
    env = {"DEEP_RESEARCH_PROVIDER": "ollama:m", "DEEP_RESEARCH_OLLAMA_ADDRESS": models.address_of("ollama")}
    # It is silent for as long as the browser takes.
    env |= {"DEEP_RESEARCH_MODEL_IDLE_TIMEOUT_S": "3600", "DEEP_RESEARCH_MODEL_TIMEOUT_S": "3600"}
    with server_process(tmp_path, **env) as server, reading(browser, server.client.address) as reader:
        page = reader.page
        _start_with_files(page, tmp_path)
        _answer_and_plan(page)
        _watch_and_reload(page, model)
        _survive_a_kill(page, server, model)
        assert "30 million" in page.locator("main").inner_text()
        # The plan with two sections of one title was refused, which the console tells.
        assert [problem for problem in reader.problems if "422" not in problem] == []
        reader.problems.clear()


def _start_with_files(page: Page, folder: Path) -> None:
    (folder / "notes & <x>.md").write_text(NOTES, encoding="utf-8")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "program.exe").write_bytes(b"MZ" + bytes(range(256)) * 40)
    _ask(page, VAGUE)
    page.get_by_label("Add files").set_input_files(
        [folder / "notes & <x>.md", folder / "empty.txt", folder / "program.exe"]
    )
    rows = page.get_by_role("list", name="Files").get_by_role("listitem")
    expect(rows.nth(0)).to_contain_text("MARKDOWN · 94 B")
    expect(rows.nth(1)).to_contain_text("the file is empty")
    expect(rows.nth(2)).to_contain_text("cannot be read")
    expect(page.get_by_text("notes & <x>.md (1)")).to_be_visible()
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("This server’s folder").uncheck()
    page.get_by_label("Show me the plan before the research starts").check()
    page.get_by_label("Minutes").fill("30")
    expect(page.get_by_text("Up to 120 queries")).to_be_visible()
    page.get_by_label("Depth").select_option("Quick")
    expect(page.get_by_text("Up to 4 queries")).to_be_visible()
    page.get_by_role("button", name="Start research").click()
    page.wait_for_url("**/runs/*")


def _answer_and_plan(page: Page) -> None:
    expect(page.get_by_text("Which plant is meant?")).to_be_visible()
    expect(page.get_by_role("button", name=OPTIONS[0])).to_contain_text("Recommended")
    page.get_by_role("button", name=OPTIONS[0]).click()
    expect(page.get_by_role("heading", name="The plan")).to_be_visible()
    sections = page.get_by_role("list", name="Sections of the plan").get_by_role("listitem")
    expect(sections).to_have_count(3)
    sections.nth(2).get_by_role("button", name="Remove section 3").click()
    expect(sections).to_have_count(2)
    sections.nth(1).get_by_role("button", name="Move section 2 up").click()
    for _ in range(3):
        page.get_by_role("button", name="Add section").click()
    expect(page.get_by_role("button", name="Add section")).to_be_disabled()
    titles = page.get_by_label("Title of the section")
    for place, title in ((2, "Heat in 2021"), (3, "Results"), (4, "x")):
        titles.nth(place).fill(title)
    page.reload()
    assert [title.input_value() for title in titles.all()] == ["Results", "Costs", "Heat in 2021", "Results", "x"]
    expect(page.get_by_role("button", name="Back to the proposed plan")).to_be_visible()
    # Two sections of one title: the server says so, and what was typed is still there.
    page.get_by_role("button", name="Start research").click()
    expect(page.get_by_role("alert")).to_contain_text("Results")
    expect(titles.nth(2)).to_have_value("Heat in 2021")
    sections.nth(4).get_by_role("button", name="Remove section 5").click()
    sections.nth(3).get_by_role("button", name="Remove section 4").click()
    page.get_by_role("button", name="Start research").click()
    expect(page.get_by_role("progressbar", name="Heat in 2021")).to_be_visible()
    assert [bar.get_attribute("aria-label") for bar in page.locator(".coverage .meter").all()] == [
        "Results",
        "Costs",
        "Heat in 2021",
    ]


def _watch_and_reload(page: Page, model: SlowModel) -> None:
    _watch_shifts(page)
    expect(page.locator(".sources-part li")).to_have_count(1)
    expect(page.get_by_role("heading", name="The report, while it is written")).to_be_visible()
    expect(page.locator("[data-live-text]")).to_contain_text("plant")
    assert "[E" not in page.locator("[data-live-text]").inner_text()
    assert page.evaluate("window.shifted") < 0.1
    before = page.locator(".sources-part li").count(), page.locator(".queries-part li").count()
    expect(page.locator("[data-live-text]")).to_contain_text(re.compile(r"\S+ \S+ \S+"))
    written = page.locator("[data-live-text]").inner_text()
    assert page.evaluate("sessionStorage.length") == 0, "the plan is settled"
    page.reload()
    expect(page.locator("[data-live-text]")).to_contain_text(written, use_inner_text=True)
    assert (page.locator(".sources-part li").count(), page.locator(".queries-part li").count()) == before
    expect(page.locator("[aria-current=step]")).to_contain_text("Drafting")
    expect(page.locator("[data-run]")).to_have_attribute("data-connected", "true")
    assert model.drafts == 1


def _survive_a_kill(page: Page, server: ServerProcess, model: SlowModel) -> None:
    server.kill()
    expect(page.get_by_text("Connection lost. Trying again…").first).to_be_visible()
    model.is_let.set()
    server.start()
    expect(page.get_by_role("link", name="Export").or_(page.get_by_text("Export")).first).to_be_visible()
    # Asked again after the kill, and once more because it leaves out the sections of the edited plan.
    assert model.drafts == 3


@pytest.mark.long
def test_a_run_that_waits_for_its_turn_or_stops_says_so(
    browser: Browser, slow: tuple[SlowModel, ModelServer], tmp_path: Path
) -> None:
    model, models = slow
    settings = settings_for(
        tmp_path, provider="ollama:m", ollama_address=models.address_of("ollama"), server_runs_at_once=1, cache=False
    )
    with serving(settings) as client, reading(browser, client.address) as reader:
        page, status = reader.page, reader.page.locator(".run-head .chip").first
        asks = client.wait(client.ask(VAGUE, depth="quick")["id"])["id"]
        hangs = client.ask(depth="quick")["id"]
        page.goto(f"/runs/{hangs}")
        expect(page.locator("[data-live-text] p").first).to_be_visible()
        page.goto(f"/runs/{asks}")
        page.get_by_role("button", name=OPTIONS[0]).click()
        expect(status).to_have_text("queued")
        page.reload()
        expect(page.locator("[data-part=now]")).to_contain_text("Waiting for its turn")
        expect(page.get_by_text("Which plant is meant?")).to_have_count(0)
        assert (client.run(asks)["status"], client.run(asks)["is_queued"]) == ("interrupted", True)
        model.is_let.set()
        cancelled = client.http.post(f"/api/runs/{hangs}/cancel").json()
        assert (cancelled["status"], cancelled["is_stopping"]) == ("running", True)
        page.goto(f"/runs/{hangs}")
        expect(status).to_have_text("cancelled")
        assert not client.run(hangs)["is_stopping"]
        client.wait(asks, "done")


@pytest.mark.long
def test_everything_can_be_done_with_the_keyboard_alone(browser: Browser, by_rules: Client) -> None:
    with reading(browser, by_rules.address) as reader:
        page = reader.page
        page.goto("/")
        page.keyboard.type(VAGUE)
        _tab_to(page, ".options > summary")
        page.keyboard.press("Enter")
        _tab_to(page, "[name=confirm_plan]")
        page.keyboard.press("Space")
        _tab_to(page, "#question", key="Shift+Tab")
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/runs/*")
        expect(page.get_by_role("heading", name="Before the research starts")).to_be_visible()
        _tab_to(page, ".answer.first")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="The plan")).to_be_visible()
        _tab_to(page, "[data-add-section]")
        page.keyboard.press("Enter")
        page.keyboard.type("Costs")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        _tab_to(page, "[data-section]:last-child [data-move=up]")
        page.keyboard.press("Enter")
        titles = page.get_by_label("Title of the section")
        expect(titles.nth(titles.count() - 2)).to_have_value("Costs")
        _tab_to(page, "button[value=start]")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Export").first).to_be_visible()


def _tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    for _ in range(60):
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"the keyboard does not reach {selector}")


@pytest.mark.long
@pytest.mark.parametrize(
    ("locale", "heading", "start", "vague", "ask", "plan"),
    [
        ("zh-CN", "您想了解什么？", "开始研究", "它怎么样？", "研究开始之前", "研究计划"),
        ("zh-TW", "您想了解什麼？", "開始研究", "它怎麼樣？", "研究開始之前", "研究計畫"),
    ],
)
def test_the_way_to_a_report_is_the_same_in_chinese(
    browser: Browser, by_rules: Client, locale: str, heading: str, start: str, vague: str, ask: str, plan: str
) -> None:
    with reading(browser, by_rules.address, locale=locale) as reader:
        page = reader.page
        page.goto("/")
        assert page.locator("html").get_attribute("lang") in ("zh-Hans", "zh-Hant")
        page.get_by_role("textbox", name=heading).fill(vague)
        page.locator(".options > summary").click()
        page.locator("[name=confirm_plan]").check()
        page.locator("[name=depth]").select_option("quick")
        page.get_by_role("button", name=start).click()
        expect(page.get_by_role("heading", name=ask)).to_be_visible()
        page.locator(".answer").first.click()
        expect(page.get_by_role("heading", name=plan)).to_be_visible()
        page.get_by_role("button", name=start).click()
        page.wait_for_selector("article, .report")
        reader.page.goto("/")
        page.locator(".tools summary").click()
        page.get_by_role("button", name="English").click()
        expect(page.get_by_role("textbox", name="What do you want to know?")).to_be_visible()


@pytest.mark.long
def test_a_plain_form_is_enough_where_scripts_are_off(browser: Browser, by_rules: Client) -> None:
    with reading(browser, by_rules.address, java_script_enabled=False) as reader:
        page = reader.page
        _ask(page, VAGUE)
        page.get_by_role("button", name="Start research").click()
        page.wait_for_url("**/runs/*")
        # The page asks for itself again every few seconds.
        page.get_by_label("Or answer in your own words").fill(QUESTION)
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("Export").first).to_be_visible()


@pytest.mark.long
def test_a_form_that_does_not_fit_says_where_and_keeps_what_was_typed(browser: Browser, by_rules: Client) -> None:
    with reading(browser, by_rules.address) as reader:
        page = reader.page
        _ask(page, QUESTION)
        page.get_by_text("Options", exact=True).click()
        page.get_by_label("US dollars").fill("a lot")
        page.get_by_label("Only these sites").fill(" ".join(f"example{number}.org" for number in range(21)))
        page.get_by_text("Options", exact=True).click()
        page.get_by_role("button", name="Start research").click()
        expect(page.get_by_text("A number from 0 up.")).to_be_visible()
        expect(page.get_by_label("Only these sites")).to_be_focused()
        expect(page.get_by_label("Only these sites")).to_be_in_viewport()
        expect(page.get_by_text("At most 20 sites")).to_be_visible()
        expect(page.get_by_label("US dollars")).to_have_value("a lot")
        expect(page.get_by_label("US dollars")).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_role("textbox", name="What do you want to know?")).to_have_value(QUESTION)
        # Half a date, in options that are folded: the browser sends nothing, and shows what is wrong.
        _ask(page, QUESTION)
        page.get_by_text("Options", exact=True).click()
        page.get_by_label("Sources from").press_sequentially("12")
        page.get_by_text("Options", exact=True).click()
        page.get_by_role("button", name="Start research").click()
        expect(page.get_by_label("Sources from")).to_be_focused()
        expect(page.get_by_label("Sources from")).to_be_in_viewport()
        reader.problems.clear()


def test_language_and_theme_are_kept_and_nobody_is_sent_elsewhere(browser: Browser, by_rules: Client) -> None:
    with reading(browser, by_rules.address) as reader:
        page = reader.page
        page.goto("/")
        with page.expect_response("**/preferences"):
            page.locator("[data-theme-switch] button:visible").click()
        assert page.locator("html").get_attribute("data-theme") == "light"
        with page.expect_response("**/preferences"):
            page.locator("[data-theme-switch] button:visible").click()
        page.reload()
        assert page.locator("html").get_attribute("data-theme") == "dark"
    for back in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "\\\\evil"):
        answer = by_rules.http.post("/preferences", data={"language": "zh-Hans", "back": back})
        assert answer.headers["location"] in ("/", "/evil.example"), back


@pytest.mark.parametrize("path", ["/", "/nowhere"])
def test_every_page_allows_only_what_this_server_sends(by_rules: Client, path: str) -> None:
    answer = by_rules.http.get(path, headers={"accept": "text/html"})
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|javascript:", answer.text)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", answer.text)


def test_static_files_are_kept_for_good_and_change_their_address(by_rules: Client) -> None:
    page = by_rules.http.get("/").text
    address = re.findall(r"/static/\w+/frame\.css", page)[0]
    kept = by_rules.http.get(address)
    assert "immutable" in kept.headers["cache-control"]
    assert by_rules.http.get(address, headers={"if-none-match": kept.headers["etag"]}).status_code == 304
    assert by_rules.http.get("/static/older/frame.css").headers["cache-control"] == "no-cache"
    for name in ("../app.py", "%2e%2e/app.py", "..%2fapp.py", "nothing.css"):
        assert by_rules.http.get(f"/static/x/{name}").status_code == 404
