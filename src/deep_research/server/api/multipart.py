"""Files of a form (`multipart/form-data`) as they come in, handed on piece by piece; nothing is held in memory.

FastAPI's own forms are not used here: they take a whole file of any size before a handler sees it.
"""

import asyncio
from typing import TYPE_CHECKING

from fastapi import HTTPException, Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from deep_research.errors import InputError, TooLarge
from deep_research.service.documents.uploads import Upload

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

# A client that sends nothing for so long is not waited for.
_PATIENCE_S = 60.0
# Of the parts that are no files none is used.
_MAX_PARTS = 20_000


async def receive_files(request: Request, upload: Upload, *, max_bytes: int) -> None:
    """Write the files of a request to an upload; raise where it is cut off, too large or no form."""
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated) > max_bytes:
        raise _too_large(max_bytes)
    form = _Form(_boundary(request))
    received = 0
    chunks = aiter(request.stream())
    try:
        while True:
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                break
            received += len(chunk)
            if received > max_bytes:
                raise _too_large(max_bytes)
            for kind, data in form.feed(chunk):
                match kind:
                    case "begin":
                        await upload.begin(data.decode("utf-8", "replace"))
                    case "data":
                        await upload.write(data)
                    case _:
                        await upload.end()
        form.finish()
    except FormParserError as exc:
        raise InputError().with_message("fault.upload_no_form") from exc
    except ClientDisconnect as exc:
        raise HTTPException(400, "The connection was closed before everything was sent.") from exc
    except TimeoutError as exc:
        raise HTTPException(408, "Nothing was sent for a minute.") from exc


class _Form:
    """A parser that returns what it met: a file begins (with its name), data of it, it ends."""

    def __init__(self, boundary: bytes) -> None:
        self._met: list[tuple[str, bytes]] = []
        self._header, self._value, self._disposition = b"", b"", b""
        self._is_file = False
        self._is_over = False
        self._parts = 0
        callbacks: MultipartCallbacks = {
            "on_part_begin": self._part_begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }
        self._parser = MultipartParser(boundary, callbacks)

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        """Take a piece of the request and return what was in it."""
        self._met = []
        self._parser.write(chunk)
        return self._met

    def finish(self) -> None:
        """Raise `FormParserError` where the form has no end."""
        self._parser.finalize()
        if not self._is_over:
            raise FormParserError("the form has no end")

    def _part_begin(self) -> None:
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise FormParserError("too many parts")
        self._disposition, self._is_file = b"", False

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._is_file = b"filename" in options
        if self._is_file:
            self._met.append(("begin", options[b"filename"]))

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._met.append(("data", data[start:end]))

    def _part_end(self) -> None:
        if self._is_file:
            self._met.append(("end", b""))

    def _end(self) -> None:
        self._is_over = True


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise HTTPException(415, "Files are sent as a form: multipart/form-data.")
    return options[b"boundary"]


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge().with_message("fault.upload_too_large", limit=max_bytes // 1_000_000)
