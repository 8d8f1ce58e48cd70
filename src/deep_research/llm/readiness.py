"""Whether a model could be asked at all: its name, key and address."""

import socket
from urllib.parse import urlsplit

from deep_research.errors import ConfigurationError
from deep_research.llm.address import endpoint_of
from deep_research.llm.registry import ModelName


def require_ready(name: ModelName, *, address: str, key: str) -> None:
    """Raise `ConfigurationError` where something is missing that a call would need."""
    provider = name.provider
    if not name.model:
        raise ConfigurationError().with_message("fault.no_model", provider=provider.name)
    if provider.needs_key and not key:
        raise ConfigurationError().with_message("fault.no_key", provider=provider.name, variable=provider.key_variable)
    if not key.isascii() or not key.isprintable() or key != key.strip():
        raise ConfigurationError().with_message("fault.bad_key", provider=provider.name, variable=provider.key_variable)
    if not _is_address(address):
        raise ConfigurationError().with_message("fault.bad_address", setting=f"{provider.setting}_address")


def is_answered(address: str) -> bool:
    """Return whether a server answers at an address; only asked of this machine, so that nothing leaves it."""
    try:
        # A server on this machine answers at once.
        with socket.create_connection(endpoint_of(address), timeout=1.0):
            return True
    except OSError:
        return False


def _is_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
