"""The SQLite store passes the suite of its port."""

from pathlib import Path

import pytest

from deep_research.store.port import OpenStore
from deep_research.store.sqlite import SqliteStore
from tests.support.faults import FaultyStore
from tests.support.store_suite import StoreConformance


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return lambda: SqliteStore(tmp_path / "new folder" / "store.db")


class TestFaultyStoreThatNeverFails(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return lambda: FaultyStore(SqliteStore(tmp_path / "store.db"), at=0, fault="fail")
