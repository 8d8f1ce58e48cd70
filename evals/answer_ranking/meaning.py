"""How alike two texts are in meaning, where they share no word: by vectors of terms, learned from pairs of a question
and a sentence that answers it in other words. `tools/train_answers.py` writes them.
"""

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from math import sqrt
from operator import add, mul
from pathlib import Path

from deep_research.text.analyzer import content_terms

Vector = Sequence[float]


def likeness(one: Vector, other: Vector) -> float:
    """Return how alike two vectors of texts are, from -1 to 1; 0 where nothing is known of one."""
    return float(sum(map(mul, one, other)))


@lru_cache(maxsize=8_192)
def vector_of(text: str) -> Vector:
    """Return what a text means, as a vector of length 1."""
    places, values, dimensions = _vectors()
    total: Sequence[float] = [0] * dimensions
    for term in dict.fromkeys(content_terms(text)):
        if (place := places.get(term)) is not None:
            total = list(map(add, total, values[place * dimensions : (place + 1) * dimensions]))
    length = sqrt(sum(map(mul, total, total)))
    return [each / length for each in total] if length else total


@cache
def _vectors() -> tuple[dict[str, int], memoryview, int]:
    content = Path(__file__).with_name("learned_meaning.bin").read_bytes()
    first, _, numbers = content.partition(b"\n")
    header, values = json.loads(first), memoryview(numbers).cast("b")
    return {term: place for place, term in enumerate(header["terms"].split())}, values, header["dimensions"]
