"""`ChromiumRenderer`: pages that are filled by scripts, through an installed Chromium.

The browser has no network of its own: each of its requests is answered through the guarded client, and what cannot be
caught that way runs into a proxy that does not exist. It gets a new profile each time, and nothing of our environment.
"""

import asyncio
import base64
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Final

from deep_research.errors import CallFailed, NetworkError, SourceError
from deep_research.fetch.devtools import MAX_MESSAGE_BYTES, Devtools
from deep_research.fetch.robots_cache import Client
from deep_research.value import Json, JsonObject

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS: Final = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--proxy-server=http://nowhere.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
)
# The pipes that asyncio knows are stdin and stdout; the browser wants them as 3 and 4.
_MOVE_PIPES: Final = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
_WANTED: Final = frozenset({"Document", "Script", "XHR", "Fetch", "Stylesheet", "Other"})
_FORWARDED: Final = frozenset({"accept", "accept-language", "origin", "referer"})
_ANSWERED: Final = frozenset({"content-type", "access-control-allow-origin", "access-control-allow-credentials"})
_MAX_REQUESTS: Final = 150
_QUIET_S: Final = 0.5
_LOOK_S: Final = 0.05


def find_chromium() -> str | None:
    """Return the path of an installed Chromium or Chrome, or None; also where there is no shell to start it by."""
    if os.name != "posix":
        return None
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class ChromiumRenderer:
    """Runs a page's scripts in a browser that sees the web only through our client; one page at a time."""

    def __init__(self, client: Client, executable: str, *, timeout_s: float = 30.0, settle_s: float = 8.0) -> None:
        self._client = client
        self._executable = executable
        self._timeout_s = timeout_s
        self._settle_s = settle_s
        self._slot = asyncio.Semaphore(1)

    async def render(self, address: str) -> bytes:
        """Return the page's HTML once its scripts have come to rest, or what there is after `settle_s`."""
        try:
            async with self._slot, asyncio.timeout(self._timeout_s), self._browser() as process:
                return await _Visit(self._client, process).html_of(address, self._settle_s)
        except TimeoutError as exc:
            raise NetworkError(f"{address} could not be rendered within {self._timeout_s:g} s.") from exc

    @asynccontextmanager
    async def _browser(self) -> AsyncIterator[asyncio.subprocess.Process]:
        with TemporaryDirectory(prefix="deep-research-page-", ignore_cleanup_errors=True) as home:
            # A browser's own sandbox does not work for root.
            flags = (*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else []), f"--user-data-dir={home}/profile")
            process = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", _MOVE_PIPES, self._executable, *flags, "about:blank",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=MAX_MESSAGE_BYTES,
                env={"HOME": home, "PATH": os.defpath, "LANG": "C.UTF-8"}, start_new_session=True,
            )  # fmt: skip
            try:
                yield process
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                # Reads what is left and closes the pipes.
                await process.communicate()


class _Visit:
    """One page in one browser."""

    def __init__(self, client: Client, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise SourceError("The browser could not be started.")
        self._client = client
        self._devtools = Devtools(process.stdout, process.stdin, self._note)
        self._session = ""
        self._is_loaded = False
        self._answering: set[asyncio.Task[None]] = set()
        self._requests = 0
        self._last_stir_s = time.monotonic()

    async def html_of(self, address: str, settle_s: float) -> bytes:
        """Open the page, wait for it to come to rest, and return what it has become."""
        listening = asyncio.create_task(self._devtools.listen())
        try:
            target = await self._devtools.call("Target.createTarget", url="about:blank")
            attached = await self._devtools.call("Target.attachToTarget", targetId=target.get("targetId"), flatten=True)
            self._session = str(attached.get("sessionId"))
            await self._call("Fetch.enable", patterns=[{"urlPattern": "*"}])
            await self._call("Page.enable")
            await self._call("Page.navigate", url=address)
            await self._rest(settle_s)
            found = await self._call("Runtime.evaluate", expression="document.documentElement.outerHTML")
            html = found.get("result")
            text = html.get("value") if isinstance(html, dict) else None
            return f"<!doctype html>{text or ''}".encode("utf-8", "replace")
        finally:
            for task in (listening, *self._answering):
                task.cancel()
            await asyncio.gather(listening, *self._answering, return_exceptions=True)

    async def _call(self, method: str, **params: Json) -> JsonObject:
        return await self._devtools.call(method, self._session, **params)

    async def _rest(self, settle_s: float) -> None:
        until_s = time.monotonic() + settle_s
        while time.monotonic() < until_s:
            is_quiet = not self._answering and time.monotonic() - self._last_stir_s > _QUIET_S
            if self._is_loaded and is_quiet:
                return
            await asyncio.sleep(_LOOK_S)

    def _note(self, event: str, params: JsonObject) -> None:
        if event == "Page.loadEventFired":
            self._is_loaded = True
            self._last_stir_s = time.monotonic()
        elif event == "Fetch.requestPaused":
            task = asyncio.create_task(self._answer(params))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _answer(self, paused: JsonObject) -> None:
        """Answer one of the browser's requests through the client; what we do not fetch fails as if blocked."""
        self._requests += 1
        number, request = paused.get("requestId"), paused.get("request")
        try:
            if not isinstance(request, dict) or not self._is_wanted(request, paused.get("resourceType")):
                await self._call("Fetch.failRequest", requestId=number, errorReason="BlockedByClient")
                return
            await self._fulfil(number, request)
        except CallFailed:
            await self._call("Fetch.failRequest", requestId=number, errorReason="Failed")
        finally:
            self._last_stir_s = time.monotonic()

    def _is_wanted(self, request: JsonObject, kind: Json) -> bool:
        return request.get("method") == "GET" and kind in _WANTED and self._requests <= _MAX_REQUESTS

    async def _fulfil(self, number: Json, request: JsonObject) -> None:
        given = request.get("headers")
        asked = {name: str(value) for name, value in (given if isinstance(given, dict) else {}).items()}
        response = await self._client.fetch(
            str(request.get("url")),
            headers={name: value for name, value in asked.items() if name.lower() in _FORWARDED},
        )
        headers: list[Json] = [
            {"name": name, "value": value} for name, value in response.headers.items() if name in _ANSWERED
        ]
        await self._call(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=response.status,
            responseHeaders=headers,
            body=base64.b64encode(response.body).decode("ascii"),
        )
