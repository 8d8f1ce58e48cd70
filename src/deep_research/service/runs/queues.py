"""The queue that the settings name; the one in PostgreSQL is imported only where it is used, for it needs an extra."""

from deep_research.service.runs.run_queue import RunQueue, StoreQueue
from deep_research.settings import Settings
from deep_research.storage.store.store import Store


def open_queue(settings: Settings, store: Store) -> RunQueue:
    """Return the queue of these settings: in PostgreSQL where one is named, else the store itself."""
    if settings.database_url is None:
        return StoreQueue(store, lease_s=settings.lease_s)
    from deep_research.service.runs.procrastinate_queue import ProcrastinateQueue

    return ProcrastinateQueue(settings.database_url.get_secret_value(), store, lease_s=settings.lease_s)
