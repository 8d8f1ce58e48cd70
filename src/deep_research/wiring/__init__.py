"""The only builder of adapters."""

from deep_research.wiring.adapters import adapters_for, build
from deep_research.wiring.stores import open_database, open_store

__all__ = ["adapters_for", "build", "open_database", "open_store"]
