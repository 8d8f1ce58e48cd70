"""What form of answer a question asks for: learned from labelled questions.

The weights are those of a question's words, and of the patterns of `question_kinds.toml` that it holds;
`tools/train_answers.py` writes them.
"""

from functools import cache, lru_cache
from typing import Any
from zlib import crc32

from deep_research.text.folding import to_simplified
from deep_research.text.learned import read_learned
from deep_research.text.learned_orders import features, tokens_of

SIZE = 1 << 13


def slots_of(question: str, cues: tuple[str, ...]) -> list[int]:
    """Return the places of what a question is known by: its words and the patterns it holds."""
    simple = to_simplified(question).replace("’", "'").strip()
    known = features(tokens_of(simple)) | {f"<{cue}>" for cue in cues} | {f"<first {cue}>" for cue in cues[:1]}
    return sorted({crc32(feature.encode()) % SIZE for feature in known})


@lru_cache(maxsize=512)
def kind_of(question: str, cues: tuple[str, ...]) -> str:
    """Return the likeliest kind of answer that a question asks for; `broad` is all sides of a subject."""
    header, values = _learned()
    labels: list[str] = header["labels"]
    slots = slots_of(question, cues)
    scale = header["scale"] / len(slots) ** 0.5
    scores = [
        header["bias"][at] + scale * sum(values[slot * len(labels) + at] for slot in slots) for at in range(len(labels))
    ]
    return labels[scores.index(max(scores))]


@cache
def _learned() -> tuple[dict[str, Any], memoryview]:
    return read_learned(__package__, "learned_kinds.bin")
