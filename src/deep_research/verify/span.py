"""Finds the words a judge relies on in a passage: the same words in the same order, whatever their typography."""

import re

from deep_research.text.analyzer import CJK
from deep_research.text.folding import to_simplified
from deep_research.verify.quote import Token, tokens_of

_CJK_LETTER = re.compile(f"[{CJK}]")
# "the cost" proves nothing: a span has at least so many letters, of which a Chinese one counts for three.
_LEAST_LETTERS, _CJK_WEIGHT = 9, 3


def find_span(span: str, text: str) -> tuple[int, int] | None:
    """Return where a text holds the words of a span in a row, or None.

    White space, signs, capitals and the script of Chinese are the judge's own spelling; a word more, less or other is
    a paraphrase and not found.
    """
    held, wanted = _words(text), [_spelled(token) for token in _words(span)]
    if not wanted or _letters(wanted) < _LEAST_LETTERS:
        return None
    spelled = [_spelled(token) for token in held]
    for at in range(len(held) - len(wanted) + 1):
        if spelled[at : at + len(wanted)] == wanted:
            return held[at].start, held[at + len(wanted) - 1].end
    return None


def _words(text: str) -> list[Token]:
    return [token for token in tokens_of(text) if token.text[0].isalnum()]


def _spelled(token: Token) -> str:
    return to_simplified(token.text).casefold()


def _letters(words: list[str]) -> int:
    return sum(_CJK_WEIGHT if _CJK_LETTER.match(letter) else 1 for word in words for letter in word)
