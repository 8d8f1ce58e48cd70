"""What state the database of the settings is in, and how it is brought up to date."""

from contextlib import closing
from typing import NamedTuple

from deep_research.errors import StoreCorrupt
from deep_research.service.database import open_server_database
from deep_research.service.runs.run_queue import open_queue
from deep_research.settings import Settings
from deep_research.storage.database.sqlite import connect_read_only, schema_number
from deep_research.storage.store.port import StoreSize
from deep_research.value import Strings
from deep_research.wiring import open_database, open_store
from deep_research.wiring.stores import store_database

_STORE, _SERVICE = "deep_research.storage.store", "deep_research.service"
# What only a database that hosts share has.
_SHARED = ("deep_research.documents.corpus", "deep_research.web.shared_limits", "deep_research.web.cache")


class DatabaseState(NamedTuple):
    """What `check_database` found; `checked` counts the blobs and documents that were held against their ids."""

    place: str
    schemas: dict[str, int]
    size: StoreSize
    clock_ahead_s: float
    checked: int
    damage: Strings


def schema_numbers(settings: Settings) -> dict[str, int]:
    """Return the number of each part's schema as it stands, 0 where it is not there; changes nothing."""
    if settings.database_url is None:
        files = {_STORE: settings.store_path, _SERVICE: settings.server_path}
        numbers = dict.fromkeys(files, 0)
        for part, path in files.items():
            if path.exists():
                with closing(connect_read_only(path)) as connection:
                    numbers[part] = schema_number(connection)
        return numbers
    numbers = {}
    for part in (_STORE, _SERVICE, *_SHARED):
        with closing(open_database(settings, part)) as database:
            numbers[part] = database.schema_number()
    return numbers


async def migrate_database(settings: Settings) -> None:
    """Bring the tables of all parts up to date; runs that wait or were cut off stay as they are."""
    store, server = open_store(settings), open_server_database(settings)
    queue = open_queue(settings, store)
    try:
        await store.size()
        await server.work(lambda _: None)
        # A queue makes its tables when it is first used.
        await queue.sweep()
    finally:
        await queue.close()
        await store.close()
        await server.close()
    for part in () if settings.database_url is None else _SHARED:
        with closing(open_database(settings, part)) as database:
            database.read(lambda _: None)


async def check_database(settings: Settings, *, is_full: bool) -> DatabaseState:
    """Look at the database; raise where it cannot be reached or written, list what is damaged."""
    with closing(store_database(settings)) as database:
        ahead_s = database.read(lambda session: session.clock_ahead_s())
        # Changes no row, but needs the rights to.
        database.write(lambda session: session.run("ask_to_stop", run="", now=""))
        documents = [row["id"] for row in database.ask("list_documents")] if is_full else []
        blobs = [row["id"] for row in database.ask("list_blobs")] if is_full else []
    store = open_store(settings)
    damage = []
    try:
        size = await store.size()
        runs = [run.id for run in await store.list_runs(limit=size.runs)]
        for get, names in (
            (store.list_calls, runs if is_full else ()),
            (store.get_document, documents),
            (store.get_blob, blobs),
        ):
            for name in names:
                try:
                    await get(name)
                except StoreCorrupt as exc:
                    damage.append(str(exc))
    finally:
        await store.close()
    if len(runs) < size.runs:
        damage.append(f"{size.runs - len(runs)} of {size.runs} runs cannot be read.")
    checked = len(documents) + len(blobs)
    return DatabaseState(database.location, schema_numbers(settings), size, ahead_s, checked, tuple(damage))
