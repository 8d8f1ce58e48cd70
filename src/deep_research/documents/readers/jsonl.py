"""Exports of mail and chat as JSON, an object a line or one array: any field names in use, in any nesting.

What is no message becomes one line of its fields. Passwords and keys, which such exports carry, are never read.
"""

import json
import re
from collections.abc import Iterable, Iterator

from deep_research.documents.readers.encoding import decode
from deep_research.documents.readers.messages import MessageRecord, moment, reading_of
from deep_research.documents.readers.port import MAX_MESSAGES, Reading, one_line
from deep_research.errors import SourceError
from deep_research.value import Json, JsonObject

# Spelled without case, "_" and "-"; the first that an object has is taken.
_BODY = "body text content message msg plaintext bodytext bodyplain bodyhtml html parts".split()
_SENDER = "from sender author user username createdby speaker role".split()
_SENDER_NAME = "fromname sendername authorname realname".split()
_TO = "to torecipients recipients recipient".split()
_COPY = "cc ccrecipients".split()
_DATE = """
    date sent sentat sentdatetime datetime timestamp time ts createat createdat createtime createddatetime created
    posted postedat receivedat published publishedat
""".split()
_SUBJECT = "subject title topic".split()
_CHANNEL = "channel channelname room group conversation thread".split()
_CONTAINER = [*_CHANNEL, "title", "name"]
_FILES = "attachments files".split()
_NAMING = "name displayname realname fullname username filename title role".split()
_ADDRESS = "address email emailaddress mail".split()
_HEADERS = "headers header envelope metadata meta".split()
_UNREAD = re.compile(r"passw|pwd|secret|token|apikey|credential|privatekey|hash|^(?:id|uuid|guid|type|kind|object)$")
_MAX_DEPTH = 12
# Beside messages an export lists people and channels.
MAX_VALUES = 5 * MAX_MESSAGES
_LONG_FIELD_CHARS = 80


def read(raw: bytes, name: str) -> Reading:
    """Return the messages of an export, each in a place of its own; other objects as lines of their fields."""
    values, warnings = _values(decode(raw, name)[0])
    if not values:
        raise SourceError(f"{name!r} is not JSON: no line of it can be read; export it again as JSON or JSON lines.")
    return reading_of(_entries(values), warnings)


def _values(text: str) -> tuple[list[Json], list[str]]:
    """Return the objects of a file, from one array or from its lines, and what was left out."""
    whole = _parsed(text)
    entries: list[Json] = whole if isinstance(whole, list) else [whole]
    if whole is None:
        entries = [line for line in text.split("\n") if line.strip()]
    values = [_parsed(str(entry)) if whole is None else entry for entry in entries[:MAX_VALUES]]
    found: list[Json] = [value for value in values if value is not None]
    warnings = []
    if whole is None and len(found) < len(values):
        warnings.append(f"{len(values) - len(found)} lines are not JSON and were left out")
    if len(values) < len(entries):
        warnings.append(f"only the first {MAX_VALUES} of {len(entries)} entries were looked at; split the file")
    return found, warnings


def _parsed(text: str) -> Json:
    """Return an object or array, or None for what is neither, is empty or nests without end."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and value else None


def _entries(values: list[Json]) -> Iterator[MessageRecord]:
    """Yield the messages with the full names of people and channels, then the objects that hold none as text."""
    names = {handle: name for value in values for handle, name in _full_names(value, 0)}
    others: list[Json] = []
    for value in values:
        is_message = False
        for message in _messages(value, "", 0):
            is_message = True
            sender, channel = (names.get(each, each) for each in (message.sender, message.channel))
            yield message._replace(sender=sender, channel=channel)
        if not is_message:
            others.append(value)
    for value in others:
        short, long = _fields(value)
        if short or long:
            yield MessageRecord(text="\n\n".join(filter(None, ("; ".join(dict.fromkeys(short)), *long))))


def _full_names(value: Json, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the handle and the full name of each person or channel that an export describes."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        fields = _spelled(value)
        names = [_named(fields.get(key), _MAX_DEPTH) for key in ("firstname", "lastname")]
        full = _first(fields, ("displayname", "realname", "fullname")) or " ".join(filter(None, names))
        if full:
            yield from ((handle, full) for key in ("username", "name", "id") if (handle := _first(fields, (key,))))
    for part in _parts(value):
        yield from _full_names(part, depth + 1)


def _messages(value: Json, channel: str, depth: int) -> Iterator[MessageRecord]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        message = _message(value, channel)
        if message is not None:
            yield message
        else:
            channel = _first(_spelled(value), _CONTAINER) or channel
    for part in _parts(value):
        yield from _messages(part, channel, depth + 1)


def _message(value: JsonObject, channel: str) -> MessageRecord | None:
    """Return an object as a message if it has a body and something about it, such as its sender or date."""
    fields = _spelled(value)
    for key in _HEADERS:
        header = fields.get(key)
        fields = (_spelled(header) if isinstance(header, dict) else {}) | fields
    sender, name = _first(fields, _SENDER), _first(fields, _SENDER_NAME)
    found = MessageRecord(
        text=_body(_take(fields, _BODY), 0),
        sender=f"{name} <{sender}>" if name and sender and name not in sender else name or sender,
        to=", ".join(filter(None, (_first(fields, _TO), _first(fields, _COPY)))),
        date=_date(_take(fields, _DATE)),
        subject=_first(fields, _SUBJECT),
        channel=_first(fields, _CHANNEL) or channel,
        attachments=_first(fields, _FILES),
    )
    has_context = found.sender or found.date or found.subject or found.to
    return found if found.text.strip() and has_context else None


def _parts(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _spelled(value: JsonObject) -> JsonObject:
    return {_plain_key(key): field for key, field in value.items()}


def _take(fields: JsonObject, keys: Iterable[str]) -> Json:
    return next((fields[key] for key in keys if fields.get(key)), None)


def _first(fields: JsonObject, keys: Iterable[str]) -> str:
    return _named(_take(fields, keys), 0)


def _named(value: Json, depth: int) -> str:
    """Return who or what a field names: a word, several, or an object with a name and perhaps an address."""
    if isinstance(value, list) and depth < _MAX_DEPTH:
        return ", ".join(filter(None, (_named(part, depth + 1) for part in value)))
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        fields = _spelled(value)
        name, address = _named(_take(fields, _NAMING), depth + 1), _named(_take(fields, _ADDRESS), depth + 1)
        return f"{name} <{address}>" if name and address else name or address
    return one_line(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _body(value: Json, depth: int) -> str:
    """Return what was written, from a string, its parts, or an object around it."""
    if isinstance(value, list) and depth < _MAX_DEPTH:
        return "".join(_body(part, depth + 1) for part in value)
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        return _body(_take(_spelled(value), _BODY), depth + 1)
    return value if isinstance(value, str) else ""


def _date(value: Json) -> str:
    if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
        return one_line(value)
    return moment(float(value)) if isinstance(value, str | int | float) and len(str(value)) <= 25 else ""


def _fields(value: Json, key: str = "", depth: int = 0) -> tuple[list[str], list[str]]:
    """Return the short fields of an object as "name: value", and the long ones without their names."""
    if isinstance(value, dict | list) and depth < _MAX_DEPTH:
        parts = value.items() if isinstance(value, dict) else ((key, part) for part in value)
        found = [_fields(part, name, depth + 1) for name, part in parts if not _UNREAD.search(_plain_key(name))]
        return [field for short, _ in found for field in short], [field for _, long in found for field in long]
    if isinstance(value, dict | list | bool) or value is None or not str(value).strip():
        return [], []
    text = one_line(str(value))
    if len(text) > _LONG_FIELD_CHARS:
        return [], [text]
    return [f"{key.replace('_', ' ')}: {text}" if key else text], []


def _plain_key(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")
