"""HTML that is escaped by default: whatever is no markup of ours is shown as text, wherever it comes from."""

import re
from collections.abc import Iterable
from html import escape

from deep_research.text.cleaning import clean_text

_EMPTY = frozenset({"img", "input", "meta", "source"})
_WEB = re.compile(r"https?://[^\s/]", re.IGNORECASE)


class Html(str):
    """Markup. Only functions that escape every text in it make it, so that no other text is ever taken for it."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup itself: what templates call on a text that must not be escaped again."""
        return self


def tag(name: str, /, *inside: str, **attributes: str | int | bool | None) -> Html:
    """Return an element with what it holds; text and attributes are escaped.

    `class_` names the attribute `class`, and `data_p` names `data-p`. None and False leave an attribute out, True gives
    it no value.
    """
    named = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_escaped(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{named}>" if name in _EMPTY else f"<{name}{named}>{joined(inside)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Return markup and text one after the other; the text is escaped."""
    return Html("".join(part if isinstance(part, Html) else _escaped(part) for part in parts))


def address(target: str, text: str = "", **attributes: str) -> Html:
    """Return an address of the web as a link, and any other as text: a path, or what a browser might obey."""
    if not _WEB.match(target):
        return tag("span", text or target, dir="auto", **attributes)
    return tag("a", text or target, href=target, rel="noopener noreferrer nofollow", target="_blank", **attributes)


def _escaped(text: str) -> str:
    return escape(clean_text(text))
