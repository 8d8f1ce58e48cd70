"""The `.sql` files fit the code and each other."""

import re
import sqlite3
from pathlib import Path

import pytest

import deep_research.service
import deep_research.storage.store
from deep_research.storage.database.checksums import register_checksum
from deep_research.storage.database.queries import load_queries
from deep_research.storage.database.sqlite import load_migrations

STORE = "deep_research.storage.store"
FOLDERS = {
    STORE: Path(deep_research.storage.store.__file__).parent,
    "deep_research.service": Path(deep_research.service.__file__).parent,
}
packages = pytest.mark.parametrize("package", FOLDERS)


def _migrated(package: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    register_checksum(connection)
    for statements in load_migrations(package).values():
        for statement in statements:
            connection.execute(statement)
    return connection


def test_every_query_is_used_and_every_used_query_exists():
    folder = FOLDERS[STORE]
    code = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    used = {"cancel_run", *re.findall(r'\._?(?:run|one|all)\(\s*"(\w+)"', code)}
    # Asked for by `db check`.
    used |= {"list_documents", "list_blobs"}
    # Named by their table, and by the default of a parameter.
    used |= {f"{verb}_{table}" for verb in ("list", "count") for table in ("answers", "run_documents")}
    used |= {"get_run", "lock_run"}
    assert used == {*load_queries(STORE), *load_queries(STORE, "queries_postgres.sql")}
    names = re.findall(r"^-- name: (\w+)$", (folder / "queries.sql").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(names) == sorted(load_queries(STORE))


@packages
def test_every_query_fits_the_schema(package):
    connection = _migrated(package)
    for name, query in load_queries(package).items():
        if not query.startswith(("PRAGMA", "BEGIN")):
            values = dict.fromkeys(re.findall(r":(\w+)", query))
            assert connection.execute(f"EXPLAIN {query}", values).fetchall(), name
    connection.close()


@packages
def test_migrations_are_numbered_without_a_gap_and_set_their_number(package):
    numbers = list(load_migrations(package))
    assert numbers == list(range(1, len(numbers) + 1))
    connection = _migrated(package)
    assert connection.execute("PRAGMA user_version").fetchone() == (numbers[-1],)
    connection.close()


@packages
def test_queries_take_values_as_parameters_only(package):
    for name, query in load_queries(package).items():
        assert "{" not in query, name
        assert "%s" not in query, name
