"""The package imports only what pyproject.toml declares, and every declared version is pinned."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = [
    line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
]


def _name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


def _declared() -> set[str]:
    extras = PROJECT.get("optional-dependencies", {}).values()
    return {_name(line) for line in [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]}


def test_every_imported_library_is_declared():
    distributions = packages_distributions()
    missing = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules.append(node.module or "")
            for top in {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"deep_research"}:
                if not {_name(owner) for owner in distributions.get(top, [top])} & _declared():
                    missing.add(f"{path.relative_to(ROOT)}: {top}")
    assert sorted(missing) == []


def test_every_declared_library_is_pinned():
    assert _declared() <= {_name(pin) for pin in PINS}


def test_pins_name_exact_versions_and_no_place():
    assert [pin for pin in PINS if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
