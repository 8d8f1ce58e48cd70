"""Markdown in blocks, each with the line that it begins in: headings, paragraphs, items of lists, tables, code, rules.

CommonMark as `markdown-it-py` reads it, and beside it what writers use and CommonMark does not know: rows without a
line below their header, and items behind a bullet or a Chinese number. What stands within a line is not looked at.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

BlockKind = Literal["heading", "prose", "item", "table", "code", "rule"]
# Begins an item where a paragraph goes on, or a list that CommonMark does not know.
_ITEM = re.compile(r"([•‣◦▪●○]|\d{1,3}(?:[.)](?=\s)|、))\s*(?=\S)")
_COMMENT = re.compile(r"\s*<!--.*-->\s*", re.DOTALL)
_MAX_MARK = len("999.")
# Deeper quotations and lists are no text that anybody wrote.
_MAX_NESTING = 100


class Block(NamedTuple):
    """A block: its first line, counted from 1, its text, and what marks it: "##" of a heading, "-" or "2." of an item.

    The marks of lists and quotations that it stands in are not in its text, nor are blanks at the ends of its lines.
    """

    kind: BlockKind
    line: int
    text: str
    mark: str = ""

    @property
    def marked(self) -> str:
        """Return the text behind its mark."""
        return f"{self.mark} {self.text}".lstrip()


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # An underlined line is text: many a writer parts paragraphs by lines.
    return MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).disable(["inline", "lheading", "reference"])


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in order."""
    heading, item, item_line = "", "", 0
    for token in _parser().parse(text.removeprefix("\ufeff")):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "heading_open":
            heading = token.markup
        elif token.type == "list_item_open":
            item, item_line = f"{token.info}{token.markup}", line
        elif token.type == "fence":
            yield Block("code", line, token.content)
        elif token.type == "hr" or (token.type == "html_block" and _COMMENT.fullmatch(token.content)):
            yield Block("rule", line, token.content)
        elif heading:
            yield Block("heading", line, token.content, heading)
            heading = ""
        # What editors indent is text.
        elif token.type in ("inline", "html_block", "code_block"):
            yield from _paragraph(token.content.rstrip(), line, item if line == item_line else "")


def _paragraph(content: str, line: int, mark: str) -> Iterator[Block]:
    """Yield a paragraph, or the rows and items that its lines are."""
    lines = [own.strip() for own in f"{mark} {content}".lstrip().split("\n")]
    kinds: list[BlockKind] = [_kind(own) for own in lines]
    marks = [found[1] if (found := _ITEM.match(own)) else "" for own in lines]
    # Behind a year stands no item.
    if len(mark) <= _MAX_MARK:
        kinds[0], marks[0] = "item" if mark else kinds[0], mark or marks[0]
    starts = [
        at
        for at, kind in enumerate(kinds)
        if not at or kind == "item" or (kind == "table") != (kinds[at - 1] == "table")
    ]
    for start, end in pairwise([*starts, len(lines)]):
        text = "\n".join(lines[start:end]).removeprefix(marks[start]).lstrip()
        yield Block(kinds[start], line + start, text, marks[start])


def _kind(line: str) -> BlockKind:
    if line.startswith("|"):
        return "table"
    return "item" if _ITEM.match(line) else "prose"
