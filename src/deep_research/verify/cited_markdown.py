"""Any Markdown report with numbered references, whoever wrote it: its statements with their markers, its references.

Markers are [1], [1, 3], [2-4], [^1], 【1】 or [1](address). A sentence without one rests on the next one of its
paragraph, if there is any.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from deep_research.report.escaping import unescape
from deep_research.text.folding import to_simplified
from deep_research.text.markdown import Block, blocks_of
from deep_research.text.sentences import TextSpan, split_sentences
from deep_research.text.tables import find_tables
from deep_research.verify.shipped import headings_of

_NUMBERS = r"\d{1,3}(?:\s*[-–,;，、]\s*\^?\d{1,3})*"
_MARKER = re.compile(rf"[ \t]*(?<![\\!])(?:\[\[?\^?({_NUMBERS})\]?\](?:\([^)\s]*\))?|【({_NUMBERS})】)(?!:)")
_RANGE = re.compile(r"(\d+)\s*[-–]\s*(\d+)|(\d+)")
_LINK = re.compile(r"!?\[((?:\\.|[^\]\\])*)\]\(([^)]*)\)")
_EMPHASIS = re.compile(r"(?<!\\)(?:\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|`)")
_REFERENCES = re.compile(
    r"(?i)\W*(?:\d+\.?\s*)?(?:references?|sources?|bibliography|works cited|citations|end ?notes|foot ?notes"
    r"|参考文献|参考资料|引用文献|文献|资料来源|来源|注释|尾注)\b"
)
_ENTRY = re.compile(r"(?:[-*+]\s+)?[\[【]?\^?(?P<number>\d{1,4})(?:\]:?|】|[.)、])\s*(?P<text>\S.*)")
_DEFINED = re.compile(r"\[\^?(?P<number>\d{1,4})\]:\s*(?P<text>\S.*)")
_INNER = r"[(（](?:[^()（）]|[(（][^()（）]*[)）])*[)）]"
_ASIDE = re.compile(rf"[(（](?:[^()（）]|{_INNER})*[)）][.。]?")
_UNCITED = re.compile(r"(?i)additional|further|other|not cited|uncited|unused|其他|其它|补充|未引用|延伸")
_PICTURE = re.compile(r"!\[.*\]\(.*\)")


class Statement(NamedTuple):
    """A sentence or a row of a table, by its line; `numbers` are those that it cites, itself or with its paragraph.

    `before` is what its paragraph says before it; `has_marker` says whether it has a marker itself.
    """

    line: int
    text: str
    numbers: tuple[int, ...]
    is_row: bool = False
    before: str = ""
    has_marker: bool = True


class ReferenceEntry(NamedTuple):
    """A line of the references; some lists part those that are cited from others."""

    line: int
    number: int
    text: str
    is_cited: bool = True


class CitedReport(NamedTuple):
    """A report, read."""

    statements: tuple[Statement, ...]
    entries: tuple[ReferenceEntry, ...]


def read_cited(text: str) -> CitedReport:
    """Take a report apart; what stands under a heading that names references, or looks like one, is no statement."""
    statements: list[Statement] = []
    entries = []
    # The levels of the headings that the references, and what our own reports leave open, stand under.
    references = unanswered = 0
    is_cited = True
    left_open = headings_of("gaps", "pictures")
    for block in blocks_of(text):
        if block.kind == "heading":
            level, title = len(block.mark), to_simplified(block.text)
            if not unanswered or level <= unanswered:
                unanswered = level if block.text in left_open else 0
            if _REFERENCES.match(title):
                references, is_cited = level, True
            elif level <= references:
                references = 0
            elif references:
                is_cited = not _UNCITED.search(title)
        elif block.kind in ("prose", "item", "table"):
            own = []
            for number, line in enumerate(block.marked.split("\n"), start=block.line):
                defined = _DEFINED.match(line)
                if entry := defined or (_ENTRY.match(line) if references else None):
                    text_of_entry = _plain(_LINK.sub(r"\1 \2", entry["text"]))
                    entries.append(
                        ReferenceEntry(number, int(entry["number"]), text_of_entry, is_cited or bool(defined))
                    )
                own.append("" if defined or _PICTURE.fullmatch(line) else line)
            shown = block._replace(text="\n".join(own))
            if not (references or unanswered) and shown.text.strip():
                statements += _rows(shown) if block.kind == "table" else _sentences(shown)
    return CitedReport(tuple(statements), tuple(entries))


def _sentences(block: Block) -> Iterator[Statement]:
    bare, marks = _without_markers(block.text)
    spans: list[TextSpan] = []
    for start, end in split_sentences(bare):
        # What stands in brackets behind a sentence belongs to it, such as how something was computed.
        if spans and (aside := _ASIDE.match(bare, start, end)):
            spans[-1] = TextSpan(spans[-1].start, aside.end())
            start = end - len(bare[aside.end() : end].lstrip())
        if start < end:
            spans.append(TextSpan(start, end))
    starts = [span.start for span in spans]
    cited: list[list[int]] = [[] for _ in spans]
    for offset, own in marks if spans else ():
        # A marker belongs to the sentence that it stands in, or right behind.
        cited[max(0, bisect_left(starts, offset) - 1)] += own
    for at, (start, end) in enumerate(spans):
        following = next((numbers for numbers in cited[at:] if numbers), [])
        line = block.line + bare.count("\n", 0, start)
        numbers, before = tuple(dict.fromkeys(following)), _line(bare[:start])
        yield Statement(line, _line(bare[start:end]), numbers, before=before, has_marker=bool(cited[at]))


def _rows(block: Block) -> Iterator[Statement]:
    for row in (row for table in find_tables(block.text) for row in table.rows):
        cells = [_without_markers(cell) for cell in row.cells]
        numbers = dict.fromkeys(number for _, marks in cells for _, own in marks for number in own)
        line = block.line + block.text.count("\n", 0, row.start)
        text = " | ".join(filter(None, (_line(bare) for bare, _ in cells)))
        yield Statement(line, text, tuple(numbers), is_row=True)


def _without_markers(text: str) -> tuple[str, list[tuple[int, list[int]]]]:
    """Return a text without its markers, and where each stood, with its numbers."""
    found = []
    bare, at = "", 0
    for match in _MARKER.finditer(text):
        bare += text[at : match.start()]
        found.append((len(bare), list(_numbers(match[1] or match[2]))))
        at = match.end()
    return bare + text[at:], found


def _numbers(listed: str) -> Iterator[int]:
    for first, last, single in _RANGE.findall(listed.replace("^", "")):
        yield from (int(single),) if single else range(int(first), int(last) + 1)


def _line(text: str) -> str:
    return " ".join(_plain(text).split()).lstrip("∴ ")


def _plain(text: str) -> str:
    """Return what a reader of the Markdown sees."""
    return unescape(_EMPHASIS.sub("", _LINK.sub(r"\1", text)))
