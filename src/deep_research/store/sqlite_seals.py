"""Seals: a sum over the columns of a row, kept beside them, by which a flipped byte is seen when the row is read.

Triggers of our own connections keep them; nobody else who changes a row can, and that is seen as well.
"""

import sqlite3
from hashlib import blake2b
from typing import Final

from deep_research.store.sql import Column

_SEAL: Final = "seal"
SEALED: Final = ("runs", "answers", "journal", "events", "documents", "run_documents", "evidence")


def seal_of(*columns: Column) -> int:
    """Return the seal of a row's columns."""
    # Python's own spelling tells kinds apart, and in ASCII it is the same in every version.
    return int.from_bytes(blake2b(ascii(columns).encode(), digest_size=8).digest(), "big", signed=True)


def is_sound(row: sqlite3.Row) -> bool:
    """Say whether a whole row is as it was written."""
    names = row.keys()
    return bool(seal_of(*(row[name] for name in names if name != _SEAL)) == row[_SEAL])


def teach_seals(connection: sqlite3.Connection) -> None:
    """Let the statements of a connection make seals."""
    connection.create_function("seal_of", -1, seal_of, deterministic=True)


def keep_seals(connection: sqlite3.Connection) -> None:
    """Seal every row that the connection writes, and refuse to change one that is damaged, which would seal the damage.

    The triggers are temporary: in the file they would bind everybody who opens it to our function.
    """
    for table in SEALED:
        names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})") if name != _SEAL]
        columns, old = ", ".join(names), ", ".join(f"OLD.{name}" for name in names)
        seal = f"UPDATE {table} SET {_SEAL} = seal_of({columns}) WHERE rowid = NEW.rowid;"
        connection.execute(f"CREATE TEMP TRIGGER {table}_added AFTER INSERT ON main.{table} BEGIN {seal} END")
        connection.execute(
            f"CREATE TEMP TRIGGER {table}_changed AFTER UPDATE OF {columns} ON main.{table} BEGIN {seal} END"
        )
        connection.execute(
            f"CREATE TEMP TRIGGER {table}_changing BEFORE UPDATE OF {columns} ON main.{table} "
            f"WHEN OLD.{_SEAL} <> seal_of({old}) BEGIN SELECT RAISE(ABORT, 'the row is damaged'); END"
        )
