"""Which way imports may point: the layers of the package, and what breaks their order."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "deep_research"

# From the bottom up. A part may import what stands below it, and itself. A module belongs to the part with the longest
# name that begins its own: `charts.sandbox.child` to `charts.sandbox`, and not to `charts`.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"value", "text", "request", "events", "errors"}),
    frozenset({"report.sources"}),
    frozenset({"report.evidence"}),
    frozenset({"report"}),
    frozenset({"verify"}),
    frozenset({"storage.private_files"}),
    frozenset({"storage.database", "documents.readers", "web.net"}),
    frozenset({"web.shared_limits"}),
    frozenset({"llm", "web.search", "web.fetch", "documents.corpus", "charts.sandbox", "storage.store"}),
    frozenset({"web.cache", "charts"}),
    frozenset({"export"}),
    frozenset({"reasoning"}),
    frozenset({"pipeline"}),
    frozenset({"settings", "wiring"}),
    frozenset({"runner"}),
    frozenset({"service.database", "service.public_text"}),
    frozenset({"service.accounts"}),
    frozenset({"service.documents", "service.runs"}),
    frozenset({"service"}),
    frozenset({"cli", "server", "__init__", "__main__"}),
)
RANKS = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
SHELLS = LAYERS[-1]
# Only in these layers do parts know their neighbours; ports above all never import each other.
NEIGHBOURLY = {RANKS[part] for part in ("value", "wiring", "cli")}
TESTING = "testing"
KNOWN = {*RANKS, TESTING}


def broken_imports(package: Path) -> list[str]:
    """Return one line for each import of the package that the layers forbid."""
    problems = []
    for path in sorted(package.rglob("*.py")):
        importer = part_of(path, package)
        for line, target in imported_parts(path):
            reason = _objection(importer, target)
            if reason:
                problems.append(f"{path.relative_to(package)}:{line}: {importer} imports {target}: {reason}")
        # A folder that only holds parts says in its `__init__.py` what they are.
        if not any(part == importer or part.startswith(f"{importer}.") for part in KNOWN):
            problems.append(f"{path.relative_to(package)}: {importer} has no layer")
    return problems


def part_of(path: Path, package: Path) -> str:
    """Return the part of the package that a file belongs to."""
    module = ".".join(path.relative_to(package).with_suffix("").parts)
    return _part(module.removesuffix(".__init__"))


def imported_parts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and part for each import of our own package, also those inside functions and for type checkers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "a relative import"
            continue
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        ours = [name.partition(".")[2] for name in names if name.split(".")[0] == PACKAGE]
        for part in sorted({_target(name) for name in ours}):
            yield node.lineno, part


def _part(module: str) -> str:
    """Return the longest known name that begins a module's, or its own where none does."""
    name = module
    while name and name not in KNOWN:
        name = name.rpartition(".")[0]
    return name or module


def _target(name: str) -> str:
    """Return the part of what is imported; what the package itself offers is its `__init__`."""
    part = _part(name)
    return part if part in KNOWN or "." in part else "__init__"


def _objection(importer: str, target: str) -> str:
    if importer == target:
        return ""
    if target == TESTING:
        return "nothing may import it"
    if importer == TESTING:
        return "it may use anything but shells" if target in SHELLS else ""
    if importer not in RANKS or target not in RANKS:
        return "no layer is known"
    if RANKS[target] > RANKS[importer]:
        return "imports point down only"
    if RANKS[target] == RANKS[importer] and RANKS[target] not in NEIGHBOURLY:
        return "parts of one layer do not know each other"
    return ""
