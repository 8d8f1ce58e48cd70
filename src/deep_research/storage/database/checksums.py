"""Checksums: a sum over the columns of a row, stored beside them, by which a flipped byte is seen when the row is read.

Triggers of our own connections keep them; nobody else who changes a row can, and that is seen as well. PostgreSQL can
keep sums of its own, so that its rows have none.
"""

import marshal
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b

from deep_research.storage.database.port import Column, Row

CHECKSUM = "seal"
_CHECKSUM_FUNCTION = "seal_of"
_MARSHAL_FORMAT = 2
_TABLES_WITH_CHECKSUMS = """
SELECT tables.name FROM main.sqlite_master AS tables, pragma_table_info(tables.name) AS columns
WHERE tables.type = 'table' AND columns.name = ?
"""


def checksum_of(*columns: Column) -> int:
    """Return the checksum of a row's columns."""
    # This format tells kinds apart, is the same in every version of Python, and takes a third of the time of JSON.
    raw = marshal.dumps(columns, _MARSHAL_FORMAT)
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big", signed=True)


def is_sound(row: Row) -> bool:
    """Return whether a whole row is as it was written."""
    names = list(row.keys())
    return CHECKSUM not in names or bool(
        checksum_of(*(row[name] for name in names if name != CHECKSUM)) == row[CHECKSUM]
    )


def register_checksum(connection: sqlite3.Connection) -> None:
    """Let the statements of a connection compute checksums."""
    connection.create_function(_CHECKSUM_FUNCTION, -1, checksum_of, deterministic=True)


def maintain_checksums(connection: sqlite3.Connection) -> None:
    """Keep the checksum of every row that the connection writes to a table with checksums."""
    for (table,) in connection.execute(_TABLES_WITH_CHECKSUMS, [CHECKSUM]).fetchall():
        names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})") if name != CHECKSUM]
        for trigger in _checksum_triggers(table, names):
            connection.execute(trigger)


def _checksum_triggers(table: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return what sums up rows as they are written, and refuses to change a damaged one, which would hide the damage.

    The triggers are temporary: in the file they would bind everybody who opens it to our function.
    """
    columns, old = ", ".join(names), ", ".join(f"OLD.{name}" for name in names)
    update = f"UPDATE {table} SET {CHECKSUM} = {_CHECKSUM_FUNCTION}({columns}) WHERE rowid = NEW.rowid;"
    refusal = f"WHEN OLD.{CHECKSUM} <> {_CHECKSUM_FUNCTION}({old}) BEGIN SELECT RAISE(ABORT, 'the row is damaged'); END"
    return (
        f"CREATE TEMP TRIGGER {table}_added AFTER INSERT ON main.{table} BEGIN {update} END",
        f"CREATE TEMP TRIGGER {table}_changed AFTER UPDATE OF {columns} ON main.{table} BEGIN {update} END",
        f"CREATE TEMP TRIGGER {table}_changing BEFORE UPDATE OF {columns} ON main.{table} {refusal}",
    )
