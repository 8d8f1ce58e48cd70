"""From what a service says about a result to what we keep: plain text, a web address, a date. Opens nothing."""

import html
import re
from typing import Final
from urllib.parse import urlsplit

from deep_research.text.cleaning import clean_text
from deep_research.text.dates import find_dates
from deep_research.value import Json

_MAX_CHARS: Final = 2_000
# Only names of HTML and JATS: `Vec<T>` and `a < b` are what an author wrote.
_BREAK: Final = re.compile(r"</?(?:br|p|div|li|ul|ol|tr|td|th|h[1-6]|jats:\w+)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_INLINE: Final = re.compile(
    r"</?(?:a|abbr|b|cite|code|em|font|i|img|mark|s|small|span|strong|sub|sup|u|wbr)(?:\s[^<>]*)?/?>", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_NOT_IN_ADDRESS: Final = re.compile(r"[\s\x00-\x1f\x7f<>\"\\\ud800-\udfff]")


def plain_text(value: Json) -> str:
    """Return a text without tags, entities and unseen characters, on one line; anything but a text becomes none."""
    if not isinstance(value, str):
        return ""
    # Some services escape their own tags, so that they appear only now.
    text = _without_tags(html.unescape(_without_tags(value[: 4 * _MAX_CHARS])))
    return " ".join(clean_text(text).split())[:_MAX_CHARS].rstrip()


def web_address(value: Json) -> str:
    """Return an absolute http or https address as given, and nothing for any other."""
    address = value.strip() if isinstance(value, str) else ""
    if not address or _NOT_IN_ADDRESS.search(address):
        return ""
    try:
        parts = urlsplit(address)
        is_whole = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return ""
    return address if is_whole else ""


def iso_date(value: Json) -> str:
    """Return the first date of a text as YYYY, YYYY-MM or YYYY-MM-DD; relative ones ("2 days ago") give none."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return next((date.iso for date in find_dates(text[:200]) if "Q" not in date.iso), "")


def _without_tags(text: str) -> str:
    return _INLINE.sub("", _BREAK.sub(" ", _COMMENT.sub("", text)))
