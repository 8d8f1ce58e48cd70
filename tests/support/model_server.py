"""A server on this machine that speaks the protocols of all model providers, answers as told and fails as told."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Final

from deep_research.value import json_of
from tests.support.loopback import LoopbackServer, Request, head_of
from tests.support.model_dialects import (
    Answer,
    Asked,
    dialect_of,
    error_body,
    media_type,
    stream_of,
    whole_of,
)

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


class ModelServer(LoopbackServer):
    """Answers each request with what the script says to it, and keeps every request; `peak` is the most at once."""

    def __init__(self, script: Script | Answer) -> None:
        super().__init__()
        self.script: Script = (lambda _: script) if isinstance(script, Answer) else script
        self.requests: list[Asked] = []
        self.peak = 0
        self._under_way = 0

    def address_of(self, provider: str) -> str:
        """Return the address under which this server plays a provider."""
        return f"http://127.0.0.1:{self.port}{_BASES[provider]}"

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answer in the dialect that the request is in."""
        asked = model_request(request)
        if asked is None:
            # A test that asks for another place is told so by a connection that ends.
            writer.close()
            return
        self.requests.append(asked)
        self._under_way += 1
        self.peak = max(self.peak, self._under_way)
        try:
            await reply(asked, self.script(asked), writer)
        finally:
            self._under_way -= 1


def model_request(request: Request) -> Asked | None:
    """Return what a model is asked by a request; None where it is for no model."""
    dialect, body = dialect_of(request.target), json_of(request.body or b"{}")
    return Asked(dialect, request.target, request.headers, body) if dialect and isinstance(body, dict) else None


async def reply(asked: Asked, answer: Answer, writer: asyncio.StreamWriter) -> None:
    """Send an answer in the dialect it was asked in, or fail as it says."""
    clock = asyncio.get_running_loop().time
    begin = clock() + answer.delay_s
    await asyncio.sleep(answer.delay_s)
    if answer.status != 200 or not asked.is_streamed:
        data = error_body(asked, answer) if answer.status != 200 else whole_of(asked, answer)
        body = json.dumps(data).encode() if answer.raw is None else answer.raw
        await asyncio.sleep(answer.lasts_s)
        headers = {"content-type": "application/json", "content-length": str(len(body)), **answer.headers}
        writer.write(head_of(answer.status, headers) + body)
        await writer.drain()
        return
    headers = {"content-type": media_type(asked), "transfer-encoding": "chunked", **answer.headers}
    head = head_of(200, headers)
    pieces = list(_pieces(asked, answer))
    for number, piece in enumerate(pieces):
        if number == answer.cut_after:
            writer.close()
            return
        if number == answer.hang_after:
            await asyncio.Event().wait()
        await asyncio.sleep(begin + answer.lasts_s * (number + 1) / len(pieces) - clock())
        writer.write(head + f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        head = b""
        await writer.drain()
        await asyncio.sleep(answer.pace_s)
    writer.write(head + b"0\r\n\r\n")
    await writer.drain()


def _pieces(asked: Asked, answer: Answer) -> Iterator[bytes]:
    return stream_of(asked, answer) if answer.raw is None else iter((answer.raw,))
