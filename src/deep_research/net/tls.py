"""Whom this process trusts to vouch for a server. Loads what that needs when it is first asked."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLContext


@cache
def trusted_authorities() -> "SSLContext":
    """Return the one TLS context of this process; making another for each call would cost 50 ms a call."""
    import ssl

    import certifi

    context = ssl.create_default_context()
    # Beside the system's own, because some systems give Python none.
    context.load_verify_locations(cafile=certifi.where())
    return context
