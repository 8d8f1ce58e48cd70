"""E-mail as mail programs save it: headers decoded, the plain text or else the HTML of the body, attachments named."""

import email
import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header
from email.message import Message as Mail
from email.policy import Compat32

from deep_research.documents.readers.archive import DAMAGE
from deep_research.documents.readers.encoding import decode
from deep_research.documents.readers.messages import MessageRecord, reading_of
from deep_research.documents.readers.port import Reading, one_line
from deep_research.errors import SourceError

_MAX_NAMED_FILES = 10
_MAX_HEADER_CHARS = 20_000
_HEADERS = re.compile(rb"(?:\A|\n)(?:from|to|subject|date)[ \t]*:", re.IGNORECASE)
_HEADER_BYTES = 65_536


class _ShortHeaders(Compat32):
    """Cuts headers that would take Python's own parser minutes; where one is cut can be seen."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value if len(value) <= _MAX_HEADER_CHARS else f"{value[:_MAX_HEADER_CHARS]} …"


def read(raw: bytes, name: str) -> Reading:
    """Return one e-mail; its attachments are not read but named in a warning."""
    if not _HEADERS.search(raw[:_HEADER_BYTES]):
        raise SourceError(f"{name!r} is not an e-mail: it has no headers such as From or Subject; save it again.")
    message = parse(raw, name)
    warnings = (f"attachments were not read: {message.attachments}",) if message.attachments else ()
    return reading_of([message], warnings)


def parse(raw: bytes, name: str) -> MessageRecord:
    """Return the message that the bytes of one e-mail hold."""
    try:
        mail = email.message_from_bytes(raw.lstrip(b"\xef\xbb\xbf\r\n"), policy=_ShortHeaders())
        files = [file for part in mail.walk() if (file := _file_name(part))]
        return MessageRecord(
            text="\n\n".join(_bodies(mail)),
            sender=_header(mail, "From"),
            to=", ".join(filter(None, (_header(mail, "To"), _header(mail, "Cc")))),
            date=_header(mail, "Date"),
            subject=_header(mail, "Subject"),
            attachments=", ".join(files[:_MAX_NAMED_FILES]) + (" …" if len(files) > _MAX_NAMED_FILES else ""),
        )
    except (*DAMAGE, MessageError) as exc:
        raise SourceError(f"{name!r} is damaged: the e-mail cannot be taken apart; save it again.") from exc


def _bodies(part: Mail) -> Iterator[str]:
    """Yield the texts of a part in order; of alternatives, the plain one."""
    kind = part.get_content_type()
    if part.is_multipart():
        inner = [each for each in part.get_payload() if isinstance(each, Mail)]
        if kind == "multipart/alternative":
            plain = [each for each in inner if each.get_content_type() == "text/plain" and _text(each).strip()]
            inner = plain[:1] or inner[-1:]
        for each in inner:
            yield from _bodies(each)
    elif kind in ("text/plain", "text/html") and not _file_name(part):
        yield _text(part)


def _text(part: Mail) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes) or not content:
        return ""
    try:
        return decode(content, "the e-mail", declared=_parameter(part.get_content_charset()))[0]
    except SourceError:
        return ""


def _file_name(part: Mail) -> str:
    return "" if part.is_multipart() else one_line(_decoded(_parameter(part.get_filename())))


def _parameter(value: object) -> str:
    return value if isinstance(value, str) else ""


def _header(mail: Mail, name: str) -> str:
    raw = next((str(value) for key, value in mail.raw_items() if key.lower() == name.lower()), "")
    return one_line(_decoded(raw))


def _decoded(raw: str) -> str:
    """Return a header with its encoded words decoded; bytes that no encoding declares are read as they read best."""
    if not raw.isascii():
        raw = _by_content(raw.encode("utf-8", "surrogateescape"))
    try:
        parts = decode_header(raw)
    except MessageError:
        return raw
    return "".join(part if isinstance(part, str) else _by_content(part, charset or "") for part, charset in parts)


def _by_content(raw: bytes, declared: str = "") -> str:
    try:
        return decode(raw, "a header", declared=declared)[0]
    except SourceError:
        return raw.decode("ascii", "ignore")
