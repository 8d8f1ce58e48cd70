"""Calls to configured services: connections that are kept and closed, and what a failure is called."""

import asyncio
import gc

import pytest

from deep_research.errors import (
    NetworkError,
    QueryRefused,
    SourceBusy,
    SourceError,
    SourceRefused,
    TimedOut,
    Unreachable,
)
from deep_research.web.net.service import Service
from tests.unit.web.net.site import Site, page

OK = page(b'{"a": 1}', "Set-Cookie: who=you")


def service_at(site: Site, *, timeout_s: float = 60.0) -> Service:
    return Service("The service", f"http://127.0.0.1:{site.port}", timeout_s=timeout_s, headers={"X-Key": "k"})


async def test_calls_one_after_another_share_a_connection_until_it_is_closed():
    async with Site({"/": OK, "/b": OK}) as site:
        service = service_at(site)
        for path in ("/", "/b", "/"):
            assert await service.get_json(path) == {"a": 1}
        assert await service.at(f"http://127.0.0.1:{site.port}/").get_text("/b") == '{"a": 1}'
        assert (site.connections, len(site.heads)) == (1, 4)
        await service.aclose()
        assert await service.get_json("/") == {"a": 1}
        await service.aclose()
    assert site.connections == 2


async def test_no_call_tells_of_the_one_before():
    async with Site({"/": OK}) as site:
        service = service_at(site)
        await service.get_text("/", headers={"X-Key": "other", "X-Once": "yes"})
        await service.get_text("/")
        await service.aclose()
    first, second = (head.lower() for head in site.heads)
    assert "x-key: other\r\n" in first
    assert "x-once: yes\r\n" in first
    assert "x-key: k\r\n" in second
    assert "x-once" not in second
    assert "cookie" not in second


@pytest.mark.parametrize("is_dropped", [True, False])
def test_connections_end_with_their_event_loop(is_dropped):
    kept: list[Service] = []

    async def call() -> None:
        async with Site({"/": OK, "/?b=1": page(b"no JSON")}) as site:
            service = service_at(site)
            if not is_dropped:
                kept.append(service)
                service = kept[0].at(f"http://127.0.0.1:{site.port}")
            # An error that somebody remembers holds on to everything it came by.
            with pytest.raises(SourceError):
                await service.get_json("/", params={"b": 1})
            assert await service.get_json("/") == {"a": 1}
            assert site.connections == 1
            # The service is found to be gone while the loop still runs.
            round_trip: list[object] = [service]
            round_trip.append(round_trip)
            del service, round_trip
            gc.collect()

    for _ in range(3):
        asyncio.run(call())
        # What was left open would warn here, and a warning fails the test.
        gc.collect()


async def _break_off(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (page(status="400 Bad Request"), QueryRefused),
        (page(status="414 URI Too Long"), QueryRefused),
        (page(status="422 Unprocessable Content"), QueryRefused),
        (page(status="401 Unauthorized"), SourceRefused),
        (page(status="404 Not Found"), SourceError),
        (page(status="503 Service Unavailable"), SourceBusy),
        (page(b"{"), SourceError),
        (_break_off, NetworkError),
        (_hang, TimedOut),
    ],
)
async def test_failure_says_what_it_is_about(answer, kind):
    async with Site({"/": answer}) as site:
        service = service_at(site, timeout_s=0.2 if answer is _hang else 60)
        with pytest.raises(kind) as error:
            await service.get_json("/")
        await service.aclose()
    assert type(error.value) is kind
    assert "The service" in str(error.value)


async def test_nobody_at_the_address_is_told_from_a_line_that_breaks():
    async with Site({}) as site:
        pass
    service = service_at(site)
    with pytest.raises(Unreachable):
        await service.get_json("/")
    await service.aclose()
