"""Pages, scripts and styles are sent compressed to whoever takes that: lists of sources are mostly the same words."""

import gzip
from collections.abc import Callable, Mapping
from typing import Final

from fastapi import Request, Response

_LEVEL: Final = 5
# Less than this is hardly smaller afterwards.
_MIN_BYTES: Final = 1_000


def gzipped(content: bytes) -> bytes:
    """Return some content compressed."""
    return gzip.compress(content, _LEVEL)


def compressed(
    request: Request,
    content: bytes,
    kind: str,
    *,
    status: int,
    headers: Mapping[str, str],
    compress: Callable[[bytes], bytes] = gzipped,
) -> Response:
    """Return a response of a kind of text, compressed where the reader takes that."""
    sent = {**headers, "Vary": "Accept-Encoding"}
    if len(content) >= _MIN_BYTES and "gzip" in request.headers.get("accept-encoding", ""):
        content, sent["Content-Encoding"] = compress(content), "gzip"
    return Response(content, status_code=status, media_type=kind, headers=sent)
