"""Which addresses may be opened: decided from the address alone, before any name is looked up or any socket opened.

The guard reads an address once, strictly, and hands on what it read, so that nothing after it can read it differently.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal
from unicodedata import category
from urllib.parse import quote

import idna

from deep_research.errors import AddressRefused
from deep_research.value import Value

IpAddress = IPv4Address | IPv6Address
_WEB_PORTS = frozenset({80, 443, 8080, 8443})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_CHARACTERS = 8192
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<target>[^#]*)(?:#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{0,5}))?")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
# The last part of a name that the system, or a browser, would read as part of a number.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_TARGET_SAFE = "!$&'()*+,;=:@/?-._~%[]"

# IANA's registries of special-purpose addresses; the standard library's own tables differ between patch releases.
_REFUSED_NETWORKS = tuple(
    (ip_network(network), why)
    for why, networks in {
        "this machine": "0.0.0.0/8 127.0.0.0/8 ::/128 ::1/128",
        "a private network": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
        "a provider's inner network": "100.64.0.0/10",
        "a cloud's inner services": "168.63.129.16/32",
        "the local link, where clouds keep their secrets": "169.254.0.0/16",
        "the local link": "fe80::/10",
        "a reserved network": "192.0.0.0/24 240.0.0.0/4 3ffe::/16",
        "a network for documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
        "a network for benchmarks": "198.18.0.0/15",
        "a tunnel": "192.88.99.0/24 2002::/16",
        "a tunnel or a reserved network": "2001::/23",
        "many machines at once": "224.0.0.0/4 ff00::/8",
        "an IPv4 address in disguise": "::/96 ::ffff:0:0/96",
    }.items()
    for network in networks.split()
)
_PUBLIC_IPV6 = IPv6Network("2000::/3")
# What a network without IPv4 makes of a public IPv4 address; its last 32 bits are that address.
_NAT64 = IPv6Network("64:ff9b::/96")

_LOCAL_ENDINGS = frozenset(
    "alt arpa consul corp example home i2p internal intranet invalid lan local localdomain localhost onion private svc "
    "test".split()
)
_METADATA_ENDINGS = (
    ".metadata.goog",
    ".metadata.packet.net",
    ".metadata.platformequinix.com",
    ".metadata.tencentyun.com",
)


class WebAddress(Value):
    """An address as the guard read it: `host` in ASCII and without brackets, `target` percent-encoded."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as the Host header spells them."""
        host = _in_brackets(self.host)
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def text(self) -> str:
        """The whole address, without fragment."""
        return self.origin + self.target


class Guard:
    """Lets public web addresses pass, and the internal hosts that the settings name.

    `allowed` holds `host`, for the usual ports, or `host:port`.
    """

    def __init__(self, *, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(map(allowed_host, allowed))

    def check(self, address: str) -> WebAddress:
        """Return the address as it is to be opened, or raise `AddressRefused`."""
        read = _read(address)
        if not self.allows(read.host, read.port):
            if read.port not in _WEB_PORTS:
                raise _refused("its port is none of the web's")
            literal = ip_literal(read.host)
            if literal is None:
                _check_name(read.host)
            else:
                check_ip(literal)
        return read

    def allows(self, host: str, port: int) -> bool:
        """Return whether the settings allow this host, wherever it lies."""
        name = _in_brackets(host)
        return f"{name}:{port}" in self._allowed or (port in _WEB_PORTS and name in self._allowed)


def allowed_host(entry: str) -> str:
    """Return the one spelling of an allowed host, `host` or `host:port`; `ValueError` says why one can never match.

    People paste addresses: one that names a host and nothing else is taken as that host.
    """
    text = entry.strip()
    scheme, mark, rest = text.partition("://")
    if mark and scheme.lower() not in _DEFAULT_PORTS:
        raise ValueError(f"only http and https addresses are fetched, not {scheme}://")
    authority_text, _, target = (rest if mark else text).partition("/")
    if target.isdigit() and ip_literal(authority_text.strip("[]")):
        raise ValueError("networks are not compared, only single hosts: name each host")
    if target:
        raise ValueError("only the host is compared, no path: write the host alone")
    if not authority_text:
        raise ValueError("it is empty")
    if "*" in authority_text:
        raise ValueError("hosts are compared whole, without *: name each host")
    if "@" in authority_text:
        raise ValueError("it names a user: write the host alone")
    if "%" in authority_text:
        raise ValueError("it is written in a misleading way")
    with suppress(ValueError):
        authority_text = _in_brackets(str(IPv6Address(authority_text)))
    parts = _AUTHORITY.fullmatch(authority_text)
    if parts is None:
        raise ValueError(
            "its host and port cannot be told apart: write host or host:port, and an IPv6 address as [::1]"
        )
    try:
        host = _in_brackets(_plain_host(parts["host"]))
    except AddressRefused as exc:
        raise ValueError(str(exc).rpartition(": ")[2].rstrip(".")) from None
    if parts["port"] and not 0 < int(parts["port"]) < 65_536:
        raise ValueError("its port is none")
    return f"{host}:{int(parts['port'])}" if parts["port"] else host


def check_ip(ip: IpAddress) -> None:
    """Raise `AddressRefused` unless the address is a public one."""
    if isinstance(ip, IPv6Address) and ip in _NAT64:
        ip = IPv4Address(int(ip) & 0xFFFFFFFF)
    for network, why in _REFUSED_NETWORKS:
        if ip in network:
            raise _refused(f"it leads to {why}")
    if isinstance(ip, IPv6Address) and ip not in _PUBLIC_IPV6:
        raise _refused("it leads to a reserved network")


def ip_literal(host: str) -> IpAddress | None:
    """Return the IP address that a host as the guard read it spells, or None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _read(address: str) -> WebAddress:
    if len(address) > _MAX_CHARACTERS:
        raise _refused("it is too long")
    if any(category(character) in ("Cc", "Cs") for character in address):
        raise _refused("it holds control characters")
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        raise _refused("it is no http or https address")
    scheme: Literal["http", "https"] = "https" if parts["scheme"].lower() == "https" else "http"
    authority = parts["authority"]
    if "@" in authority:
        raise _refused("it names a user")
    if "%" in authority:
        raise _refused("its host is written in a misleading way")
    authority_text = _AUTHORITY.fullmatch(authority)
    if authority_text is None:
        raise _refused("its host and port cannot be told apart")
    port = int(authority_text["port"] or _DEFAULT_PORTS[scheme])
    target = quote(parts["target"], safe=_TARGET_SAFE)
    target = target if target.startswith("/") else f"/{target}"
    return WebAddress(scheme=scheme, host=_plain_host(authority_text["host"]), port=port, target=target)


def _plain_host(host: str) -> str:
    """Return the one spelling of a host: an IP address in its canonical form, or a name in ASCII."""
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError as exc:
            raise _refused("what stands in brackets is no IPv6 address") from exc
    try:
        name = host.lower() if host.isascii() else idna.encode(host, uts46=True).decode("ascii").lower()
    except idna.IDNAError as exc:
        raise _refused("its host is no valid name") from exc
    labels = name.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(name))
        except ValueError as exc:
            raise _refused("its host is a number in an unusual notation") from exc
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused("its host is no valid name")
    return ".".join(labels)


def _check_name(host: str) -> None:
    labels = host.split(".")
    if len(labels) == 1 or labels[-1] in _LOCAL_ENDINGS:
        raise _refused("its host is a name for local use")
    if f".{host}".endswith(_METADATA_ENDINGS):
        raise _refused("its host keeps a cloud's secrets")


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _refused(why: str) -> AddressRefused:
    return AddressRefused(f"The address was refused: {why}.")
