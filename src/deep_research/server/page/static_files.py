"""Scripts, styles and pictures of the page, under an address that changes with their content; all text compressed.

Lists of sources are mostly the same words.
"""

import gzip
import hashlib
import mimetypes
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

_LEVEL = 5
# Less than this is hardly smaller afterwards.
_MIN_BYTES = 1_000


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


router = APIRouter(include_in_schema=False)
_FOREVER = "public, max-age=31536000, immutable"
# What every view needs before it can be painted is one file: each request more delays the first paint.
_FRAME = ("tokens.css", "base.css", "components.css")
# Each file is compressed once.
_gzipped = cache(gzipped)


@cache
def _contents() -> dict[str, bytes]:
    folder, export = files("deep_research.server").joinpath("static"), files("deep_research.export")
    shared = (export.joinpath(name) for name in ("tokens.css", "reading.css", "reading.js"))
    contents = {file.name: file.read_bytes() for file in (*folder.iterdir(), *shared) if file.is_file()}
    return contents | {"frame.css": b"".join(contents.pop(name) for name in _FRAME)}


@cache
def _version() -> str:
    """Return a digest of all files: modules import each other by relative address, so one version covers them all."""
    digest = hashlib.sha256()
    for name, content in sorted(_contents().items()):
        digest.update(f"{name}:{len(content)}:".encode() + content)
    return digest.hexdigest()[:12]


def static_address(name: str) -> str:
    """Return the address of a file; an unknown one is a `KeyError`."""
    if name not in _contents():
        raise KeyError(name)
    return f"/static/{_version()}/{name}"


@router.get("/static/{version}/{name}")
async def static_file(version: str, name: str, request: Request) -> Response:
    """Send a file; whoever has this version keeps it for good."""
    content = _contents().get(name)
    if content is None:
        raise HTTPException(404, "There is no such file.")
    tag = f'"{_version()}"'
    headers = {
        "Cache-Control": _FOREVER if version == _version() else "no-cache",
        "ETag": tag,
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return compressed(request, content, kind, status=HTTPStatus.OK, headers=headers, compress=_gzipped)
