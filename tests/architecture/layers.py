"""Which way imports may point: the layers of the package, and what breaks their order."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "deep_research"

# From the bottom up. A part may import what stands below it, and itself.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            *{"in_thread", "value", "text", "request", "events", "errors", "messages"},
            *{"private_files", "database", "masking"},
        }
    ),
    frozenset({"sources"}),
    frozenset({"evidence"}),
    frozenset({"report"}),
    frozenset({"verify"}),
    frozenset({"net", "readers"}),
    frozenset({"shared_limits"}),
    frozenset({"llm", "search", "fetch", "corpus", "sandbox", "store"}),
    frozenset({"cache", "charts"}),
    frozenset({"export"}),
    frozenset({"reasoning"}),
    frozenset({"pipeline"}),
    frozenset({"settings", "wiring"}),
    frozenset({"runs", "auditing", "diagnosis"}),
    frozenset({"runner"}),
    frozenset({"service"}),
    frozenset({"cli", "server", "mcp_server", "__init__", "__main__"}),
)
FOUNDATIONS, SETTINGS_AND_WIRING, SHELLS = LAYERS[0], LAYERS[-5], LAYERS[-1]
# Only in these layers do parts know their neighbours; ports above all never import each other.
NEIGHBOURLY = (FOUNDATIONS, SETTINGS_AND_WIRING, SHELLS)
TESTING = "testing"


def broken_imports(package: Path) -> list[str]:
    """Return one line for each import of the package that the layers forbid."""
    problems = []
    for path in sorted(package.rglob("*.py")):
        importer = _part(path.relative_to(package).parts)
        for line, target in imported_parts(path, package):
            reason = _objection(importer, target)
            if reason:
                problems.append(f"{path.relative_to(package)}:{line}: {importer} imports {target}: {reason}")
        if _rank(importer) is None and importer != TESTING:
            problems.append(f"{path.relative_to(package)}: {importer} has no layer")
    return problems


def imported_parts(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Yield line and part for each import of our own package, also those inside functions and for type checkers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == PACKAGE or alias.name.startswith(f"{PACKAGE}."):
                    yield node.lineno, _part(tuple(alias.name.split(".")[1:]))
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "a relative import"
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            for alias in node.names:
                is_module = (package / alias.name).is_dir() or (package / f"{alias.name}.py").is_file()
                yield node.lineno, alias.name if is_module else "__init__"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            yield node.lineno, str(node.module).split(".")[1]


def _part(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py") if parts else "__init__"


def _rank(part: str) -> int | None:
    return next((rank for rank, layer in enumerate(LAYERS) if part in layer), None)


def _objection(importer: str, target: str) -> str:
    if importer == target:
        return ""
    if target == TESTING:
        return "nothing may import it"
    if importer == TESTING:
        return "it may use anything but shells" if target in SHELLS else ""
    ours, theirs = _rank(importer), _rank(target)
    if ours is None or theirs is None:
        return "no layer is known" if theirs is None else ""
    if theirs > ours:
        return "imports point down only"
    if theirs == ours and LAYERS[ours] not in NEIGHBOURLY:
        return "parts of one layer do not know each other"
    return ""
