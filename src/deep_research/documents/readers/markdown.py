"""Markdown: links become their text, images and emphasis marks go, lines stay where they were."""

import re
from itertools import accumulate

from deep_research.documents.readers.encoding import decode
from deep_research.documents.readers.links import listed_links, written_links
from deep_research.documents.readers.pictures import listed_pictures
from deep_research.documents.readers.places import heading_places
from deep_research.documents.readers.port import Reading
from deep_research.report.sources.document import Place
from deep_research.text.dates import find_dates

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FIELD = re.compile(r"^([A-Za-z_]+)[ \t]*:(.*)$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t](.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_QUOTE = re.compile(r"^ {0,3}>(?:[ \t]{0,4}>)*[ \t]?")
_DEFINITION = re.compile(r" {0,3}\[[^\]]+\]:[ \t]*\S+.*$")
_INLINE = (
    (re.compile(r"!\[[^\[\]]*\](?:\((?:[^()\s]|\([^()]*\))*(?:[ \t]+\"[^\"]*\")?\)|\[[^\[\]]*\])"), ""),
    (re.compile(r"\[([^\[\]]+)\]\((?:[^()\s]|\([^()]*\))*(?:[ \t]+\"[^\"]*\")?\)"), r"\1"),
    (re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*\]"), r"\1"),
    (re.compile(r"<(https?://[^<>\s]+)>"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>\n]*>"), ""),
)
# Without one of these, nothing of a line is markup within it.
_MARK = re.compile(r"[\[<*~_`\\]")
# The marks that open and close an emphasis of any length: looked for one after the other, each line is read once.
_EMPHASIS = tuple(
    (mark, re.compile(opening), re.compile(closing))
    for mark, opening, closing in (
        *((mark, re.escape(mark) + r"(?=\S)", r"(?<=\S)" + re.escape(mark)) for mark in ("***", "**", "~~")),
        *((mark, rf"(?<![\w_]){mark}(?=\S)", rf"(?<=\S){mark}(?![\w_])") for mark in ("__", "_")),
    )
)
_REST = (
    (re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)"), r"\2"),
    (re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~])"), r"\1"),
)


# One that is never closed is none, and reaches to the end, so that the text is read once.
_COMMENT = re.compile(r"<!--.*?(?:(-->)|\Z)", re.DOTALL)
_PICTURE = re.compile(r"!\[([^\]\n]{1,300})\]\(\s*<?([^\s<>()]{1,2000})")


def read(raw: bytes, name: str) -> Reading:
    """Return a Markdown file as readable text with its headings; fields of a front matter give title, author, date."""
    fields, body, first_line = _front_matter(decode(raw, name)[0])
    # The line breaks that stood in a comment stay.
    shown = _COMMENT.sub(lambda found: "\n" * found[0].count("\n") if found[1] else found[0], body)
    lines, headings = _strip_lines(shown.split("\n"))
    text = "\n".join(lines)
    written = written_links(_INLINE[0][0].sub("", shown))
    links = (each.replace(text=strip_inline(each.text), near=strip_inline(each.near)) for each in written)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    labelled = [(starts[index], label) for index, label in headings]
    dates = find_dates(fields.get("date", fields.get("published", "")))
    return Reading(
        text=text,
        title=fields.get("title") or next((label for _, label in headings if label), ""),
        author=fields.get("author", ""),
        published=dates[0].iso if dates and "Q" not in dates[0].iso else "",
        places=(
            *heading_places(labelled, len(text)),
            Place(kind="line", label=str(first_line), start=0, end=len(text)),
        ),
        pictures=listed_pictures(((match[2], match[1]) for match in _PICTURE.finditer(body)), name),
        links=listed_links(links, name, name),
    )


def strip_inline(line: str) -> str:
    """Return one line without the marks of links, images, emphasis, code and escapes."""
    if _MARK.search(line) is None:
        return line.rstrip()
    for pattern, replacement in _INLINE:
        line = pattern.sub(replacement, line)
    for mark, opening, closing in _EMPHASIS:
        if mark in line:
            line = _without_marks(line, opening, closing)
    for pattern, replacement in _REST:
        line = pattern.sub(replacement, line)
    return line.rstrip()


def _without_marks(line: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str:
    parts: list[str] = []
    at = 0
    # Where nothing closes the first mark, nothing closes a later one.
    while (begin := opening.search(line, at)) and (end := closing.search(line, begin.end() + 1)):
        parts += (line[at : begin.start()], line[begin.end() : end.start()])
        at = end.end()
    return "".join((*parts, line[at:]))


def _front_matter(source: str) -> tuple[dict[str, str], str, int]:
    match = _FRONT_MATTER.match(source)
    if match is None:
        return {}, source, 1
    fields = {key.lower(): value.strip(" \t").strip("\"'") for key, value in _FIELD.findall(match[1])}
    return fields, source[match.end() :], 1 + match[0].count("\n")


def _strip_lines(lines: list[str]) -> tuple[list[str], list[tuple[int, str]]]:
    """Return the lines without markup, as many as before, and the headings by line index."""
    stripped: list[str] = []
    headings: list[tuple[int, str]] = []
    fence = ""
    for index, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence or mark:
            stripped.append(line)
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1].startswith(fence):
                fence = ""
        elif heading := _HEADING.match(line):
            label = strip_inline(_heading_label(heading[2]))
            headings.append((index, label))
            stripped.append(f"{heading[1]} {label}".rstrip())
        elif (underline := _UNDERLINE.match(line)) and _is_title_line(stripped, headings, index):
            headings.append((index - 1, stripped[-1].strip()))
            stripped[-1] = ("# " if underline[1][0] == "=" else "## ") + stripped[-1].strip()
            stripped.append("")
        elif _DEFINITION.match(line):
            stripped.append("")
        else:
            stripped.append(strip_inline(_QUOTE.sub("", line)))
    return stripped, headings


def _heading_label(rest: str) -> str:
    """Return what a heading says, without the marks that may close it."""
    label = rest.strip(" \t")
    bare = label.rstrip("#")
    return bare.rstrip(" \t") if bare.endswith((" ", "\t")) else label


def _is_title_line(stripped: list[str], headings: list[tuple[int, str]], index: int) -> bool:
    """Return whether the line before an underline is a heading of its own: one line of prose after a blank one."""
    if not stripped or not stripped[-1].strip() or stripped[-1].lstrip().startswith(("|", "-", "*", "#", ">")):
        return False
    alone = len(stripped) == 1 or not stripped[-2].strip()
    return alone and not (headings and headings[-1][0] == index - 1)
