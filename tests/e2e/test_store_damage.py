"""Flipped bytes in a store: what is read is what was written, or the store is said to be damaged. Never a trace."""

import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from deep_research.errors import StoreCorrupt
from deep_research.storage.database.checksums import CHECKSUM
from deep_research.storage.database.port import Column
from deep_research.storage.database.sqlite import SqliteFile, load_migrations
from deep_research.storage.store.rows import call_columns, json_column, run_columns, time_column
from deep_research.storage.store.store import Store
from tests.e2e.harness import Lab, User, assert_explained
from tests.support.store_samples import make_call, make_document, make_event, make_evidence, make_run, start_run

RUN, OTHER = "a1b2c3d4", "b2c3d4e5"
DOCUMENT = make_document("a text with a passage")
EVIDENCE = make_evidence(DOCUMENT, 0, 6, section="s1")
FLIPS = 60

READS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "list": lambda store: store.list_runs(limit=9),
    "run": lambda store: store.get_run(RUN),
    "answers": lambda store: store.get_answers(RUN),
    "journal": lambda store: store.list_calls(RUN),
    "call": lambda store: store.find_call(RUN, "3"),
    "events": lambda store: store.read_events(RUN),
    "addresses": lambda store: store.list_addresses(RUN),
    "document": lambda store: store.get_document(DOCUMENT.id),
    "evidence": lambda store: store.get_evidence(RUN, [EVIDENCE.id], sections=["s1"]),
}
TABLES = {
    "runs": "run",
    "answers": "answers",
    "journal": "journal",
    "events": "events",
    "documents": "document",
    "run_documents": "addresses",
    "evidence": "evidence",
}


async def _filled(path: Path) -> None:
    store = Store(SqliteFile(path))
    for run in (RUN, OTHER):
        lease = await start_run(store, run)
        for number in range(8):
            await store.record_call(lease, make_call(str(number), answer={"text": "回答 " * 20}))
            await store.append_events(lease, [make_event(str(number))])
        await store.put_answer(run, "ask", "yes")
        await store.put_document(lease, DOCUMENT, address="a")
        await store.put_evidence(lease, [EVIDENCE, make_evidence(DOCUMENT, 0, 6, section="s2")])
    await store.close()


async def _read(path: Path, *names: str) -> list[object]:
    """Return what a store answers; `StoreCorrupt` itself is an answer here."""
    store, answers = Store(SqliteFile(path)), []
    for name in names:
        try:
            answers.append(await READS[name](store))
        except StoreCorrupt as exc:
            answers.append(exc)
    await store.close()
    return answers


async def test_a_flipped_byte_anywhere_is_damage_or_does_not_matter(tmp_path):
    path = tmp_path / "store.db"
    await _filled(path)
    whole = path.read_bytes()
    expected = await _read(path, *READS)
    used = [at for at, byte in enumerate(whole) if byte or at % 4096 < 12]
    chance, outcomes = random.Random(14), []
    for at in chance.sample(used, FLIPS):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
        found = await _read(path, *READS)
        outcomes.append(any(isinstance(answer, StoreCorrupt) for answer in found))
        for name, answer, right in zip(READS, found, expected, strict=True):
            if isinstance(answer, list) and isinstance(right, list) and name == "list":
                assert [run for run in right if run in answer] == answer, f"byte {at}: a damaged run was listed"
            elif name == "call" and answer is None:
                # Who goes on with a run lists its journal first.
                assert isinstance(found[list(READS).index("journal")], StoreCorrupt), f"byte {at}: a call was lost"
            elif not isinstance(answer, StoreCorrupt):
                assert answer == right, f"byte {at}: {name}"
    assert FLIPS / 4 < sum(outcomes) < FLIPS, "half of them do not hit what is read"


_SEALED = "SELECT m.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE c.name = ?"


@pytest.mark.parametrize("table", TABLES)
async def test_a_column_that_was_changed_behind_our_back_is_damage(tmp_path, table):
    path = tmp_path / "store.db"
    await _filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert set(TABLES) == {name for (name,) in connection.execute(_SEALED, [CHECKSUM])}
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        changed = [name for _, name, _, _, _, place_in_key in columns if not place_in_key and name != "number"]
        for name in changed:
            before = connection.execute(f"SELECT rowid, {name} FROM {table}").fetchall()
            other = f"iif(typeof({name}) IN ('integer', 'real'), {name} + 1, coalesce({name}, '') || '0')"
            connection.execute(f"UPDATE {table} SET {name} = {other}")
            (answer,) = await _read(path, TABLES[table])
            assert f"table {table}" in str(answer), (name, answer)
            for row, value in before:
                connection.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (value, row))
            assert not isinstance((await _read(path, TABLES[table]))[0], StoreCorrupt)


async def test_damage_is_not_sealed_by_the_next_change(tmp_path):
    path = tmp_path / "store.db"
    store = Store(SqliteFile(path))
    lease = await start_run(store)
    await store.record_call(lease, make_call("k", state="failed"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute('UPDATE journal SET error = \'{"name":"other"}\'')
    with pytest.raises(StoreCorrupt):
        await store.supersede_calls(lease, ["k"])
    await store.close()


async def test_the_store_of_the_last_release_is_sealed_as_it_stands(tmp_path):
    path = tmp_path / "store.db"
    _write_old_store(path)
    store = Store(SqliteFile(path))
    assert await store.get_run(RUN) == make_run()
    assert await store.list_calls(RUN) == [make_call("k")]
    assert [event.key for event in await store.read_events(RUN)] == ["e"]
    await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE journal SET answer = '1'")
    (answer,) = await _read(path, "journal")
    assert "table journal, key k" in str(answer)


def _write_old_store(path: Path) -> None:
    run, call, event = run_columns(make_run()), call_columns(make_call("k")), make_event("e")
    tables: dict[str, dict[str, Column]] = {
        "runs": run,
        "journal": call | {"run": RUN, "number": 1},
        "events": {
            "run": RUN,
            "seq": 1,
            "at": time_column(event.at),
            "kind": event.kind,
            "key": "e",
            "data": json_column(event.data),
        },
    }
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number in (1, 2):
            for statement in load_migrations("deep_research.storage.store")[number]:
                connection.execute(statement)
        for table, given in tables.items():
            there = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
            columns = {name: value for name, value in given.items() if name in there}
            marks = ", ".join(f":{name}" for name in columns)
            connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", columns)


def test_a_flipped_byte_in_an_answer_ends_a_retry_with_the_way_out(tmp_path):
    user = User(tmp_path)
    row = Lab(user).ask()
    path = user.home / "store.db"
    raw = path.read_bytes()
    at = raw.index(b'"tokens":')
    path.write_bytes(raw[: at + 1] + b"4" + raw[at + 2 :])
    said = assert_explained(user.call("runs", "retry", row.id), 70)
    assert "damaged" in said
