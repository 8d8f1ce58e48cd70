"""Colours of a style rule, as far as needed to tell text from what is behind it."""

import re
from typing import Final, NamedTuple

_HEX = re.compile(r"#([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})(?![0-9a-f])")
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_RGB = re.compile(rf"rgba?\(\s*{_NUMBER}(%?)[\s,]+{_NUMBER}%?[\s,]+{_NUMBER}%?(?:[\s,/]+{_NUMBER}(%?))?\s*\)")
_HSL = re.compile(r"hsla?\(([^()]*)\)")
_NAMED: Final = {
    "white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
    "gray": (128, 128, 128), "grey": (128, 128, 128), "silver": (192, 192, 192), "lightgray": (211, 211, 211),
    "lightgrey": (211, 211, 211), "red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 128, 0),
    "yellow": (255, 255, 0), "navy": (0, 0, 128), "azure": (240, 255, 255), "beige": (245, 245, 220),
}  # fmt: skip
_WORD = re.compile(r"[a-z]+")
# Two colours this near in each channel cannot be told apart at reading distance.
_NEAR: Final = 12


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
    if any(_is_white(found[1]) for found in _HSL.finditer(value)):
        return Colour(255, 255, 255)
    words = _WORD.findall(value)
    if "transparent" in words:
        return Colour(0, 0, 0, is_clear=True)
    return next((Colour(*_NAMED[word]) for word in words if word in _NAMED), None)


def _is_white(hsl: str) -> bool:
    hue_and_shares = hsl.replace(",", " ").replace("/", " ").split()
    return hue_and_shares[2:3] == ["100%"]


def looks_like(text: Colour, background: Colour | None) -> bool:
    """Say whether text of one colour cannot be seen on another; an unknown background tells nothing."""
    if text.is_clear:
        return True
    return background is not None and all(
        abs(mine - other) <= _NEAR for mine, other in zip(text[:3], background[:3], strict=True)
    )
