"""Writes constraints.txt: the installed version of everything pyproject.toml asks for, directly or through another."""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
HEAD = "# The versions everything was tested with, written by `make pins`; the ranges are in pyproject.toml.\n"


def pinned_versions(requirements: list[str]) -> dict[str, str]:
    """Return name and installed version of the requirements and of what they require."""
    waiting = [Requirement(line) for line in requirements]
    done: set[tuple[str, frozenset[str]]] = set()
    versions: dict[str, str] = {}
    while waiting:
        wanted = waiting.pop()
        name, extras = re.sub(r"[-_.]+", "-", wanted.name).lower(), frozenset(wanted.extras)
        if (name, extras) in done:
            continue
        done.add((name, extras))
        found = distribution(wanted.name)
        versions[name] = found.version
        for line in found.requires or ():
            inner = Requirement(line)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras or {""}):
                waiting.append(inner)
    return versions


def main() -> int:
    """Write the file, or name what is not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    try:
        versions = pinned_versions([*project["dependencies"], *(line for extra in extras for line in extra)])
    except PackageNotFoundError as exc:
        print(f"{exc.name} is not installed; install it in .venv, then pin.", file=sys.stderr)
        return 1
    pins = "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))
    (ROOT / "constraints.txt").write_text(HEAD + pins, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
