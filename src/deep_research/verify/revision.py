"""May a sentence be replaced by its revision: only if that says less, never something else.

A revision may leave words out and add words of doubt. It may add no fact and no denial, and may not cut the "not" or
the "may" off a word that stays.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from deep_research.text.analyzer import stem
from deep_research.text.stop_words import ENGLISH
from deep_research.verify.particulars import HEDGE, NEGATION_WORD, dates_of, spell_negations, split_figures
from deep_research.verify.quote import words_of

# Words of doubt that a revision may add; other hedges ("only", "at least") claim something themselves.
_SOFTENERS = frozenset(
    """may might could possible possibly probable probably perhaps likely potential potentially partly about around
    approximately roughly some estimate estimated reported reportedly alleged allegedly claim claims claimed suggest
    suggests suggested appear appears appeared seem seems seemed believed
    可能 或许 也许 大概 大约 约 左右 似乎 疑似 估计 据 称 表示 认为 声称 部分""".split()
) | {"according to"}
# Who says so, and how far: words that come with a softener.
_ATTRIBUTION = re.compile(
    r"\b(?:in part|to (?:some|a certain) (?:extent|degree)|(?:one|the|this|that|its|cited) sources?|apparently|says?"
    r"|said|states?|stated|reports?|indicates?|indicated)\b|(?:在)?(?:一定|某种)程度上|(?:该|这一|有|一份|一些)?来源|报道|指出|显示"
)
_PARTICLES = frozenset("的了是也就其而且并和与及在为被把等有这那该之以地得着则于所会能要由对从到向中上下里")
_MARK = re.compile(rf"\b{NEGATION_WORD}\b|{HEDGE.pattern}", re.IGNORECASE)


class _Word(NamedTuple):
    """A content word of a sentence, and the denials and hedges right before it."""

    text: str
    marks: tuple[str, ...]


def only_weakens(revised: str, original: str) -> bool:
    """Return whether a revision only leaves out, or doubts, what the original says."""
    kept, held = _words(_ATTRIBUTION.sub(" ", spell_negations(revised))), _words(spell_negations(original))
    if not kept or not _keeps_particulars(revised, original):
        return False
    if any(mark not in _SOFTENERS for mark in _marks(kept) - _marks(held)):
        return False
    # Every word that is kept is a later word of the original than the one before it, and no mark of it is taken away.
    rest = iter(held)
    return all(
        any(each.text == word.text and not Counter(each.marks) - Counter(word.marks) for each in rest) for word in kept
    )


def _marks(words: Sequence[_Word]) -> Counter[str]:
    return Counter(mark for word in words for mark in word.marks)


def _words(text: str) -> list[_Word]:
    words: list[_Word] = []
    marks: list[str] = []
    at = 0
    for match in (*_MARK.finditer(text), None):
        end = match.start() if match else len(text)
        for token in words_of(text[at:end]):
            if token[0].isalnum() and token not in ENGLISH and token not in _PARTICLES:
                words.append(_Word(stem(token) if token.isascii() else token, tuple(marks)))
                marks = []
        if match:
            marks.append(match[0])
            at = match.end()
    if marks and words:
        # "5 亿元左右": a hedge at the end speaks of the word before it.
        words[-1] = _Word(words[-1].text, (*words[-1].marks, *marks))
    return words


def _keeps_particulars(revised: str, original: str) -> bool:
    """Return whether every figure and date of the revision is the original's: leaving out "million" makes another."""
    in_digits, in_words = split_figures(original)
    figures = {(figure.value, figure.unit) for figure in in_digits} | {worded.values for worded in in_words}
    dates = [date.iso for date in dates_of(original)]
    revised_digits, revised_words = split_figures(revised)
    return (
        all((figure.value, figure.unit) in figures for figure in revised_digits)
        and all(worded.values in figures for worded in revised_words)
        and all(any(held.startswith(date.iso) for held in dates) for date in dates_of(revised))
    )
