"""Whom this process trusts to vouch for a server. Loads what that needs when it is first asked."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLContext


@cache
def trusted_authorities() -> "SSLContext":
    """Return the TLS context that all services share; making another for each call would cost 50 ms a call."""
    return new_context()


def new_context() -> "SSLContext":
    """Return a TLS context of its own, for HTTP libraries that change the one they are given."""
    import ssl

    import certifi

    context = ssl.create_default_context()
    # Beside the system's own, because some systems give Python none.
    context.load_verify_locations(cafile=certifi.where())
    return context
