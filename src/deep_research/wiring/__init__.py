"""The only builder of adapters."""

from deep_research.wiring.adapters import build, open_store, parts_for

__all__ = ["build", "open_store", "parts_for"]
