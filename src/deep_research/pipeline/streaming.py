"""`StreamingManager`: what a run tells, kept before it is told, in order, and never twice."""

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Callable
from typing import cast

from deep_research.events import EventData, EventKind, LiveText, OnEvent, OnLive, RunEvent, RunStatus
from deep_research.pipeline.clock import Clock
from deep_research.store.port import Claim, NewEvent, Store
from deep_research.value import JsonObject

_log = logging.getLogger(__name__)


class StreamingManager:
    """The one place that writes a run's events and hands them to the caller.

    A key is kind, scope and ordinal in the scope; work that is done again after a crash gives the same keys, and a key
    that was told is not told again. A retry of the run tells only what came out differently, under keys of its own.
    """

    def __init__(
        self,
        *,
        store: Store,
        claim: Claim,
        clock: Clock,
        attempt: int = 0,
        on_event: OnEvent | None = None,
        on_live: OnLive | None = None,
        take_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._store = store
        self._claim = claim
        self._clock = clock
        self._attempt = attempt
        self._on_event = on_event
        self._on_live = on_live
        self._take_s = take_s
        self._told: dict[str, JsonObject] | None = None
        self._order = asyncio.Lock()
        self._tellings: set[asyncio.Task[None]] = set()

    async def tell(self, kind: EventKind, key: str, data: EventData) -> None:
        """Keep one event and hand it on, unless it was told before; a cancelled branch does not stop in between."""
        telling = asyncio.create_task(self._tell(kind, key, cast("JsonObject", data)))
        self._tellings.add(telling)
        telling.add_done_callback(self._told_or_failed)
        await asyncio.shield(telling)

    def _told_or_failed(self, telling: asyncio.Task[None]) -> None:
        self._tellings.discard(telling)
        if not telling.cancelled():
            telling.exception()  # Marks it as seen: the branch that waited for it may be gone.

    async def _tell(self, kind: EventKind, key: str, content: JsonObject) -> None:
        async with self._order:
            told = await self._told_before()
            if key in told:
                if self._attempt == 0 or told[key] == content:
                    return
                key = f"{key}~{self._attempt}"
            new = NewEvent(at=self._clock.now(), kind=kind, key=key, data=content)
            for event in await self._store.append_events(self._claim, [new]):
                told[key.partition("~")[0]] = content
                await self._hand_on(event)

    def hear(self, live: LiveText) -> None:
        """Hand on a piece of an answer while it comes."""
        if self._on_live is None:
            return
        try:
            self._on_live(live)
        except Exception:  # A caller's callback must not cost the run what it has paid for.
            _log.exception("on_live failed at %s; the run goes on", live.scope)
            self._on_live = None

    async def finish(
        self,
        status: RunStatus,
        *,
        result: JsonObject | None = None,
        error: JsonObject | None = None,
        pending: JsonObject | None = None,
    ) -> None:
        """Give the run its status and tell it, in one transaction; the lease is released with it."""
        async with self._order:
            data: JsonObject = {"status": status}
            if error is not None:
                data["reason"] = error["detail"]
            key = f"run-status:epoch/{self._claim.epoch}:1"
            told = NewEvent(at=self._clock.now(), kind="run-status", key=key, data=data)
            for event in await self._store.finish(
                self._claim,
                status,
                event=told,
                active_s=self._take_s(),
                result=result,
                error=error,
                pending=pending,
            ):
                await self._hand_on(event)

    async def _told_before(self) -> dict[str, JsonObject]:
        if self._told is None:
            events = await self._store.read_events(self._claim.run)
            self._told = {event.key.partition("~")[0]: event.data for event in events}
        return self._told

    async def _hand_on(self, event: RunEvent) -> None:
        if self._on_event is None:
            return
        try:
            waiting = self._on_event(event)
            if inspect.isawaitable(waiting):
                await waiting
        except Exception:  # A caller's callback must not cost the run what it has paid for.
            _log.exception("on_event failed at %s; the run goes on", event.key)


class Emitter:
    """Events of one piece of work: counts ordinals afresh, so that doing the work again gives the same keys."""

    def __init__(self, streaming: StreamingManager, scope: str) -> None:
        self._streaming = streaming
        self._scope = scope
        self._count: Counter[EventKind] = Counter()

    async def __call__(self, kind: EventKind, data: EventData) -> None:
        """Tell one event."""
        key = f"{kind}:{self._scope}:{self._count[kind]}"
        self._count[kind] += 1
        await self._streaming.tell(kind, key, data)
