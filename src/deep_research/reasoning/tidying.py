"""What a model writes, as plain text: no markup that a reader's program would act on, no signs that move a terminal."""

import re

from deep_research.text.cleaning import clean_text

_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
# "p < 0.05" is no tag.
_TAG = re.compile(r"</?[A-Za-z!?][^<>]{0,500}(?:>|$)")
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^)\n]{0,1000}\)")
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\([^)\n]{0,1000}\)")
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,}).*$", re.MULTILINE)


def without_markup(text: str, mark: re.Pattern[str] | None = None) -> str:
    """Return a text without tags, comments, images and fences, and links as their words; a `mark` stays as it is."""
    plain = _FENCE.sub("", _TAG.sub("", _COMMENT.sub("", clean_text(text))))

    def words(link: re.Match[str]) -> str:
        is_mark = mark is not None and mark.fullmatch(f"[{link.group(1)}]") is not None
        return f"[{link.group(1)}]" if is_mark else link.group(1)

    return _LINK.sub(words, _IMAGE.sub("", plain))
