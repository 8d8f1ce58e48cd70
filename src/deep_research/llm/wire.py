"""One call to a model's server: JSON is posted, and the JSON objects that come back are read one by one.

An answer is bounded in bytes, whatever a server sends, and reading takes time in proportion to them.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx2

from deep_research.llm.address import is_local
from deep_research.llm.port import ModelRequest
from deep_research.llm.registry import AnswerWay
from deep_research.llm.vendor import Fault, Framing, JsonMessage, Piece, Vendor
from deep_research.web.net.tls import trusted_authorities

# All that a server may send in answer to one call. A token takes some 400 bytes where each comes as an event of its
# own, so that this is enough for 160,000. Never held as a whole.
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# One object of it, which is the whole answer where a server does not stream.
MAX_OBJECT_BYTES = 2 * 1024 * 1024
# What is read of an error, and how long it is waited for: its status alone says nearly all.
_MAX_ERROR_BYTES = 64 * 1024
_ERROR_TIMEOUT_S = 2.0

# A host that takes longer just to pick up is not there; the answer itself has the caller's time limits.
_CONNECT_TIMEOUT_S = 10.0

_END, _BYTE_ORDER_MARK = b"[DONE]", b"\xef\xbb\xbf"
# What is raised where a server sends something that is not in the protocol.
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


class CallBroken(Exception):
    """The call came to no good end; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.status)
        self.fault = fault


def new_client(vendor: Vendor, address: str) -> httpx2.AsyncClient:
    """Return the connections to a vendor's server, which all calls of an event loop share."""
    # A proxy of the environment never stands before this machine itself. Redirects are not followed, because a
    # provider's key would be sent along. Packed answers are not asked for: unpacked they could be of any size. How
    # many calls are under way is limited elsewhere; a connection that is free stays for the next call.
    return httpx2.AsyncClient(
        verify=trusted_authorities(),
        trust_env=not is_local(address),
        follow_redirects=False,
        headers={"Accept-Encoding": "identity", **vendor.headers},
        timeout=httpx2.Timeout(None, connect=_CONNECT_TIMEOUT_S),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
    )


async def ask(
    client: httpx2.AsyncClient, vendor: Vendor, request: ModelRequest, way: AnswerWay, *, max_answer_bytes: int
) -> AsyncGenerator[Piece, None]:
    """Ask for an answer in one of the ways, and yield it piece by piece; raise `CallBroken` where none comes."""
    try:
        async with client.stream("POST", vendor.address, json=vendor.body(request, way)) as response:
            try:
                if response.status_code != httpx2.codes.OK:
                    report = await _report(response)
                    # A refused call may have used something all the same.
                    if usage := vendor.usage(report):
                        yield Piece(usage=usage)
                    fault = vendor.fault(report) or Fault()
                    raise CallBroken(fault._replace(status=response.status_code, headers=dict(response.headers)))
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise CallBroken(Fault(flaw="malformed"))
                chunks = response.aiter_raw()
                async with aclosing(pieces_in(chunks, vendor, max_answer_bytes=max_answer_bytes)) as pieces:
                    async for piece in pieces:
                        yield piece
            except _MALFORMED:
                # Not `from` the error, whose words may repeat what the server wrote.
                raise CallBroken(Fault(flaw="malformed")) from None
    except httpx2.HTTPError:
        raise CallBroken(Fault()) from None


async def pieces_in(
    chunks: AsyncIterator[bytes], vendor: Vendor, *, max_answer_bytes: int = MAX_ANSWER_BYTES
) -> AsyncGenerator[Piece, None]:
    """Yield the answer in a stream; what follows its end is read too: only then the connection serves the next call.

    Raises `CallBroken` where the stream reports an error or is too large.
    """
    has_content, is_over = False, False
    async for message in _messages(chunks, vendor.framing, max_answer_bytes):
        if is_over:
            continue
        if message is None:
            # Some servers give no reason why they stopped, but say that they did.
            is_over = True
            if has_content:
                yield Piece(stop="stop")
        elif fault := vendor.fault(message):
            if usage := vendor.usage(message):
                yield Piece(usage=usage)
            raise CallBroken(fault)
        elif piece := vendor.piece(message):
            has_content = True
            yield piece


async def _messages(
    chunks: AsyncIterator[bytes], framing: Framing, max_answer_bytes: int
) -> AsyncIterator[JsonMessage | None]:
    """Yield the objects of a stream, however it is cut and labelled, and None where the server says that this was all.

    A server that does not stream sends a single object, or all of them as one list; then its end is the answer's.
    """
    max_object_bytes = min(MAX_OBJECT_BYTES, max_answer_bytes)
    whole = bytearray()
    async for lines in _lines(chunks, max_answer_bytes, max_object_bytes):
        for line in filter(bytes.strip, lines):
            if framing == "lines":
                yield _object(json.loads(line))
            elif whole or line.lstrip()[:1] in (b"{", b"["):
                whole += line + b"\n"
                _require(len(whole) <= max_object_bytes)
            else:
                # Other lines are comments that keep the connection alive, or name the event.
                field, _, data = line.partition(b":")
                data = data.strip()
                if field == b"data" and data:
                    yield None if data == _END else _object(json.loads(data))
    if whole:
        found = json.loads(whole)
        for message in found if isinstance(found, list) else [found]:
            yield _object(message)
        yield None


async def _lines(
    chunks: AsyncIterator[bytes], max_answer_bytes: int, max_object_bytes: int
) -> AsyncIterator[list[bytes]]:
    """Yield the lines that each chunk of a stream brings to their end."""
    begun, read_bytes, mark = bytearray(), 0, _BYTE_ORDER_MARK
    async for chunk in chunks:
        read_bytes += len(chunk)
        _require(read_bytes <= max_answer_bytes)
        *lines, rest = chunk.split(b"\n")
        _require(len(begun) + max(map(len, (*lines, rest))) <= max_object_bytes)
        if lines:
            lines[0] = bytes(begun + lines[0]).removeprefix(mark)
            begun.clear()
            mark = b""
            yield lines
        begun += rest
    yield [bytes(begun).removeprefix(mark)]


def _require(is_within: bool) -> None:
    if not is_within:
        raise CallBroken(Fault(flaw="too_large"))


def _object(found: object) -> JsonMessage:
    if not isinstance(found, dict):
        raise TypeError("an answer consists of objects")
    return found


async def _report(response: httpx2.Response) -> JsonMessage:
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
