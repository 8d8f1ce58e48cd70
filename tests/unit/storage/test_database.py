"""Schemas of databases: an older file is brought up to date, a newer one is refused, and nothing is left half done."""

import importlib
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from deep_research.errors import NewerStore
from deep_research.service.database import ServerDatabase
from deep_research.storage.database.sqlite import load_migrations, migrate, schema_number, transaction

SERVER = "deep_research.service"
Step = Callable[[int, str], None]


@pytest.fixture
def add_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    """Return what adds a migration to a package `schemas`."""
    folder = tmp_path / "schemas" / "migrations"
    folder.mkdir(parents=True)
    (tmp_path / "schemas" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "schemas", raising=False)

    def add(number: int, statements: str) -> None:
        (folder / f"{number:04}_step.sql").write_text(f"{statements};\n\nPRAGMA user_version = {number};\n")
        importlib.invalidate_caches()
        load_migrations.cache_clear()

    return add


def test_an_older_file_is_brought_up_to_date_step_by_step(tmp_path: Path, add_step: Step) -> None:
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        add_step(1, "CREATE TABLE notes (text TEXT)")
        migrate(connection, path, "schemas")
        connection.execute("INSERT INTO notes VALUES ('kept')")
        add_step(2, "ALTER TABLE notes ADD COLUMN at TEXT NOT NULL DEFAULT 'then'")
        add_step(3, "CREATE INDEX notes_by_time ON notes (at)")
        for _ in range(2):
            migrate(connection, path, "schemas")
            assert schema_number(connection) == 3
        assert connection.execute("SELECT * FROM notes").fetchall() == [("kept", "then")]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, add_step: Step) -> None:
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        add_step(1, "CREATE TABLE notes (text TEXT)")
        migrate(connection, path, "schemas")
        add_step(2, "CREATE TABLE more (text TEXT)")
        add_step(3, "CREATE TABLE notes (text TEXT)")
        with pytest.raises(sqlite3.OperationalError, match="notes already exists"):
            migrate(connection, path, "schemas")
        assert schema_number(connection) == 1
        assert [name for (name,) in connection.execute("SELECT name FROM sqlite_master")] == ["notes"]


async def test_accounts_of_a_server_before_schemas_had_numbers_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "server.db"
    with closing(sqlite3.connect(path)) as connection:
        for statement in load_migrations(SERVER)[1][:-1]:
            connection.execute(statement)
        connection.execute("INSERT INTO users (id, name, password, created_at) VALUES ('1', 'ann', 'digest', 'then')")
        connection.commit()
        assert schema_number(connection) == 0
    database = ServerDatabase(path)
    try:
        assert [row["name"] for row in await database.work(lambda records: records.all("list_users"))] == ["ann"]
    finally:
        await database.close()
    with closing(sqlite3.connect(path)) as connection:
        assert schema_number(connection) == max(load_migrations(SERVER))


async def test_a_server_refuses_the_file_of_a_newer_version_and_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "server.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    database = ServerDatabase(path)
    try:
        with pytest.raises(NewerStore, match=r"server\.db has schema 99.*knows \d+.*upgrade.*DEEP_RESEARCH_HOME"):
            await database.work(lambda records: records.all("list_users"))
    finally:
        await database.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


def test_a_commit_that_fails_leaves_no_transaction_open() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("CREATE TABLE users (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE runs (owner INTEGER REFERENCES users DEFERRABLE INITIALLY DEFERRED)")
        with pytest.raises(sqlite3.IntegrityError), transaction(connection):
            connection.execute("INSERT INTO runs VALUES (1)")
        with transaction(connection):
            connection.execute("INSERT INTO users VALUES (1)")
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)
