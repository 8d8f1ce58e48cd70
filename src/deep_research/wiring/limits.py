"""Limits on calls to services that all processes share where they share a database."""

from deep_research.settings import Settings
from deep_research.web.shared_limits.postgres import SharedLimiter
from deep_research.wiring.stores import open_database

# By the address of the database: all runs of a process hold their slots together.
_known: dict[str, SharedLimiter] = {}


def shared_limiter(settings: Settings) -> SharedLimiter | None:
    """Return the limits that hold for all processes with the same PostgreSQL; None where none is named."""
    if settings.database_url is None:
        return None
    url = settings.database_url.get_secret_value()
    if url not in _known:
        _known[url] = SharedLimiter(open_database(settings, "deep_research.web.shared_limits"))
    return _known[url]
