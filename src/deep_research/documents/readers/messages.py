"""Mail and chat messages → text: a heading for each subject or channel, a line of headers, then what was written."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from deep_research.documents.readers.port import HIDDEN_LEFT, MAX_MESSAGES, BlockText, Reading, one_line
from deep_research.errors import SourceError
from deep_research.text.dates import find_dates

_HTML_BODY = re.compile(r"<(?:!doctype html|html|body|div|p|br|table|span)\b[^<>]*>", re.IGNORECASE)
_REPLY_MARK = re.compile(r"^(?:(?:re|fwd?|aw|wg|回复|回覆|答复|转发|轉寄)\s*[:：]\s*)+", re.IGNORECASE)
# The line under which mail programs put the message that is answered.
_QUOTES_BELOW = re.compile(
    r"^(?:-{2,}\s*(?:Original Message|Forwarded message|原始邮件|原始郵件|转发的邮件|轉寄的郵件)\s*-{2,}"
    r"|On\b.{8,120}\bwrote:|在.{4,80}写道[:：]|於.{4,80}寫道[:：])\s*$",
    re.MULTILINE | re.IGNORECASE,
)
_QUOTE_MARK = re.compile(r"^(?:>\s?)+")
_QUOTED = "Quoted:"
# Where an export lists people and channels.
_OTHER = "Other records"
_MAX_TITLE_CHARS, _MAX_LABEL_CHARS, _MAX_NAMED = 120, 60, 3


class MessageRecord(NamedTuple):
    """One message; every part may be empty. `text` holds what was written, plain or as HTML."""

    text: str
    sender: str = ""
    to: str = ""
    date: str = ""
    subject: str = ""
    channel: str = ""
    attachments: str = ""


class _History:
    """What was said before in the same file, so that a reply's copy of it is not read twice."""

    def __init__(self) -> None:
        self._lines: set[str] = set()

    def parted(self, text: str) -> tuple[str, str]:
        """Return what a message adds, and what it quotes that no message before it holds."""
        mark = _QUOTES_BELOW.search(text)
        end = mark.start() if mark else len(text)
        lines = text[:end].split("\n")
        own = [line for line in lines if not line.startswith(">")]
        quoted = [line for line in lines if line.startswith(">")] + text[end:].split("\n")
        bare = [_QUOTE_MARK.sub("", line) for line in quoted]
        fresh = [line for line in bare if not line.strip() or line.strip() not in self._lines]
        self._lines.update(line.strip() for line in (*own, *fresh))
        holds_more = any(line.strip() and not _QUOTES_BELOW.match(line) for line in fresh)
        return "\n".join(own).strip("\n"), "\n".join(fresh).strip("\n") if holds_more else ""


def reading_of(messages: Iterable[MessageRecord], warnings: Sequence[str]) -> Reading:
    """Return messages as one text with a place for each; those past the limit are left out and not looked at."""
    blocks = BlockText()
    records: list[MessageRecord] = []
    hidden_left = False
    history = _History()
    channel = ""
    for message in messages:
        if len(records) == MAX_MESSAGES:
            warnings = (*warnings, f"only the first {MAX_MESSAGES} messages were read; split the file")
            break
        records.append(message)
        hidden_left |= _add(blocks, message, len(records), history, is_new_channel=message.channel != channel)
        channel = message.channel
    if hidden_left:
        warnings = (*warnings, HIDDEN_LEFT)
    authors = dict.fromkeys(filter(None, (_name_of(message.sender) for message in records)))
    return Reading(
        text=blocks.text(),
        title=_title(records),
        author=", ".join(authors) if len(authors) <= _MAX_NAMED else "",
        published=max((iso_day(message.date) for message in records), default=""),
        places=blocks.places(),
        warnings=tuple(warnings),
    )


def iso_day(date: str) -> str:
    """Return the day a date names as far as it is certain, or ""."""
    return next((mention.iso[:10] for mention in find_dates(date)), "")


def moment(seconds: float) -> str:
    """Return a count of seconds, milli-, micro- or nanoseconds since 1970 as a UTC time, or "" if it can be none."""
    for scale in (1, 1e3, 1e6, 1e9):
        if 1e8 <= seconds / scale < 1e10:
            return datetime.fromtimestamp(seconds / scale, UTC).strftime("%Y-%m-%d %H:%M")
    return ""


def _add(blocks: BlockText, message: MessageRecord, number: int, history: _History, *, is_new_channel: bool) -> bool:
    """Add a message, and return whether hidden text may be left in it."""
    subject = one_line(message.subject)
    if message.sender or message.date or subject:
        blocks.begin_place("message", _label(message, number, subject))
    else:
        blocks.begin_place("heading", _OTHER)
    if is_new_channel:
        blocks.heading(message.channel, 2)
    blocks.heading(subject, 3 if message.channel else 2)
    headers = (("From", message.sender), ("To", message.to), ("Date", message.date), ("Files", message.attachments))
    # One line of its own: the sentence after it begins with the message.
    blocks.paragraph("; ".join(f"{label}: {value}" for label, value in headers if value))
    text, is_hidden_left = _plain(message.text)
    own, quoted = history.parted(text)
    blocks.verbatim(own)
    if quoted.strip():
        blocks.paragraph(_QUOTED)
        blocks.verbatim(quoted)
    return is_hidden_left


def _plain(text: str) -> tuple[str, bool]:
    if not _HTML_BODY.search(text):
        return text.strip(), False
    # The page reader is heavy to load, and most messages are plain.
    from deep_research.documents.readers.html import add_visible

    shown = BlockText()
    try:
        is_hidden_left = add_visible(text, shown, "the message")
    except SourceError:
        return text.strip(), False
    return shown.text(), is_hidden_left


def _label(message: MessageRecord, number: int, subject: str) -> str:
    """Return what a message is called: its number, its subject, who wrote it and on which day."""
    written = ", ".join(filter(None, (_name_of(message.sender), iso_day(message.date))))
    named = ", ".join(filter(None, (str(number), _short(subject, _MAX_LABEL_CHARS))))
    return f"{named} ({_short(written, _MAX_LABEL_CHARS)})" if written else named


def _title(messages: Sequence[MessageRecord]) -> str:
    """Return the subjects without their reply marks, or the channels, as many as fit a title."""
    subjects = [_REPLY_MARK.sub("", one_line(message.subject)) for message in messages]
    names = list(filter(None, subjects)) or [message.channel for message in messages if message.channel]
    return _short("; ".join(dict.fromkeys(names)), _MAX_TITLE_CHARS)


def _name_of(sender: str) -> str:
    return one_line(sender.partition("<")[0]).strip('"') or sender


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip(" ;,") + "…"
