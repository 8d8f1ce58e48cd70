"""Moves what a home holds in SQLite files to PostgreSQL: every row of every table, or nothing; then uploaded files.

Begun again after it was cut off, it finds what is there already; a row that is there with other content is refused.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from graphlib import TopologicalSorter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deep_research.documents.corpus.address import address_of
from deep_research.documents.corpus.stored import StoredFiles
from deep_research.errors import RunHeld, StoreCorrupt, UsageError
from deep_research.request import COLLECTION
from deep_research.settings import Settings
from deep_research.storage.database.checksums import CHECKSUM, register_checksum
from deep_research.storage.database.sqlite import SqliteFile, connect_read_only
from deep_research.storage.store.lease import Owner, current_owner, holds_lease
from deep_research.storage.store.rows import require_sound
from deep_research.value import JsonObject, canonical_json, json_of
from deep_research.wiring import open_database

if TYPE_CHECKING:
    from deep_research.storage.database.postgres import PostgresConnection

_COLLECTION_ID = re.compile("[0-9a-f]{32}")
# Failed tries to sign in count for minutes only.
_LEFT_BEHIND = frozenset({"failed_sign_ins"})
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_COLUMNS = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = current_schema() AND NOT (table_name = 'runs' AND is_identity = 'YES') ORDER BY ordinal_position
"""
_REFERENCES = """
SELECT conrelid::regclass::text AS child, confrelid::regclass::text AS parent FROM pg_constraint WHERE contype = 'f'
"""
_NUMBERED = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND is_identity = 'YES' AND table_name <> 'runs'
"""


async def copy_home(settings: Settings, home: Path) -> dict[str, int]:
    """Copy all rows and uploaded files of a home to the PostgreSQL of the settings; return how many of each table."""
    counts: dict[str, int] = {}
    for file, package in (
        (home / "store.db", "deep_research.storage.store"),
        (home / "server.db", "deep_research.service"),
    ):
        if not file.exists():
            continue
        with closing(SqliteFile(file, package=package)) as older:
            # What an older version wrote is brought up to date.
            older.read(lambda _: None)
        with closing(connect_read_only(file)) as source:
            register_checksum(source)
            source.execute("BEGIN")
            if package == "deep_research.storage.store":
                _require_at_rest(source)
            with closing(open_database(settings, package)) as target:
                counts |= target.change(partial(_copy_tables, source))
            if package == "deep_research.service":
                counts["uploaded files"] = _copy_uploads(source, settings, home / "uploads")
    if not counts:
        raise UsageError(f"{home} holds no store.db and no server.db.")
    return counts


def _require_at_rest(source: sqlite3.Connection) -> None:
    for row in source.execute("SELECT id, owner FROM runs WHERE owner IS NOT NULL"):
        if holds_lease(Owner.model_validate_json(row["owner"]), current_owner(), lease_s=30.0):
            raise RunHeld(f"Run {row['id']} is being worked on: end that process, or wait for it.")


def _copy_uploads(source: sqlite3.Connection, settings: Settings, uploads: Path) -> int:
    """Copy the content of uploaded files, with its times: begun again, it leaves the same."""
    files = source.execute("SELECT collection, name, digest FROM files").fetchall()
    for row in files:
        path = uploads / row["collection"] / row["name"]
        raw = path.read_bytes() if path.is_file() else b""
        if sha256(raw).hexdigest() != row["digest"]:
            raise StoreCorrupt(f"The uploaded file {path} is missing or was changed: put it back, and copy again.")
        collection = StoredFiles(
            Path(f"{COLLECTION}{row['collection']}"), lambda: open_database(settings, "deep_research.documents.corpus")
        )
        collection.put(address_of(row["name"]), raw, path.stat().st_mtime_ns)
    return len(files)


def _copy_tables(source: sqlite3.Connection, target: "PostgresConnection") -> dict[str, int]:
    columns: dict[str, dict[str, str]] = {}
    for row in target.execute(_COLUMNS).fetchall():
        columns.setdefault(row["table_name"], {})[row["column_name"]] = row["data_type"]
    before: dict[str, set[str]] = {}
    for row in target.execute(_REFERENCES).fetchall():
        before.setdefault(row["child"], set()).add(row["parent"])
    present = {row["name"] for row in source.execute(_TABLES)} - _LEFT_BEHIND
    order = TopologicalSorter({name: before.get(name, set()) for name in sorted(present)}).static_order()
    counts = {name: _copy_table(source, target, name, columns[name]) for name in order if name in present}
    for row in target.execute(_NUMBERED).fetchall():
        table, column = row["table_name"], row["column_name"]
        target.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), "
            f'coalesce(max("{column}"), 0) + 1, FALSE) FROM "{table}"'
        )
    return counts


def _copy_table(source: sqlite3.Connection, target: "PostgresConnection", table: str, kinds: dict[str, str]) -> int:
    names = ", ".join(f'"{name}"' for name in kinds)
    placeholders = ", ".join(["%s"] * len(kinds))
    same = " AND ".join(f'"{name}" IS NOT DISTINCT FROM %s::{kind}' for name, kind in kinds.items())
    insert = f'INSERT INTO "{table}" ({names}) OVERRIDING SYSTEM VALUE VALUES ({placeholders}) ON CONFLICT DO NOTHING'
    count = 0
    for values in _rows(source, table, kinds):
        count += 1
        if target.execute(insert, values).rowcount:
            continue
        if not target.execute(f'SELECT 1 FROM "{table}" WHERE {same}', values).fetchall():
            raise UsageError(
                f"The database holds another row of {table} under the key {values[0]}: name an empty database."
            )
    return count


def _rows(source: sqlite3.Connection, table: str, kinds: dict[str, str]) -> Iterator[list[Any]]:
    """Yield the rows of a table, each as it was written, in the columns and kinds of the target."""
    found = source.execute(f'SELECT * FROM "{table}"')
    own = {name for name, *_ in found.description} - {CHECKSUM}
    if missing := own - set(kinds):
        raise StoreCorrupt(
            f"The table {table} has columns that PostgreSQL does not have: {', '.join(sorted(missing))}."
        )
    for row in found:
        require_sound(row, table, str(row[0]))
        values = {
            name: bool(row[name]) if kind == "boolean" and row[name] is not None else row[name]
            for name, kind in kinds.items()
        }
        if table == "runs":
            values["request"] = _with_collections(row["request"])
        yield list(values.values())


def _with_collections(request: str) -> str:
    """Return a run's request that names uploaded files as the database does, and not by the folder of a home."""
    asked = cast("JsonObject", json_of(request))
    folders = {name: Path(str(asked.get(name) or "")) for name in ("docs", "also_docs")}
    moved = {
        name: f"{COLLECTION}{folder.name}"
        for name, folder in folders.items()
        if folder.parent.name == "uploads" and _COLLECTION_ID.fullmatch(folder.name)
    }
    return canonical_json(asked | moved) if moved else request
