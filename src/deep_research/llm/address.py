"""Where a model is reached: its host and port, and whether that is this machine."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def host_of(address: str) -> str:
    """Return the host of an address, without user, password or path."""
    return urlsplit(address).hostname or ""


def display_host(address: str) -> str:
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
