"""The guarded HTTP client: the only way to open an address that came from a page, a search result or a model.

Judges addresses, sizes and times, never what a page says; retries, robots.txt and caches are the fetcher's.

The dialer is the one place that opens a socket for a page: it looks the name up, checks all answers and connects to one
of them. These are one step, so that a name cannot change its address between check and use.
"""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self
from urllib.parse import urljoin
from weakref import WeakValueDictionary

import h2.exceptions
import httpcore2

from deep_research.errors import AddressRefused, NetworkError, SourceBusy, SourceError
from deep_research.value import Value
from deep_research.web.net.body import ACCEPTED_ENCODINGS, BodyReader, too_large
from deep_research.web.net.guard import Guard, IpAddress, WebAddress, check_ip, ip_literal
from deep_research.web.net.headers import PROJECT_ADDRESS, retry_after_s, user_agent
from deep_research.web.net.tls import new_context

Addresses = tuple[IpAddress, ...]
# Gives the addresses of a host at a port, the preferred one first, or raises `NetworkError`.
Resolver = Callable[[str, int], Awaitable[Addresses]]
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})
_KEEPALIVE_S = 15.0
# These were meant for the host that was asked first.
_PERSONAL_HEADERS = frozenset({"authorization", "cookie"})


BeforeHop = Callable[[str], Awaitable[object]]


async def resolved_by_system(host: str, port: int, *, timeout_s: float = 5.0) -> Addresses:
    """Return what the system says, as to every other program; the look-up is left behind when its time is over."""
    loop = asyncio.get_running_loop()
    resolved: asyncio.Future[Addresses] = loop.create_future()

    def set_result(found: Addresses) -> None:
        if not resolved.done():
            resolved.set_result(found)

    def resolve_in_thread() -> None:
        found = _resolve(host, port)
        # The loop may be gone by the time a slow name server answers.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(set_result, found)

    # A thread of its own and a daemon: the system's look-up cannot be cancelled, and must hold up neither the look-ups
    # of other names nor the end of the process.
    threading.Thread(target=resolve_in_thread, name="look-up", daemon=True).start()
    try:
        async with asyncio.timeout(timeout_s):
            found = await resolved
    except TimeoutError as exc:
        raise NetworkError(f"The name {host} could not be looked up within {timeout_s:g} s.") from exc
    if not found:
        raise NetworkError(f"The name {host} is not known.")
    return found


def _resolve(host: str, port: int) -> Addresses:
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(ip_address(str(socket_address[0])) for *_, socket_address in infos))


_MAX_TRIES = 3


@dataclass
class Dialer(httpcore2.AsyncNetworkBackend):
    """Connects to checked IP addresses only; the HTTP library above keeps the name for TLS and the Host header."""

    guard: Guard
    resolver: Resolver
    network: httpcore2.AsyncNetworkBackend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 the HTTP library's own interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of the host that answers; the tries share the time."""
        addresses = (await self._checked_addresses(host, port))[:_MAX_TRIES]
        each_s = timeout and timeout / len(addresses)

        async def dial(ip: IpAddress) -> httpcore2.AsyncNetworkStream:
            return await self.network.connect_tcp(str(ip), port, each_s, local_address, socket_options)

        for ip in addresses[:-1]:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await dial(ip)
        return await dial(addresses[-1])

    async def _checked_addresses(self, host: str, port: int) -> Addresses:
        literal = ip_literal(host)
        addresses = (literal,) if literal else await self.resolver(host, port)
        if not self.guard.allows(host, port):
            for ip in addresses:
                check_ip(ip)
        return addresses


class ClientLimits(Value):
    """What one page may cost, and how many connections may be open; `total_s` counts from when it has a slot."""

    connect_s: float = 10.0
    read_s: float = 15.0
    total_s: float = 45.0
    redirects: int = 5
    max_bytes: int = 20 * 1024 * 1024
    max_decoded_bytes: int = 40 * 1024 * 1024
    max_header_bytes: int = 64 * 1024
    connections: int = 50
    connections_per_host: int = 6


class Response(Value):
    """What stood at an address, after redirects; header names are in lower case."""

    address: str
    status: int
    headers: dict[str, str]
    body: bytes


class GuardedClient:
    """Fetches pages for many tasks of one event loop; close it when done, or use it as a context."""

    def __init__(
        self,
        guard: Guard,
        *,
        limits: ClientLimits | None = None,
        resolver: Resolver = resolved_by_system,
        tls: ssl.SSLContext | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
        contact: str = PROJECT_ADDRESS,
    ) -> None:
        self._guard = guard
        self._who = {"user-agent": user_agent(contact), "accept": "*/*"}
        self._limits = limits or ClientLimits()
        self._slots = asyncio.Semaphore(self._limits.connections)
        # A host's entry lives as long as somebody waits for it or holds it.
        self._host_slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or new_context(),
            max_connections=self._limits.connections,
            keepalive_expiry=_KEEPALIVE_S,
            http2=True,
            network_backend=Dialer(guard, resolver, network or httpcore2.AnyIOBackend()),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    async def fetch(
        self, address: str, *, headers: Mapping[str, str] | None = None, before_hop: BeforeHop | None = None
    ) -> Response:
        """Return what stands at the address, whatever its status; `before_hop` may object to where a redirect leads.

        Raise `AddressRefused` for an address that is not public, there or after a redirect; `SourceBusy` for the
        statuses 429 and 503; `NetworkError` where trying again may help; `SourceError` where it will not.
        """
        hops = [self._guard.check(address)]
        sent = self._who | {name.lower(): value for name, value in (headers or {}).items()}
        left_s = self._limits.total_s
        while True:
            here = hops[-1]
            async with self._slot(here.host):
                started = time.monotonic()
                response = await self._ask_in_time(here, _headers_for(here, hops[0], sent), left_s)
                left_s -= time.monotonic() - started
            if not _leads_on(response.status, response.headers):
                return response
            hops.append(self._next_hop(hops, response.headers["location"]))
            if before_hop is not None:
                await before_hop(hops[-1].text)

    async def post(self, address: str, *, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a body to an address and return the status and headers of the answer; a redirect is not followed.

        Raise the same errors as `fetch`.
        """
        here = self._guard.check(address)
        sent = self._who | {name.lower(): value for name, value in headers.items()}
        sent["content-length"] = str(len(body))
        async with self._slot(here.host):
            return await self._ask_in_time(here, _headers_for(here, here, sent), self._limits.total_s, body)

    def _next_hop(self, hops: list[WebAddress], location: str) -> WebAddress:
        try:
            hop = self._guard.check(urljoin(hops[-1].text, location))
        except ValueError as exc:
            raise AddressRefused(f"{hops[-1].host} redirects to an address that cannot be read.") from exc
        if hop in hops:
            raise SourceError(f"{hop.host} redirects in a circle.")
        if len(hops) > self._limits.redirects:
            raise SourceError(f"{hops[0].host} redirects more than {self._limits.redirects} times.")
        return hop

    @asynccontextmanager
    async def _slot(self, host: str) -> AsyncIterator[None]:
        host_slots = self._host_slots.get(host) or asyncio.Semaphore(self._limits.connections_per_host)
        self._host_slots[host] = host_slots
        # The host's own slot first: a caller that waits for a slow host holds up no other.
        async with host_slots, self._slots:
            yield

    async def _ask_in_time(
        self, here: WebAddress, headers: list[tuple[str, str]], left_s: float, body: bytes | None = None
    ) -> Response:
        try:
            async with asyncio.timeout(left_s):
                with _our_errors(here.host):
                    return await self._ask(here, headers, body)
        except TimeoutError as exc:
            raise NetworkError(f"{here.host} took longer than {self._limits.total_s:g} s.") from exc

    async def _ask(self, here: WebAddress, headers: list[tuple[str, str]], body: bytes | None) -> Response:
        raw_response = await self._open(here, headers, body)
        async with aclosing(raw_response), AsyncExitStack() as on_failure:
            # A page that is given up takes its connection along: over HTTP/2 the server would go on sending it.
            on_failure.push_async_callback(raw_response.extensions["network_stream"].aclose)
            response = await self._read(here, raw_response, with_body=body is None)
            on_failure.pop_all()
            return response

    async def _open(self, here: WebAddress, headers: list[tuple[str, str]], body: bytes | None) -> httpcore2.Response:
        """Send the request and wait for the headers; once more where a kept connection turns out to be dead."""
        is_new = False

        async def note(event: str, _: dict[str, object]) -> None:
            nonlocal is_new
            is_new = is_new or event == "connection.connect_tcp.started"

        limits = self._limits
        times = {"connect": limits.connect_s, "read": limits.read_s, "write": limits.read_s, "pool": limits.total_s}
        url = httpcore2.URL(scheme=here.scheme, host=here.host, port=here.port, target=here.target)
        request = httpcore2.Request(
            "GET" if body is None else "POST",
            url,
            headers=headers,
            content=body,
            extensions={"timeout": times, "trace": note},
        )
        try:
            return await self._pool.handle_async_request(request)
        except (httpcore2.ProtocolError, httpcore2.NetworkError):
            # What was sent with a body may have arrived.
            if is_new or body is not None:
                raise
        return await self._pool.handle_async_request(request)

    async def _read(self, here: WebAddress, raw_response: httpcore2.Response, *, with_body: bool) -> Response:
        headers = self._headers_of(here, raw_response)
        status = raw_response.status
        if status in _BUSY:
            raise SourceBusy(f"{here.host} answered with status {status}.", retry_after_s=retry_after_s(headers))
        if status < 200:
            raise SourceError(f"{here.host} answered with status {status}.")
        # A redirect's own page is for people, and left unread.
        is_read = with_body and not _leads_on(status, headers)
        body = await self._body(here, headers, raw_response) if is_read else b""
        return Response(address=here.text, status=status, headers=headers, body=body)

    def _headers_of(self, here: WebAddress, raw_response: httpcore2.Response) -> dict[str, str]:
        if sum(len(name) + len(value) for name, value in raw_response.headers) > self._limits.max_header_bytes:
            raise SourceError(f"{here.host} sent headers that are too large.")
        headers: dict[str, str] = {}
        for raw_name, raw_value in raw_response.headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("utf-8", "replace")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return headers

    async def _body(self, here: WebAddress, headers: Mapping[str, str], raw_response: httpcore2.Response) -> bytes:
        limits = self._limits
        if int(headers.get("content-length") or 0) > limits.max_bytes:
            raise too_large(limits.max_bytes)
        body = BodyReader(
            headers.get("content-encoding", ""),
            max_bytes=limits.max_bytes,
            max_decoded_bytes=limits.max_decoded_bytes,
        )
        try:
            async for piece in raw_response.aiter_stream():
                body.feed(piece)
        except (httpcore2.RemoteProtocolError, h2.exceptions.H2Error) as exc:
            # Trying again may heal what ends a body before its time.
            raise NetworkError(f"{here.host} broke off in the middle of the page.") from exc
        return body.finish()


def _leads_on(status: int, headers: Mapping[str, str]) -> bool:
    return status in _REDIRECTS and "location" in headers


def _headers_for(here: WebAddress, first: WebAddress, sent: Mapping[str, str]) -> list[tuple[str, str]]:
    headers = {**sent, "host": here.authority, "accept-encoding": ACCEPTED_ENCODINGS}
    dropped = frozenset() if here.origin == first.origin else _PERSONAL_HEADERS
    return [(name, value) for name, value in headers.items() if name not in dropped]


@contextmanager
def _our_errors(host: str) -> Iterator[None]:
    """Turn the library's exceptions into ours while a page is asked for and read."""
    try:
        yield
    except httpcore2.TimeoutException as exc:
        raise NetworkError(f"{host} did not answer in time.") from exc
    except httpcore2.ConnectError as exc:
        if _is_about(exc, ssl.SSLError):
            raise SourceError(f"No safe connection to {host}: its certificate or its TLS cannot be trusted.") from exc
        raise NetworkError(f"{host} could not be reached.") from exc
    except (httpcore2.NetworkError, httpcore2.ConnectionNotAvailable, OSError) as exc:
        raise NetworkError(f"{host} broke the connection.") from exc
    except httpcore2.RemoteProtocolError as exc:
        if _is_about(exc, Exception):
            raise SourceError(f"{host} does not speak HTTP.") from exc
        # The library says so itself: the server went away or gave the request back.
        raise NetworkError(f"{host} broke the connection.") from exc
    # A status that is no number is a plain ValueError over HTTP/2.
    except (httpcore2.ProtocolError, h2.exceptions.H2Error, ValueError) as exc:
        raise SourceError(f"{host} does not speak HTTP.") from exc


def _is_about(exc: Exception, kind: type[Exception]) -> bool:
    """Return whether the library wrapped an error of this kind; it keeps it as its argument, not as its cause."""
    return bool(exc.args) and isinstance(exc.args[0], kind)
