"""What a reader of a page would not see is taken out of it, so that nothing hidden is quoted or obeyed.

Judged by the page's own markup and rules; what scripts or external sheets would hide or show is not known here.
"""

import re
from typing import NamedTuple

from lxml import etree, html

from deep_research.documents.readers.styles import Declarations, declarations, has_other_sheets, page_sheet
from deep_research.text.cleaning import clean_text

_HEX = re.compile(r"#([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})(?![0-9a-f])")
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_RGB = re.compile(rf"rgba?\(\s*{_NUMBER}(%?)[\s,]+{_NUMBER}%?[\s,]+{_NUMBER}%?(?:[\s,/]+{_NUMBER}(%?))?\s*\)")
_HSL = re.compile(r"hsla?\(([^()]*)\)")
_NAMED = {
    "white": "ffffff", "black": "000000", "snow": "fffafa", "ivory": "fffff0", "whitesmoke": "f5f5f5",
    "ghostwhite": "f8f8ff", "floralwhite": "fffaf0", "gray": "808080", "grey": "808080", "silver": "c0c0c0",
    "lightgray": "d3d3d3", "lightgrey": "d3d3d3", "red": "ff0000", "blue": "0000ff", "green": "008000",
    "yellow": "ffff00", "navy": "000080", "azure": "f0ffff", "beige": "f5f5dc",
}  # fmt: skip
_WORD = re.compile(r"[a-z]+")
# Two colours this near in each channel cannot be told apart at reading distance.
_NEAR = 12


class Colour(NamedTuple):
    """Red, green and blue from 0 to 255; one that is clear shows what is behind it."""

    red: int
    green: int
    blue: int
    is_clear: bool = False


def colour_of(value: str) -> Colour | None:
    """Return the colour that a declaration names, or None where it names none that is known here."""
    if "url(" in value or "gradient" in value or "var(" in value:
        return None
    if found := _HEX.search(value):
        digits = found[1] if len(found[1]) > 4 else "".join(digit * 2 for digit in found[1])
        red, green, blue, alpha = (int(digits[at : at + 2] or "ff", 16) for at in (0, 2, 4, 6))
        return Colour(red, green, blue, alpha < 8)
    if found := _RGB.search(value):
        factor = 2.55 if found[2] else 1.0
        red, green, blue = (round(min(255.0, float(found[at]) * factor)) for at in (1, 3, 4))
        share = float(found[5] or 1) / (100 if found[6] else 1)
        return Colour(red, green, blue, share < 0.03)
    # Hue, saturation and lightness: all light is white.
    if any(shares.replace(",", " ").replace("/", " ").split()[2:3] == ["100%"] for shares in _HSL.findall(value)):
        return Colour(255, 255, 255)
    words = _WORD.findall(value)
    if "transparent" in words:
        return Colour(0, 0, 0, is_clear=True)
    return next((Colour(*bytes.fromhex(_NAMED[word])) for word in words if word in _NAMED), None)


def is_similar_colour(text: Colour, background: Colour | None) -> bool:
    """Return whether text of one colour cannot be seen on another; an unknown background tells nothing."""
    if text.is_clear:
        return True
    return background is not None and all(
        abs(mine - other) <= _NEAR for mine, other in zip(text[:3], background[:3], strict=True)
    )


_NEVER_SHOWN = frozenset(
    """script style template noscript noframes noembed iframe object svg canvas audio video datalist rp""".split()
)
# `aria-hidden` on a mark or a formula keeps a screen reader from spelling it; on a block it marks what waits unseen.
_BLOCKS = frozenset(
    "div section article aside p ul ol li dl table form nav header footer dialog blockquote pre h1 h2 h3".split()
)
_ROOTS = frozenset({"html", "body"})
# A name that no page can write: HTML knows no namespaces.
_DROPPED = "{urn:deep-research}dropped"
_LENGTH = re.compile(r"(-?(?:\d+(?:\.\d*)?|\.\d+))(px|pt|r?em|ex|ch|vw|vh|cm|mm|in|%)?")
_PLAIN_PX = 16.0
_UNIT_PX = {
    "pt": 1.333, "vw": 12.8, "vh": 7.2, "cm": 37.8, "mm": 3.78, "in": 96.0, "ex": 8.0, "ch": 8.0, "rem": _PLAIN_PX
}  # fmt: skip
_READABLE_PX = 2.0
# Far enough to be outside any screen; layouts shift things by less.
_FAR_PX = 900.0
_ZERO_BOX = re.compile(r"rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?\s*\)")
_CLIPPED = re.compile(r"inset\(\s*(?:[5-9]\d|100)%|circle\(\s*0|polygon\(\s*0\s+0\s*,\s*0\s+0\s*,\s*0\s+0")
_SHIFTED = re.compile(r"translate(?:x|y|3d)?\(([^()]*)\)")
_SHRUNK = re.compile(r"scale(?:x|y|3d)?\(\s*0(?:\.0+)?\s*[,)]")
_FONT_SIZE = re.compile(r"(?:^|\s)(-?[\d.]+(?:px|pt|r?em|%)?)\s*(?:/\s*\S+)?\s+\S")


class _Style(NamedTuple):
    """What an element's own text looks like; most of it is handed down to the elements inside."""

    is_visible: bool
    font_px: float
    colour: Colour | None
    background: Colour | None

    def hides_text(self) -> bool:
        """Return whether text that looks so cannot be read."""
        unreadable = not self.is_visible or self.font_px < _READABLE_PX
        return unreadable or (self.colour is not None and is_similar_colour(self.colour, self.background))


def drop_hidden(tree: html.HtmlElement) -> bool:
    """Take out what is not shown: elements, stretches of text, comments and characters without a glyph.

    Return whether the page's own rules are too many for all of them to be followed, so that hidden text may be left.
    """
    etree.strip_elements(tree, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    sheet, is_styled_elsewhere = page_sheet(tree), has_other_sheets(tree)
    paper = None if is_styled_elsewhere else Colour(255, 255, 255)
    waiting = [(tree, _Style(True, _PLAIN_PX, None, paper))]
    while waiting:
        element, above = waiting.pop()
        inline = declarations(element.get("style", ""))
        # Where other sheets are at work, only what is spelled out on the element tells its colours for sure.
        is_open = not is_styled_elsewhere or above.hides_text() or sheet.may_hide(element)
        declared = sheet.of(element) if is_open else inline
        if element.getparent() is not None and _is_out_of_sight(element, declared):
            # Taking out one element after the other joins the texts around them each time: all go at once.
            element.tag = _DROPPED
            continue
        style = _style_of(declared, inline if is_styled_elsewhere else declared, above)
        if element.tag in _ROOTS:
            # A page that hides all of itself is shown by a script once it has loaded.
            style = style._replace(is_visible=True, font_px=max(style.font_px, _READABLE_PX))
        _clean_text(element, is_hidden=style.hides_text())
        waiting.extend((child, style) for child in element.iterchildren(etree.Element))
    etree.strip_elements(tree, _DROPPED, with_tail=False)
    return sheet.is_exhausted


def _clean_text(element: html.HtmlElement, *, is_hidden: bool) -> None:
    """Clear or clean the text that belongs to an element itself: before and between its children."""
    if element.text:
        element.text = None if is_hidden else clean_text(element.text)
    for child in element:
        if child.tail:
            child.tail = " " if is_hidden else clean_text(child.tail)


def _is_out_of_sight(element: html.HtmlElement, declared: Declarations) -> bool:
    tag = element.tag
    if tag in _NEVER_SHOWN or (tag == "title" and element.getparent().tag != "head"):
        return True
    if tag in _ROOTS or tag == "head":
        return False
    return (
        ("hidden" in element.attrib and declared.get("display", "none") in ("none", "hidden"))
        or (tag == "dialog" and "open" not in element.attrib)
        or (tag in _BLOCKS and element.get("aria-hidden") == "true")
        or (bool(declared) and _is_styled_away(declared))
    )


def _is_styled_away(declared: Declarations) -> bool:
    opacity = _LENGTH.match(declared.get("opacity", ""))
    return (
        declared.get("display") == "none"
        or declared.get("content-visibility") == "hidden"
        or (opacity is not None and float(opacity[1]) < 0.05)
        or "opacity(0" in declared.get("filter", "")
        or _is_clipped(declared)
        or _is_far_away(declared)
    )


def _is_clipped(declared: Declarations) -> bool:
    """Return whether an element is cut to nothing, as for text that only screen readers tell."""
    if _ZERO_BOX.search(declared.get("clip", "")) or _CLIPPED.search(declared.get("clip-path", "")):
        return True
    overflow = " ".join(declared.get(name, "") for name in ("overflow", "overflow-x", "overflow-y"))
    if "hidden" not in overflow and "clip" not in overflow:
        return False
    sizes = [_length_px(declared.get(name, "")) for name in ("height", "width", "max-height", "max-width")]
    return 0 in sizes or sizes[:2] == [1, 1]


def _is_far_away(declared: Declarations) -> bool:
    """Return whether an element is moved or shrunk out of every screen."""
    for name in ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top"):
        px = _length_px(declared.get(name, ""))
        if px is not None and (px <= -_FAR_PX or (px >= 5 * _FAR_PX and not name.startswith("margin"))):
            return True
    transform = declared.get("transform", "")
    moves = [_length_px(part) or 0.0 for move in _SHIFTED.findall(transform) for part in move.split(",")]
    return (
        any((_length_px(part) or 0.0) <= -_FAR_PX for part in declared.get("margin", "").split())
        or any(abs(px) >= _FAR_PX for px in moves)
        or _SHRUNK.search(transform) is not None
    )


def _length_px(value: str, font_px: float = _PLAIN_PX) -> float | None:
    """Return a length in pixels; a percentage as a part of what it is of, here taken to be the type size."""
    length = _LENGTH.fullmatch(value.strip())
    if length is None:
        return None
    number, unit = float(length[1]), length[2] or "px"
    return number * {**_UNIT_PX, "em": font_px, "%": font_px / 100}.get(unit, 1.0)


def _style_of(declared: Declarations, coloured: Declarations, above: _Style) -> _Style:
    if not declared:
        return above
    seen = {"visible": True, "hidden": False, "collapse": False}
    size = declared.get("font-size") or next(iter(_FONT_SIZE.findall(declared.get("font", ""))), "")
    font_px = _length_px(size, above.font_px) if size else above.font_px
    background = above.background
    painted = coloured.get("background-color") or coloured.get("background") or ""
    if painted or "background-image" in declared:
        background = None if "background-image" in declared else colour_of(painted)
        if background is not None and background.is_clear:
            background = above.background
    colour = above.colour if "color" not in coloured else colour_of(coloured["color"])
    if "text" in declared.get("background-clip", "") + declared.get("-webkit-background-clip", ""):
        colour = None
    return _Style(
        is_visible=seen.get(declared.get("visibility", ""), above.is_visible),
        font_px=_PLAIN_PX if font_px is None else font_px,
        colour=colour,
        background=background,
    )
