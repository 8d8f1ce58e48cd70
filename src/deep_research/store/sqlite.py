"""The store on one SQLite file."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from deep_research.database.sqlite import SqliteFile
from deep_research.store.blobs import BlobStorage
from deep_research.store.sql_store import SqlStore


class SqliteStore(SqlStore):
    """All runs of one user in one file."""

    def __init__(
        self,
        path: Path,
        *,
        busy_timeout_s: float = 30.0,
        blobs: BlobStorage | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(SqliteFile(path, busy_timeout_s=busy_timeout_s), blobs=blobs, clock=clock)
