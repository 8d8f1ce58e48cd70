"""Characters that no font draws: an order spelled in them reaches a model and no reader."""

import re

# Joiners shape letters of Indic, Persian and emoji writing, so they stay between characters outside ASCII and Han.
_PLAIN = "\u0000-\u007f\u4e00-\u9fff"
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    # One selector picks a glyph; a row of them is data.
    "|[\ufe00-\ufe0f]{2,}"
    f"|(?<=[{_PLAIN}])[\u200c\u200d]+|[\u200c\u200d]+(?=[{_PLAIN}])|(?<=[\u200c\u200d])[\u200c\u200d]+"
)


def strip_invisible(text: str) -> str:
    """Return text without characters that have no glyph."""
    return text if text.isascii() else _INVISIBLE.sub("", text)
