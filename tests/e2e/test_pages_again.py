"""Pages of a run that is killed, frozen or out of room: one that was kept is not fetched again, and the others once."""

import asyncio
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import User, finish, kill
from tests.support.articles import articles
from tests.support.waiting import wait_until
from tests.support.web_server import PAGES, Exchange, LocalWeb

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="needs a loopback address for each host, and prlimit"),
]

ENGINE = "tavily"
QUESTION = "What did heat pumps cost in Aarhus, and what went wrong?"
LEASE_S = 2.0


class HeldWeb(LocalWeb):
    """Answers for the first host that is asked, unless told to wait; the others hold `held` back until it is open."""

    def __init__(self, held: str) -> None:
        super().__init__(articles(30), hits_a_search=10)
        self.held = held
        self.is_open = False
        self.first_waits = False
        self._first = ""

    @property
    def fetches(self) -> Counter[str]:
        """Return how often each page was asked for."""
        return Counter(f"{each.host}{each.asked.path}" for each in self.requests(PAGES) if not _is_robots(each))

    async def _speak(self, exchange: Exchange, writer: asyncio.StreamWriter) -> None:
        if exchange.place == PAGES:
            self._first = self._first or exchange.host
            while self._is_held(exchange):
                await asyncio.sleep(0.01)
        await super()._speak(exchange, writer)

    def _is_held(self, exchange: Exchange) -> bool:
        if exchange.host == self._first:
            return self.first_waits and not _is_robots(exchange)
        return not self.is_open and _is_robots(exchange) == (self.held == "robots")


def _is_robots(exchange: Exchange) -> bool:
    return exchange.asked.path == "/robots.txt"


@pytest.fixture
def web(request: pytest.FixtureRequest) -> Iterator[HeldWeb]:
    with HeldWeb(request.param) as web:
        yield web


@pytest.fixture
def user(web: HeldWeb, tmp_path: Path) -> User:
    ours = {
        "PROVIDER": "none",
        "ENGINES": ENGINE,
        "CLARIFY": "off",
        "CACHE": "false",
        "MAX_ITERATIONS": "1",
        "LEASE_S": str(LEASE_S),
        "ALLOWED_HOSTS": ",".join(web.allowed),
        "TAVILY_ADDRESS": web.engine_address(ENGINE),
    }
    env = {f"DEEP_RESEARCH_{name}": value for name, value in ours.items()}
    return User(tmp_path, env={**env, "TAVILY_API_KEY": "tvly-key"})


def _fetches(user: User, state: str) -> int:
    return sum(row.kind == "fetch" and row.state == state for row in user.calls())


def _begin(user: User, web: HeldWeb, *, done: int) -> "subprocess.Popen[str]":
    """Start a run, and wait until the first page is asked for, `done` are kept and others are held back."""
    process = user.start("ask", QUESTION)
    wait_until(lambda: len({each.host for each in web.requests(PAGES)}) > 4 and bool(web.fetches))
    wait_until(lambda: _fetches(user, "done") >= done)
    return process


@pytest.mark.parametrize("web", ["page"], indirect=True)
def test_after_a_kill_only_pages_that_were_under_way_are_fetched_again(user: User, web: HeldWeb) -> None:
    process = _begin(user, web, done=1)
    wait_until(lambda: len(web.fetches) >= _fetches(user, "done") + _fetches(user, "started"))
    kill(process)
    process.communicate()
    before, under_way = web.fetches, _fetches(user, "started")
    web.is_open = True
    assert user.run("runs", "resume", user.only_run().id).returncode == 0
    again = web.fetches - before
    assert sum((again & before).values()) == under_way > 1
    assert max(web.fetches.values()) == 2


@pytest.mark.parametrize("web", ["robots"], indirect=True)
def test_once_the_disk_is_full_no_further_page_is_asked_for(user: User, web: HeldWeb) -> None:
    web.first_waits = True
    process = _begin(user, web, done=0)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    web.first_waits = False
    try:
        # It ends without waiting for what it could not keep.
        _, told = process.communicate(timeout=12)
    finally:
        process.kill()
    assert process.returncode == 73, told
    assert sum(web.fetches.values()) == 1
    web.is_open = True
    assert user.run("runs", "resume", user.only_run().id).returncode == 0
    assert sum(web.fetches.values()) == len(web.fetches) + 1


@pytest.mark.parametrize("web", ["robots"], indirect=True)
def test_a_process_that_wakes_overtaken_asks_only_for_pages_that_it_had_begun(user: User, web: HeldWeb) -> None:
    process = _begin(user, web, done=1)
    user.freeze(process)
    try:
        begun, before = _fetches(user, "started"), sum(web.fetches.values())
        web.is_open = True
        run = user.only_run().id
        wait_until(lambda: user.run("runs", "resume", run).returncode == 0)
        kept, fetched = user.everything(), sum(web.fetches.values())
    finally:
        kill(process, signal.SIGCONT)
    assert finish(process).returncode == 75
    assert user.everything() == kept
    assert fetched - before == begun
    assert sum(web.fetches.values()) - fetched <= begun
