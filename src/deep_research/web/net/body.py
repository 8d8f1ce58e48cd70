"""The bytes of one page as they come: counted as sent, unpacked on the way, stopped at the first byte too many."""

import zlib

from deep_research.errors import SourceError

# What the client asks for; whatever else a server sends is refused unread.
ACCEPTED_ENCODINGS = "gzip, deflate"
_GZIP = zlib.MAX_WBITS | 16
# A packed page may consist of several members; a page of thousands of empty ones only costs time.
_MAX_MEMBERS = 64
_MIB = 1024 * 1024


class BodyReader:
    """Collects a page and never holds more than `max_decoded_bytes` of it."""

    def __init__(self, encoding: str, *, max_bytes: int, max_decoded_bytes: int) -> None:
        self._encoding = encoding.strip().lower().removeprefix("x-")
        if self._encoding not in ("", "identity", "gzip", "deflate"):
            raise SourceError("The page came in a compression that was not asked for.")
        self._max_bytes = max_bytes
        self._max_decoded_bytes = max_decoded_bytes
        self._sent_bytes = 0
        self._members = 0
        self._unpacker: zlib._Decompress | None = None
        self._data = bytearray()

    def feed(self, piece: bytes) -> None:
        """Take the next piece as it was sent."""
        self._sent_bytes += len(piece)
        if self._sent_bytes > self._max_bytes:
            raise too_large(self._max_bytes)
        if self._encoding in ("", "identity"):
            self._data += piece
        else:
            self._unpack(piece)
        if len(self._data) > self._max_decoded_bytes:
            raise too_large(self._max_decoded_bytes)

    def finish(self) -> bytes:
        """Return the whole page."""
        if self._unpacker is not None and not self._unpacker.eof:
            raise SourceError("The page's compression is damaged.")
        return bytes(self._data)

    def _unpack(self, piece: bytes) -> None:
        while piece and len(self._data) <= self._max_decoded_bytes:
            if self._unpacker is None or self._unpacker.eof:
                self._unpacker = self._next_member(piece)
            left_bytes = self._max_decoded_bytes + 1 - len(self._data)
            try:
                self._data += self._unpacker.decompress(piece, left_bytes)
            except zlib.error as exc:
                raise SourceError("The page's compression is damaged.") from exc
            piece = self._unpacker.unused_data

    def _next_member(self, piece: bytes) -> "zlib._Decompress":
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise SourceError("The page's compression is damaged.")
        if self._encoding == "gzip":
            return zlib.decompressobj(_GZIP)
        # "deflate" should mean the zlib format, whose first byte ends in 8; many servers send it without that header.
        return zlib.decompressobj(zlib.MAX_WBITS if piece[0] & 0x0F == 8 else -zlib.MAX_WBITS)


def too_large(limit_bytes: int) -> SourceError:
    """Return the error of a page over its limit."""
    return SourceError(f"The page is larger than {limit_bytes / _MIB:.3g} MiB.")
