"""`db migrate`, `db check` and `db copy` at the command line, with real databases."""

import sqlite3
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

import psycopg

import deep_research
from deep_research.storage.database.postgres import PostgresDatabase
from deep_research.storage.database.queries import load_scripts
from tests.e2e.harness import User, assert_emitted_once, assert_explained
from tests.support.postgres import PostgresServer

_ADD_USER = (
    "INSERT INTO users (id, name, password, created_at) VALUES ('u1', 'Ann', 'x', '2026-01-01T00:00:00+00:00');"
    "INSERT INTO audit (at, user, address, action, subject, detail) "
    "VALUES ('2026-01-01T00:00:00+00:00', 'u1', '', 'a', 's', '{}')"
)


def _on_postgres(user: User, folder: Path, url: str) -> User:
    """Return the same user with a new home, whose runs are in PostgreSQL; calls are noted in the same place."""
    other = User(folder, env={"DEEP_RESEARCH_DATABASE_URL": url})
    other.env["TEST_CALL_LOG"] = str(user.call_log)
    return other


@pytest.mark.long
def test_a_run_that_waits_is_copied_answered_and_finished_without_paying_again(
    tmp_path: Path, database_url: str
) -> None:
    user = User(tmp_path / "files")
    assert user.ask("asking").returncode == 2
    begun = user.begun()
    run = user.only_run().id
    assert user.run("db", "migrate").returncode == 0
    with sqlite3.connect(user.home / "server.db") as connection:
        connection.executescript(_ADD_USER)
    moved = _on_postgres(user, tmp_path / "moved", database_url)
    source = ("--from", str(user.home))
    first = moved.run("db", "copy", *source)
    assert first.returncode == 0, first.stderr
    again = moved.run("db", "copy", *source)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert moved.only_run() == user.only_run()
    assert moved.events() == user.events()
    assert moved.calls() == user.calls()
    assert "Ann" in moved.run("users", "list").stdout

    answered = moved.run("runs", "answer", run, "Costs")
    assert answered.returncode == 0, answered.stderr
    assert moved.only_run().status == "done"
    assert_emitted_once(moved.events())
    assert not any(call in begun for call in moved.begun()[len(begun) :]), "a paid call was repeated"

    refused = moved.run("db", "copy", *source)
    assert "another row of runs" in assert_explained(refused, 64)
    assert moved.only_run().status == "done"
    checked = moved.run("db", "check", "--full")
    assert checked.returncode == 0, checked.stdout
    assert "1 run," in checked.stdout
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "UPDATE deep_research.blobs SET packed = 'x' WHERE id = (SELECT min(id) FROM deep_research.blobs)"
        )
    damaged = moved.run("db", "check", "--full")
    assert damaged.returncode == 1
    assert "damaged: " in damaged.stdout
    assert moved.run("db", "check").returncode == 0


def test_migrate_makes_the_tables_of_every_part(tmp_path: Path, database_url: str) -> None:
    user = User(tmp_path, env={"DEEP_RESEARCH_DATABASE_URL": database_url})
    made = user.run("db", "migrate")
    assert made.returncode == 0, made.stderr
    packages = Path(deep_research.__file__).parent.rglob("migrations_postgres")
    with psycopg.connect(database_url) as connection:
        parts = {part for (part,) in connection.execute("SELECT part FROM deep_research.schema_numbers")}
    assert parts == {f"deep_research.{package.parent.name}" for package in packages} | {"procrastinate"}


@pytest.mark.long
def test_a_run_that_waits_outlives_a_migration(
    tmp_path: Path, database_url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = User(tmp_path / "newer", env={"DEEP_RESEARCH_DATABASE_URL": database_url})
    assert user.ask("asking").returncode == 2
    old_url = postgres.new_database()
    with monkeypatch.context() as patch:
        scripts = load_scripts("deep_research.storage.store", "migrations_postgres")
        patch.setattr("deep_research.storage.database.postgres.load_scripts", lambda *_: {1: scripts[1]})
        _copy_rows(database_url, old_url)
    older = _on_postgres(user, tmp_path / "older", old_url)
    # Hosts that are started together after an upgrade.
    both = [older.start("db", "migrate") for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert any("schema 1 → " in told for told in said), said
    assert older.only_run() == user.only_run()
    begun = len(user.begun())
    answered = older.run("runs", "answer", older.only_run().id, "Costs")
    assert answered.returncode == 0, answered.stderr
    assert_emitted_once(older.events())
    assert not any(call in user.begun()[:begun] for call in user.begun()[begun:]), "a paid call was repeated"


def _copy_rows(newer_url: str, older_url: str) -> None:
    """Make a database of the oldest schema and fill it with what it can hold of another."""
    database = PostgresDatabase(older_url)
    database.read(lambda _: None)
    database.close()
    columns = (
        "SELECT table_name, string_agg(quote_ident(column_name), ',') FROM information_schema.columns "
        "WHERE table_schema = 'deep_research' AND table_name != 'schema_numbers' GROUP BY table_name"
    )
    with psycopg.connect(newer_url) as source, psycopg.connect(older_url) as target:
        target.execute("SET session_replication_role = replica")
        for table, names in target.execute(columns).fetchall():
            for row in source.execute(f"SELECT {names} FROM deep_research.{table}".encode()):
                marks = ", ".join(["%s"] * len(row))
                insert = f"INSERT INTO deep_research.{table} ({names}) OVERRIDING SYSTEM VALUE VALUES ({marks})"
                target.execute(insert.encode(), row)


def test_a_dump_of_postgres_is_restored(tmp_path: Path, database_url: str, postgres: PostgresServer) -> None:
    user = User(tmp_path / "before", env={"DEEP_RESEARCH_DATABASE_URL": database_url})
    assert user.ask("asking").returncode == 2
    dump = tmp_path / "dump"
    subprocess.run([postgres.programs / "pg_dump", "-Fc", "-n", "deep_research", "-f", dump, database_url], check=True)
    restored_url = postgres.new_database()
    subprocess.run([postgres.programs / "pg_restore", "-d", restored_url, dump], check=True)
    restored = _on_postgres(user, tmp_path / "after", restored_url)
    assert restored.only_run() == user.only_run()
    begun = len(user.begun())
    answered = restored.run("runs", "answer", restored.only_run().id, "Costs")
    assert answered.returncode == 0, answered.stderr
    assert not any(call in user.begun()[:begun] for call in user.begun()[begun:]), "a paid call was repeated"


def test_a_backup_of_files_is_restored_and_migrate_says_what_it_did(tmp_path: Path) -> None:
    user = User(tmp_path / "before")
    made = user.run("db", "migrate")
    assert made.returncode == 0, made.stderr
    assert "schema 0 → " in made.stdout
    assert "0 →" not in user.run("db", "migrate").stdout
    assert user.ask("asking").returncode == 2
    restored = User(tmp_path / "after")
    restored.home.mkdir(parents=True)
    for name in ("store.db", "server.db"):
        with sqlite3.connect(user.home / name) as source, sqlite3.connect(restored.home / name) as copy:
            source.backup(copy)
    checked = restored.run("db", "check", "--full")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert restored.only_run() == user.only_run()
    answered = restored.run("runs", "answer", restored.only_run().id, "Costs")
    assert answered.returncode == 0, answered.stderr
