"""What the evals share: where the data lies, how a result is shown and kept, and the floors it must reach."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

DEFAULT_DATA = Path("../shared/evaldata")
RESULTS = Path("evals/results")
FLOORS = Path(__file__).with_name("floors.json")
Item = TypeVar("Item")


def add_data_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="the folder with the evaluation data")


def add_sample_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--every", type=int, default=1, help="only every so many of the set; it has floors of its own")


def sample(items: Sequence[Item], every: int) -> Sequence[Item]:
    """Return every so many of a set, each from the middle of its stretch."""
    return items[every // 2 :: every]


def sample_name(name: str, every: int) -> str:
    return name if every == 1 else f"{name}, one in {every}"


def require(data: Path, name: str) -> Path:
    """Return the folder of a set, or say what to do where it is absent."""
    folder = data / name
    if not folder.exists():
        sys.exit(f"There is no {folder}: give the folder that holds {name} with --data.")
    return folder


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def report(name: str, figures: Mapping[str, float], *, details: object = None) -> int:
    """Print the figures beside their floors and keep them as JSON; return 1 if one is missed, else 0."""
    missed = missed_floors(name, figures)
    bounds = floors().get(name, {})
    for label, figure in figures.items():
        bound = ", ".join(f"{word.replace('_', ' ')} {limit:g}" for word, limit in bounds.get(label, {}).items())
        print(f"{label:<40} {figure:8.3f}  {bound}{'  MISSED' if label in missed else ''}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = {"figures": dict(figures), "details": details}
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 1 if missed else 0


def floors() -> dict[str, dict[str, dict[str, float]]]:
    """Return the bounds of each set's figures: `at_least` or `at_most`."""
    known: dict[str, dict[str, dict[str, float]]] = json.loads(FLOORS.read_text(encoding="utf-8"))
    return known


def missed_floors(name: str, figures: Mapping[str, float]) -> list[str]:
    """Return the figures that are worse than their bound, or that are not there at all."""
    bounds = floors().get(name, {})
    return [
        label
        for label, bound in bounds.items()
        if label not in figures
        or figures[label] < bound.get("at_least", float("-inf"))
        or figures[label] > bound.get("at_most", float("inf"))
    ]
