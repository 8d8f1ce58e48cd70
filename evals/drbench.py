"""DRBench without a model: `python -m evals.drbench --data FOLDER` runs the whole pipeline on each task's files.

Scored by code alone. *Insight recall*: an insight counts when one paragraph, list item or table row of the report holds
at least two thirds of its figures (dates and periods left out) and 40 % of its content stems (50 % where it has no
figure), and cites the right file. *Distractor rate*: the same for what a report should leave out. *Placement*: whether
the page, slide, cells or message that a sentence is cited from really holds it, read with other code than ours.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from deep_research.report.escaping import unescape
from deep_research.text.analyzer import content_terms
from deep_research.text.quantities import find_quantities
from evals import drbench_places as places
from evals import shared

_MARKER = re.compile(r"(?<!\\)\[(\d{1,4})\]")
_QUARTER = re.compile(r"\b[QH][1-4]\b")
_NUMBER_WORDS = {word: float(at) for at, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve".split())}  # fmt: skip
_PERIOD_UNITS = frozenset({"year", "month", "week"})


class Fact(NamedTuple):
    """What a report should hold, or should leave out, and the files that hold it."""

    kind: str
    answer: str
    files: tuple[str, ...]


class Item(NamedTuple):
    """A paragraph, list item or table row of a report with the files it cites; a row's header stands apart."""

    text: str
    files: frozenset[str]
    header: str = ""


class TaskScore(NamedTuple):
    """What one report came to."""

    task: str
    insights: int
    found: int
    found_with_header: int
    distractors: int
    distracted: int
    distracted_with_header: int
    sentences: int
    placed: int
    checked: int
    misplaced: tuple[str, ...]
    words: int
    seconds: float


@cache
def figures(text: str, *, spelled: bool = False) -> frozenset[float]:
    """Return the figures of a text, brought to one scale; with `spelled`, small numbers in words count too."""
    plain = _QUARTER.sub(" ", text)
    found = {round(quantity.value, 6) for quantity in find_quantities(plain)}
    if spelled:
        found |= {_NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", plain.lower()) if word in _NUMBER_WORDS}
    return frozenset(found)


@cache
def stems(text: str) -> frozenset[str]:
    """Return the content stems of a text, without numbers."""
    return frozenset(term for term in content_terms(text) if not re.fullmatch(r"[\d.]+|percent", term))


def holds(text: str, answer: str) -> bool:
    """Say whether a text holds a fact."""
    wanted, needed = stems(answer), figures(answer)
    if needed and 3 * len(needed & figures(text, spelled=True)) < 2 * len(needed):
        return False
    return len(wanted & stems(text)) >= (0.4 if needed else 0.5) * len(wanted)


def items_of(report: str, sources: dict[int, str]) -> list[Item]:
    """Return the paragraphs, list items and table rows of a report before its references."""
    body = re.split(r"^## (?:References|参考文献|參考文獻)$", report, maxsplit=1, flags=re.MULTILINE)[0]
    items, header = [], ""
    for line in body.split("\n"):
        text = line.strip()
        is_row = text.startswith("|")
        if not text or text.startswith("#") or re.fullmatch(r"\|[\s:|-]+\|", text):
            header = header if text else ""
            continue
        if is_row and not header:
            header = text
            continue
        cited = frozenset(sources[int(number)] for number in _MARKER.findall(text) if int(number) in sources)
        items.append(Item(unescape(_MARKER.sub(" ", text)), cited, header if is_row else ""))
    return items


def score_report(task: Path, folder: Path, seconds: float) -> TaskScore:
    """Score the report in a run's folder against a task."""
    given = json.loads((task / "task.json").read_text(encoding="utf-8"))
    facts = [Fact(fact["kind"], fact["answer"], tuple(fact["files"])) for fact in given["facts"]]
    numbers = json.loads((folder / "citations.json").read_text(encoding="utf-8"))
    report = (folder / "report.md").read_text(encoding="utf-8")
    items = items_of(report, {int(number): source["address"] for number, source in numbers.items()})
    counts = {
        (kind, with_header): sum(_is_told(fact, items, with_header) for fact in facts if fact.kind == kind)
        for kind in ("insight", "distractor")
        for with_header in (False, True)
    }
    paragraphs, evidence = (shared.read_json_lines(folder / f"{name}.jsonl") for name in ("paragraphs", "evidence"))
    told = {
        (sentence["verdict"]["evidence"], sentence["verdict"]["start"])
        for paragraph in paragraphs
        for sentence in paragraph["sentences"]
        if sentence.get("verdict")
    }
    placed, misplaced = places.check(paragraphs, evidence, task / "files")
    return TaskScore(
        task=task.name,
        insights=sum(fact.kind == "insight" for fact in facts),
        found=counts["insight", False],
        found_with_header=counts["insight", True],
        distractors=sum(fact.kind == "distractor" for fact in facts),
        distracted=counts["distractor", False],
        distracted_with_header=counts["distractor", True],
        sentences=len(told),
        placed=placed,
        checked=placed + len(misplaced),
        misplaced=tuple(misplaced),
        words=len(report.split()),
        seconds=round(seconds, 2),
    )


def _is_told(fact: Fact, items: Sequence[Item], with_header: bool) -> bool:
    return any(
        not item.files.isdisjoint(fact.files)
        and holds(f"{item.header} {item.text}" if with_header else item.text, fact.answer)
        for item in items
    )


def run_task(task: Path, keep: Path, relevant: float | None = None) -> TaskScore:
    """Research one task's question over its files, in this process."""
    from deep_research.reasoning.rules import reasoner as extractive
    from deep_research.runner import research
    from deep_research.settings import load_settings

    extractive.RELEVANT = extractive.RELEVANT if relevant is None else relevant
    question = json.loads((task / "task.json").read_text(encoding="utf-8"))["question"]
    own = keep / task.name
    settings = load_settings(home=own / "home", logs=own / "logs", docs=task / "files", offline=True, clarify="off")
    started = time.perf_counter()
    result = asyncio.run(research(question, settings=settings))
    seconds = time.perf_counter() - started
    return score_report(task, Path(result.folder), seconds)


def totals(scores: Sequence[TaskScore]) -> dict[str, float]:
    """Return the figures of all tasks together."""
    insights, distractors = sum(s.insights for s in scores), sum(s.distractors for s in scores)
    return {
        "insight recall": sum(s.found for s in scores) / insights,
        "distractor rate": sum(s.distracted for s in scores) / distractors,
        "insight recall, rows with header": sum(s.found_with_header for s in scores) / insights,
        "distractor rate, rows with header": sum(s.distracted_with_header for s in scores) / distractors,
        "placement": sum(s.placed for s in scores) / max(1, sum(s.checked for s in scores)),
        "most source sentences": max(s.sentences for s in scores),
        "mean source sentences": sum(s.sentences for s in scores) / len(scores),
        "mean words": sum(s.words for s in scores) / len(scores),
        "mean seconds": sum(s.seconds for s in scores) / len(scores),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared.add_data_argument(parser)
    parser.add_argument("--task", action="append", help="only this task (may be repeated)")
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder, to read the reports")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--relevant", type=float, nargs="+", help="compare these settings of a document's relevance")
    given = parser.parse_args(arguments)
    folder = shared.require(given.data, "drbench")
    tasks = [path for path in sorted(folder.iterdir()) if path.is_dir() and (not given.task or path.name in given.task)]
    if given.relevant:
        return _compare(tasks, given.relevant, jobs=given.jobs)
    scores = run_tasks(tasks, keep=given.keep, jobs=given.jobs)
    for score in scores:
        print(f"{score.task}  {score.found:2}/{score.insights:2}  {score.distracted:2}/{score.distractors:2}  "
              f"{score.sentences:3} sentences  {score.seconds:5.1f} s")  # fmt: skip
        for line in score.misplaced:
            print(f"    misplaced: {line[:150]}")
    return shared.report("drbench", totals(scores), details=[score._asdict() for score in scores])


def run_tasks(
    tasks: Sequence[Path], *, keep: Path | None = None, jobs: int = 2, relevant: float | None = None
) -> list[TaskScore]:
    """Research and score tasks in processes of their own."""
    started_anew = get_context("spawn")  # a fork of a process with threads may wait for one that it does not have
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor(jobs, mp_context=started_anew) as pool:
        return list(pool.map(partial(run_task, keep=keep or Path(scratch), relevant=relevant), tasks))


def _compare(tasks: Sequence[Path], thresholds: Sequence[float], *, jobs: int) -> int:
    """Print recall against distractor rate for several settings of how relevant a document must be."""
    print("relevant  insight recall  distractor rate  mean source sentences")
    for threshold in thresholds:
        figures = totals(run_tasks(tasks, jobs=jobs, relevant=threshold))
        print(f"{threshold:8.2f}  {figures['insight recall']:14.3f}  {figures['distractor rate']:15.3f}"
              f"  {figures['mean source sentences']:21.1f}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
