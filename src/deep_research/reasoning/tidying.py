"""What a model writes, as plain text: no markup that a reader's program would act on, no signs that move a terminal."""

import re

# Everything but line breaks and tabs that a terminal or a page would obey instead of showing.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
# "p < 0.05" is no tag.
_TAG = re.compile(r"</?[A-Za-z!?][^<>]{0,500}(?:>|$)")
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^)\n]{0,1000}\)")
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\([^)\n]{0,1000}\)")
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,}).*$", re.MULTILINE)
# A model that does not stop may write white space to no end, which patterns here and elsewhere would go over again and
# again.
_BLANK_LINES = re.compile(r"\n\s*\n")
_WIDE_GAP = re.compile(r"[^\S\n]{2,}")


def visible(text: str) -> str:
    """Return a text without control characters."""
    return _CONTROL.sub("", text)


def without_markup(text: str, mark: re.Pattern[str] | None = None) -> str:
    """Return a text without tags, comments, images and fences, and links as their words; a `mark` stays as it is."""
    spaced = _WIDE_GAP.sub(" ", _BLANK_LINES.sub("\n\n", visible(text)))
    plain = _FENCE.sub("", _TAG.sub("", _COMMENT.sub("", spaced)))

    def words(link: re.Match[str]) -> str:
        is_mark = mark is not None and mark.fullmatch(f"[{link.group(1)}]") is not None
        return f"[{link.group(1)}]" if is_mark else link.group(1)

    return _LINK.sub(words, _IMAGE.sub("", plain))
