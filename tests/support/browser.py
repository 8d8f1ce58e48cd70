"""A real browser for tests of our own pages: opens a file, runs expressions, presses keys, notes what goes wrong."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from deep_research.value import Json, JsonObject
from deep_research.web.fetch.chromium import ChromiumRenderer, Devtools, find_chromium
from deep_research.web.net.client import GuardedClient
from tests.support.waiting import HANG_S

_KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39}


class Window:
    """One page in a browser; `requests` are the addresses it asked for, `problems` what its console complained of.

    `refused` are those of the requests that the page's own policy stopped.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.devtools = Devtools(process.stdout, process.stdin, self._note)
        self.session = ""
        self.requests: list[str] = []
        self.refused: list[str] = []
        self.problems: list[Json] = []
        self._addresses: dict[str, str] = {}
        self._loaded = asyncio.Event()

    async def call(self, method: str, **params: Json) -> JsonObject:
        return await self.devtools.call(method, self.session, **params)

    async def open(self, address: str, *, width: int = 1400, height: int = 900, scripts: bool = True) -> None:
        target = await self.devtools.call("Target.createTarget", url="about:blank")
        attached = await self.devtools.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = str(attached["sessionId"])
        for domain in ("Page", "Network", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.resize(width, height)
        await self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        await self.go(address)

    async def go(self, address: str) -> None:
        self._loaded.clear()
        await self.call("Page.navigate", url=address)
        await asyncio.wait_for(self._loaded.wait(), HANG_S)

    async def resize(self, width: int, height: int) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    async def prefer(self, **features: str) -> None:
        """Set what the reader prefers: `prefers_color_scheme="dark"`."""
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        await self.call("Emulation.setEmulatedMedia", features=cast(Json, wanted))

    async def ask(self, expression: str) -> Any:
        """Return what an expression gives in the page, once it is settled."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return cast(Any, found)["result"].get("value")

    async def press(self, key: str) -> None:
        text = {"text": "\r"} if key == "Enter" else {}
        await self.call(
            "Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=_KEYS[key], **text
        )
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=_KEYS[key])

    async def click(self, selector: str) -> None:
        """Click the middle of the first element that a selector finds, as a mouse does."""
        x, y = await self.ask(
            f"""(() => {{ const e = document.querySelector({selector!r});
            e.scrollIntoView({{block: 'center', behavior: 'instant'}});
            const box = e.getClientRects()[0]; return [box.x + box.width / 2, box.y + box.height / 2]; }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def picture(self) -> bytes:
        return base64.b64decode(str((await self.call("Page.captureScreenshot", format="png"))["data"]))

    async def printed(self) -> bytes:
        return base64.b64decode(str((await self.call("Page.printToPDF", preferCSSPageSize=True))["data"]))

    def _note(self, event: str, params: JsonObject) -> None:
        match event:
            case "Page.loadEventFired":
                self._loaded.set()
            case "Network.requestWillBeSent":
                address = str(cast(Any, params)["request"]["url"])
                self._addresses[str(params["requestId"])] = address
                if not address.startswith("data:"):
                    self.requests.append(address)
            case "Network.loadingFailed" if params.get("blockedReason") == "csp":
                self.refused.append(self._addresses[str(params["requestId"])])
            case "Runtime.exceptionThrown" | "Log.entryAdded":
                self.problems.append(params)
            case "Runtime.consoleAPICalled" if params.get("type") in ("error", "warning"):
                self.problems.append(params)


@asynccontextmanager
async def browser_window() -> AsyncIterator[Window]:
    """Yield a window of a new browser, which has no network."""
    executable = find_chromium()
    assert executable is not None
    renderer = ChromiumRenderer(cast(GuardedClient, None), executable)
    async with renderer._browser() as process:
        window = Window(process)
        listening = asyncio.create_task(window.devtools.listen())
        try:
            yield window
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


def address_of(folder: Path, content: bytes) -> str:
    """Write a page to a file and return its address."""
    file = folder / "report.html"
    file.write_bytes(content)
    return file.as_uri()
