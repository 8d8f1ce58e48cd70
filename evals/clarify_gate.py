"""How well the intake gate tells vague from clear, without a model: `python -m evals.clarify_gate [--data FOLDER]`.

The folder holds `clarify_gate/in3_train.jsonl` (tasks labelled vague or clear) and
`deep_research_bench_prompts/prompts.jsonl` (real research prompts, which the gate should let pass). A quarter of the
labelled tasks, chosen by the hash of their text, is never looked at while rules are changed.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from deep_research.reasoning.rules.lexicon.question_words import ABBREVIATIONS, VAGUE_WORDS
from deep_research.reasoning.rules.question.clarifier import Clarifier
from deep_research.reasoning.rules.question.signals import MIN_TOPIC_CHARS
from evals import shared

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


def gates() -> dict[str, Gate]:
    return {
        "auto": Clarifier("auto").needs_clarification,
        "strict": Clarifier("strict").needs_clarification,
        "strict, bare abbreviations only": literal_gate,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure the intake gate.")
    shared.add_data_argument(parser)
    data = parser.parse_args(arguments).data
    tasks = [Task(line["text"], line["vague"]) for line in shared.read_json_lines(shared.require(data, TASKS))]
    prompts = [line["prompt"] for line in shared.read_json_lines(shared.require(data, PROMPTS))]
    figures, asked = {}, {}
    for name, gate in gates().items():
        asked[name] = [prompt for prompt in prompts if gate(prompt)]
        for label, is_counted in (("tuning", False), ("held back", True)):
            figures[f"{name}: {label}"] = score(
                gate, (task for task in tasks if is_held_back(task.text) == is_counted)
            ).balanced_accuracy
        figures[f"{name}: share of prompts"] = len(asked[name]) / max(1, len(prompts))
    return shared.report("clarify_gate", figures, details=asked)


if __name__ == "__main__":
    sys.exit(main())
