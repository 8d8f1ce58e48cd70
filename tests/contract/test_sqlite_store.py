"""The SQLite store passes the suite of its port."""

from pathlib import Path

import pytest

from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.store import OpenStore, Store
from tests.support.faults import FaultyStore
from tests.support.store_suite import StoreConformance


class TestStoreInAFile(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return lambda: Store(SqliteFile(tmp_path / "new folder" / "store.db"))


class TestFaultyStoreThatNeverFails(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return lambda: FaultyStore(Store(SqliteFile(tmp_path / "store.db")), at=0, fault="fail")
