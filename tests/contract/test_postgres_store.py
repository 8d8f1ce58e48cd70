"""The PostgreSQL store passes the suite of its port."""

import pytest

from deep_research.store.port import OpenStore
from deep_research.store.sql_store import SqlStore
from tests.support.store_suite import StoreConformance

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

from deep_research.store.postgres import PostgresDatabase


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def open_store(self, database_url: str) -> OpenStore:
        return lambda: SqlStore(PostgresDatabase(database_url))
