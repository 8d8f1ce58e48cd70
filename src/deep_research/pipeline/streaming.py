"""`StreamingManager`: the events of a run, stored before they are emitted, in order, and never twice."""

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from deep_research.events import EventData, EventKind, LiveText, OnEvent, OnLive, RunEvent, RunStatus
from deep_research.pipeline.clock import Clock
from deep_research.storage.store.port import Lease, NewEvent
from deep_research.storage.store.store import Store
from deep_research.value import JsonObject

_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class StreamingManager:
    """The one place that writes a run's events and hands them to the caller.

    A key is kind, scope and ordinal in the scope; work that is done again after a crash gives the same keys, and no key
    is emitted twice. A retry of the run emits only what came out differently, under keys of its own.
    """

    store: Store
    lease: Lease
    clock: Clock
    attempt: int = 0
    on_event: OnEvent | None = None
    on_live: OnLive | None = None
    take_s: Callable[[], float] = lambda: 0.0
    _emitted: dict[str, JsonObject] | None = None
    _order: asyncio.Lock = field(default_factory=asyncio.Lock)
    _emitting: set[asyncio.Task[None]] = field(default_factory=set)

    async def emit(self, kind: EventKind, key: str, data: EventData) -> None:
        """Store one event and hand it on, unless that was done before; a cancelled branch does not stop in between."""
        await asyncio.shield(self.emit_soon(kind, key, data))

    def emit_soon(self, kind: EventKind, key: str, data: EventData) -> asyncio.Task[None]:
        """Begin to emit one event, after all that were begun before."""
        emitting = asyncio.create_task(self._emit(kind, key, cast("JsonObject", data)))
        self._emitting.add(emitting)
        emitting.add_done_callback(self._ended)
        return emitting

    def _ended(self, emitting: asyncio.Task[None]) -> None:
        self._emitting.discard(emitting)
        if not emitting.cancelled():
            emitting.exception()  # Marks it as seen: the branch that waited for it may be gone.

    async def _emit(self, kind: EventKind, key: str, content: JsonObject) -> None:
        async with self._order:
            if self._emitted is None:
                events = await self.store.read_events(self.lease.run)
                self._emitted = {event.key.partition("~")[0]: event.data for event in events}
            if key in self._emitted:
                if self.attempt == 0 or self._emitted[key] == content:
                    return
                key = f"{key}~{self.attempt}"
            new = NewEvent(at=self.clock.now(), kind=kind, key=key, data=content)
            for event in await self.store.append_events(self.lease, [new]):
                self._emitted[key.partition("~")[0]] = content
                await self._hand_on(event)

    def on_live_text(self, live: LiveText) -> None:
        """Hand on a piece of an answer while it comes."""
        listen, self.on_live = self.on_live, None
        if listen:
            with _survived("on_live", live.scope):
                listen(live)
                # One that failed is not called again.
                self.on_live = listen

    async def finish(
        self,
        status: RunStatus,
        *,
        result: JsonObject | None = None,
        error: JsonObject | None = None,
        pending: JsonObject | None = None,
    ) -> None:
        """Give the run its status and emit it, in one transaction; the lease is released with it."""
        async with self._order:
            data: JsonObject = {"status": status}
            if error is not None:
                data["reason"] = error["detail"]
            key = f"run-status:epoch/{self.lease.epoch}:1"
            new = NewEvent(at=self.clock.now(), kind="run-status", key=key, data=data)
            for event in await self.store.finish(
                self.lease, status, event=new, active_s=self.take_s(), result=result, error=error, pending=pending
            ):
                await self._hand_on(event)

    async def _hand_on(self, event: RunEvent) -> None:
        if not self.on_event:
            return
        with _survived("on_event", event.key):
            waiting = self.on_event(event)
            if inspect.isawaitable(waiting):
                await waiting


@contextmanager
def _survived(callback: str, event_name: str) -> Iterator[None]:
    try:
        yield
    except Exception:  # A caller's callback must not cost the run what it has paid for.
        _log.exception("%s failed at %s; the run goes on", callback, event_name)


@dataclass(eq=False)
class Emitter:
    """Events of one piece of work: counts ordinals afresh, so that doing the work again gives the same keys."""

    streaming: StreamingManager
    scope: str
    _count: Counter[EventKind] = field(default_factory=Counter)

    async def __call__(self, kind: EventKind, data: EventData) -> None:
        """Emit one event."""
        key = f"{kind}:{self.scope}:{self._count[kind]}"
        self._count[kind] += 1
        await self.streaming.emit(kind, key, data)
