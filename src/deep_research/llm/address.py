"""Where a model is reached: whether that is this machine, and how to open a connection to it."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from deep_research.net.tls import trusted_authorities

# A host that takes longer just to pick up is not there; the answer itself has the caller's time limits.
CONNECT_TIMEOUT_S = 10.0
# How many calls are under way is limited elsewhere; a connection that is free stays for the next call.
UNLIMITED = {"max_connections": None, "max_keepalive_connections": None}


def host_of(address: str) -> str:
    """Return the host of an address, without user, password or path."""
    return urlsplit(address).hostname or ""


def place_of(address: str) -> str:
    """Return host and port of an address, as messages show it."""
    host, port = endpoint_of(address)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def endpoint_of(address: str) -> tuple[str, int]:
    """Return host and port of an address; the port is the scheme's own where none is given."""
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def is_local(address: str) -> bool:
    """Return whether an address lies on this machine."""
    host = host_of(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def connection_options(address: str) -> dict[str, object]:
    """Return how to open an HTTP client: a proxy of the environment never stands before this machine itself.

    Redirects are not followed, because a provider's key would be sent along.
    """
    return {"verify": trusted_authorities(), "trust_env": not is_local(address), "follow_redirects": False}
