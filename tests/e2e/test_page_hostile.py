"""Strings that break pages, through every field and every place of the views of a run: shown as text, nothing runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, expect

from deep_research.settings import Settings
from tests.support.page import Reader, chromium, needs_chromium, reading
from tests.support.server import Client, serving, settings_for
from tests.support.staged_runs import research_events, stage_run

NAUGHTY = Path(__file__).parents[3] / "shared/evaldata/hostile/naughty_strings.json"
# What every place is tried with, also where the collection is not at hand.
OURS = (
    "<script>window.hurt=1</script>",
    "<img src=x onerror=window.hurt=1>",
    '"><svg/onload=window.hurt=1>',
    "'-alert(1)-'",
    "javascript:window.hurt=1",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "</textarea><script>window.hurt=1</script>",
    "</template></title><iframe srcdoc='<script>parent.hurt=1</script>'>",
    "\u202egnihtemos \u0000\u0007 \ufeff",
    "broken \ud83d text",
    "x" * 1_000,
    "田" * 300,
    "ضوضاء " * 60,
)
pytestmark = needs_chromium


def _strings() -> list[str]:
    collected = json.loads(NAUGHTY.read_text(encoding="utf-8")) if NAUGHTY.exists() else []
    return list(dict.fromkeys((*OURS, *(text for text in collected if text.strip()))))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_for(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def client(settings: Settings) -> Iterator[Client]:
    with serving(settings) as served:
        yield served


def _assert_harmless(reader: Reader, path: str) -> None:
    """Open a page on a phone and on a screen: no script of a stranger ran, and nothing sticks out."""
    for width in (360, 1280):
        reader.page.set_viewport_size({"width": width, "height": 800})
        answer = reader.page.goto(path)
        assert answer is not None
        assert answer.status < 500
        reader.page.evaluate("new Promise((go) => requestAnimationFrame(() => setTimeout(go, 100)))")
        assert reader.page.evaluate("window.hurt") is None
        assert reader.page.locator("iframe").count() == 0
        assert reader.overflow() <= 0, (path, width)


@pytest.mark.long
def test_titles_sources_queries_and_errors_are_shown_as_text(
    browser: Browser, client: Client, settings: Settings
) -> None:
    strings = _strings()
    run = stage_run(
        settings,
        " ".join(OURS)[:3_000],
        research_events(sections=strings[:40], sources=strings, queries=strings[::4]),
        error=" ".join(OURS),
    )
    with reading(browser, client.address) as reader:
        _assert_harmless(reader, f"/runs/{run}")
        assert reader.page.locator(".sources-part li").count() == len(strings)
        expect(reader.page.get_by_text(OURS[0], exact=True).first).to_be_visible()
        _assert_harmless(reader, "/")


@pytest.mark.parametrize("kind", ["clarification", "plan-approval"])
def test_questions_options_and_plans_are_shown_as_text_and_come_back_as_they_were(
    browser: Browser, client: Client, settings: Settings, kind: str
) -> None:
    sections = [
        {"title": text, "description": text, "search_queries": [{"query": each} for each in OURS[:9]]}
        for text in OURS[:5]
    ]
    pending: dict[str, Any] = {
        "clarification": {"question": OURS[0], "options": list(OURS), "missing_info": OURS[1]},
        "plan-approval": {
            "question": OURS[0],
            "plan": {"research_title": OURS[6], "sections": sections},
            "estimate": {"tokens": 0, "usd": 0.0, "most_usd": 0.0, "calls": 0},
            "problem": OURS[1],
        },
    }
    asked = {"kind": kind, "scope": "ask/1", "round": 1, **pending[kind]}
    run = stage_run(settings, OURS[0], status="waiting", pending=asked)
    with reading(browser, client.address) as reader:
        _assert_harmless(reader, f"/runs/{run}")
        if kind == "clarification":
            assert reader.page.locator(".answer").count() == len(OURS)
        else:
            assert reader.page.locator("[name=research_title]").input_value() == OURS[6]
            shown = [field.input_value() for field in reader.page.locator("[name=section_title]").all()]
            assert shown == list(OURS[:5])


@pytest.mark.long
def test_what_is_typed_into_the_form_comes_back_as_it_was(browser: Browser, client: Client) -> None:
    with reading(browser, client.address) as reader:
        page = reader.page
        for text in OURS[:8]:
            page.goto("/")
            page.locator("#question").fill(text)
            page.locator(".options > summary").click()
            for field in ("usd", "queries", "pages", "minutes", "sites"):
                page.locator(f"#{field}").fill(text)
            page.get_by_role("button", name="Start research").click()
            expect(page.locator("#usd")).to_have_attribute("aria-invalid", "true")
            assert [page.locator(f"#{field}").input_value() for field in ("question", "usd", "sites")] == [text] * 3
            assert page.evaluate("window.hurt") is None
            assert reader.overflow() <= 0
        # A form that does not fit is refused, which the console tells.
        reader.problems = [problem for problem in reader.problems if "422" not in problem]


def test_names_of_files_and_questions_in_addresses_are_text(browser: Browser, client: Client) -> None:
    with reading(browser, client.address) as reader:
        page = reader.page
        page.goto("/")
        names = [f"{text[:60]}.txt".replace("/", " ").replace("\0", "") for text in OURS if text.isascii()]
        page.locator("[data-file-input]").set_input_files(
            [FilePayload(name=name, mimeType="text/plain", buffer=f"Text of {name}.".encode()) for name in names]
        )
        expect(page.locator(".files [data-kept], .files .refused")).to_have_count(len(names))
        assert page.evaluate("window.hurt") is None
        assert reader.overflow() <= 0
        for text in OURS[:8]:
            page.goto(f"/?question={text.replace('%', '%25').replace('#', '%23').replace('&', '%26')}")
            assert page.evaluate("window.hurt") is None
            assert page.locator("#question").input_value() != ""
