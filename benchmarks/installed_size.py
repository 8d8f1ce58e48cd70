"""What the base weighs on disk: the files of `deep-research` and of everything it needs without any extra."""

from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = "deep-research"
_MIB = 1024 * 1024


class Weight(NamedTuple):
    """So many packages, the megabytes of their files and of what Python compiles of them, and the heaviest packages."""

    packages: int
    files_mb: float
    compiled_mb: float
    heaviest: list[tuple[str, float]]


def weigh() -> Weight:
    """Weigh the base as it is installed here."""
    found = {name: _size(name) for name in _closure()}
    files, compiled = (sum(size[place] for size in found.values()) / _MIB for place in (0, 1))
    sizes = sorted(((name, sum(size) / _MIB) for name, size in found.items()), key=lambda one: -one[1])
    return Weight(len(found), files, compiled, sizes[:6])


def _closure() -> set[str]:
    """Return the names of the packages; one that is wanted with an extra is looked at once more, with the extra."""
    walked: set[tuple[str, str]] = set()
    waiting = [(OURS, "")]
    while waiting:
        step = waiting.pop()
        if step not in walked:
            walked.add(step)
            waiting += _needs(distribution(step[0]), step[1])
    return {name for name, _ in walked}


def _needs(package: Distribution, extra: str) -> Iterator[tuple[str, str]]:
    for wanted in map(Requirement, package.requires or []):
        if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
            for inner in ("", *wanted.extras):
                yield canonicalize_name(wanted.name), inner


def _size(name: str) -> tuple[int, int]:
    """Return the bytes of a package's own files, and of what Python compiles of them at its first import."""
    package = distribution(name)
    paths = {Path(str(package.locate_file(file))) for file in package.files or []}
    if name == OURS:
        # Installed so that it can be edited: its files stay in the source folder.
        spec = find_spec("deep_research")
        assert spec is not None
        paths |= set(Path(spec.origin or "").parent.rglob("*"))
    own = [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
    sources = [path for path in own if path.suffix == ".py"]
    compiled = [found for path in sources for found in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")]
    return sum(path.stat().st_size for path in own), sum(path.stat().st_size for path in compiled)
