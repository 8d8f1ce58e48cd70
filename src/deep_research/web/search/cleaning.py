"""From what a service says about a result to what we keep: plain text, a web address, a date. Opens nothing."""

import html
import re
from urllib.parse import urlsplit

from deep_research.text.cleaning import clean_text
from deep_research.text.dates import find_dates
from deep_research.value import Json

_MAX_CHARS = 2_000
# What is kept of a page that a service delivers, or of the abstract of a paper.
MAX_DELIVERED_CHARS = 12_000
# Only names of HTML, JATS and MathML: `Vec<T>` and `a < b` are what an author wrote.
_BREAK = re.compile(r"</?(?:br|p|div|li|ul|ol|tr|td|th|h[1-6]|jats:[\w-]+)(?:\s[^<>]*)?/?>", re.IGNORECASE)
# These stand within a word or a formula ("C<sub>10</sub>H"), so that nothing takes their place.
_INLINE = re.compile(
    r"</?(?:(?:jats:)?(?:a|abbr|alternatives|b|bold|cite|code|em|ext-link|font|i|img|inline-formula|inline-graphic|italic"
    r"|mark|monospace|named-content|ovl|overline|s|sc|scp|small|span|strike|strong|styled-content|sub|sup|tt|u|underline"
    r"|uri|wbr|xref)|mml:\w+)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_MATH = re.compile(r"<(mml:)?math(?:\s[^<>]*)?>(.*?)</(?:mml:)?math>", re.DOTALL | re.IGNORECASE)
_IN_MATH = re.compile(r"\s*<[^<>]*>\s*")
# The same formula once more, for TeX.
_TEX = re.compile(r"<jats:tex-math(?:\s[^<>]*)?>.*?</jats:tex-math>", re.DOTALL)
# Publishers break the line before an index, and after it in the middle of a formula.
_DETACHED_INDEX = re.compile(r"\n(?=<(?:jats:)?su[bp]>)|(?<=</jats:su[bp]>)\n(?=[A-Z][a-z]?\n?<jats:su[bp]>|[.,;:)\]])")
# 10<sup>6</sup> is not 106, and a note's number is no digit of the year before it.
_EXPONENT = re.compile(r"(?<=\d)<(?:jats:)?sup>(?=[-−–+]?\d)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_MAX_DATE_CHARS = 40
_DATE_END = re.compile(r"\s?(?:\.{3}|[…—·])\s?")
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])", re.ASCII)
_NOT_IN_ADDRESS = re.compile(r"[\s\x00-\x1f\x7f<>\"\\\ud800-\udfff]")


def plain_text(value: Json, *, max_chars: int = _MAX_CHARS) -> str:
    """Return a text without tags, entities and unseen characters, on one line; anything but a text becomes none."""
    if not isinstance(value, str):
        return ""
    # Some services escape their own tags, so that they appear only now.
    text = _without_tags(html.unescape(_without_tags(value[: 4 * max_chars])))
    return " ".join(clean_text(text).split())[:max_chars].rstrip()


def delivered_text(value: Json) -> str:
    """Return what a service delivers of a page, line by line; anything but a text becomes none."""
    lines = value[:MAX_DELIVERED_CHARS].splitlines() if isinstance(value, str) else []
    return "\n".join(plain_text(line, max_chars=MAX_DELIVERED_CHARS) for line in lines).strip()


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
    # In running text this may be a range of years.
    if _MONTH.fullmatch(text):
        return text
    return next((date.iso for date in find_dates(text[:200]) if "Q" not in date.iso), "")


def parted_date(value: Json) -> tuple[str, str]:
    """Return the date that a snippet begins with, as engines show it, "" where there is none; and what follows."""
    text = plain_text(value)
    dates = find_dates(text[:_MAX_DATE_CHARS])
    # A year alone may be what the text is about.
    if not dates or dates[0].start or len(dates[0].iso) < len("2024-05"):
        return "", text
    behind = _DATE_END.match(text, dates[0].end)
    return (iso_date(dates[0].raw), text[behind.end() :]) if behind else ("", text)


def _without_tags(text: str) -> str:
    text = _SPACES.sub(lambda found: "\n" if "\n" in found.group() else " ", _COMMENT.sub("", text))
    text = _DETACHED_INDEX.sub("", text)
    if _MATH.search(text):
        text = _MATH.sub(lambda found: _IN_MATH.sub("", found.group(2)), _TEX.sub("", text))
    return _BREAK.sub(" ", _INLINE.sub("", _EXPONENT.sub("^", text)))
