"""Engines behind a throttle: paced in order, tried again where that helps, left alone while they fail."""

import asyncio

import pytest

from deep_research.errors import (
    CallFailed,
    ChallengeShown,
    NetworkError,
    QueryRefused,
    ServiceClosed,
    SourceBusy,
    SourceError,
    SourceRefused,
    TimedOut,
    Unreachable,
    error_named,
)
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.web.search.engine import Endpoint, OnePageSearch, PageQuery, SearchResult, connect
from deep_research.web.search.rate_limiter import MAX_QUEUE_S, RateLimit
from deep_research.web.search.registry import ENGINES
from deep_research.web.search.throttle import Throttle, throttle_of
from tests.support.search_server import Answer, SearchServer
from tests.unit.web.search.virtual_time import VirtualTime

QUERY = SearchQuery(query="q")
HITS = [Hit(address="https://example.org/a", title="A")]


# To fail, to take a time, or both.
Act = Exception | float | tuple[float, Exception]


class Stage(OnePageSearch):
    """An engine that does what it is told, one thing a call and the last for ever, and its throttle in virtual time."""

    def __init__(self, *acts: Act, limit: RateLimit | None = None, timeout_s: float = 20.0) -> None:
        self.time = VirtualTime()
        throttle = Throttle("The Stage", limit, clock=self.time.clock, sleep=self.time.sleep, jitter=lambda: 0.5)
        super().__init__(Endpoint("stage", "The Stage", "http://127.0.0.1:9", timeout_s, throttle=throttle))
        self.starts_s: list[float] = []
        self._acts = list(acts) or [0.0]

    async def results(self, query: PageQuery) -> list[SearchResult]:
        raise NotImplementedError

    async def search_once(self, query: SearchQuery, limit: int) -> list[Hit]:
        self.starts_s.append(self.time.now_s - 1000.0)
        act = self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]
        seconds, failure = act if isinstance(act, tuple) else (0.0, act) if isinstance(act, Exception) else (act, None)
        if seconds:
            await self.time.sleep(seconds)
        if failure:
            raise failure
        return HITS

    async def ask(self, times: int = 1) -> list:
        """Search that often at once; return what each search gives or raises."""
        return await self.time.run(*(self.search(QUERY, limit=3) for _ in range(times)))


async def test_engine_is_still_itself_with_time_to_queue():
    stage = Stage()
    assert await stage.ask() == [HITS]
    assert stage.name == "stage"
    assert stage.timeout_s == 20.0 + MAX_QUEUE_S


# RateLimiter


async def test_calls_begin_no_sooner_than_the_limit_allows_and_who_would_wait_too_long_is_refused():
    stage = Stage(limit=RateLimit(1, 5.0))
    *served, refused = await stage.ask(5)
    assert served == [HITS] * 4
    assert stage.starts_s == [0, 5, 10, 15]
    assert type(refused) is SourceBusy
    assert str(refused) == "The Stage is asked as often as it allows: the next turn comes in 20 s."


async def test_limit_looks_back_over_its_whole_time():
    stage = Stage(limit=RateLimit(3, 10.0))
    await stage.ask(2)
    stage.time.now_s += 6
    await stage.ask(5)
    assert stage.starts_s == [0, 0, 6, 10, 10, 16, 20]


async def test_service_without_a_limit_is_asked_at_once():
    stage = Stage(3.0)
    await stage.ask(30)
    assert stage.starts_s == [0] * 30


async def test_turn_of_who_goes_away_is_given_to_the_next():
    stage = Stage(limit=RateLimit(1, 5.0))

    async def ask_and_leave() -> None:
        task = asyncio.ensure_future(stage.search(QUERY, limit=3))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    await stage.time.run(stage.search(QUERY, limit=3), ask_and_leave())
    await stage.ask()
    assert stage.starts_s == [0, 5]


async def test_further_pages_wait_for_turns_of_their_own():
    time_, waits = VirtualTime(), []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        time_.now_s += seconds

    throttle = Throttle("GitHub", RateLimit(1, 3.0), clock=time_.clock, sleep=sleep)
    page = {"items": [{"html_url": f"https://example.org/{number}"} for number in range(99)] + [{"html_url": ""}]}
    with SearchServer(Answer(page)) as server:
        spec = ENGINES["github"]
        engine = connect(spec, address=server.address, throttle=throttle)
        assert len(await engine.search(QUERY, limit=100)) == 99
        await engine.close()
    assert sum(waits) == 3.0
    assert len(server.requests) == 2


# Tries


@pytest.mark.parametrize("failure", [SourceBusy("busy"), NetworkError("reset")])
async def test_what_time_may_heal_is_tried_twice_more_with_growing_waits(failure):
    stage = Stage(failure, failure, 0.0)
    assert await stage.ask() == [HITS]
    assert stage.starts_s == [0, 0.5, 1.5]
    stage = Stage(failure)
    assert await stage.ask() == [failure]
    assert len(stage.starts_s) == 3


@pytest.mark.parametrize(
    ("failure", "tries"),
    [(TimedOut("late"), 1), (Unreachable("gone"), 1), (SourceError("not JSON"), 1), (QueryRefused("too long"), 1)],
)
async def test_what_time_does_not_heal_is_not_tried_for_long(failure, tries):
    stage = Stage(failure)
    assert await stage.ask() == [failure]
    assert len(stage.starts_s) == tries


async def test_short_pause_that_a_service_asks_for_is_kept_by_everybody():
    stage = Stage(SourceBusy("busy", retry_after_s=7), 0.0)
    assert await stage.ask(3) == [HITS] * 3
    assert stage.starts_s == [0, 7, 7, 7]
    stage = Stage(SourceBusy("busy", retry_after_s=7), 0.0, limit=RateLimit(1, 1.0))
    assert await stage.ask(3) == [HITS] * 3
    assert stage.starts_s == [0, 7, 8, 9]


async def test_pause_is_kept_by_who_has_a_turn_already():
    stage = Stage((2.0, SourceBusy("busy", retry_after_s=7)), 0.0, limit=RateLimit(1, 3.0))
    assert await stage.ask(3) == [HITS] * 3
    assert stage.starts_s == [0, 9, 12, 15]


async def test_long_pause_closes_the_gate_until_it_is_over():
    busy = SourceBusy("busy", retry_after_s=100)
    stage = Stage(busy, 0.0)
    assert await stage.ask() == [busy]
    (refused,) = await stage.ask()
    assert type(refused) is SourceBusy
    assert str(refused) == "The Stage asks for a pause: the next turn comes in 100 s."
    assert refused.retry_after_s == 100
    stage.time.now_s += 90
    assert await stage.ask() == [HITS]
    assert stage.starts_s == [0, 100]


async def test_pause_without_end_is_not_kept():
    stage = Stage(SourceBusy("busy", retry_after_s=10**9), 0.0)
    await stage.ask()
    stage.time.now_s += 3600
    assert await stage.ask() == [HITS]


async def test_no_try_begins_after_the_time_of_the_engine():
    stage = Stage(SourceBusy("busy"), timeout_s=0.4)
    assert isinstance((await stage.ask())[0], SourceBusy)
    assert stage.starts_s == [0]
    stage = Stage(SourceBusy("busy"), timeout_s=1.2)
    await stage.ask()
    assert stage.starts_s == [0, 0.5]


async def test_all_tries_together_take_no_longer_than_the_engine_alone():
    stage = Stage(SourceBusy("busy", retry_after_s=0), 60.0, timeout_s=0.05)
    with pytest.raises(TimedOut, match=r"The Stage did not answer within 0\.05 s in 2 tries"):
        await stage.search(QUERY, limit=3)
    assert len(stage.starts_s) == 2


async def test_time_of_the_engine_counts_from_its_turn():
    stage = Stage(0.0, SourceBusy("busy"), 0.0, limit=RateLimit(1, 5.0), timeout_s=6.0)
    assert await stage.ask(2) == [HITS, HITS]
    assert stage.starts_s == [0, 5, 10]


# The breaker


async def test_service_that_fails_three_times_is_left_alone_for_a_minute_then_tried_once():
    stage = Stage(*[SourceError("It answered in no form of its own.")] * 3, 5.0)
    await stage.ask(3)
    (refused,) = await stage.ask()
    assert isinstance(refused, ServiceClosed)
    said = "The Stage is left alone for a while (It answered in no form of its own)."
    assert str(refused) == said
    stage.time.now_s += 60
    trial, *refused = await stage.ask(3)
    assert trial == HITS
    assert [type(one) for one in refused] == [ServiceClosed] * 2
    assert await stage.ask(2) == [HITS] * 2
    assert len(stage.starts_s) == 3 + 1 + 2


async def test_nobody_queues_for_a_service_that_is_not_there():
    stage = Stage(Unreachable("no network"), limit=RateLimit(1, 1.0))
    first, *others = await stage.ask(8)
    assert isinstance(first, Unreachable)
    assert {type(one) for one in others} == {ServiceClosed}
    assert stage.starts_s == [0]
    assert stage.time.now_s - 1000.0 <= 0.25


async def test_trial_that_fails_closes_the_service_for_another_minute():
    stage = Stage(TimedOut("late"))
    await stage.ask(3)
    stage.time.now_s += 60
    assert isinstance((await stage.ask())[0], TimedOut)
    stage.time.now_s += 59
    assert isinstance((await stage.ask())[0], ServiceClosed)
    assert len(stage.starts_s) == 4


async def test_trial_that_is_called_off_leaves_room_for_another():
    stage = Stage(*[TimedOut("late")] * 3, 5.0)
    await stage.ask(3)
    stage.time.now_s += 60
    trial = asyncio.ensure_future(stage.search(QUERY, limit=3))
    await asyncio.sleep(0)
    trial.cancel()
    await asyncio.gather(trial, return_exceptions=True)
    assert len(stage.starts_s) == 4
    assert await stage.ask() == [HITS]


async def test_only_failures_of_the_service_in_a_row_count():
    failures = [SourceError("x"), SourceError("x"), QueryRefused("too long"), SourceError("x"), SourceError("x")]
    stage = Stage(*failures, 0.0)
    for failure in failures:
        assert await stage.ask() == [failure]
    assert await stage.ask() == [HITS]


async def test_refusals_do_not_count_and_who_queued_meanwhile_is_refused_as_well():
    stage = Stage(TimedOut("late"), limit=RateLimit(1, 4.0))
    answers = await stage.ask(6)
    assert [type(answer) for answer in answers] == [TimedOut, TimedOut, TimedOut, ServiceClosed, SourceBusy, SourceBusy]
    stage.time.now_s = 1000.0 + 8.0 + 60.0
    assert isinstance((await stage.ask())[0], TimedOut)


@pytest.mark.parametrize("kind", [ServiceClosed, QueryRefused, TimedOut, Unreachable])
def test_journal_knows_the_refusal_again(kind):
    again = error_named(kind.__name__, "why")
    assert type(again) is kind
    assert isinstance(again, CallFailed)
    assert str(again) == "why"


# One throttle a service


def test_engines_of_one_service_share_a_gate():
    assert throttle_of(ENGINES["github"]) is throttle_of(ENGINES["github-issues"])
    assert throttle_of(ENGINES["github"]) is not throttle_of(ENGINES["gdelt"])
    at_home = throttle_of(ENGINES["github"], address="http://127.0.0.1:9")
    assert at_home is not throttle_of(ENGINES["github"])
    assert at_home is throttle_of(ENGINES["github-issues"], address="http://127.0.0.1:9")


def test_limit_is_of_the_services_own_address_and_a_key_may_widen_it():
    github = ENGINES["github"]
    assert github.limit_at(github.default_address, "") == RateLimit(10, 60.0)
    assert github.limit_at(github.default_address, "token") == RateLimit(30, 60.0)
    assert github.limit_at("http://127.0.0.1:9", "token") is None
    gdelt = ENGINES["gdelt"]
    assert gdelt.limit_at(gdelt.default_address, "key") == RateLimit(1, 5.0)


async def test_real_service_that_limits_its_callers_is_asked_again():
    answers = [Answer({"error": "slow down"}, status=429, headers={"Retry-After": "0"}), Answer({"results": []})]
    with SearchServer(lambda _: answers.pop(0)) as server:
        spec = ENGINES["tavily"]
        engine = connect(spec, address=server.address, key="key", throttle=throttle_of(spec, address=server.address))
        assert await engine.search(QUERY, limit=3) == []
        await engine.close()
    assert len(server.requests) == 2


@pytest.mark.parametrize("failure", [SourceRefused("check the key in THE_KEY."), ChallengeShown("a challenge.")])
async def test_who_refuses_every_call_is_asked_once_and_left_alone(failure):
    stage = Stage(failure)
    assert await stage.ask() == [failure]
    (closed,) = await stage.ask()
    assert isinstance(closed, ServiceClosed)
    assert str(failure).rstrip(".") in str(closed)
    assert stage.starts_s == [0]


def test_mail_address_allows_more_where_the_service_says_so():
    crossref = ENGINES["crossref"]
    assert crossref.limit_at(crossref.default_address, "", "me@example.org") == RateLimit(3, 1.0)
    assert crossref.limit_at(crossref.default_address, "") == RateLimit(1, 1.0)
