"""Trains what `deep_research.text.learned_orders` knows orders by: `python -m tools.train_orders`.

A logistic regression over the sentences of `evals/orders/` (written by us: lines by hand, and frames that are filled
at random) and of real pages of `../shared/evaldata`, among them those that a first round takes for orders. Needs numpy.
The same data give the same weights.
"""

import gzip
import json
import lzma
import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deep_research.text.folding import to_simplified
from deep_research.text.learned_orders import SIZE, LearnedWeights, features, sentences, slot_of, tokens_of
from tools.minimize import minimize

ROOT = Path(__file__).parents[1]
OWN = ROOT / "evals" / "orders"
DATA = ROOT.parent / "shared" / "evaldata"
TARGET = ROOT / "src" / "deep_research" / "text" / "learned_orders.bin"
# How often a frame is filled, its label, and what one of its sentences counts.
FRAMES = {"order": (10, 1, 0.6), "ask": (30, 1, 3.0), "plain": (10, 0, 0.6), "desk": (20, 0, 3.0)}
LINE_ORDER, LINE_PLAIN, REAL = 3.0, 2.0, 1.0
THRESHOLD = 0.65
_REGULAR = 0.01
_STEPS = 80
_FIRST, _HARD, _PER_PAGE = 13_000, 12_000, 60
# So many of the orders written by hand are missed by a look at their single words, which spares the look at the rest.
_GATE = 0.01
# A sentence that shares so much of its words with one that is measured on is not trained on.
_ALIKE = 0.75
_SLOT = re.compile(r"\{(\w+)\}")
_TAG = re.compile(r"<[^>]+>")

Array = Any


class Example(NamedTuple):
    """A sentence, whether it is an order, and what it counts."""

    text: str
    label: int
    counts: float


class Table(NamedTuple):
    """Sentences as rows of features: their places, values, and where each row begins."""

    places: Array
    values: Array
    begins: Array


def table_of(texts: Iterable[str]) -> Table:
    """Return the features of texts."""
    rows = [[slot_of(feature) for feature in sorted(features(tokens_of(_plain(text))))] for text in texts]
    sizes = np.array([len(row) for row in rows])
    values = np.repeat(sizes**-0.5, sizes)
    return Table(np.concatenate([np.array(row) for row in rows]), values, np.cumsum(sizes) - sizes)


def _plain(text: str) -> str:
    return to_simplified(text).replace("’", "'")


def scores(table: Table, weights: Array) -> Array:
    """Return the score of each row; the last weight is for all."""
    return np.add.reduceat(weights[table.places] * table.values, table.begins) + weights[-1]


def fit(table: Table, examples: Sequence[Example], start: Array | None = None, steps: int = _STEPS) -> Array:
    """Return the weights of a logistic regression, by L-BFGS."""
    signs = np.array([2.0 * example.label - 1 for example in examples])
    counts = np.array([example.counts for example in examples])
    rows = np.repeat(np.arange(len(examples)), np.diff([*table.begins, len(table.places)]))

    def cost(weights: Array) -> tuple[float, Array]:
        margin = signs * scores(table, weights)
        slope = -signs * counts / (1 + np.exp(np.minimum(margin, 50)))
        change = np.bincount(table.places, slope[rows] * table.values, SIZE + 1)
        change[-1] = slope.sum()
        loss = counts @ np.logaddexp(0, -margin) + _REGULAR / 2 * weights @ weights
        return float(loss), change + _REGULAR * weights

    return minimize(cost, np.zeros(SIZE + 1) if start is None else start, steps)


def weights_of(found: Array, examples: Sequence[Example]) -> LearnedWeights:
    """Return weights as they are shipped: small whole numbers, and the scores that an order must exceed."""
    scale = 127 / np.quantile(np.abs(found[:-1]), 0.9995)
    values = np.clip(np.round(found[:-1] * scale), -127, 127).astype(np.int8)
    least = (np.log(THRESHOLD / (1 - THRESHOLD)) - found[-1]) * scale
    orders = [tokens_of(_plain(example.text)) for example in examples if example.label and example.counts == LINE_ORDER]
    by_words = [sum(int(values[slot_of(word)]) for word in set(words)) / len(set(words)) ** 0.5 for words in orders]
    gate = min(float(least), float(np.quantile(by_words, _GATE)))
    return LearnedWeights(memoryview(values.tobytes()).cast("b"), round(float(least), 2), round(gate, 2))


def own_examples(measured: Sequence[str]) -> list[Example]:
    """Return the sentences that we wrote, without those like one that is measured on."""
    lines = map(json.loads, (OWN / "lines.jsonl").read_text(encoding="utf-8").splitlines())
    found = [Example(line["text"], line["label"], LINE_ORDER if line["label"] else LINE_PLAIN) for line in lines]
    rng = random.Random(1)
    for path in sorted(OWN.glob("frames_*.txt")):
        found += sorted(set(_filled(path.read_text(encoding="utf-8"), rng)))
    kept = [_words(text) for text in measured]
    return [example for example in found if not _is_like(_words(example.text), kept)]


def _filled(frames: str, rng: random.Random) -> Iterator[Example]:
    lists: dict[str, list[str]] = {}
    for part in frames.split("\n= ")[1:]:
        name, *lines = part.strip().split("\n")
        lists[name] = lines if name in FRAMES else "|".join(lines).split("|")
    for name, (times, label, counts) in FRAMES.items():
        for frame in [frame for frame in lists.get(name, ()) for _ in range(times)]:
            text = frame
            while slot := _SLOT.search(text):
                text = text[: slot.start()] + rng.choice(lists[slot[1]]) + text[slot.end() :]
            yield Example(text[0].upper() + text[1:], label, counts)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+|[\u4e00-\u9fff]", to_simplified(text).lower()))


def _is_like(words: frozenset[str], others: Iterable[frozenset[str]]) -> bool:
    return any(len(words & other) >= _ALIKE * len(words | other) for other in others)


def real_sentences(data: Path) -> list[str]:
    """Return sentences of real texts, none of which `evals.injection` measures on."""
    found, rng = [], random.Random(7)
    with lzma.open(data / "mini_web" / "pages.jsonl.xz", "rt", encoding="utf-8") as pages:
        for line in pages:
            held = _cut(_TAG.sub(" ", json.loads(line)["html"]))
            found += rng.sample(held, min(_PER_PAGE, len(held)))
    for path in sorted((data / "reading").glob("*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            paragraphs = sorted({json.loads(line)["context"] for line in lines})
        found += [words for text in paragraphs for words in _cut(text)]
    rng.shuffle(found)
    return found


def _cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def gathered(data: Path) -> list[Example]:
    """Return what is trained on: our own sentences, and real ones, among them those a first round takes for orders."""
    own = json.loads((OWN.parent / "orders.json").read_text(encoding="utf-8"))
    measured = [text for group in own.values() for texts in group.values() for text in texts]
    examples, real = own_examples(measured), real_sentences(data)
    examples += [Example(text, 0, REAL) for text in real[:_FIRST]]
    rest = real[_FIRST:]
    first = fit(table_of(example.text for example in examples), examples)
    hardest = np.argsort(-scores(table_of(rest), first), kind="stable")[:_HARD]
    return [*examples, *(Example(rest[number], 0, REAL) for number in hardest)]


def main() -> int:
    """Train and write the file of weights."""
    examples = gathered(DATA)
    weights = weights_of(fit(table_of(example.text for example in examples), examples), examples)
    orders = sum(example.label for example in examples)
    told = f"{orders} orders and {len(examples) - orders} other sentences: evals/orders, mini_web, reading"
    header = json.dumps({"trained on": told, "least": weights.least, "gate": weights.gate})
    TARGET.write_bytes(header.encode() + b"\n" + weights.values.tobytes())
    print(header)
    return 0


if __name__ == "__main__":
    sys.exit(main())
