"""The store of all runs, and in the PostgreSQL that the settings name: the tables of a package, and shared limits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deep_research.errors import ConfigurationError
from deep_research.settings import Settings, load_settings
from deep_research.settings.types import S3
from deep_research.storage.database.port import Database
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.blobs import BlobStorage, FolderBlobs
from deep_research.storage.store.port import RunRow
from deep_research.storage.store.store import Store
from deep_research.web.shared_limits.postgres import SharedLimiter

if TYPE_CHECKING:
    from deep_research.storage.database.postgres import Isolation, PostgresDatabase


# By the address of the database: all runs of a process hold their slots together.
_limiters: dict[str, SharedLimiter] = {}


def open_store(settings: Settings) -> Store:
    """Return the store of all runs: on PostgreSQL where one is named, else in a file."""
    return Store(store_database(settings), blobs=_blob_storage(settings))


@asynccontextmanager
async def opened_store(settings: Settings | None = None) -> AsyncIterator[tuple[Store, Settings]]:
    """Open the store of these settings, or of those in force, which come with it, and close it at the end."""
    settings = settings or load_settings()
    store = open_store(settings)
    try:
        yield store, settings
    finally:
        await store.close()


async def read_run(run: str, *, settings: Settings | None = None) -> RunRow:
    """Return a run by its id or its first characters: where it stands, what was asked, what it waits for."""
    async with opened_store(settings) as (store, _):
        return await store.get_run(run)


def store_database(settings: Settings) -> Database:
    """Return the tables of the store."""
    if settings.database_url is None:
        return SqliteFile(settings.store_path, busy_timeout_s=settings.store_busy_timeout_s)
    return open_database(settings)


def _blob_storage(settings: Settings) -> BlobStorage | None:
    """Return where large content lies outside the database, if it does."""
    if not settings.blobs.startswith(S3):
        return FolderBlobs(Path(settings.blobs)) if settings.blobs else None
    try:
        from deep_research.storage.store.s3 import S3Blobs
    except ImportError as exc:
        raise ConfigurationError("Content in S3 needs an extra: pip install 'deep-research[s3]'") from exc
    return S3Blobs(settings.blobs, endpoint=settings.blobs_endpoint)


def open_database(
    settings: Settings,
    package: str = "deep_research.storage.store",
    *,
    isolation: "Isolation" = "READ COMMITTED",
    patience_s: float | None = None,
) -> "PostgresDatabase":
    """Return the tables of a package in the PostgreSQL that is named."""
    try:
        from deep_research.storage.database.postgres import PostgresDatabase
    except ImportError as exc:
        raise ConfigurationError("PostgreSQL needs an extra: pip install 'deep-research[postgres]'") from exc
    url = settings.database_url.get_secret_value() if settings.database_url else ""
    return PostgresDatabase(
        url,
        package=package,
        isolation=isolation,
        busy_timeout_s=settings.store_busy_timeout_s,
        patience_s=patience_s,
        max_connections=settings.database_connections,
    )


def shared_limiter(settings: Settings) -> SharedLimiter | None:
    """Return the limits on calls to services for all processes with the same PostgreSQL; None where none is named."""
    if settings.database_url is None:
        return None
    url = settings.database_url.get_secret_value()
    if url not in _limiters:
        _limiters[url] = SharedLimiter(open_database(settings, "deep_research.web.shared_limits"))
    return _limiters[url]
