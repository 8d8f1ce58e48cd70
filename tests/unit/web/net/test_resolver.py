"""Looking names up: the system's answers as IP addresses, in bounded time."""

import socket
import threading
from ipaddress import ip_address

import pytest

from deep_research.errors import NetworkError
from deep_research.web.net.client import resolved_by_system


def answer(ip: str):
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80))


async def test_answers_keep_their_order_and_come_once(monkeypatch):
    answers = [answer("192.0.2.7"), answer("192.0.2.1"), answer("192.0.2.7")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: answers)
    found = await resolved_by_system("example.com", 80)
    assert found == (ip_address("192.0.2.7"), ip_address("192.0.2.1"))


async def test_the_machine_knows_itself():
    assert all(ip.is_loopback for ip in await resolved_by_system("localhost", 80))


@pytest.mark.parametrize("error", [socket.gaierror(socket.EAI_NONAME, "unknown"), UnicodeError("label too long")])
async def test_a_name_that_is_not_known_is_a_network_error(monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(NetworkError, match=r"example\.com is not known"):
        await resolved_by_system("example.com", 80)


async def test_a_silent_name_server_costs_its_time_limit_only(monkeypatch):
    is_over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: is_over.wait(300) and [])
    threads = set(threading.enumerate())
    with pytest.raises(NetworkError, match=r"could not be looked up within 0\.02 s"):
        await resolved_by_system("example.com", 80, timeout_s=0.02)
    left = set(threading.enumerate()) - threads
    assert [thread.daemon for thread in left] == [True]
    is_over.set()
    for thread in left:
        thread.join()
