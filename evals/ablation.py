"""Which word lists and patterns of the rules move a figure: `python -m evals.ablation [--data FOLDER] [LIST ...]`.

A list is a table of `rules/lexicon/*.toml`, or a set of words or a pattern of alternatives that a module of
`reasoning/rules` holds as a constant. Each is dropped in this process, by patching what was loaded, and the fast
figures are computed again: the kind of each open question, the queries typed for it, what the intake gate asks about,
and which pairs of statements contradict or confirm each other.
Entries that stand in no text of the evals cannot move anything and are not tried. With `--entries` the rest of a list
is halved until it is known which entries move something; with `--answers FOLDER` a list is dropped whole and that
folder's questions are answered without it.
"""

import argparse
import importlib
import json
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from deep_research.reasoning import rules
from deep_research.reasoning.rules import lexicon
from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.rules.question.clarifier import Clarifier
from deep_research.reasoning.rules.question.queries import typed_queries
from deep_research.reasoning.rules.question.signals import cues_of
from deep_research.reasoning.values import Brief
from deep_research.text.analyzer import analyze
from deep_research.text.folding import to_simplified
from deep_research.text.stop_words import ENGLISH
from evals import answers, clarify_gate, contradictions, shared

TABLES = ("asking_words", "aspects", "judgement", "question_kinds", "special_sources")
# In these tables an entry is a pattern; elsewhere it is a word.
_OF_PATTERNS = ("judgement", "question_kinds")
_WORD = re.compile(r"[a-z]{3}|[一-龥]", re.IGNORECASE)
# A list read within a sentence of signs is no list of words.
_FEWEST = 4
Figures = dict[str, tuple[object, ...]]


class WordList(NamedTuple):
    """A list of words or patterns: where it is held, and its entries."""

    module: str
    name: str
    entries: tuple[str, ...]
    is_pattern: bool = False

    def is_in(self, entry: str, text: str) -> bool:
        """Return whether an entry can match anywhere in a text in small letters and simplified script."""
        if self.is_pattern:
            return re.search(entry.removeprefix("(?i)"), text, re.IGNORECASE | re.MULTILINE) is not None
        if entry.isascii():
            terms = analyze(entry)
            return bool(terms) and set(terms) <= _terms(text)
        return entry.lower() in text


@cache
def _terms(text: str) -> frozenset[str]:
    return frozenset(analyze(text))


@cache
def modules() -> list[Any]:
    """Return all modules of the rules."""
    found = pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")
    return [importlib.import_module(each.name) for each in found]


def split_alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a pattern that stand outside all brackets."""
    parts, depth, in_class, start, at = [], 0, False, 0, 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif in_class:
            in_class = sign != "]"
        elif sign == "[":
            in_class = True
        elif sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == "|" and not depth:
            parts.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*parts, pattern[start:]]


def word_lists() -> Iterator[WordList]:
    """Yield every list: of the tables, then the constants of the modules."""
    for table in TABLES:
        for place, entries in _lists_in(lexicon.load_table(table)):
            yield WordList(table, place, tuple(entries), is_pattern=table in _OF_PATTERNS)
    for module in modules():
        for name, value in vars(module).items():
            is_own = f"{name} = " in _source(module) or f"{name}: " in _source(module)
            if not is_own or not isinstance(value, re.Pattern | frozenset | tuple | dict):
                continue
            for key, held in value.items() if isinstance(value, dict) else [("", value)]:
                if entries := _entries_of(held):
                    place = f"{name}.{key}" if key else name
                    yield WordList(module.__name__, place, entries, isinstance(held, re.Pattern))


@cache
def _source(module: Any) -> str:
    return Path(module.__file__).read_text(encoding="utf-8")


def _lists_in(table: dict[str, Any], place: str = "") -> Iterator[tuple[str, Sequence[str]]]:
    for key, value in table.items():
        name = f"{place}.{key}".strip(".")
        if isinstance(value, dict):
            yield from _lists_in(value, name)
        elif isinstance(value, str):
            yield name, value.split()
        elif name.startswith("subjects") or key in ("en", "zh", "not_en", "not_zh"):
            yield name, value


def _entries_of(value: object) -> tuple[str, ...]:
    if isinstance(value, re.Pattern):
        parts = split_alternatives(value.pattern)
        return tuple(parts) if sum(map(bool, map(_WORD.search, parts))) >= 1 else ()
    if isinstance(value, frozenset | tuple) and all(isinstance(each, str) for each in value):
        own = sorted(set(value) - ENGLISH)
        return tuple(own) if sum(map(bool, map(_WORD.search, own))) >= _FEWEST else ()
    return ()


@contextmanager
def dropped(source: WordList, entries: Collection[str]) -> Iterator[None]:
    """Take entries out of a list for as long as the context lasts."""
    changes: list[Any] = []
    if source.module in TABLES:
        whole = lexicon.load_table
        table = whole(source.module)
        _cut(table, source.name.split("."), entries)

        def load(name: str) -> dict[str, Any]:
            return deepcopy(table) if name == source.module else whole(name)

        changes = [patch.object(each, "load_table", load) for each in modules() if hasattr(each, "load_table")]
    else:
        name, _, key = source.name.partition(".")
        old = getattr(importlib.import_module(source.module), name)
        new = {**old, key: _without(old[key], entries)} if key else _without(old, entries)
        held = {(id(each), own): each for each in modules() for own, value in vars(each).items() if value is old}
        changes = [patch.object(each, own, new) for (_, own), each in held.items()]
        if isinstance(old, frozenset):
            # Sets that were made of this one.
            larger = {
                (id(each), own): (each, value)
                for each in modules()
                for own, value in vars(each).items()
                if isinstance(value, frozenset) and old < value
            }
            changes += [
                patch.object(each, own, value - (set(entries) - ENGLISH)) for (_, own), (each, value) in larger.items()
            ]
    for change in changes:
        change.start()
    _forget()
    try:
        yield
    finally:
        for change in reversed(changes):
            change.stop()
        _forget()


def _forget() -> None:
    for module in modules():
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def _cut(table: dict[str, Any], path: list[str], entries: Collection[str]) -> None:
    *above, last = path
    for key in above:
        table = table[key]
    held = table[last]
    left = [each for each in (held.split() if isinstance(held, str) else held) if each not in entries]
    table[last] = " ".join(left) if isinstance(held, str) else left or ["(?!)"]


def _without(held: Any, entries: Collection[str]) -> Any:
    if isinstance(held, re.Pattern):
        parts = split_alternatives(held.pattern)
        left = [part for part in parts if part not in entries]
        # A flag in front of the first alternative holds for all.
        flags = held.flags & ~re.UNICODE
        return re.compile("|".join(part.removeprefix("(?i)") for part in left) if left else "(?!)", flags)
    return type(held)(each for each in held if each not in entries)


class Texts(NamedTuple):
    """What the figures are computed on."""

    questions: list[dict[str, Any]]
    tasks: list[clarify_gate.Task]
    prompts: list[str]
    pairs: list[dict[str, Any]]
    documents: str

    @property
    def all(self) -> str:
        asked = [each["question"] for each in self.questions]
        sides = [side for pair in self.pairs for each in "ab" for side in map(str, pair[each].values())]
        texts = [*asked, *(task.text for task in self.tasks), *self.prompts, *sides, self.documents]
        return to_simplified("\n".join(texts)).lower()


def read_texts(data: Path, documents: Sequence[Path]) -> Texts:
    """Read the questions and tasks, and the documents given as plain text."""
    found = [each for folder in answers.folders_in(answers.FOLDERS) for each in _questions(folder)]
    tasks = shared.read_json_lines(shared.require(data, clarify_gate.TASKS))
    prompts = shared.read_json_lines(shared.require(data, clarify_gate.PROMPTS))
    drbench = [{"question": text, "kind": ""} for text in _drbench_questions(data)]
    return Texts(
        found + drbench,
        [clarify_gate.Task(line["text"], line["vague"]) for line in tasks],
        [line["prompt"] for line in prompts],
        shared.read_json_lines(contradictions.PAIRS),
        "\n".join(path.read_text(encoding="utf-8", errors="ignore") for path in documents),
    )


def _questions(folder: Path) -> list[dict[str, Any]]:
    return shared.read_json_lines(folder / "questions.jsonl")


def _drbench_questions(data: Path) -> Iterator[str]:
    for path in sorted((data / "drbench").glob("*/task.json")):
        yield json.loads(path.read_text(encoding="utf-8"))["question"]


def fast_figures(texts: Texts) -> Figures:
    """Return what was judged of each text; the figure of a list is how many of these change without it."""
    gate = Clarifier("auto").needs_clarification
    asked = [each["question"] for each in texts.questions]
    analyses = [analyze_question(question) for question in asked]
    briefs = [
        Brief(question=question, original=question, language="en", analysis=analysis)
        for question, analysis in zip(asked, analyses, strict=True)
    ]
    return {
        "kinds": tuple(analysis.kind for analysis in analyses),
        "anchors": tuple((analysis.parts, analysis.names) for analysis in analyses),
        "queries": tuple(tuple(typed_queries(brief)) for brief in briefs),
        "judgement": tuple(tuple(sorted(cues_of(text))) for text in (*asked, *texts.prompts)),
        "contradictions": tuple(map(contradictions.told, texts.pairs)),
        "gate": tuple(gate(text) for text in (*(task.text for task in texts.tasks), *texts.prompts)),
    }


def changes_of(before: Figures, after: Figures) -> dict[str, int]:
    """Return how many judgements of each sort are other ones."""
    counts = {key: sum(a != b for a, b in zip(before[key], after[key], strict=True)) for key in before}
    return {key: count for key, count in counts.items() if count}


def moving_entries(entries: Sequence[str], moves: Callable[[Collection[str]], bool]) -> list[str]:
    """Return the entries without which something moves, by halving what moves something together."""
    if not entries or not moves(entries):
        return []
    if len(entries) == 1:
        return list(entries)
    half = len(entries) // 2
    return moving_entries(entries[:half], moves) + moving_entries(entries[half:], moves)


def answered(folder: str, keep: Path) -> float:
    """Return the share of a folder's questions whose report passes."""
    return answers.totals(answers.run_folder(answers.FOLDERS / folder, keep))["passed"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="*", help="only lists whose module or name contains this")
    parser.add_argument("--entries", action="store_true", help="find which entries of a list move something")
    parser.add_argument("--answers", metavar="FOLDER", help="answer the questions of this folder without each list")
    parser.add_argument("--documents", type=Path, nargs="*", default=[], help="texts that entries may stand in too")
    shared.add_data_argument(parser)
    given = parser.parse_args(arguments)
    texts = read_texts(given.data, given.documents)
    text, before = texts.all, fast_figures(texts)

    with tempfile.TemporaryDirectory() as scratch:
        passed = answered(given.answers, Path(scratch)) if given.answers else 0.0
        print("| list | entries | in the texts | moved without it |")
        print("| --- | --- | --- | --- |")
        for source in word_lists():
            label = f"{source.module.removeprefix(rules.__name__ + '.')}: {source.name}"
            if given.lists and not any(part in label for part in given.lists):
                continue
            seen = [entry for entry in source.entries if source.is_in(entry, text)]
            with dropped(source, source.entries):
                moved: dict[str, object] = {**changes_of(before, fast_figures(texts))} if seen else {}
                if given.answers:
                    moved["passed"] = f"{passed:.3f} → {answered(given.answers, Path(scratch)):.3f}"
            told = ", ".join(f"{key} {count}" for key, count in moved.items()) or "nothing"
            print(f"| {label} | {len(source.entries)} | {len(seen)} | {told} |", flush=True)
            if given.entries and moved:

                def moves(entries: Collection[str], source: WordList = source) -> bool:
                    with dropped(source, entries):
                        return bool(changes_of(before, fast_figures(texts)))

                kept = moving_entries(seen, moves)
                idle = [entry for entry in source.entries if entry not in kept]
                print(f"    moves nothing: {idle}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
