"""How well the intake gate tells vague from clear, without a model: `python -m evals.clarify_gate [FOLDER]`.

FOLDER holds `clarify_gate/in3_train.jsonl` (tasks labelled vague or clear) and
`deep_research_bench_prompts/prompts.jsonl` (real research prompts, which the gate should let pass). A quarter of the
labelled tasks, chosen by the hash of their text, is never looked at while rules are changed.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from deep_research.reasoning.rules.lexicon.question_words import ABBREVIATIONS, VAGUE_WORDS
from deep_research.reasoning.rules.question.clarifier import Clarifier
from deep_research.reasoning.rules.question.signals import MIN_TOPIC_CHARS

DEFAULT_FOLDER = Path("../shared/evaldata")
TASKS, PROMPTS = "clarify_gate/in3_train.jsonl", "deep_research_bench_prompts/prompts.jsonl"
HELD_BACK_ONE_IN = 4
Gate = Callable[[str], bool]


class Task(NamedTuple):
    text: str
    is_vague: bool


class Score(NamedTuple):
    asked_of_vague: float
    asked_of_clear: float

    @property
    def balanced_accuracy(self) -> float:
        return (self.asked_of_vague + 1 - self.asked_of_clear) / 2


def is_held_back(text: str) -> bool:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % HELD_BACK_ONE_IN == 0


def score(gate: Gate, tasks: Iterable[Task]) -> Score:
    asked: dict[bool, list[bool]] = {True: [], False: []}
    for task in tasks:
        asked[task.is_vague].append(gate(task.text))
    return Score(*(sum(asked[label]) / max(1, len(asked[label])) for label in (True, False)))


def literal_gate(text: str) -> bool:
    """The rules by the letter, but for abbreviations, which count only as the whole topic; `strict` counts them all."""
    words = re.findall(r"[a-z]+", text.lower())
    is_bare = len(words) == 1 and words[0] in ABBREVIATIONS
    return len(text) < MIN_TOPIC_CHARS or is_bare or any(word in VAGUE_WORDS for word in words)


def measure(tasks: list[Task], prompts: list[str]) -> dict[str, dict[str, float]]:
    """Return the figures of each gate, for the table and for the floors."""
    held = [task for task in tasks if is_held_back(task.text)]
    tuning = [task for task in tasks if not is_held_back(task.text)]
    figures = {}
    for name, gate in gates().items():
        tuned, kept = score(gate, tuning), score(gate, held)
        figures[name] = {
            "tuning": tuned.balanced_accuracy,
            "held back": kept.balanced_accuracy,
            "vague asked": kept.asked_of_vague,
            "clear asked": kept.asked_of_clear,
            "prompts asked": sum(map(gate, prompts)),
        }
    return figures


def gates() -> dict[str, Gate]:
    return {
        "auto": Clarifier("auto").needs_clarification,
        "strict (001, abbreviations anywhere)": Clarifier("strict").needs_clarification,
        "001, bare abbreviations only": literal_gate,
    }


def read_lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure the intake gate.")
    parser.add_argument("folder", type=Path, nargs="?", default=DEFAULT_FOLDER, help="the folder with evaluation data")
    folder: Path = parser.parse_args(arguments).folder
    missing = [name for name in (TASKS, PROMPTS) if not (folder / name).is_file()]
    if missing:
        print(f"{folder} does not hold {' and '.join(missing)}.", file=sys.stderr)
        print("Give the folder with the evaluation data: python -m evals.clarify_gate FOLDER", file=sys.stderr)
        return 64
    tasks = [Task(str(line["text"]), bool(line["vague"])) for line in read_lines(folder / TASKS)]
    prompts = [(line["id"], str(line["prompt"])) for line in read_lines(folder / PROMPTS)]
    figures = measure(tasks, [text for _, text in prompts])
    held = sum(is_held_back(task.text) for task in tasks)
    print(f"{len(tasks)} tasks, {held} held back; {len(prompts)} research prompts; balanced accuracy\n")
    columns = list(next(iter(figures.values())))
    print(f"{'gate':38}" + "".join(f"{column:>15}" for column in columns))
    for name, row in figures.items():
        print(f"{name:38}" + "".join(f"{_shown(row[column]):>15}" for column in columns))
    asked = [(number, text) for number, text in prompts if gates()["auto"](text)]
    print(f"\nauto asks about {len(asked)} of the research prompts" + (":" if asked else "."))
    for number, text in asked:
        print(f"  {number}: {text[:100]}")
    return 0


def _shown(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main())
