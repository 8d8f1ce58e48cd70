"""Prompt injections: sentences of a text that command an AI assistant ("ignore all previous instructions").

Whether a sentence is one is learned: weights of its words, of two neighbours and of three Chinese characters, which
`tools/train_orders.py` writes. The marks by which prompts are cut are known by heart.
Found text is only pointed out: it stays what it is, something a source says. Rather miss one than accuse plain prose.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from math import sqrt
from typing import NamedTuple
from zlib import crc32

from deep_research.text.folding import to_simplified

SIZE = 1 << 16
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\u202a-\u202e]")
# A line that goes on in small letters is no new sentence.
_STOP = re.compile(r"[.!?](?=\s)\s*|[。！？]\s*|\n(?!\s?[a-z])\s*")
_LONGEST = 400
_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[\u4e00-\u9fff]|[^\s\w]")
_HAN = "\u4e00"
_STEM = 5
# What a sentence quotes is what somebody else said, unless it is nearly all of the sentence.
_QUOTED = re.compile(r'"[^"\n]{2,}"|“[^”\n]{2,}”|「[^」\n]{2,}」|《[^》\n]+》')
_OWN_SHARE, _OWN_CHARS = 0.25, 12
# The marks by which prompts are cut, and the names of our own tools.
_MARKS = re.compile(
    r"<\|(?:im_start|im_end|endoftext)\|>|\[/?INST\]|<</?SYS>>|^#+ (?:system|instructions?) ?:\s*$"
    r"|^\s{0,20}(?:system (?:override|prompt)|(?:your )?new (?:system )?(?:instructions|prompt)(?: are)?) ?:"
    r"|^\s{0,20}(?:系统提示词?|新的?(?:系统)?指令|新的?系统提示词?) ?[:：]"
    r"|\b(?:use|call|run|invoke)(?: the| your)? (?:web_search|web_fetch|code_execute)\b",
    re.IGNORECASE | re.MULTILINE,
)


class Weights(NamedTuple):
    """What each feature adds to a sentence's score, by its hash, and the scores that an order has at least:
    all together, and its words alone.
    """

    values: memoryview
    least: float
    gate: float


def find_prompt_injection(text: str) -> tuple[tuple[int, int], ...]:
    """Return where the sentences stand that command an AI assistant, as offsets in order."""
    # Signs without a glyph between the letters hide a command from a plain search, not from a model.
    hidden = [match.start() - count for count, match in enumerate(_INVISIBLE.finditer(text))]
    shown = _INVISIBLE.sub("", text) if hidden else text
    plain = to_simplified(shown).replace("’", "'")
    weights = shipped_weights()
    found = [span for span in sentences(plain) if is_order(plain[span[0] : span[1]], weights)]
    return tuple((start + bisect_right(hidden, start), end + bisect_right(hidden, end - 1)) for start, end in found)


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


def is_order(sentence: str, weights: Weights) -> bool:
    """Say whether a sentence in simplified characters commands an assistant."""
    if _MARKS.search(sentence):
        return True
    tokens = tokens_of(sentence)
    words, values = set(tokens), weights.values
    # A look at the single words spares most sentences the rest.
    if sum([values[place(word)] for word in words]) < weights.gate * sqrt(len(words)):
        return False
    held = features(tokens)
    return sum([values[place(feature)] for feature in held]) > weights.least * sqrt(len(held))


def tokens_of(sentence: str) -> list[str]:
    """Return the words of a sentence, Chinese ones by character, between its ends."""
    if any(quote in sentence for quote in '"“「《'):
        own = _QUOTED.sub(" q ", sentence)
        sentence = own if len(own) > max(_OWN_CHARS, _OWN_SHARE * len(sentence)) else sentence
    return ["^", *("0" if token.isdigit() else token for token in _TOKEN.findall(sentence.lower())), "$"]


def features(tokens: Sequence[str]) -> set[str]:
    """Return what a sentence is known by."""
    held = {*tokens, *map(" ".join, pairwise(tokens))}
    held.update(f"{token[:_STEM]}*" for token in tokens if len(token) >= _STEM)
    held.update("".join(three) for three in zip(tokens, tokens[1:], tokens[2:], strict=False) if min(three) >= _HAN)
    return held


@lru_cache(maxsize=SIZE)
def place(feature: str) -> int:
    """Return the place of a feature's weight."""
    return crc32(feature.encode()) % SIZE


@lru_cache(maxsize=1)
def shipped_weights() -> Weights:
    """Return the weights of the package; the first line of their file says what they were trained on."""
    told, _, values = (files(__package__) / "prompt_injection.bin").read_bytes().partition(b"\n")
    held = json.loads(told)
    return Weights(memoryview(values).cast("b"), held["least"], held["gate"])
