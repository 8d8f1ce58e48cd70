"""The ways in which servers fail, as functions that speak to whoever asks: for `LocalWeb.faults` and the like."""

import asyncio
import gzip
import socket
import struct
from functools import cache
from typing import Final

from tests.support.loopback import head_of
from tests.support.search_server import Answer
from tests.support.web_server import Speak

_MIB: Final = 1024 * 1024
_HTML: Final = {"Content-Type": "text/html; charset=utf-8"}
_START: Final = b"<!doctype html><title>A page</title><p>The first words of it. "
_PIECE: Final = b"<p>And more of the same, for ever.</p>\n" * 1_600


def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection as a crash does, with a reset instead of a farewell."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def reset_at_once(writer: asyncio.StreamWriter) -> None:
    """Say nothing, and reset the connection."""
    reset(writer)


async def reset_in_mid_body(writer: asyncio.StreamWriter) -> None:
    """Send the beginning of a page, then a reset."""
    writer.write(head_of(200, {**_HTML, "Content-Length": "8000"}) + _START)
    await writer.drain()
    reset(writer)


async def hang(writer: asyncio.StreamWriter) -> None:
    """Say nothing."""
    await asyncio.Event().wait()


async def drip(writer: asyncio.StreamWriter) -> None:
    """Send one byte after the other, each in time, and never come to an end."""
    writer.write(head_of(200, {**_HTML, "Content-Length": "1000000"}) + _START)
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.01)


async def chunks_without_end(writer: asyncio.StreamWriter) -> None:
    """Send a body in chunks that never ends."""
    writer.write(head_of(200, {**_HTML, "Transfer-Encoding": "chunked"}))
    while True:
        writer.write(f"{len(_PIECE):x}\r\n".encode() + _PIECE + b"\r\n")
        await writer.drain()


async def promised_gigabytes(writer: asyncio.StreamWriter) -> None:
    """Promise a body of 2 GB, and begin with it."""
    writer.write(head_of(200, {**_HTML, "Content-Length": str(2_000_000_000)}) + _START)
    await asyncio.Event().wait()


async def gigabytes(writer: asyncio.StreamWriter) -> None:
    """Send 2 GB of which no header says how much it will be."""
    writer.write(head_of(200, {**_HTML, "Connection": "close"}) + _START)
    for _ in range(2_000_000_000 // len(_PIECE)):
        writer.write(_PIECE)
        await writer.drain()
    writer.close()


async def length_too_long(writer: asyncio.StreamWriter) -> None:
    """Promise more than is sent, and end the connection in all politeness."""
    writer.write(head_of(200, {**_HTML, "Content-Length": "8000"}) + _START)
    writer.close()


async def gzip_bomb(writer: asyncio.StreamWriter) -> None:
    """Send a few kilobytes that unpack to 256 MiB."""
    bomb = _bomb()
    writer.write(head_of(200, {**_HTML, "Content-Encoding": "gzip", "Content-Length": str(len(bomb))}) + bomb)


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(_MIB)) * 256


def redirect(to: str, status: int = 302) -> Answer:
    """Return a redirect with a little page of its own, as servers send it."""
    return Answer("<a>moved</a>", status=status, headers={"Location": to})


# Whoever asks gets no page from these, and must neither hang nor fall over.
FAULTS: Final[dict[str, Answer | Speak]] = {
    "reset at once": reset_at_once,
    "reset in mid-body": reset_in_mid_body,
    "hang": hang,
    "drip": drip,
    "chunks without end": chunks_without_end,
    "2 GB, promised": promised_gigabytes,
    "2 GB, not promised": gigabytes,
    "length too long": length_too_long,
    "gzip bomb": gzip_bomb,
    "redirect loop": redirect("?again"),
    "redirect inwards": redirect("http://169.254.169.254/latest/meta-data/"),
    "429": Answer("Slow down.", status=429),
    "429 with a wait": Answer("Slow down.", status=429, headers={"Retry-After": "600"}),
    "403": Answer("<title>Forbidden</title>", status=403),
    "not http": Answer("", headers={"Content-Length": "-1"}),
}
