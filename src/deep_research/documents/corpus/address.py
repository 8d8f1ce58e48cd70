"""Names on disk ↔ addresses: POSIX paths relative to the folder, readable in any script, one spelling for each file.

Escaped (`%0A`) is only what cannot be shown, stored or kept: control characters, bytes that are not UTF-8, the
percent sign itself, white space at the ends, and the colon that would make a path a web address.
"""

import os
import re
import unicodedata
from urllib.parse import unquote_to_bytes

# Joiners have no glyph either, but Persian words and emoji in file names need them.
_JOINERS = "\u200c\u200d"
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_WEB = re.compile(r"\A(https?):", re.IGNORECASE)
_WHITE_ENDS = re.compile(r"\A\s+|\s+\Z")


def address_of(path: str) -> str:
    """Return the address of a path as the operating system spells it."""
    text = os.fsencode(path.replace(os.sep, "/")).decode("utf-8", "surrogateescape")
    if not (text.isascii() and text.isprintable() and "%" not in text):
        text = "".join(map(_escape_unseen, text))
    text = _WHITE_ENDS.sub(lambda ends: "".join(map(_escape, ends[0])), text)
    return _WEB.sub(r"\1%3A", text)


def path_of(address: str) -> str:
    """Return the path an address stands for; raise `ValueError` if it is not an address."""
    if _STRAY_PERCENT.search(address):
        raise ValueError("a percent sign must be followed by two hexadecimal digits")
    try:
        raw = unquote_to_bytes(address)
    except UnicodeEncodeError as exc:
        raise ValueError("an address is valid Unicode") from exc
    if b"\0" in raw:
        raise ValueError("no path holds a zero byte")
    return os.fsdecode(raw)


def _escape_unseen(character: str) -> str:
    is_unseen = unicodedata.category(character) in _ESCAPED_CATEGORIES and character not in _JOINERS
    return _escape(character) if is_unseen or character == "%" else character


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
