"""Reads the `.sql` files beside it: named queries and numbered migrations. Sends nothing to a database."""

import re
import sqlite3
from functools import cache
from importlib.resources import files

Column = str | int | float | bytes | None

_NAME = re.compile(r"^-- name: (\w+)$")
_MIGRATION = re.compile(r"^(\d{4})_\w+\.sql$")


@cache
def load_queries() -> dict[str, str]:
    """Return the statements of `queries.sql` by name."""
    lines: dict[str, list[str]] = {}
    name = ""
    for line in files("deep_research.store").joinpath("queries.sql").read_text(encoding="utf-8").splitlines():
        if found := _NAME.match(line):
            name = found[1]
            if name in lines:
                raise ValueError(f"queries.sql holds two queries named {name}")
            lines[name] = []
        elif name and not line.startswith("--"):
            lines[name].append(line)
    return {name: "\n".join(body).strip() for name, body in lines.items()}


@cache
def load_migrations() -> dict[int, tuple[str, ...]]:
    """Return the statements of every migration by the schema number they lead to, in order."""
    folder = files("deep_research.store").joinpath("migrations")
    named = sorted((found[1], file) for file in folder.iterdir() if (found := _MIGRATION.match(file.name)))
    return {int(number): _statements(file.read_text(encoding="utf-8")) for number, file in named}


def _statements(script: str) -> tuple[str, ...]:
    statements, pending = [], ""
    for line in script.splitlines():
        pending += line + "\n"
        if line.rstrip().endswith(";") and sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    if pending.strip():
        raise ValueError("a migration ends inside a statement")
    return tuple(statements)
