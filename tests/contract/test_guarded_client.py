"""The guarded client against servers that do what servers do, and what hostile ones do; all of them on loopback."""

import asyncio
import gzip
import socket
import sys

import pytest

from deep_research.errors import AddressRefused, NetworkError, SourceBusy, SourceError
from deep_research.web.net.client import ClientLimits, GuardedClient
from deep_research.web.net.guard import Guard
from deep_research.web.net.headers import PROJECT_ADDRESS
from tests.support.web_faults import reset
from tests.unit.web.net.site import PUBLIC_IP, ListedNames, Site, Speak, Wires, client_of, page, redirect

MIB = 1024 * 1024


async def fetch_failing(pages, kind: type[Exception], path: str = "/", **limits: float) -> str:
    """Fetch a page that must fail in this way, and return what the error says."""
    async with Site(pages) as site, client_of(site, **limits) as client:
        with pytest.raises(kind) as error:
            await client.fetch(f"http://127.0.0.1:{site.port}{path}")
        assert type(error.value) is kind
        return str(error.value)


# What comes back


async def test_a_page_comes_back_with_status_headers_and_body():
    pages = {"/a?b=%E5%8C%97": page("北京".encode(), "Content-Type: text/html", "Link: <a>", "Link: <b>")}
    async with Site(pages) as site, client_of(site) as client:
        address = f"http://127.0.0.1:{site.port}/a?b=北#part"
        response = await client.fetch(
            address, headers={"Accept-Language": "zh", "Accept-Encoding": "br", "Host": "other"}
        )
    assert (response.status, response.body.decode()) == (200, "北京")
    assert response.address == f"http://127.0.0.1:{site.port}/a?b=%E5%8C%97"
    assert response.headers == {"content-type": "text/html", "link": "<a>, <b>", "content-length": "6"}
    head = site.heads[0].lower()
    assert f"host: 127.0.0.1:{site.port}\r\n" in head
    assert "accept-language: zh\r\n" in head
    assert "accept-encoding: gzip, deflate\r\n" in head
    assert head.count("host:") == head.count("accept-encoding:") == head.count("user-agent: deep-research") == 1
    assert f"; {PROJECT_ADDRESS})\r\n" in head


async def test_pages_are_told_whom_to_turn_to():
    async with Site({"/": page(b"a")}) as site:
        guard = Guard(allowed=[f"127.0.0.1:{site.port}"])
        async with GuardedClient(guard, contact="me@example.org") as client:
            await client.fetch(f"http://127.0.0.1:{site.port}/")
    assert "user-agent: deep-research/0.1 (research agent; me@example.org)\r\n" in site.heads[0].lower()


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified", "403 Forbidden", "404 Not Found", "500 Oops"])
async def test_other_statuses_are_the_callers_to_judge(status: str):
    body = b"" if status[:3] in ("204", "304") else b"an error page"
    async with Site({"/": page(body, status=status)}) as site, client_of(site) as client:
        response = await client.fetch(f"http://127.0.0.1:{site.port}/")
    assert (response.status, response.body) == (int(status[:3]), body)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("header", "wait_s"), [("Retry-After: 7", 7.0), ("X-Other: 1", None)])
async def test_a_busy_server_says_how_long_to_wait(status: int, header: str, wait_s: float | None):
    async with Site({"/": page(b"slow down", header, status=f"{status} Busy")}) as site, client_of(site) as client:
        with pytest.raises(SourceBusy, match=f"status {status}") as error:
            await client.fetch(f"http://127.0.0.1:{site.port}/")
    assert error.value.retry_after_s == wait_s


async def test_a_packed_page_is_unpacked():
    pages = {"/": page(gzip.compress(b"text" * 1000), "Content-Encoding: gzip")}
    async with Site(pages) as site, client_of(site) as client:
        response = await client.fetch(f"http://127.0.0.1:{site.port}/")
    assert response.body == b"text" * 1000


# Redirects


async def test_redirects_are_followed():
    pages = {"/1": redirect("/2"), "/2": redirect("3?x=北", "301 Moved"), "/3?x=%E5%8C%97": page(b"here")}
    async with Site(pages) as site, client_of(site) as client:
        start = f"http://127.0.0.1:{site.port}"
        response = await client.fetch(f"{start}/1")
    assert response.body == b"here"
    assert response.address == f"{start}/3?x=%E5%8C%97"
    assert site.paths == ["/1", "/2", "/3?x=%E5%8C%97"]


async def test_a_redirect_that_leads_nowhere_is_a_page():
    async with Site({"/": page(b"lost", status="302 Found")}) as site, client_of(site) as client:
        assert (await client.fetch(f"http://127.0.0.1:{site.port}/")).body == b"lost"


async def test_five_redirects_pass_and_the_sixth_does_not():
    pages = {f"/{hop}": redirect(f"/{hop + 1}") for hop in range(10)} | {"/6": page(b"end")}
    async with Site(pages) as site, client_of(site) as client:
        assert (await client.fetch(f"http://127.0.0.1:{site.port}/1")).body == b"end"
        assert len(site.paths) == 6
        with pytest.raises(SourceError, match="more than 5 times"):
            await client.fetch(f"http://127.0.0.1:{site.port}/0")
    assert site.paths[-1] == "/5"


async def test_a_redirect_loop_is_found():
    pages = {"/a": redirect("/b"), "/b": redirect("/a#again")}
    async with Site(pages) as site, client_of(site) as client:
        with pytest.raises(SourceError, match="in a circle"):
            await client.fetch(f"http://127.0.0.1:{site.port}/a")
    assert site.paths == ["/a", "/b"]


@pytest.mark.parametrize(
    "inwards",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:7f00:1]/",
        "//127.0.0.1/",
        "http://2130706433/",
        "http://localhost:8080/",
        "http://inner.example.com/",
        "http://example.com:6379/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "http://[::1",
        "http://user:word@example.com/",
    ],
)
async def test_a_public_page_that_redirects_inwards_is_refused_before_a_connection(inwards: str):
    names = ListedNames({"example.com": [[PUBLIC_IP]], "inner.example.com": [["10.0.0.7"]]})
    async with Site({"/": redirect(inwards)}) as site:
        wires = Wires(site.port)
        async with GuardedClient(Guard(), resolver=names, network=wires) as client:
            with pytest.raises(AddressRefused) as error:
                await client.fetch("http://example.com/")
    assert wires.dialled == [(PUBLIC_IP, 80)]
    assert "word" not in str(error.value)


async def test_an_allowed_host_may_not_redirect_to_another_port_of_the_same_machine():
    async with Site({"/": page(b"secret")}) as inner, Site({}) as outer:
        outer.pages = {"/": redirect(f"http://127.0.0.1:{inner.port}/")}
        async with client_of(outer) as client:
            with pytest.raises(AddressRefused):
                await client.fetch(f"http://127.0.0.1:{outer.port}/")
    assert inner.connections == 0


async def test_what_was_meant_for_one_host_is_not_sent_to_another():
    async with Site({"/": page(b"there")}) as other, Site({}) as first:
        first.pages = {"/": redirect("/same"), "/same": redirect(f"http://127.0.0.1:{other.port}/")}
        async with client_of(first, other) as client:
            headers = {"Authorization": "Bearer k", "Cookie": "a=b", "If-None-Match": '"1"'}
            await client.fetch(f"http://127.0.0.1:{first.port}/", headers=headers)
    assert ["Bearer k" in head for head in [*first.heads, *other.heads]] == [True, True, False]
    assert ["a=b" in head for head in [*first.heads, *other.heads]] == [True, True, False]
    assert all("if-none-match" in head for head in [*first.heads, *other.heads])


# Names


async def test_a_name_is_asked_once_and_the_connection_goes_to_what_was_checked():
    names = ListedNames({"example.com": [[PUBLIC_IP], ["127.0.0.1"]]})
    async with Site({"/": page(b"public")}) as site:
        wires = Wires(site.port)
        async with GuardedClient(Guard(), resolver=names, network=wires) as client:
            assert (await client.fetch("http://example.com/")).body == b"public"
    assert names.asked == ["example.com"]
    assert wires.dialled == [(PUBLIC_IP, 80)]
    assert "host: example.com\r\n" in site.heads[0].lower()


async def test_a_name_that_turns_inwards_later_is_refused_later():
    names = ListedNames({"example.com": [[PUBLIC_IP], ["127.0.0.1"]]})
    async with Site({"/": page(b"public", "Connection: close")}) as site:
        wires = Wires(site.port)
        async with GuardedClient(Guard(), resolver=names, network=wires) as client:
            await client.fetch("http://example.com/")
            with pytest.raises(AddressRefused, match="this machine"):
                await client.fetch("http://example.com/")
    assert len(names.asked) == 2
    assert wires.dialled == [(PUBLIC_IP, 80)]


@pytest.mark.skipif(sys.platform != "linux", reason="Other systems have one loopback address.")
async def test_the_first_of_two_answers_over_time_is_the_one_that_is_used_on_real_sockets():
    async with (
        Site({"/": page(b"first")}) as first,
        Site({"/": page(b"second")}, host="127.0.0.2", port=first.port) as second,
    ):
        names = ListedNames({"rebinding.corp": [["127.0.0.1"], ["127.0.0.2"]]})
        guard = Guard(allowed={f"rebinding.corp:{first.port}"})
        async with GuardedClient(guard, resolver=names) as client:
            pages = [(await client.fetch(f"http://rebinding.corp:{first.port}/")).body for _ in range(3)]
    assert pages == [b"first"] * 3
    assert names.asked == ["rebinding.corp"]
    assert (first.connections, second.connections) == (1, 0)


@pytest.mark.parametrize("answer", [["127.0.0.1"], [PUBLIC_IP, "10.0.0.1"], ["::1", PUBLIC_IP], ["64:ff9b::a00:1"]])
async def test_one_private_answer_among_public_ones_is_enough_to_refuse(answer: list[str]):
    wires = Wires(0)
    names = ListedNames({"example.com": [answer]})
    async with GuardedClient(Guard(), resolver=names, network=wires) as client:
        with pytest.raises(AddressRefused):
            await client.fetch("http://example.com/")
    assert wires.dialled == []


async def test_an_unknown_name_is_a_network_error():
    async with GuardedClient(Guard(), resolver=ListedNames({})) as client:
        with pytest.raises(NetworkError, match="not known"):
            await client.fetch("http://nowhere.example.com/")


@pytest.mark.skipif(sys.platform != "linux", reason="Other systems have one loopback address.")
@pytest.mark.parametrize("answer", [["127.0.0.3", "127.0.0.1"], ["127.0.0.1", "127.0.0.3"]])
async def test_one_answer_that_is_alive_is_enough(answer: list[str]):
    async with Site({"/": page(b"alive")}) as site:
        names = ListedNames({"twins.corp": [answer]})
        async with GuardedClient(Guard(allowed={f"twins.corp:{site.port}"}), resolver=names) as client:
            assert (await client.fetch(f"http://twins.corp:{site.port}/")).body == b"alive"


# Connections


async def test_a_port_nobody_listens_on_is_a_network_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with GuardedClient(Guard(allowed={f"127.0.0.1:{port}"})) as client:
            with pytest.raises(NetworkError, match="could not be reached"):
                await client.fetch(f"http://127.0.0.1:{port}/")


async def test_pages_of_one_host_share_a_connection():
    async with Site({f"/{number}": page(b"x" * number) for number in range(20)}) as site, client_of(site) as client:
        for number in range(20):
            assert len((await client.fetch(f"http://127.0.0.1:{site.port}/{number}")).body) == number
    assert (site.connections, len(site.heads)) == (1, 20)


async def test_fifty_pages_at_once_yield_fifty_texts_over_the_connections_of_one_host():
    async def speak(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.01)
        writer.write(page(b"the page"))

    async with Site({f"/{number}": speak for number in range(50)}) as site, client_of(site) as client:
        addresses = [f"http://127.0.0.1:{site.port}/{number}" for number in range(50)]
        responses = await asyncio.gather(*map(client.fetch, addresses))
    assert [response.body for response in responses] == [b"the page"] * 50
    assert [response.address for response in responses] == addresses
    assert site.peak == site.connections == 6


async def test_fifty_hosts_at_once_keep_to_the_connections_in_all():
    async def speak(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.01)
        writer.write(page(b"the page"))

    hosts = [f"host{number}.corp" for number in range(50)]
    async with Site({"/": speak}) as site:
        guard = Guard(allowed={f"{host}:{site.port}" for host in hosts})
        names = ListedNames({host: [["127.0.0.1"]] for host in hosts})
        async with GuardedClient(guard, resolver=names, limits=ClientLimits(connections=10)) as client:
            responses = await asyncio.gather(*(client.fetch(f"http://{host}:{site.port}/") for host in hosts))
    assert [response.body for response in responses] == [b"the page"] * 50
    assert site.peak == 10


async def test_a_hanging_host_holds_up_no_other_and_waiting_for_a_turn_costs_no_time():
    is_over = asyncio.Event()

    async def hang(writer: asyncio.StreamWriter) -> None:
        await is_over.wait()
        writer.write(page(b"late"))

    async with Site({"/": hang}) as slow, Site({"/": page(b"quick")}) as quick:
        names = ListedNames({"slow.corp": [["127.0.0.1"]], "quick.corp": [["127.0.0.1"]]})
        guard = Guard(allowed={f"slow.corp:{slow.port}", f"quick.corp:{quick.port}"})
        limits = ClientLimits(connections=4, connections_per_host=2)
        async with GuardedClient(guard, resolver=names, limits=limits) as client:
            waiting = [asyncio.ensure_future(client.fetch(f"http://slow.corp:{slow.port}/")) for _ in range(20)]
            while slow.in_flight < 2:
                await asyncio.sleep(0.001)
            assert (await client.fetch(f"http://quick.corp:{quick.port}/")).body == b"quick"
            assert not any(task.done() for task in waiting)
            is_over.set()
            assert {response.body for response in await asyncio.gather(*waiting)} == {b"late"}
    assert slow.peak == 2


async def test_a_kept_connection_that_died_is_replaced_without_a_word():
    async def answer_and_die(writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"once"))
        await writer.drain()

    async def die(writer: asyncio.StreamWriter) -> None:
        if len(site.heads) == 2:
            reset(writer)
        else:
            writer.write(page(b"twice"))

    async with Site({"/a": answer_and_die, "/b": die}) as site, client_of(site) as client:
        await client.fetch(f"http://127.0.0.1:{site.port}/a")
        assert (await client.fetch(f"http://127.0.0.1:{site.port}/b")).body == b"twice"
    assert site.paths == ["/a", "/b", "/b"]
    assert site.connections == 2


async def test_a_cancelled_fetch_leaves_the_client_usable():
    async def hang(writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"", "Content-Length: 100"))
        await asyncio.sleep(60)

    pages: dict[str, bytes | Speak] = {"/hang": hang, "/": page(b"fine")}
    async with Site(pages) as site, client_of(site, connections=1) as client:
        hanging = asyncio.ensure_future(client.fetch(f"http://127.0.0.1:{site.port}/hang"))
        while not site.heads:
            await asyncio.sleep(0)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert (await client.fetch(f"http://127.0.0.1:{site.port}/")).body == b"fine"


async def test_proxies_and_passwords_of_the_environment_are_not_used(monkeypatch, tmp_path):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login l password p")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with Site({"/": page(b"direct")}) as site, client_of(site) as client:
        assert (await client.fetch(f"http://127.0.0.1:{site.port}/")).body == b"direct"
    assert "authorization" not in site.heads[0].lower()


# Time and size


async def test_a_slow_drip_is_ended_by_the_time_in_all():
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"", "Content-Length: 1000000"))
        while True:
            writer.write(b".")
            await asyncio.sleep(0.01)

    said = await fetch_failing({"/": drip}, NetworkError, total_s=0.15, read_s=5)
    assert said == "127.0.0.1 took longer than 0.15 s."


async def test_the_time_in_all_counts_over_redirects():
    async def drag(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.06)
        writer.write(redirect(f"/{len(site.heads)}"))

    async with Site({f"/{hop}": drag for hop in range(9)}) as site, client_of(site, total_s=0.15) as client:
        with pytest.raises(NetworkError, match="took longer"):
            await client.fetch(f"http://127.0.0.1:{site.port}/0")
    assert len(site.heads) <= 3


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", page(b"half", "Content-Length: 9")])
async def test_silence_is_ended_by_the_read_time(start: bytes):
    async def say_and_hang(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        await asyncio.sleep(60)

    said = await fetch_failing({"/": say_and_hang}, NetworkError, read_s=0.05)
    assert said == "127.0.0.1 did not answer in time."


async def test_a_reset_in_mid_body_is_a_network_error():
    async def break_off(writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"half of the sec", "Content-Length: 100"))
        await writer.drain()
        reset(writer)

    said = await fetch_failing({"/": break_off}, NetworkError)
    assert "half" not in said


async def test_a_reset_before_the_answer_is_a_network_error():
    async def break_off(writer: asyncio.StreamWriter) -> None:
        reset(writer)

    assert await fetch_failing({"/": break_off}, NetworkError) == "127.0.0.1 broke the connection."


async def test_an_endless_body_is_stopped_at_the_limit():
    sent_bytes = 0

    async def flow(writer: asyncio.StreamWriter) -> None:
        nonlocal sent_bytes
        writer.write(page(b"", "Transfer-Encoding: chunked"))
        while True:
            writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
            sent_bytes += 0x10000
            await writer.drain()

    said = await fetch_failing({"/": flow}, SourceError, max_bytes=2 * MIB)
    assert said == "The page is larger than 2 MiB."
    # What stands in the buffers of both sockets comes on top.
    assert sent_bytes < 32 * MIB


async def test_a_gzip_bomb_is_stopped_at_the_limit():
    bomb = page(gzip.compress(bytes(16 * MIB)), "Content-Encoding: gzip")
    assert await fetch_failing({"/": bomb}, SourceError, max_decoded_bytes=MIB) == "The page is larger than 1 MiB."


async def test_a_body_of_two_gigabytes_is_not_begun():
    async def promise(writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"", f"Content-Length: {2 * 1024 * MIB}"))
        await asyncio.sleep(60)

    assert await fetch_failing({"/": promise}, SourceError) == "The page is larger than 20 MiB."


async def test_a_body_cut_by_a_plain_end_is_a_network_error():
    async def break_off(writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"half", "Content-Length: 9"))
        writer.close()

    assert await fetch_failing({"/": break_off}, NetworkError) == "127.0.0.1 broke off in the middle of the page."


async def test_what_follows_a_body_longer_than_promised_spoils_no_other_page():
    pages = {"/long": page(b"four and more", "Content-Length: 4"), "/": page(b"fine")}
    async with Site(pages) as site, client_of(site) as client:
        assert (await client.fetch(f"http://127.0.0.1:{site.port}/long")).body == b"four"
        assert (await client.fetch(f"http://127.0.0.1:{site.port}/")).body == b"fine"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28" * 3 + b"\r\n\r\n",
        page(b"x", "Content-Length: many"),
        page(b"x", "Content-Length: 1", "Content-Length: 2"),
        page(b"x", "Content-Length: -1"),
        page(b"x", status="abc OK"),
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_an_error_of_the_source(answer: bytes):
    said = await fetch_failing({"/": answer}, SourceError)
    assert said.startswith("127.0.0.1 ")
    assert "SSH" not in said


@pytest.mark.parametrize("size", [70_000, 300_000])
async def test_headers_have_a_limit(size: int):
    await fetch_failing({"/": page(b"x", f"X-Long: {'a' * size}")}, SourceError)


async def test_a_compression_that_was_not_asked_for_is_not_read():
    assert "not asked for" in await fetch_failing({"/": page(b"x", "Content-Encoding: br")}, SourceError)
