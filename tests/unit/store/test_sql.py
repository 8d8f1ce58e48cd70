"""The `.sql` files fit the code and each other."""

import re
import sqlite3
from pathlib import Path

import deep_research.store
from deep_research.store.sqlite_file import load_migrations, load_queries, teach_seals

FOLDER = Path(deep_research.store.__file__).parent


def _migrated() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    teach_seals(connection)
    for statements in load_migrations().values():
        for statement in statements:
            connection.execute(statement)
    return connection


def test_every_query_is_used_and_every_used_query_exists():
    code = "".join(file.read_text(encoding="utf-8") for file in FOLDER.glob("sqlite*.py"))
    used = set(re.findall(r'\.(?:run|one|all)\(\s*"(\w+)"', code)) | set(re.findall(r'"(begin_\w+|cancel_run)"', code))
    assert used == set(load_queries())
    names = re.findall(r"^-- name: (\w+)$", (FOLDER / "queries.sql").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(names) == sorted(load_queries())


def test_every_query_fits_the_schema():
    connection = _migrated()
    for name, query in load_queries().items():
        if not query.startswith(("PRAGMA", "BEGIN")):
            values = dict.fromkeys(re.findall(r":(\w+)", query))
            assert connection.execute(f"EXPLAIN {query}", values).fetchall(), name
    connection.close()


def test_migrations_are_numbered_without_a_gap_and_set_their_number():
    numbers = list(load_migrations())
    assert numbers == list(range(1, len(numbers) + 1))
    connection = _migrated()
    assert connection.execute("PRAGMA user_version").fetchone() == (numbers[-1],)
    connection.close()


def test_queries_take_values_as_parameters_only():
    for name, query in load_queries().items():
        assert "{" not in query, name
        assert "%s" not in query, name
