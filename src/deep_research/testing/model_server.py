"""A server on this machine that speaks the protocols of all model providers, answers as told and fails as told.

It runs in a thread of its own, so that tests, child processes and benchmarks alike can talk to it.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from types import TracebackType
from typing import Final, Self

from deep_research.testing.model_dialects import (
    Answer,
    Asked,
    dialect_of,
    error_body,
    media_type,
    stream_of,
    whole_of,
)
from deep_research.value import json_of

Script = Callable[[Asked], Answer]
# Where each provider's address begins on this server, as the vendors cut theirs.
_BASES: Final = {
    "openai": "/v1",
    "anthropic": "",
    "deepseek": "/v1",
    "gemini": "",
    "qwen": "/compatible-mode/v1",
    "openrouter": "/openrouter/api/v1",
    "ollama": "",
    "openai-compatible": "/v1",
}


class ModelServer:
    """Answers each request with what the script says to it, and keeps every request; `peak` is the most at once."""

    def __init__(self, script: Script | Answer) -> None:
        self.script: Script = (lambda _: script) if isinstance(script, Answer) else script
        self.requests: list[Asked] = []
        self.peak = 0
        self._under_way = 0
        self._talks: set[asyncio.Task[None]] = set()
        self._port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)

    def address_of(self, provider: str) -> str:
        """Return the address under which this server plays a provider."""
        return f"http://127.0.0.1:{self._port}{_BASES[provider]}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        talks = list(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The loop itself holds no task that waits for nobody.
        talk = asyncio.current_task()
        assert talk is not None
        self._talks.add(talk)
        try:
            while (asked := await _read(reader)) is not None:
                self.requests.append(asked)
                self._under_way += 1
                self.peak = max(self.peak, self._under_way)
                try:
                    await _reply(asked, self.script(asked), writer)
                finally:
                    self._under_way -= 1
        except (ConnectionError, asyncio.IncompleteReadError, _Cut):
            pass
        finally:
            self._talks.discard(talk)
            writer.close()


class _Cut(Exception):
    """The script says that the connection is dropped here."""


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
    path = head[0].split(" ")[1]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    dialect, body = dialect_of(path), json_of(raw or b"{}")
    # A test that asks for another place is told so by a connection that ends.
    return Asked(dialect, path, headers, body) if dialect and isinstance(body, dict) else None


async def _reply(asked: Asked, answer: Answer, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(answer.delay_s)
    if answer.status != 200 or not asked.is_streamed:
        data = error_body(asked, answer) if answer.status != 200 else whole_of(asked, answer)
        body = json.dumps(data).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **answer.headers}
        writer.write(_head(answer.status, headers) + body)
        await writer.drain()
        return
    headers = {"content-type": media_type(asked), "transfer-encoding": "chunked", **answer.headers}
    head = _head(200, headers)
    for number, piece in enumerate(_pieces(asked, answer)):
        if number == answer.cut_after:
            raise _Cut
        if number == answer.hang_after:
            await asyncio.Event().wait()
        writer.write(head + f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        head = b""
        await writer.drain()
        await asyncio.sleep(answer.pace_s)
    writer.write(head + b"0\r\n\r\n")
    await writer.drain()


def _pieces(asked: Asked, answer: Answer) -> Iterator[bytes]:
    return stream_of(asked, answer) if answer.raw is None else iter((answer.raw,))


def _head(status: int, headers: dict[str, str]) -> bytes:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Status"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
