"""What a run looks for, on its page: it fills while the run works, and a reader strikes, adds, and says enough."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.analyst import act_of, answer_over_the_wire
from tests.support.loopback import Request
from tests.support.model_dialects import Answer, Asked
from tests.support.model_server import ModelServer, model_request
from tests.support.page import chromium, needs_chromium, reading
from tests.support.server import serving, settings_for

pytestmark = [needs_chromium, pytest.mark.long]
ENTRIES = ["Pier 7: a plan of the port", "Halden: the plant", "Lock <9>; its gate"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


class HeldModel(ModelServer):
    """Names what a complete answer holds, and chooses no passages before it is let."""

    def __init__(self) -> None:
        super().__init__(_answer)
        self.is_let = threading.Event()

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answer, once what is asked may be answered."""
        asked = model_request(request)
        while asked and act_of(asked.text) == "extract" and not self.is_let.is_set():
            await asyncio.sleep(0.02)
        await super().answer(request, writer)


def _answer(asked: Asked) -> Answer:
    answer = answer_over_the_wire(asked)
    named = {"entries": ENTRIES, "entry_sections": [1, 2, 2]}
    is_plan = act_of(asked.text) == "plan"
    return replace(answer, text=json.dumps(json.loads(answer.text) | named)) if is_plan else answer


@pytest.mark.parametrize(
    ("locale", "strike", "back", "add", "send", "enough", "ending"),
    [
        (
            "en-US",
            "Strike: Pier 7: a plan of the port",
            "Look for it again: Lock <9>; its gate",
            "Add what else should be looked for",
            "Add",
            "Enough, write now",
            "The search ends; the report is written from what there is.",
        ),
        (
            "zh-CN",
            "删去：Pier 7: a plan of the port",
            "重新查找：Lock <9>; its gate",
            "补充还应查找的内容",
            "补充",
            "够了，开始撰写",
            "搜索即将停止，将按已有资料撰写报告。",
        ),
    ],
)
def test_entries_are_struck_and_added_where_they_stand(
    browser: Browser, tmp_path: Path, locale: str, strike: str, back: str, add: str, send: str, enough: str, ending: str
) -> None:
    with HeldModel() as model:
        docs = tmp_path / "docs"
        docs.mkdir()
        # Too long to be read without a question to the model.
        told = [f"The plant cost {n} million euros in {1900 + n} and produced {n} GWh of heat." for n in range(1, 400)]
        (docs / "plant.md").write_text("\n\n".join(told), encoding="utf-8")
        own = {"docs": docs, "provider": "ollama:m", "ollama_address": model.address_of("ollama"), "cache": False}
        settings = settings_for(tmp_path, **own, model_idle_timeout_s=3600, model_timeout_s=3600)
        with serving(settings) as client, reading(browser, client.address, locale=locale) as reader:
            page = reader.page
            run = client.ask()["id"]
            page.goto(f"/runs/{run}")
            entries = page.locator(".entries > li")
            expect(entries).to_have_count(3)
            page.get_by_role("button", name=strike).click()
            expect(page.locator(".entries .is-set_aside")).to_have_count(1)
            # By the keyboard, and taken back.
            page.locator("button[name=strike]").last.focus()
            page.keyboard.press("Enter")
            expect(page.locator(".entries .is-set_aside")).to_have_count(2)
            page.get_by_role("button", name=back).click()
            expect(page.locator(".entries .is-set_aside")).to_have_count(1)
            page.get_by_label(add, exact=True).fill("Weir 3; 水闸")
            page.get_by_role("button", name=send, exact=True).click()
            expect(entries).to_have_count(5)
            expect(page.get_by_label(add, exact=True)).to_have_value("")
            page.reload()
            expect(entries).to_have_count(5)
            page.get_by_role("button", name=enough).click()
            expect(page.get_by_text(ending)).to_be_visible()
            expect(page.locator("button[name=strike]")).to_have_count(0)
            model.is_let.set()
            client.wait(run, "done")
            shown = client.http.get(f"/api/runs/{run}/progress").json()
            statuses = {entry["name"]: entry["status"] for entry in shown["map"]["entries"]}
            assert statuses["Pier 7: a plan of the port"] == "set_aside"
            assert shown["map"]["stop"] == "enough"
            asked = [query["query"] for query in shown["queries"]]
            assert "Weir 3" not in asked, "enough was said before it was its turn"
