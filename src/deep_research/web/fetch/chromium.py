"""`ChromiumRenderer`: pages that are filled by scripts, through an installed Chromium.

The browser has no network of its own: each of its requests is answered through the guarded client, and what cannot be
caught that way runs into a proxy that does not exist. It gets a new profile each time, which keeps nothing on the disk
of what a page stores, and nothing of our environment.
"""

import asyncio
import base64
import json
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from deep_research.errors import CallFailed, NetworkError, SourceError
from deep_research.value import Json, JsonObject
from deep_research.web.net.body import too_large
from deep_research.web.net.client import GuardedClient

# One message may hold a whole page.
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
_END = b"\0"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--proxy-server=http://nowhere.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    # Newer and older name; without it a page reaches any machine by UDP.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--js-flags=--max-old-space-size=512",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
)
# The pipes that asyncio knows are stdin and stdout; the browser wants them as 3 and 4. Where the system allows it, the
# browser starts without any network: then no flag of its own has to be relied upon.
_START = """
exec 3<&0 4>&1 </dev/null >/dev/null 2>&1
apart="unshare --user --map-current-user --net"
$apart true && exec $apart "$0" "$@"
exec "$0" "$@"
"""
_WANTED = frozenset({"Document", "Script", "XHR", "Fetch", "Stylesheet", "Other"})
_FORWARDED = frozenset({"accept", "accept-language", "origin", "referer"})
_PASSED_HEADERS = frozenset({"content-type", "access-control-allow-origin", "access-control-allow-credentials"})
_MAX_REQUESTS = 150
_MAX_BYTES_IN_ALL = 64 * 1024 * 1024
_REQUESTS_AT_ONCE = 6
# What is longer is cut; a message of the browser's has room for it in any script.
_MAX_HTML_CHARS = 8_000_000
_END_S = 5.0
_QUIET_S = 0.5
_LOAD_TIMEOUT_S = 8.0
_POLL_S = 0.05


@dataclass
class Devtools:
    """A conversation with one browser; `on_event` gets everything that is no answer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    on_event: Callable[[str, JsonObject], None]
    _waiting: dict[int, asyncio.Future[JsonObject]] = field(default_factory=dict)
    _last_id: int = 0

    async def call(self, method: str, session: str = "", **params: Json) -> JsonObject:
        """Return the result of a call; raise `SourceError` where the browser refuses it or is gone."""
        self._last_id += 1
        message: JsonObject = {"id": self._last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        pending_reply: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = pending_reply
        try:
            self.writer.write(json.dumps(message).encode() + _END)
            await self.writer.drain()
            return await pending_reply
        # What uvloop raises where the pipe is closed is a RuntimeError.
        except (ConnectionError, RuntimeError) as exc:
            raise SourceError("The browser ended in the middle of a page.") from exc

    async def listen(self) -> None:
        """Hand out answers and events until the browser goes."""
        try:
            while True:
                self._handle(json.loads((await self.reader.readuntil(_END))[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            for pending_reply in self._waiting.values():
                if not pending_reply.done():
                    pending_reply.set_exception(SourceError("The browser ended in the middle of a page."))

    def _handle(self, message: JsonObject) -> None:
        number, params, result = message.get("id"), message.get("params"), message.get("result")
        if isinstance(number, int):
            pending_reply = self._waiting.pop(number, None)
            if pending_reply is None or pending_reply.done():
                return
            if isinstance(result, dict):
                pending_reply.set_result(result)
            else:
                pending_reply.set_exception(SourceError("The browser could not do what was asked of it."))
        else:
            self.on_event(str(message.get("method")), params if isinstance(params, dict) else {})


def find_chromium() -> str | None:
    """Return the path of an installed Chromium or Chrome, or None; also where there is no shell to start it by."""
    if os.name != "posix":
        return None
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@dataclass
class ChromiumRenderer:
    """Runs a page's scripts in a browser that sees the web only through our client; one page at a time."""

    client: GuardedClient
    executable: str
    timeout_s: float = 30.0
    _slot: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    async def render(self, address: str) -> bytes:
        """Return the page's HTML once its scripts have come to rest, or what there is after eight seconds."""
        try:
            async with self._slot, asyncio.timeout(self.timeout_s), self._browser() as process:
                return await _Visit(self.client, process).html_of(address)
        except TimeoutError as exc:
            raise NetworkError(f"{address} could not be rendered within {self.timeout_s:g} s.") from exc

    @asynccontextmanager
    async def _browser(self) -> AsyncIterator[asyncio.subprocess.Process]:
        with TemporaryDirectory(prefix="deep-research-page-", ignore_cleanup_errors=True) as home:
            # A browser's own sandbox does not work for root.
            flags = (*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else []), f"--user-data-dir={home}/profile")
            process = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", _START, self.executable, *flags, "about:blank",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=MAX_MESSAGE_BYTES,
                env={"HOME": home, "PATH": os.defpath, "LANG": "C.UTF-8"}, start_new_session=True,
            )  # fmt: skip
            try:
                yield process
            finally:
                # It may end by itself at the same moment.
                with suppress(ProcessLookupError):
                    if process.returncode is None:
                        os.killpg(process.pid, signal.SIGKILL)
                # Reads what is left and closes the pipes; whoever else should hold them must not hold us up.
                with suppress(TimeoutError):
                    async with asyncio.timeout(_END_S):
                        await process.communicate()


class _Visit:
    """One page in one browser."""

    def __init__(self, client: GuardedClient, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise SourceError("The browser could not be started.")
        self._client = client
        self._devtools = Devtools(process.stdout, process.stdin, self._note)
        self._session = ""
        self._is_loaded = False
        self._answering: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(_REQUESTS_AT_ONCE)
        self._requests = 0
        self._bytes = 0
        self._last_stir_s = time.monotonic()

    async def html_of(self, address: str) -> bytes:
        """Open the page, wait for it to come to rest, and return what it has become."""
        listening = asyncio.create_task(self._devtools.listen())
        try:
            await self._open_window()
            await self._call("Fetch.enable", patterns=[{"urlPattern": "*"}])
            await self._call("Page.enable")
            await self._call("Page.navigate", url=address)
            await self._rest()
            shown = f"document.documentElement.outerHTML.slice(0, {_MAX_HTML_CHARS})"
            found = await self._call("Runtime.evaluate", expression=shown)
            html = found.get("result")
            text = html.get("value") if isinstance(html, dict) else None
            return f"<!doctype html>{text or ''}".encode("utf-8", "replace")
        finally:
            for task in (listening, *self._answering):
                task.cancel()
            await asyncio.gather(listening, *self._answering, return_exceptions=True)

    async def _open_window(self) -> None:
        """Open a window as private ones are: what a page stores or downloads never comes to the disk."""
        private = (await self._devtools.call("Target.createBrowserContext")).get("browserContextId")
        await self._devtools.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=private)
        target = await self._devtools.call("Target.createTarget", url="about:blank", browserContextId=private)
        attached = await self._devtools.call("Target.attachToTarget", targetId=target.get("targetId"), flatten=True)
        self._session = str(attached.get("sessionId"))

    async def _call(self, method: str, **params: Json) -> JsonObject:
        return await self._devtools.call(method, self._session, **params)

    async def _rest(self) -> None:
        until_s = time.monotonic() + _LOAD_TIMEOUT_S
        while time.monotonic() < until_s:
            is_quiet = not self._answering and time.monotonic() - self._last_stir_s > _QUIET_S
            if self._is_loaded and is_quiet:
                return
            await asyncio.sleep(_POLL_S)

    def _note(self, event: str, params: JsonObject) -> None:
        if event == "Page.loadEventFired":
            self._is_loaded = True
            self._last_stir_s = time.monotonic()
        elif event == "Fetch.requestPaused":
            self._start(self._respond(params))
        elif event == "Page.javascriptDialogOpening":
            # Scripts stand still until somebody answers.
            self._start(self._try("Page.handleJavaScriptDialog", accept=False))

    def _start(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _try(self, method: str, **params: Json) -> None:
        """Call, and make nothing of it where the page has moved on meanwhile."""
        with suppress(SourceError):
            await self._call(method, **params)

    async def _respond(self, paused: JsonObject) -> None:
        """Answer one of the browser's requests through the client; what we do not fetch fails as if blocked."""
        self._requests += 1
        number, request = paused.get("requestId"), paused.get("request")
        try:
            is_wanted = paused.get("resourceType") in _WANTED and self._requests <= _MAX_REQUESTS
            if not is_wanted or not isinstance(request, dict) or request.get("method") != "GET":
                await self._try("Fetch.failRequest", requestId=number, errorReason="BlockedByClient")
                return
            async with self._slots:
                await self._fulfil(number, request)
        except CallFailed:
            await self._try("Fetch.failRequest", requestId=number, errorReason="Failed")
        finally:
            self._last_stir_s = time.monotonic()

    async def _fulfil(self, number: Json, request: JsonObject) -> None:
        address, sent_headers = str(request.get("url")), request.get("headers")
        asked = sent_headers.items() if isinstance(sent_headers, dict) else ()
        headers = {name: str(value) for name, value in asked if name.lower() in _FORWARDED}
        response = await self._client.fetch(address, headers=headers)
        # Handed back, the answer would count as the first host's: its scripts could read what is another's.
        if _origin(response.address) != _origin(address):
            raise SourceError("A page's own request was redirected to another host.")
        self._bytes += len(response.body)
        if self._bytes > _MAX_BYTES_IN_ALL:
            raise too_large(_MAX_BYTES_IN_ALL)
        await self._call(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=response.status,
            responseHeaders=[
                {"name": name, "value": value} for name, value in response.headers.items() if name in _PASSED_HEADERS
            ],
            body=base64.b64encode(response.body).decode("ascii"),
        )


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.lower()
