"""What the evals share: where the data lies, how a result is shown and kept, and the floors it must reach."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DEFAULT_DATA = Path("../shared/evaldata")
RESULTS = Path("evals/results")


def add_data_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="the folder with the evaluation data")


def require(data: Path, name: str) -> Path:
    """Return the folder of a set, or say what to do where it is absent."""
    folder = data / name
    if not folder.exists():
        sys.exit(f"There is no {folder}: give the folder that holds {name} with --data.")
    return folder


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def report(name: str, figures: Mapping[str, float], *, details: object = None) -> None:
    """Print the figures and keep them as JSON."""
    for label, figure in figures.items():
        print(f"{label:<40} {figure:.3f}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = {"figures": dict(figures), "details": details}
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
