"""What the store of a measured process has on record, read as plain SQL: this side imports nothing of the project."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.world_calls import Latencies


class Row(NamedTuple):
    """A call of the journal that came to an end."""

    key: str
    kind: str
    scope: str
    began: datetime
    ended: datetime
    after: list[str]

    @property
    def took_s(self) -> float:
        """Return the seconds it took."""
        return (self.ended - self.began).total_seconds()


class Wait(NamedTuple):
    """Seconds in which a call had everything it needed, and was not made yet."""

    seconds: float
    scope: str
    needed: str


def only_run(home: Path) -> str:
    """Return the id of the run."""
    return str(_query(home, "SELECT id FROM runs")[0][0])


def calls_done(home: Path) -> Counter[str]:
    """Return how many calls of each kind the journal has as done."""
    return Counter(dict(_query(home, "SELECT kind, count(*) FROM journal WHERE state = 'done' GROUP BY kind")))


def bare_chain_s(home: Path, latencies: Latencies) -> float:
    """Return the longest chain of calls if each had taken the world's time and not a moment more.

    A call's share of the world is the most of its usual times that fits into what it took.
    """
    usual = {
        "llm": (latencies.short, latencies.long),
        "search": (latencies.search,),
        "fetch": (latencies.page, latencies.robots + latencies.page),
    }
    longest: dict[str, float] = {}
    for row in _rows(home):
        own = max((time for time in usual.get(row.kind, ()) if time <= row.took_s), default=0.0)
        longest[row.key] = own + max((longest.get(key, 0.0) for key in row.after), default=0.0)
    return max(longest.values())


def waits(home: Path) -> list[Wait]:
    """Return where the way to the last answer stood still: walked back, each time to the need that was met last."""
    rows = {row.key: row for row in _rows(home)}
    now = max(rows.values(), key=lambda row: row.ended)
    found = []
    while needs := [rows[key] for key in now.after if key in rows]:
        before = max(needs, key=lambda row: row.ended)
        found.append(Wait((now.began - before.ended).total_seconds(), now.scope, before.scope))
        now = before
    return sorted(found, reverse=True)


def _rows(home: Path) -> list[Row]:
    told = "SELECT key, kind, scope, started_at, ended_at, after FROM journal WHERE ended_at IS NOT NULL"
    rows = [
        Row(key, kind, scope, datetime.fromisoformat(began), datetime.fromisoformat(ended), json.loads(after))
        for key, kind, scope, began, ended, after in _query(home, told)
    ]
    return sorted(rows, key=lambda row: row.began)


def _query(home: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(home / "store.db")) as store:
        return store.execute(question).fetchall()
