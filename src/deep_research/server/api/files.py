"""Answers that are files: saved and not shown in our origin, named after a title, and sent once where they stay."""

import re
import unicodedata
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import quote

from fastapi import Request, Response
from starlette.datastructures import Headers

# No script, no form, no request, and no origin, should a browser show it after all.
_SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
# What no file system takes in a name, and what would hide an ending or turn the name around.
_UNFIT = re.compile(r'[/\\:*?"<>|]')
_MAX_CHARS = 80
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)$")


def file_name(title: str, ending: str) -> str:
    """Return a name for a file that fits every file system."""
    visible = "".join(
        " " if unicodedata.category(one)[0] in "CZ" else one for one in unicodedata.normalize("NFC", title)
    )
    stem = " ".join(_UNFIT.sub(" ", visible).split())[:_MAX_CHARS].strip(" .")
    if not stem or _RESERVED.match(stem):
        stem = f"report {stem}".strip()
    return f"{stem}.{ending}" if ending else stem


def disposition(name: str) -> str:
    """Return the header that names a file (RFC 6266): its full name, and one in ASCII for old clients."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem, dot, ending = plain.rpartition(".")
    known = re.sub(r"[^\w .()-]", "", stem).strip() or "report"
    return f"attachment; filename=\"{known}{dot}{ending}\"; filename*=UTF-8''{quote(name, safe='')}"


def attachment(content: bytes, *, name: str, media_type: str, headers: dict[str, str] | None = None) -> Response:
    """Return a file to be saved."""
    own = {
        "Content-Disposition": disposition(name),
        "Content-Security-Policy": _SANDBOX,
        "X-Content-Type-Options": "nosniff",
        **(headers or {}),
    }
    return Response(content, media_type=safe_media_type(media_type), headers=own)


def safe_media_type(media_type: str) -> str:
    """Return a media type that can stand in a header; a page may have claimed any."""
    kind = media_type.partition(";")[0].strip()
    return kind if _MEDIA_TYPE.fullmatch(kind) else "application/octet-stream"


class CacheValidators:
    """Marks of something that does not change: a client that has it need not be sent it again."""

    def __init__(self, tag: str, changed_at: datetime) -> None:
        self._tag = f'"{tag}"'
        self._changed_at = changed_at.astimezone(UTC).replace(microsecond=0)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that mark it; it may be deleted, so that a client asks each time."""
        changed = format_datetime(self._changed_at, usegmt=True)
        return {"ETag": self._tag, "Last-Modified": changed, "Cache-Control": "private, no-cache"}

    def unchanged(self, request: Request) -> Response | None:
        """Return that the client has it already, if it has."""
        return Response(status_code=304, headers=self.headers) if self._is_known(request.headers) else None

    def _is_known(self, headers: Headers) -> bool:
        if (tags := headers.get("if-none-match")) is not None:
            return tags.strip() == "*" or self._tag in (tag.strip().removeprefix("W/") for tag in tags.split(","))
        try:
            since = parsedate_to_datetime(headers.get("if-modified-since", ""))
        except (TypeError, ValueError):
            return False
        return since.tzinfo is not None and since >= self._changed_at
