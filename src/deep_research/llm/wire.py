"""One call to a model's server: JSON is posted, and the JSON objects that come back are read one by one.

An answer is bounded in bytes, whatever a server sends, and reading takes time in proportion to them.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any, Final

import httpx2

from deep_research.llm.address import CONNECT_TIMEOUT_S, UNLIMITED, connection_options
from deep_research.llm.port import ModelRequest
from deep_research.llm.registry import AnswerWay
from deep_research.llm.vendor import Fault, Message, Piece, Talk, Vendor

# All that a server may send in answer to one call. A token takes some 400 bytes where each comes as an event of its
# own, so that this is room for 40,000.
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
# One object of it, which is the whole answer where a server does not stream.
MAX_OBJECT_BYTES: Final = 2 * 1024 * 1024
# What is read of an error, and how long it is waited for: its status alone says nearly all.
_MAX_ERROR_BYTES: Final = 64 * 1024
_ERROR_TIMEOUT_S: Final = 2.0

_END, _BYTE_ORDER_MARK = b"[DONE]", b"\xef\xbb\xbf"
# What is raised where a server sends something that is not in the protocol.
_MALFORMED: Final = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


class CallBroken(Exception):
    """The call came to no good end; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.status)
        self.fault = fault




class Wire:
    """The connections to a vendor's server."""

    errors: tuple[type[Exception], ...] = (CallBroken, httpx2.HTTPError)

    def __init__(self, vendor: Vendor, address: str) -> None:
        self._vendor = vendor
        self._options: dict[str, Any] = connection_options(address)

    async def open(self, stack: AsyncExitStack) -> Talk:
        """Open connections that all calls of a loop share; the stack closes them."""
        timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
        limits = httpx2.Limits(**UNLIMITED)
        # Packed answers are not asked for: unpacked they could be of any size.
        headers = {"Accept-Encoding": "identity", **self._vendor.headers}
        client = httpx2.AsyncClient(**self._options, headers=headers, timeout=timeout, limits=limits)
        return partial(self._talk, await stack.enter_async_context(client))

    def fault(self, error: Exception) -> Fault:
        """Return what went wrong with a call."""
        return error.fault if isinstance(error, CallBroken) else Fault()

    async def _talk(
        self, http: httpx2.AsyncClient, request: ModelRequest, way: AnswerWay
    ) -> AsyncGenerator[Piece, None]:
        vendor = self._vendor
        async with http.stream("POST", vendor.address, json=vendor.body(request, way)) as response:
            try:
                if response.status_code != httpx2.codes.OK:
                    async with aclosing(self._refusal(response)) as refusal:
                        async for piece in refusal:
                            yield piece
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise CallBroken(Fault(flaw="malformed"))
                async with aclosing(self._pieces(response)) as pieces:
                    async for piece in pieces:
                        yield piece
            except _MALFORMED:
                # Not `from` the error, whose words may repeat what the server wrote.
                raise CallBroken(Fault(flaw="malformed")) from None

    async def _pieces(self, response: httpx2.Response) -> AsyncGenerator[Piece, None]:
        """Yield an answer; what follows its end is read too, because only then the connection serves the next call."""
        vendor, is_answered, is_over = self._vendor, False, False
        async for message in messages_of(response.aiter_raw(), vendor.framing):
            if is_over:
                continue
            if message is None:
                # Some servers give no reason why they stopped, but say that they did.
                is_over = True
                if is_answered:
                    yield Piece(stop="stop")
            elif fault := vendor.fault(message, None, {}):
                if usage := vendor.usage(message):
                    yield Piece(usage=usage)
                raise CallBroken(fault)
            elif piece := vendor.piece(message):
                is_answered = True
                yield piece

    async def _refusal(self, response: httpx2.Response) -> AsyncGenerator[Piece, None]:
        """Yield what a refused call has used all the same, and raise."""
        report = await _report(response)
        if usage := self._vendor.usage(report):
            yield Piece(usage=usage)
        status, headers = response.status_code, dict(response.headers)
        raise CallBroken(self._vendor.fault(report, status, headers) or Fault(status, headers))


async def messages_of(chunks: AsyncIterator[bytes], framing: str) -> AsyncIterator[Message | None]:
    """Yield the objects of a stream, whatever it is labelled, and None where the server says that this was all.

    A server that does not stream sends a single object, or all of them as one list; then its end is the answer's.
    """
    whole = bytearray()
    async for line in lines_of(chunks):
        if framing == "lines":
            if line.strip():
                yield _object(json.loads(line))
        elif whole or line.lstrip()[:1] in (b"{", b"["):
            whole += line + b"\n"
            _require(len(whole) <= MAX_OBJECT_BYTES)
        elif data := _data(line):
            yield None if data == _END else _object(json.loads(data))
    if whole:
        found = json.loads(whole)
        for message in found if isinstance(found, list) else [found]:
            yield _object(message)
        yield None


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a stream, however its pieces fall, and raise `CallBroken` where it is too large."""
    held, read_bytes, is_first = bytearray(), 0, True
    async for chunk in chunks:
        read_bytes += len(chunk)
        _require(read_bytes <= MAX_ANSWER_BYTES)
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            _require(len(held) + len(line) <= MAX_OBJECT_BYTES)
            whole = bytes(held + line) if held else line
            yield whole.removeprefix(_BYTE_ORDER_MARK) if is_first else whole
            held.clear()
            is_first = False
        held += rest
        _require(len(held) <= MAX_OBJECT_BYTES)
    yield bytes(held).removeprefix(_BYTE_ORDER_MARK) if is_first else bytes(held)


def _require(is_within: bool) -> None:
    if not is_within:
        raise CallBroken(Fault(flaw="too_large"))


def _data(line: bytes) -> bytes:
    """Return the data of a line; others are comments that keep the connection alive, or name the event."""
    field, _, data = line.partition(b":")
    return data.strip() if field == b"data" else b""


def _object(found: object) -> Message:
    if not isinstance(found, dict):
        raise TypeError("an answer consists of objects")
    return found


async def _report(response: httpx2.Response) -> Message:
    """Return what a server says about its error, as far as it is short and an object."""
    body = bytearray()
    try:
        async with asyncio.timeout(_ERROR_TIMEOUT_S):
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > _MAX_ERROR_BYTES:
                    return {}
        found = json.loads(body)
    except (TimeoutError, httpx2.HTTPError, ValueError, RecursionError):
        return {}
    # Gemini puts it into a list where it was asked for one.
    first = found[0] if isinstance(found, list) and found else found
    return first if isinstance(first, dict) else {}
