"""How much of the answer that a writer begins a report with is its abstract. Nothing is lost: the rest is handed back."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from deep_research.reasoning.rules.quoting.drafting import MAX_ABSTRACT_LENGTH, abstract_length
from deep_research.reasoning.rules.quoting.selection import stands_alone
from deep_research.report.paragraph import Paragraph


def bounded(answer: Sequence[Paragraph]) -> tuple[list[Paragraph], list[Paragraph]]:
    """Return as many of the first sentences as an abstract may have, and the rest; a list is not torn apart."""
    blocks: list[list[Paragraph]] = []
    for paragraph in answer:
        if paragraph.is_item and blocks and blocks[-1][0].is_item:
            blocks[-1].append(paragraph)
        else:
            blocks.append([paragraph])
    kept: list[Paragraph] = []
    over: list[Paragraph] = []
    room = MAX_ABSTRACT_LENGTH
    for block in blocks:
        length = sum(_lengths(paragraph)[-1] for paragraph in block)
        is_whole = length <= room or (block[0].is_item and not kept)
        if is_whole and not over:
            kept += block
            room -= length
        elif over or block[0].is_item:
            # What leads over to a list goes with it.
            leading = [kept.pop()] if kept[1:] and kept[-1].kind == "note" and not over else []
            over += [*leading, *block]
        else:
            count = _fitting(block[0], room, is_first=not kept)
            parts = [
                block[0].model_copy(update={"sentences": own})
                for own in (block[0].sentences[:count], block[0].sentences[count:])
            ]
            kept += parts[:1] if count else []
            over += parts[1:] if parts[1].sentences else []
            room = 0
    return kept, over


def _lengths(paragraph: Paragraph) -> list[int]:
    """Return how long a paragraph is after each of its sentences; rows of a table do not count."""
    return list(accumulate(0 if each.cells else abstract_length(each.text) for each in paragraph.sentences))


def _fitting(paragraph: Paragraph, room: int, *, is_first: bool) -> int:
    """Return how many sentences fit: the last of them is cited, and the one after it stands alone."""
    sentences, lengths = paragraph.sentences, _lengths(paragraph)
    ends = [
        count
        for count, (each, after) in enumerate(pairwise(sentences), start=1)
        if each.evidence and stands_alone(after.text)
    ]
    least = next(iter(ends), len(sentences)) if is_first else 0
    return max((count for count in ends if lengths[count - 1] <= room), default=least)
