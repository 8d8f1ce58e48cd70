"""Near-duplicates: of documents that say the same but for spelling and a few words, one is searched for all.

Two texts are twins only if no figure and no negation differs and no word stands in the place of another: two reports
from one template, or a claim and its opposite, are different documents however much they share.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

from deep_research.corpus.documents import hide, show, text_of
from deep_research.corpus.index import Session
from deep_research.corpus.sketch import without_page_lines
from deep_research.text.analyzer import CJK

T = TypeVar("T", bound=Hashable)
_Line = tuple[str, ...]

_MIN_SHARED = 0.9
# Blocks with more words are not compared word by word; texts that differ in so many are no twins.
_MAX_BLOCK_WORDS = 400
_MATCHED_LINES = 200
_MIN_SPELLING_RATIO = 0.8
# Letters are compared one with all others: what is longer than some words is no respelling.
_MAX_RESPELLED_CHARS = 200
_MAX_COMPARED = 8
_WORD = re.compile(rf"\d+(?:[.,:/-]\d+)*|[{CJK}]|[^\W\d_{CJK}]+(?:['’-][^\W\d_{CJK}]+)*")
# A single line break that no blank line, table row or list item follows.
_WRAP = re.compile(r"(?<![ \t])[ \t]*+\n(?![ \t]*[\n|#-])")
_LINE_END = re.compile(r"[.!?](?=\s)|[。！？；\n]")
_CJK_WORD = re.compile(f"[{CJK}]")
_FIXED = re.compile(
    r"\d|[〇零一二两三四五六七八九十百千万亿不没無无未非否勿莫]|(?:no|not|none|never|nor|neither|without|cannot|hardly|half|twice)$|.*n't$"
)
_INTERCHANGEABLE = frozenset("的地得")


class _Document(NamedTuple):
    id: int
    address: str
    published: str
    chars: int
    title_terms: str
    name: str
    twin_of: int | None

    @property
    def preference(self) -> tuple[bool, str, int, str]:
        """Return what the documents of a cluster are ordered by: the earliest dated first, then the longest."""
        return not self.published, self.published, -self.chars, self.address


def settle_twins(session: Session) -> None:
    """Let one document of each cluster be searched, and the others not."""
    row = session.one("is_settled")
    if row is None or row["is_settled"]:
        return
    bands = {row["document"]: row["bands"].split(",") for row in session.rows("shared_bands")}
    alone = [row["id"] for row in session.rows("twins") if row["id"] not in bands]
    for number in alone:
        _set_twin(session, _document(session, number), None)
    leaders: dict[str, list[_Document]] = {}
    for document in sorted((_document(session, number) for number in bands), key=lambda one: one.preference):
        near = {leader.id: leader for band in bands[document.id] for leader in leaders.get(band, ())}
        compared = sorted(near.values(), key=lambda one: one.preference)[:_MAX_COMPARED]
        twin_of = next((leader.id for leader in compared if _are_twins(session, document, leader)), None)
        _set_twin(session, document, twin_of)
        if twin_of is None:
            for band in bands[document.id]:
                leaders.setdefault(band, []).append(document)
    session.add("set_settled", is_settled=True)


def _document(session: Session, number: int) -> _Document:
    row = session.one("twin", document=number)
    assert row is not None, "it was listed in this transaction"
    return _Document(*row)


def _set_twin(session: Session, document: _Document, twin_of: int | None) -> None:
    if twin_of == document.twin_of:
        return
    session.add("set_twin", document=document.id, twin_of=twin_of)
    if document.twin_of is None:
        hide(session, document.id, document.title_terms)
    elif twin_of is None:
        show(session, document.id, document.title_terms)


def _are_twins(session: Session, one: _Document, other: _Document) -> bool:
    if one.twin_of == other.id:
        return True
    # What bears a title of its own is what that title says, even where the text is that of another.
    if one.name and other.name and one.name != other.name:
        return False
    if min(one.chars, other.chars) < _MIN_SHARED * max(one.chars, other.chars):
        return False
    return same_but_for_spelling(text_of(session, one.id, 0, one.chars), text_of(session, other.id, 0, other.chars))


def same_but_for_spelling(one: str, other: str) -> bool:
    """Say whether two texts differ in nothing but spelling and a few words more or less."""
    lines, other_lines = _lines(one), _lines(other)
    words = sum(map(len, lines)) + sum(map(len, other_lines))
    changed = 0
    for ours, theirs in _line_differences(lines, other_lines):
        left = [word for line in ours for word in line]
        right = [word for line in theirs for word in line]
        if len(left) + len(right) > 2 * _MAX_BLOCK_WORDS:
            return False
        for gone, come in _differences(left, right):
            if not _is_harmless(gone, come):
                return False
            changed += len(gone) + len(come)
        if changed > (1 - _MIN_SHARED) * words:
            return False
    return True


def _lines(text: str) -> list[_Line]:
    """Return the words of each sentence or line; how a file wraps its lines must not count."""
    unwrapped = _WRAP.sub(" ", without_page_lines(text))
    return [tuple(words) for line in _LINE_END.split(unwrapped) if (words := _WORD.findall(line))]


def _line_differences(
    one: Sequence[_Line], other: Sequence[_Line]
) -> Iterator[tuple[Sequence[_Line], Sequence[_Line]]]:
    """Yield where two texts differ, matched a stretch at a time: all at once would take quadratic time."""
    at = other_at = 0
    while at < len(one) or other_at < len(other):
        left, right = one[at : at + _MATCHED_LINES], other[other_at : other_at + _MATCHED_LINES]
        *blocks, end = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
        is_last = at + len(left) == len(one) and other_at + len(right) == len(other)
        # What stands near the end of a stretch may belong to what follows it, and is matched again with that.
        settled = [block for block in blocks if max(block.a, block.b) <= _MATCHED_LINES // 2] or blocks[:1]
        done = other_done = 0
        for block in (*blocks, end) if is_last else settled or (end,):
            if block.a > done or block.b > other_done:
                yield left[done : block.a], right[other_done : block.b]
            done, other_done = block.a + block.size, block.b + block.size
        at, other_at = at + done, other_at + other_done


def _differences(one: Sequence[T], other: Sequence[T]) -> Iterator[tuple[Sequence[T], Sequence[T]]]:
    matcher = SequenceMatcher(None, one, other)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag != "equal":
            yield one[start:end], other[other_start:other_end]


def _is_harmless(gone: Sequence[str], come: Sequence[str]) -> bool:
    """Say whether one run of words may stand for another: nothing fixed differs, and words are only respelled."""
    if any(_FIXED.match(word) for word in (*gone, *come)):
        return False
    if not gone or not come:
        return True
    if {*gone, *come} <= _INTERCHANGEABLE:
        return True
    left, right = "".join(gone), "".join(come)
    if max(len(left), len(right)) > _MAX_RESPELLED_CHARS:
        return False
    if _CJK_WORD.search(left + right) or left[0] != right[0]:
        return False
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= _MIN_SPELLING_RATIO
