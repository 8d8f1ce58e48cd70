"""Mailboxes in one file: each message that begins with a "From " line, in a place of its own."""

import codecs
import re

from deep_research.documents.readers import eml
from deep_research.documents.readers.messages import MessageRecord, reading_of
from deep_research.documents.readers.port import MAX_MESSAGES, Reading
from deep_research.documents.readers.versions import extractor_of
from deep_research.errors import SourceError

# "From sender Mon May  6 10:00:00 2024", after a blank line; a line of a text that begins alike is written ">From".
_ENVELOPE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From \S(?=[^\n]*\d\d:\d\d)[^\n]*\n")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)


def read(raw: bytes, name: str) -> Reading:
    """Return the messages of a mailbox; one without envelopes is read as a single e-mail."""
    raw = raw.removeprefix(codecs.BOM_UTF8)
    _, *mails = _ENVELOPE.split(raw)
    if not mails:
        return eml.read(raw, name).replace(extractor=extractor_of("eml"))
    messages: list[MessageRecord] = []
    broken = 0
    for mail in mails[:MAX_MESSAGES]:
        try:
            messages.append(eml.parse(_ESCAPED.sub(rb"\1", mail), name))
        except SourceError:
            broken += 1
    warnings = [f"{broken} messages cannot be taken apart and were left out"] if broken else []
    if len(mails) > MAX_MESSAGES:
        warnings.append(f"only the first {MAX_MESSAGES} of {len(mails)} messages were read; split the mailbox")
    return reading_of(messages, warnings)
