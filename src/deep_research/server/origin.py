"""How a request reached the server, and whether a page of somebody else's site is behind it.

A server on loopback is within reach of every page that the same browser shows. Two checks keep those out, with or
without accounts: the Host header must name this server (a name that an attacker points at 127.0.0.1 is none of its
names), and the page that browsers name (Origin, Sec-Fetch-Site) must be one of its own. No answer carries CORS headers,
so that no other page can read one either.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.types import Scope

_AUTHORITY = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class ClientConnection:
    """How a request came: the scheme and host that its user sees, the user's address, and what stands in between.

    `name` is the host without its port; `is_local` says that both ends are on this machine, without a proxy.
    """

    scheme: str
    authority: str
    name: str
    address: str
    own_address: str
    is_local: bool

    @property
    def is_private(self) -> bool:
        """Whether nobody on the way can read along: TLS, or a connection that does not leave the user's machine."""
        return self.scheme == "https" or is_loopback(self.name)


def connection_of(scope: Scope, *, behind_proxy: bool) -> ClientConnection | None:
    """Return how a request came; None where its Host header is missing, doubled or none.

    What a proxy says of the user is believed only where settings say that there is one: it appended the last entry.
    """
    headers = Headers(scope=scope)
    hosts = headers.getlist("host")
    parts = _AUTHORITY.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
    if parts is None:
        return None
    scheme = str(scope.get("scheme", "http"))
    address, own_address = _host_of(scope.get("client")), _host_of(scope.get("server"))
    is_forwarded = any(name in headers for name in _FORWARDED)
    is_local = is_loopback(address) and is_loopback(own_address) and not is_forwarded
    if behind_proxy:
        address = _last(headers, "x-forwarded-for") or address
        scheme = _last(headers, "x-forwarded-proto").lower() or scheme
    port = parts["port"]
    authority = parts["name"] if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{parts['name']}:{port}"
    return ClientConnection(
        scheme=scheme,
        authority=authority,
        name=parts["name"],
        address=address,
        own_address=own_address,
        is_local=is_local,
    )


def is_our_name(connection: ClientConnection, allowed: Sequence[str]) -> bool:
    """Return whether the Host header names this server: a loopback name, the address that was called, or a setting."""
    if is_loopback(connection.name) or {connection.name, connection.authority} & set(allowed):
        return True
    own = _ip(connection.own_address)
    return own is not None and _ip(connection.name) == own


def is_own_page(connection: ClientConnection, method: str, headers: Headers) -> bool:
    """Return whether a request comes from no page at all, from one of our own, or by following a link."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin not in (None, "null") and origin != f"{connection.scheme}://{connection.authority}":
        return False
    if site is None:
        return origin != "null"
    is_link = (
        method in ("GET", "HEAD")
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    return site in ("same-origin", "none") or is_link


def is_proven_own_page(headers: Headers) -> bool:
    """Return whether a browser says that one of our own pages sent a request that `is_own_page` has let through."""
    return headers.get("sec-fetch-site") == "same-origin" or headers.get("origin") not in (None, "null")


def is_loopback(name: str) -> bool:
    """Return whether a host is this machine by its name alone, whatever name servers say."""
    ip = _ip(name)
    return name == "localhost" if ip is None else ip.is_loopback


def _ip(name: str) -> IPv4Address | IPv6Address | None:
    try:
        ip = ip_address(name.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return (ip.ipv4_mapped or ip) if isinstance(ip, IPv6Address) else ip


def _host_of(end: Sequence[object] | None) -> str:
    return str(end[0]) if end else ""


def _last(headers: Headers, name: str) -> str:
    """Return the last entry of a list that proxies append to."""
    return ",".join(headers.getlist(name)).rpartition(",")[2].strip()
