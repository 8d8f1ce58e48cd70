"""Sentences that dictate an assistant's answer, known by learned weights: "any summary must say that …".

The weights are those of a sentence's words, of two neighbours and of three Chinese characters; `tools/train_orders.py`
writes them.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from math import sqrt
from typing import NamedTuple
from zlib import crc32

from deep_research.text.learned import read_learned

SIZE = 1 << 16
# A line that goes on in small letters is no new sentence.
_STOP = re.compile(r"[.!?](?=\s)\s*|[。！？]\s*|\n(?!\s?[a-z])\s*")
_LONGEST = 400
_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[\u4e00-\u9fff]|[^\s\w]")
_HAN = "\u4e00"
_STEM = 5
# What a sentence quotes is what somebody else said, unless it is nearly all of the sentence.
_QUOTED = re.compile(r'"[^"\n]{2,}"|“[^”\n]{2,}”|「[^」\n]{2,}」|《[^》\n]+》')
_OWN_SHARE, _OWN_CHARS = 0.25, 12


class LearnedWeights(NamedTuple):
    """What each feature adds to a sentence's score, by its hash, and the scores that an order has at least:
    all together, and its words alone.
    """

    values: memoryview
    least: float
    gate: float


def find_orders(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text in simplified characters stand that command an assistant."""
    return [span for span in sentences(text) if is_order(text[slice(*span)], shipped_weights())]


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where sentences stand; what runs on for long is cut."""
    begin = 0
    for end in (*(stop.end() for stop in _STOP.finditer(text)), len(text)):
        for start in range(begin, end, _LONGEST):
            piece = text[start : min(end, start + _LONGEST)]
            if words := piece.strip():
                first = start + piece.index(words[0])
                yield first, first + len(words)
        begin = end


def is_order(sentence: str, weights: LearnedWeights) -> bool:
    """Say whether a sentence in simplified characters commands an assistant."""
    tokens = tokens_of(sentence)
    words, values = set(tokens), weights.values
    # A look at the single words spares most sentences the rest.
    if sum([values[slot_of(word)] for word in words]) < weights.gate * sqrt(len(words)):
        return False
    found = features(tokens)
    return sum([values[slot_of(feature)] for feature in found]) > weights.least * sqrt(len(found))


def tokens_of(sentence: str) -> list[str]:
    """Return the words of a sentence, Chinese ones by character, between its ends."""
    if any(quote in sentence for quote in '"“「《'):
        own = _QUOTED.sub(" q ", sentence)
        sentence = own if len(own) > max(_OWN_CHARS, _OWN_SHARE * len(sentence)) else sentence
    return ["^", *("0" if token.isdigit() else token for token in _TOKEN.findall(sentence.lower())), "$"]


def features(tokens: Sequence[str]) -> set[str]:
    """Return what a sentence is known by."""
    found = {*tokens, *map(" ".join, pairwise(tokens))}
    found.update(f"{token[:_STEM]}*" for token in tokens if len(token) >= _STEM)
    found.update("".join(three) for three in zip(tokens, tokens[1:], tokens[2:], strict=False) if min(three) >= _HAN)
    return found


@lru_cache(maxsize=SIZE)
def slot_of(feature: str) -> int:
    """Return the place of a feature's weight."""
    return crc32(feature.encode()) % SIZE


@cache
def shipped_weights() -> LearnedWeights:
    """Return the weights of the package; the first line of their file says what they were trained on."""
    header, values = read_learned(__package__, "learned_orders.bin")
    return LearnedWeights(values, header["least"], header["gate"])
