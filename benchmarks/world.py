"""The bench world: one server on this machine that is a model, two search engines and a web of pages.

Every answer takes a fixed time; it fails as told, and keeps a log of every call.
"""

import asyncio
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from benchmarks.world_analyst import OFF_FORM, answer
from benchmarks.world_calls import LONG_MODEL, Call, CallKind, Fault, FaultRule, Faults, Latencies
from deep_research.value import digest
from tests.support.analyst import act_of
from tests.support.articles import articles
from tests.support.loopback import Request
from tests.support.model_dialects import Answer as ModelAnswer
from tests.support.model_dialects import Asked as ModelAsked
from tests.support.model_server import model_request, reply
from tests.support.search_formats import FORMATS, Result
from tests.support.search_server import Answer, asked_of, write_answer
from tests.support.web_server import LocalWeb

PAGES: Final = 48
RETRY_AFTER_S: Final = 1
_BUSY: Final = {"Retry-After": str(RETRY_AFTER_S)}


class BenchWorld(LocalWeb):
    """A model, Tavily, SearXNG and their pages; `calls` is the log."""

    def __init__(self, latencies: Latencies | None = None, *, pages: int = PAGES) -> None:
        super().__init__(articles(pages))
        self.latencies = latencies or Latencies()
        self.calls: list[Call] = []
        self._faults = Faults()
        self._under_way = 0

    def plan(self, faults: Sequence[FaultRule] = ()) -> None:
        """Begin anew, with these faults and an empty log."""
        self._faults = Faults(tuple(faults))
        self.calls = []

    def results(self, engine: str, words: str) -> list[Result]:  # noqa: ARG002 - all engines find the same
        """Return five neighbours on a ring of pages: queries find pages of their own, and now and then the same."""
        start = zlib.crc32(words.encode()) % len(self.articles)
        found = [self.articles[(start + step) % len(self.articles)] for step in range(self.hits_a_search)]
        return [Result(self.address_of(one), one.title, one.paragraphs[0][:160], one.published) for one in found]

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answer in the role that the address calls for, in its time, and note it."""
        asked = model_request(request)
        call = self._asked_of_model(asked) if asked else self._asked_of_web(request, writer)
        call.fault = self._faults.of(call)
        self.calls.append(call)
        self._under_way += 1
        try:
            await (self._think(asked, call, writer) if asked else self._serve_web(request, call, writer))
            await writer.drain()
            call.is_answered = call.fault is None
        finally:
            self._under_way -= 1
            call.ended_s = time.monotonic()

    def _asked_of_model(self, asked: ModelAsked) -> Call:
        began = time.monotonic()
        kind: CallKind = "long" if asked.model == LONG_MODEL else "short"
        return Call(kind, act_of(asked.text), digest(asked.path, asked.body), began, self._under_way + 1)

    def _asked_of_web(self, request: Request, writer: asyncio.StreamWriter) -> Call:
        began, host = time.monotonic(), _host(writer)
        path = asked_of(request).path
        engine = path.split("/")[1]
        kind: CallKind = "search" if engine in FORMATS else "robots" if path == "/robots.txt" else "page"
        name = engine if kind == "search" else f"{host}{request.target}"
        return Call(kind, name, digest(host, request.target, request.body.decode()), began, self._under_way + 1)

    async def _think(self, asked: ModelAsked, call: Call, writer: asyncio.StreamWriter) -> None:
        said = answer(asked, call.name)
        left = call.began_s + self.latencies.of(call.kind) - time.monotonic()
        await reply(asked, _spoilt(replace(said, lasts_s=max(0.0, left)), call.fault), writer)

    async def _serve_web(self, request: Request, call: Call, writer: asyncio.StreamWriter) -> None:
        asked = asked_of(request)
        await asyncio.sleep(self.latencies.of(call.kind))
        said = self._found(call.name, asked) if call.kind == "search" else self._page(_host(writer), asked.path)
        await write_answer(_torn(said, call.fault), writer)


def _host(writer: asyncio.StreamWriter) -> str:
    return str(writer.get_extra_info("sockname")[0])


def _spoilt(said: ModelAnswer, fault: Fault | None) -> ModelAnswer:
    """Return what a model says when this goes wrong."""
    match fault:
        case "500":
            return replace(said, status=500)
        case "429":
            return replace(said, status=429, headers=_BUSY)
        case "malformed":
            return replace(said, text=OFF_FORM)
        case "hang":
            return replace(said, hang_after=0)
        case "cut":
            return replace(said, cut_after=3)
    return said


def _torn(said: Answer, fault: Fault | None) -> Answer:
    """Return what a web server says when this goes wrong."""
    match fault:
        case "500":
            return Answer("<title>Error</title>", status=500)
        case "429":
            return Answer("Slow down.", status=429, headers=_BUSY)
        case "malformed":
            return replace(said, body=b"\x1f\x8b{]", headers={**said.headers, "Content-Encoding": "gzip"})
        case "hang":
            return replace(said, hangs=True)
        case "cut":
            return replace(said, cut_after=len(said.content) // 2)
    return said
