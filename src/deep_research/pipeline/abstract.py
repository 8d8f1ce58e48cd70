"""How much of the answer that a writer begins a report with is its abstract; the rest is handed back."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from deep_research.reasoning.rules.quoting.drafting import MAX_ABSTRACT_LENGTH, abstract_length
from deep_research.reasoning.rules.quoting.selection import stands_alone
from deep_research.reasoning.values import Paragraphs
from deep_research.report.paragraph import Paragraph, Sentence

# The answer of a report in chapters has so many words, or twice as many characters: it leads to more.
_MAX_BEFORE_CHAPTERS = 300


def bounded(answer: Sequence[Paragraph], language: str, *, has_chapters: bool) -> tuple[Paragraphs, Paragraphs]:
    """Return the first paragraphs, as many as an abstract may hold, and the rest.

    A list is not torn apart. Of a first paragraph that is too long, the first sentences are kept.
    """
    limit = _MAX_BEFORE_CHAPTERS * (2 if language.startswith("zh") else 1) if has_chapters else MAX_ABSTRACT_LENGTH
    count = _fitting([sum(_lengths(paragraph.sentences)) for paragraph in answer], limit)
    # It takes along what leads over to it.
    joined = [after.is_item and (each.is_item or each.kind == "note") for each, after in pairwise(answer)]
    while 0 < count < len(answer) and joined[count - 1]:
        count -= 1
    first, *others = answer
    if count or first.is_item or joined[:1] == [True]:
        return tuple(answer[: count or None]), tuple(answer[count or len(answer) :])
    most = _fitting(_lengths(first.sentences), limit)
    # Each part stands by itself: it ends with a citation, and begins with what refers to nothing before it.
    ends = [
        index
        for index, (each, after) in enumerate(pairwise(first.sentences), start=1)
        if each.evidence and stands_alone(after.text)
    ]
    end = max((index for index in ends if index <= most), default=next(iter(ends), len(first.sentences)))
    parts = [first.replace(sentences=own) for own in (first.sentences[:end], first.sentences[end:])]
    return (parts[0],), (*(part for part in parts[1:] if part.sentences), *others)


def _lengths(sentences: Sequence[Sentence]) -> list[int]:
    """Return the length of each sentence; rows of a table do not count."""
    return [0 if each.cells else abstract_length(each.text) for each in sentences]


def _fitting(lengths: Sequence[int], limit: int) -> int:
    return bisect_right(list(accumulate(lengths)), limit)
