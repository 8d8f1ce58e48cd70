"""Where a model is reached: whether that is this machine, and how to open a connection to it."""

from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from ssl import SSLContext

# A host that takes longer just to pick up is not there; the answer itself has the caller's time limits.
CONNECT_TIMEOUT_S: Final = 10.0


def host_of(address: str) -> str:
    """Return the host of an address, without user, password or path."""
    return urlsplit(address).hostname or ""


def is_local(address: str) -> bool:
    """Say whether an address lies on this machine."""
    host = host_of(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@cache
def trusted_authorities() -> "SSLContext":
    """Return the one TLS context of this process; making another for each call would cost 50 ms a call."""
    import ssl

    import certifi

    context = ssl.create_default_context()
    # Beside the system's own, because some systems give Python none.
    context.load_verify_locations(cafile=certifi.where())
    return context


def connection_options(address: str) -> dict[str, object]:
    """Return how to open an HTTP client: a proxy of the environment never stands before this machine itself.

    Redirects are not followed, because a provider's key would be sent along.
    """
    return {"verify": trusted_authorities(), "trust_env": not is_local(address), "follow_redirects": False}
