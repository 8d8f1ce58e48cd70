"""Events of runs for any number of readers: each is read and encoded once, however many listen.

A run that has readers has a channel: the newest of what happened, and what wakes the readers. Who falls behind reads
older events from the store again, a few at a time, so that a slow reader holds nothing for itself.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, NamedTuple

from deep_research.errors import DeepResearchError, StoreCorrupt
from deep_research.events import ENDED, LiveText, RunEvent
from deep_research.settings import Settings
from deep_research.storage.store.rows import json_column
from deep_research.storage.store.store import Store
from deep_research.value import Json

_log = logging.getLogger(__name__)
# What a channel keeps at most, in entries and in bytes.
_MAX_ITEMS, _MAX_ITEM_BYTES = 512, 1_000_000
# What a reader is handed at once, and what is read from the store at once.
_HANDED_BYTES, _BATCH = 32_000, 50
# Readers are woken at most this often, less often where there are many: what comes meanwhile is sent together.
_PAUSE_S, _PAUSE_A_READER_S, _MAX_PAUSE_S = 0.05, 0.00005, 0.1
# How often the store is looked at where nothing tells of new events, and where something does.
_POLL_S, _SELDOM_S = 1.0, 5.0
# An answer of which nothing came for so long has ended, or hangs.
_LIVE_S = 30.0
# What a model writes for people to read; what it answers at other steps is for us. So much of it is kept for a run.
_PROSE_ACTS, _MAX_PROSE_CHARS = ("draft", "recall"), 100_000


class Heartbeat(NamedTuple):
    """Nothing happened for a while; tells a reader that the connection lives."""


class Missed(NamedTuple):
    """A reader missed something that cannot be replayed: events before `first`, or live text (what comes is the rest).

    Events follow from the number `first` on.
    """

    what: Literal["events", "text"]
    first: int


class Written(NamedTuple):
    """The report as far as it is written, for who comes in the middle of it: takes the place of what a reader has.

    `is_cut` says that its beginning is missing.
    """

    parts: tuple[LiveText, ...]
    is_cut: bool


Item = RunEvent | LiveText | Heartbeat | Missed | Written


def frame_of(item: Item) -> bytes:
    """Return an item in the format of an event stream (server-sent events)."""
    match item:
        case Heartbeat():
            return b": beat\n\n"
        case RunEvent():
            # The path of a report is that of a file on the server's disk.
            shown = {name: value for name, value in item.data.items() if name != "path"}
            return _frame(item.kind, {"at": item.at.isoformat(), **shown}, f"id: {item.seq}\n")
        case Missed():
            # A reader that comes back must not name an event that this run never had.
            id_ = f"id: {item.first - 1}\n" if item.what == "events" else ""
            return _frame("stream-gap", {"what": item.what, "first": item.first}, id_)
        case LiveText():
            return _frame("live", item._asdict())
        case Written():
            return _frame("written", {"parts": [part._asdict() for part in item.parts], "is_cut": item.is_cut})


def _frame(kind: str, data: Json, id_: str = "") -> bytes:
    return f"{id_}event: {kind}\ndata: {json_column(data)}\n\n".encode()


class FeedItem(NamedTuple):
    """Something for readers, and how it is sent."""

    item: Item
    frame: bytes


def _entry(item: Item) -> FeedItem:
    return FeedItem(item, frame_of(item))


class Batch(NamedTuple):
    """What a reader is handed at once; readers at the same place share one.

    `last_seq` is that of its last event, 0 where it has none; `texts` counts its live texts.
    """

    entries: tuple[FeedItem, ...]
    frames: bytes
    last_seq: int = 0
    texts: int = 0


def _batch(*entries: FeedItem) -> Batch:
    seqs = [entry.item.seq for entry in entries if isinstance(entry.item, RunEvent)]
    return Batch(
        entries,
        b"".join([entry.frame for entry in entries]),
        last_seq=seqs[-1] if seqs else 0,
        texts=sum(isinstance(entry.item, LiveText) for entry in entries),
    )


_NOTHING = _batch()
_HEARTBEAT = _batch(_entry(Heartbeat()))


@dataclass(eq=False)
class _LiveProse:
    """What was written of a report so far, step by step; of a long one, the end."""

    _pieces: deque[LiveText] = field(default_factory=deque)
    _chars: int = 0
    _is_cut: bool = False

    def add(self, piece: LiveText) -> None:
        """Take a piece."""
        self._pieces.append(piece)
        self._chars += len(piece.text)
        while self._chars > _MAX_PROSE_CHARS and len(self._pieces) > 1:
            self._chars -= len(self._pieces.popleft().text)
            self._is_cut = True

    def written(self, *, before_last: int) -> Written | None:
        """Return what there is of it before so many last characters, each step in one piece."""
        shown = list(self._pieces)
        while before_last > 0 and shown:
            before_last -= len(shown.pop().text)
        parts: list[LiveText] = []
        for _, pieces in groupby(shown, key=lambda piece: piece[:-1]):
            first, *rest = pieces
            parts.append(first._replace(text="".join((first.text, *(piece.text for piece in rest)))))
        return Written(tuple(parts), self._is_cut) if parts else None


def is_prose(live: LiveText) -> bool:
    """Say whether a piece is of what a model writes for people to read."""
    return live.kind == "text" and live.act in _PROSE_ACTS


@dataclass(eq=False)
class _Channel:
    """The newest of what happened in one run: events without a gap, and live text between them.

    `last_seq` is the newest event that came, `shown_seq` the newest that readers may see; `count` is how many entries
    were ever shown, `texts` how many of them were live text.
    """

    last_seq: int = 0
    shown_seq: int = 0
    first_seq: int = 1
    count: int = 0
    texts: int = 0
    is_over: bool = False
    is_closed: bool = False
    readers: int = 0
    heartbeat_s: float = math.inf
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    poll: asyncio.Task[None] | None = None
    _items: deque[FeedItem] = field(default_factory=deque)
    _bytes: int = 0
    _fresh: list[RunEvent | LiveText] = field(default_factory=list)
    _last: tuple[tuple[int, int], Batch] = ((-1, -1), _NOTHING)
    _timer: asyncio.TimerHandle | None = None
    _shown_at: float = 0.0
    _beat_at: float = 0.0

    def begin(self, last_seq: int, events: list[RunEvent], *, is_over: bool) -> None:
        """Start with the newest events of the store."""
        self.last_seq = self.shown_seq = last_seq - len(events)
        self.first_seq, self.is_over = self.last_seq + 1, is_over
        for event in events:
            self.add(event)
        self.show()

    def add(self, item: RunEvent | LiveText) -> None:
        """Take what happened; readers are woken soon."""
        if isinstance(item, RunEvent):
            if item.seq != self.last_seq + 1:
                # Another process wrote in between, or it was read from the store before it was published.
                self.wanted.set()
                return
            self.last_seq = item.seq
        last = self._fresh[-1] if self._fresh else None
        if isinstance(item, LiveText) and isinstance(last, LiveText) and last[:-1] == item[:-1]:
            self._fresh[-1] = item._replace(text=last.text + item.text)
        else:
            self._fresh.append(item)
        if self._timer is None:
            pause_s = min(_PAUSE_S + self.readers * _PAUSE_A_READER_S, _MAX_PAUSE_S)
            show_at = max(_now(), self._shown_at + pause_s)
            self._timer = asyncio.get_running_loop().call_at(show_at, self.show)

    def show(self) -> None:
        """Show readers what has come, and wake them."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._shown_at = None, _now()
        for item in self._fresh:
            entry = _entry(item)
            self._items.append(entry)
            self._bytes += len(entry.frame)
            if isinstance(item, RunEvent):
                self.shown_seq = item.seq
                self.is_over = item.data.get("status") in ENDED if item.kind == "run-status" else self.is_over
            else:
                self.texts += 1
        self.count += len(self._fresh)
        self._fresh = []
        while len(self._items) > _MAX_ITEMS or (self._bytes > _MAX_ITEM_BYTES and len(self._items) > 1):
            dropped = self._items.popleft()
            self._bytes -= len(dropped.frame)
            if isinstance(dropped.item, RunEvent):
                self.first_seq = dropped.item.seq + 1
        self.wake()

    def prose_to_come(self) -> int:
        """Return how many characters of a report have come and are not shown yet."""
        return sum(len(item.text) for item in self._fresh if isinstance(item, LiveText) and is_prose(item))

    def is_due(self, heartbeat_s: float) -> bool:
        """Say whether nothing was shown for so long that readers should hear a beat."""
        return _now() - max(self._shown_at, self._beat_at) >= heartbeat_s

    def beat(self) -> None:
        """Wake the readers where one should hear a beat: one timer for all, not one for each."""
        if self.is_due(self.heartbeat_s):
            self.wake()
            asyncio.get_running_loop().call_soon(self._has_beaten)

    def _has_beaten(self) -> None:
        self._beat_at = _now()

    def wake(self) -> None:
        """Wake the readers."""
        self.changed.set()
        self.changed = asyncio.Event()

    def close(self) -> None:
        """Let all readers go."""
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.wake()

    def since(self, position: int) -> Batch | None:
        """Return some of what was shown after a position; None where some of it is no longer here.

        Nearly all readers ask for the same: it is put together once.
        """
        missing = self.count - position
        if not missing:
            return _NOTHING
        if missing > len(self._items):
            return None
        asked = (position, self.count)
        if self._last[0] != asked:
            self._last = asked, _some(self._items[index] for index in range(-missing, 0))
        return self._last[1]

    def events_after(self, seq: int) -> Batch | None:
        """Return some of the events after a number; None where some of them are no longer here."""
        if seq + 1 < self.first_seq:
            return None
        return _some(entry for entry in self._items if isinstance(entry.item, RunEvent) and entry.item.seq > seq)


class EventFeed:
    """Hands events on to readers: those of this process at once, those of others as soon as the store is looked at."""

    def __init__(self, store: Store, *, poll_s: float = _POLL_S) -> None:
        self._store = store
        self._poll_s = poll_s
        self._channels: dict[str, _Channel] = {}
        self._opening: dict[str, asyncio.Task[_Channel]] = {}
        self._reads: dict[tuple[str, int], asyncio.Task[list[FeedItem]]] = {}
        self._live: dict[str, float] = {}
        self._prose: dict[str, _LiveProse] = {}
        self._is_closed = False

    @property
    def readers(self) -> int:
        """How many listen."""
        return sum(channel.readers for channel in self._channels.values())

    def on_event(self, event: RunEvent) -> None:
        """Take an event of a run in this process; it is in the store already."""
        if event.kind == "run-status":
            self._live.pop(event.run, None)
            self._prose.pop(event.run, None)
        if channel := self._channels.get(event.run):
            channel.add(event)

    def on_live(self, live: LiveText) -> None:
        """Take a piece of an answer while it comes."""
        self._live[live.run] = _now()
        if is_prose(live):
            self._prose.setdefault(live.run, _LiveProse()).add(live)
        if channel := self._channels.get(live.run):
            channel.add(live)

    def on_live_elsewhere(self, live: LiveText) -> None:
        """Take a piece that another process passes on: it is kept only where somebody reads it."""
        if live.run not in self._channels:
            now = _now()
            self._live = {run: at for run, at in self._live.items() if now - at < _LIVE_S} | {live.run: now}
            self._prose.pop(live.run, None)
            return
        if live.run not in self._prose and live.run in self._live:
            # Some came before anybody read it.
            self._prose[live.run] = _LiveProse(_is_cut=True)
        self.on_live(live)

    def check(self, run: str) -> None:
        """Look at the store now: something was written there, or the run was deleted."""
        if channel := self._channels.get(run):
            channel.wanted.set()

    def close(self) -> None:
        """End what everybody reads."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.close()

    async def read(self, run: str, *, after: int = 0, heartbeat_s: float = 15.0) -> AsyncIterator[Item]:
        """Yield the events of a run after a number, then what comes, until the run is over or was deleted."""
        async for batch in self.batches(run, after=after, heartbeat_s=heartbeat_s):
            for entry in batch.entries:
                yield entry.item

    async def batches(self, run: str, *, after: int = 0, heartbeat_s: float = 15.0) -> AsyncIterator[Batch]:
        """Yield the same as `read`, with how it is sent, as much at a time as a reader may hold."""
        channel = await self._opened(run)
        channel.heartbeat_s = min(channel.heartbeat_s, heartbeat_s)
        try:
            seq, texts = after, channel.texts
            if after > channel.shown_seq and after > await self._store.last_seq(run):
                seq = 0
                yield _batch(_entry(Missed("events", 1)))
            elif _now() - self._live.get(run, -_LIVE_S) < _LIVE_S:
                yield _batch(_entry(Missed("text", after + 1)))
            is_new = True
            while not channel.is_closed:
                # Events first, from wherever they are, until nothing is between the reader and what comes.
                while seq < channel.shown_seq and not channel.is_closed:
                    events = channel.events_after(seq)
                    if events is None or not events.entries:
                        events = await self._stored(run, seq)
                    if not events.entries:
                        return
                    seq = events.last_seq
                    yield events
                position = channel.count
                if is_new or channel.texts != texts:
                    gap = [_entry(Missed("text", seq + 1))] if channel.texts != texts else []
                    is_new, texts = False, channel.texts
                    if before := [*gap, *self._written(run, channel)]:
                        yield _batch(*before)
                while (new := channel.since(position)) is not None and not channel.is_closed:
                    if new.entries:
                        position += len(new.entries)
                        texts += new.texts
                        fresh = [one for one in new.entries if not isinstance(one.item, RunEvent) or one.item.seq > seq]
                        yield new if len(fresh) == len(new.entries) else _batch(*fresh)
                        seq = max(seq, new.last_seq)
                    elif channel.is_over:
                        return
                    else:
                        await channel.changed.wait()
                        if channel.count == position and channel.is_due(heartbeat_s):
                            yield _HEARTBEAT
        finally:
            channel.readers -= 1
            if not channel.readers:
                self._drop(run, channel)
                if channel.poll is not None:
                    channel.poll.cancel()

    def _written(self, run: str, channel: _Channel) -> list[FeedItem]:
        """Return what was written of a run's report up to what its channel has shown."""
        prose = self._prose.get(run)
        written = prose.written(before_last=channel.prose_to_come()) if prose else None
        return [_entry(written)] if written else []

    async def _opened(self, run: str) -> _Channel:
        """Return the channel of a run, opened by its first reader."""
        channel = self._channels.get(run)
        if channel is None:
            opening = self._opening.get(run)
            if opening is None:
                opening = self._opening[run] = asyncio.create_task(self._open(run))
                opening.add_done_callback(lambda _: self._opening.pop(run))
            channel = await asyncio.shield(opening)
        channel.readers += 1
        return channel

    async def _open(self, run: str) -> _Channel:
        channel = _Channel(is_closed=self._is_closed)
        # Whatever comes from here on is taken, and once more where it is in the store by then.
        row = await self._store.get_run(run)
        last = await self._store.last_seq(run)
        events = await self._store.read_events(run, after=max(0, last - _MAX_ITEMS))
        self._channels[run] = channel
        channel.begin(events[-1].seq if events else last, events, is_over=row.status in ENDED)
        channel.wanted.set()
        channel.poll = asyncio.create_task(self._poll(run, channel))
        return channel

    def _drop(self, run: str, channel: _Channel) -> None:
        channel.close()
        if self._channels.get(run) is channel:
            del self._channels[run]

    async def _poll(self, run: str, channel: _Channel) -> None:
        """Look for events that another process wrote; end where there are fewer than there were."""
        while not channel.is_closed:
            await set_within(channel.wanted, self._poll_s)
            channel.wanted.clear()
            channel.beat()
            try:
                # Events of this process come in while the store is being read.
                known = channel.last_seq
                last = await self._store.last_seq(run)
                if last < known:
                    channel.close()
                while channel.last_seq < last and (
                    events := await self._store.read_events(run, after=channel.last_seq, limit=_BATCH)
                ):
                    for event in events:
                        if event.seq > channel.last_seq:
                            self.on_event(event)
            except DeepResearchError as exc:
                _log.warning("events of run %s: %s", run, exc)
                if isinstance(exc, StoreCorrupt):
                    channel.close()
            if not channel.readers:  # Whoever had it opened is gone.
                self._drop(run, channel)

    async def _stored(self, run: str, seq: int) -> Batch:
        """Return some events after a number from the store; who asks for the same at once gets the same."""
        key = (run, seq - seq % _BATCH)
        reading = self._reads.get(key)
        if reading is None:
            reading = self._reads[key] = asyncio.create_task(self._encoded(*key))
            reading.add_done_callback(lambda _: self._reads.pop(key))
        entries = await asyncio.shield(reading)
        return _some(entry for entry in entries if isinstance(entry.item, RunEvent) and entry.item.seq > seq)

    async def _encoded(self, run: str, after: int) -> list[FeedItem]:
        return [_entry(event) for event in await self._store.read_events(run, after=after, limit=_BATCH)]


def open_feed(settings: Settings, store: Store) -> EventFeed:
    """Return the feed of these settings; where PostgreSQL tells of new events, looking for them is a safeguard."""
    return EventFeed(store, poll_s=_POLL_S if settings.database_url is None else _SELDOM_S)


def _some(entries: Iterable[FeedItem]) -> Batch:
    """Return as many of the first entries as a reader may hold, one at least."""
    chosen: list[FeedItem] = []
    size = 0
    for entry in entries:
        size += len(entry.frame)
        if chosen and size > _HANDED_BYTES:
            break
        chosen.append(entry)
    return _batch(*chosen)


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; return whether it came within so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
            return True
    return False


def _now() -> float:
    return asyncio.get_running_loop().time()
