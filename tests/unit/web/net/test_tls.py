"""Pages over TLS and HTTP/2: the connection goes to a checked IP address, everything else keeps the name."""

import asyncio

import pytest

from deep_research.errors import SourceError
from deep_research.web.net.client import ClientLimits, GuardedClient
from deep_research.web.net.guard import Guard
from tests.support.authority import Authority
from tests.unit.web.net.site import PUBLIC_IP, Http2Site, ListedNames, Site, Wires, page


@pytest.fixture
def authority(tmp_path) -> Authority:
    return Authority(tmp_path)


def client_over(wires: Wires, authority: Authority, **limits: int) -> GuardedClient:
    names = ListedNames({"example.com": [[PUBLIC_IP]]})
    return GuardedClient(
        Guard(), resolver=names, network=wires, tls=authority.client_side(), limits=ClientLimits.model_validate(limits)
    )


async def test_the_name_is_kept_for_tls_and_the_host_header(authority: Authority):
    tls = authority.server_side("example.com")
    told: list[str | None] = []
    tls.sni_callback = lambda connection, name, context: told.append(name)
    async with Site({"/": page(b"safe")}, tls=tls) as site:
        wires = Wires(site.port)
        async with client_over(wires, authority) as client:
            assert (await client.fetch("https://example.com/")).body == b"safe"
    assert told == ["example.com"]
    assert "host: example.com\r\n" in site.heads[0].lower()
    assert wires.dialled == [(PUBLIC_IP, 443)]


async def test_a_certificate_for_another_name_is_not_accepted(authority: Authority):
    site = Site({"/": page(b"false")}, tls=authority.server_side("other.com"))
    async with site, client_over(Wires(site.port), authority) as client:
        with pytest.raises(SourceError, match="No safe connection to example"):
            await client.fetch("https://example.com/")
    assert site.heads == []


async def test_a_certificate_of_a_stranger_is_not_accepted(authority: Authority, tmp_path_factory):
    stranger = Authority(tmp_path_factory.mktemp("stranger"))
    site = Site({"/": page(b"false")}, tls=stranger.server_side("example.com"))
    async with site, client_over(Wires(site.port), authority) as client:
        with pytest.raises(SourceError, match="No safe connection"):
            await client.fetch("https://example.com/")
    assert site.heads == []


async def test_a_server_without_tls_is_not_accepted(authority: Authority):
    async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(page(b"plain"))
        writer.close()

    server = await asyncio.start_server(speak_plainly, "127.0.0.1", 0)
    async with server, client_over(Wires(server.sockets[0].getsockname()[1]), authority) as client:
        with pytest.raises(SourceError, match="No safe connection"):
            await client.fetch("https://example.com/")


async def test_pages_of_one_host_share_one_http2_connection(authority: Authority):
    pages = {f"/{number}": f"page {number}".encode() for number in range(50)}
    async with Http2Site(pages, tls=authority.server_side("example.com", "h2")) as site:
        wires = Wires(site.port)
        async with client_over(wires, authority) as client:
            responses = await asyncio.gather(*(client.fetch(f"https://example.com{path}") for path in pages))
    assert [response.body for response in responses] == list(pages.values())
    assert len(wires.dialled) == 1
    assert sorted(site.heads) == sorted(f"GET {path} example.com" for path in pages)


async def test_a_page_too_large_takes_its_http2_connection_along_and_the_next_page_comes(authority: Authority):
    pages = {"/large": bytes(40_000), "/small": b"small"}
    async with Http2Site(pages, tls=authority.server_side("example.com", "h2")) as site:
        wires = Wires(site.port)
        async with client_over(wires, authority, max_bytes=10_000) as client:
            with pytest.raises(SourceError, match="larger"):
                await client.fetch("https://example.com/large")
            assert (await client.fetch("https://example.com/small")).body == b"small"
    assert len(wires.dialled) == 2


async def test_a_status_that_is_no_number_is_an_error_of_the_source(authority: Authority):
    site = Http2Site({"/": b"text"}, tls=authority.server_side("example.com", "h2"), status="fine")
    async with site, client_over(Wires(site.port), authority) as client:
        with pytest.raises(SourceError, match="does not speak HTTP"):
            await client.fetch("https://example.com/")
