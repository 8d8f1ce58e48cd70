"""The PostgreSQL store passes the suite of its port, and lists a few of many runs with one query."""

from datetime import timedelta

import pytest

from deep_research.storage.store.port import RunChoice
from deep_research.storage.store.store import OpenStore, Store
from tests.support.store_samples import START, make_run
from tests.support.store_suite import StoreConformance

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

import psycopg

from deep_research.storage.database.port import Column, Row
from deep_research.storage.database.postgres import PostgresDatabase, PostgresSession

_MANY = 10_000


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def open_store(self, database_url: str) -> OpenStore:
        return lambda: Store(PostgresDatabase(database_url))


@pytest.mark.asyncio
async def test_twenty_of_ten_thousand_runs_take_one_query_that_an_index_answers(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[str] = []
    ask = PostgresSession.all

    def explained(session: PostgresSession, query: str, **values: Column) -> list[Row]:
        statement = session.statements[query]
        found = session.connection.execute(f"EXPLAIN {statement}", values).fetchall()
        plans.append("\n".join(line["QUERY PLAN"] for line in found))
        return ask(session, query, **values)

    store = Store(PostgresDatabase(database_url))
    try:
        await store.create_run(make_run("run-first"))
        _copy_run(database_url, "run-first")
        monkeypatch.setattr(PostgresSession, "all", explained)
        before = (START + timedelta(days=9999), "")
        for choice, count in (
            (None, 20),
            (RunChoice(before=before), 20),
            (RunChoice(user="ann"), 20),
            (RunChoice(user="rare"), 2),
            (RunChoice(user="rare", before=before), 2),
        ):
            plans.clear()
            assert len(await store.list_runs(limit=20, choice=choice)) == count
            (plan,) = plans
            assert "Seq Scan" not in plan, plan
            assert ("runs_by_user" if choice and choice.user == "rare" else "runs_by_") in plan, plan
    finally:
        await store.close()


def _copy_run(url: str, run: str) -> None:
    """Copy a run many times, a second older each; two of the copies belong to a user with no others."""
    changed = {
        "id": "'copy-' || n",
        "created_at": "to_char(timestamp '2020-01-01' + n * interval '1 s', 'YYYY-MM-DD\"T\"HH24:MI:SS')",
        "user": "CASE WHEN n % 5000 = 7 THEN 'rare' ELSE 'ann' END",
    }
    with psycopg.connect(url, autocommit=True) as connection:
        columns = [
            name
            for (name,) in connection.execute(
                "SELECT column_name FROM information_schema.columns "
                "WHERE table_schema = 'deep_research' AND table_name = 'runs' AND is_identity = 'NO'"
            )
        ]
        names = ", ".join(f'"{name}"' for name in columns)
        values = ", ".join(changed.get(name, f'"{name}"') for name in columns)
        connection.execute(
            f"INSERT INTO deep_research.runs ({names}) SELECT {values} FROM deep_research.runs, "
            f"generate_series(1, {_MANY}) AS n WHERE id = '{run}'".encode()
        )
        connection.execute("ANALYZE deep_research.runs")
