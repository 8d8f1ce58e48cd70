"""Trains what questions and answers are known by without a model: `python -m tools.train_answers [kinds] [doubt]`.

Two files of numbers are written, from data that no eval with a floor measures on; needs numpy:

- `learned_kinds.bin`: what a question asks for, from the labelled questions of `evals/answer_training/questions`;
- `learned_doubt.bin`: by which signs a wrong answer is known, from the answers to the questions of
  `evals/answer_training/folders`; each folder left out, it prints how many answers of each likelihood are right.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from deep_research.reasoning.rules.question.analysis import asking_part, cues_of
from deep_research.reasoning.rules.question.kinds import SIZE, slots_of
from deep_research.reasoning.rules.quoting import drafting
from evals.answers import run_folder
from tools.minimize import minimize

ROOT = Path(__file__).parents[1]
OWN = ROOT / "evals" / "answer_training"
QUESTION = ROOT / "src" / "deep_research" / "reasoning" / "rules" / "question"
QUOTING = QUESTION.parent / "quoting"
Array = Any

_KIND_REGULAR, _KIND_STEPS, _FOLDER_TIMES = 0.033, 60, 3
_DOUBT_REGULAR, _STEPS = 3.0, 400


def labelled_questions() -> list[dict[str, str]]:
    """Return the labelled questions of all languages, and those of the folders, which are of the kinds users ask."""
    paths = [
        *sorted((OWN / "questions").glob("*.jsonl")),
        *_FOLDER_TIMES * sorted(OWN.glob("folders/*/questions.jsonl")),
    ]
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def train_kinds() -> None:
    """Write what questions of each kind and sort are known by."""
    asked = labelled_questions()
    rows = [slots_of(part, cues_of(part)) for part in (asking_part(each["question"]) for each in asked)]
    labels = sorted({each["kind"] for each in asked})
    worth, bias = _classifier(rows, np.array([labels.index(each["kind"]) for each in asked]), len(labels))
    scale = float(np.quantile(np.abs(worth), 0.9999) / 127)
    values = np.clip(np.round(worth / scale), -127, 127).astype(np.int8)
    told = f"{len(asked)} labelled questions: evals/answer_training/questions"
    header = {"trained on": told, "labels": labels, "bias": bias.round(4).tolist(), "scale": round(scale, 8)}
    (QUESTION / "learned_kinds.bin").write_bytes(write_learned(header, values.tobytes()))


def _classifier(rows: Sequence[Sequence[int]], wanted: Array, count: int) -> tuple[Array, Array]:
    """Return the weights and the bias of each class of a logistic regression."""
    places = np.concatenate([np.array(row) for row in rows])
    sizes = np.array([len(row) for row in rows])
    of_row = np.repeat(np.arange(len(rows)), sizes)
    values = np.repeat(sizes**-0.5, sizes)[:, None]
    begins = np.cumsum(sizes) - sizes
    right = np.eye(count)[wanted]

    def cost(at: Array) -> tuple[float, Array]:
        worth, bias = at[:-count].reshape(SIZE, count), at[-count:]
        scores = np.add.reduceat(worth[places] * values, begins) + bias
        scores -= scores.max(1, keepdims=True)
        likely = np.exp(scores)
        likely /= likely.sum(1, keepdims=True)
        change = likely - right
        slope = np.zeros_like(worth)
        np.add.at(slope, places, change[of_row] * values)
        loss = -np.log(likely[np.arange(len(rows)), wanted]).sum() + _KIND_REGULAR / 2 * (at @ at)
        return float(loss), np.concatenate([slope.ravel(), change.sum(0)]) + _KIND_REGULAR * at

    found = minimize(cost, np.zeros(SIZE * count + count), _KIND_STEPS)
    return found[:-count].reshape(SIZE, count), found[-count:]


def write_learned(header: dict[str, Any], values: bytes) -> bytes:
    """Return the content of a file of learned numbers."""
    return json.dumps(header, ensure_ascii=False).encode() + b"\n" + values


def train_doubt() -> None:
    """Write by which signs a wrong answer is known: of the answers to the questions of all folders, which are right."""
    asked, signs, right = list[str](), list[dict[str, float]](), list[bool]()
    known = drafting.likelihood_of
    with tempfile.TemporaryDirectory() as scratch:
        for folder in sorted((OWN / "folders").iterdir()):
            for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
                question = json.loads(line)
                found: list[dict[str, float]] = []

                drafting.likelihood_of = partial(_recorded, found)
                [score] = run_folder(folder, Path(scratch), [question["id"]])
                if found:
                    asked.append(folder.name)
                    signs.append(found[-1])
                    right.append(question["answerable"] and not any("first words" in each for each in score.failures))
    drafting.likelihood_of = known
    names = sorted({name for each in signs for name in each})
    table = np.array([[each.get(name, 0.0) for name in names] for each in signs])
    wanted, of_folder = np.array(right), np.array(asked)
    likely = np.zeros(len(wanted))
    for left in sorted(set(asked)):
        likely[of_folder == left] = _sigmoid(table[of_folder == left] @ _logistic(table, wanted, of_folder != left))
    for low, high in pairwise((0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.01)):
        own = (likely >= low) & (likely < high)
        print(f"likelihood {low:.1f} to {high:.1f}: {own.sum():4} answers, right {wanted[own].mean():.2f}")
    worth = _logistic(table, wanted, np.ones(len(wanted), bool))
    header = {"trained on": f"{len(wanted)} answers to the questions of evals/answer_training/folders"}
    shipped = {name: round(float(value), 3) for name, value in zip(names, worth, strict=True)}
    (QUOTING / "learned_doubt.bin").write_bytes(write_learned(header | {"worth": shipped}, b""))


def _recorded(found: list[dict[str, float]], signs: Mapping[str, float]) -> float:
    found.append(dict(signs))
    return 1.0


def _sigmoid(values: Array) -> Array:
    return 1 / (1 + np.exp(-values))


def _logistic(table: Array, wanted: Array, used: Array) -> Array:
    """Return the weights of a logistic regression."""
    rows, right = table[used], wanted[used]

    def cost(worth: Array) -> tuple[float, Array]:
        scores = rows @ worth
        loss = np.logaddexp(0, scores).sum() - scores[right].sum() + _DOUBT_REGULAR / 2 * (worth @ worth)
        return float(loss), rows.T @ (_sigmoid(scores) - right) + _DOUBT_REGULAR * worth

    return minimize(cost, np.zeros(table.shape[1]), _STEPS)


def main() -> int:
    """Train what was asked for, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["kinds", "doubt"])
    given = parser.parse_args()
    if "kinds" in given.what:
        train_kinds()
    if "doubt" in given.what:
        train_doubt()
    return 0


if __name__ == "__main__":
    sys.exit(main())
