"""What a run keeps in rows of its own, read in a transaction of the caller: journal, events, answers, addresses.

A row that cannot be found any more leaves no trace in what is found; so it is counted in a second way.
"""

import sqlite3
from collections.abc import Sequence

from deep_research.events import RunEvent
from deep_research.store.port import JournalRow
from deep_research.store.sqlite_file import Session
from deep_research.store.sqlite_rows import damaged, read_call, read_event, read_json, require_sound
from deep_research.value import Json

_UNLIMITED = -1


def list_calls(session: Session, run: str) -> list[JournalRow]:
    """Return the journal of a run in the order in which the calls were started."""
    found = session.all("list_calls", run=run)
    calls = [read_call(row) for row in found]
    _require_numbered([row["number"] for row in found], after=0, table="journal", run=run)
    _require_keys(found, session.all("list_call_keys", run=run), table="journal", run=run)
    return calls


def read_events(session: Session, run: str, *, after: int, limit: int | None) -> list[RunEvent]:
    """Return the events of a run with a sequence number above `after`."""
    most = _UNLIMITED if limit is None else limit
    found = session.all("read_events", run=run, after=after, limit=most)
    events = [read_event(row) for row in found]
    _require_numbered([event.seq for event in events], after=after, table="events", run=run)
    if after == 0 and limit is None:
        _require_keys(found, session.all("list_event_keys", run=run), table="events", run=run)
    return events


def read_answers(session: Session, run: str) -> dict[str, Json]:
    """Return the asker's answers by scope."""
    found = session.all("list_answers", run=run)
    _require_count(found, session.all("count_answers", run=run), table="answers", run=run)
    answers = {}
    for row in found:
        require_sound(row, table="answers", key=row["scope"])
        answers[row["scope"]] = read_json(row["answer"], table="answers", key=row["scope"])
    return answers


def list_addresses(session: Session, run: str) -> dict[str, str]:
    """Return address → document id for everything a run read."""
    found = session.all("list_addresses", run=run)
    _require_count(found, session.all("count_addresses", run=run), table="run_documents", run=run)
    for row in found:
        require_sound(row, table="run_documents", key=run)
    return {row["address"]: row["document"] for row in found}


def _require_numbered(numbers: Sequence[int], *, after: int, table: str, run: str) -> None:
    if list(numbers) != list(range(after + 1, after + 1 + len(numbers))):
        raise damaged(table, run)


def _require_keys(found: Sequence[sqlite3.Row], keys: Sequence[sqlite3.Row], *, table: str, run: str) -> None:
    """Hold the rows found by number against the keys that another index lists, in its order."""
    if sorted(row["key"] for row in found) != [row["key"] for row in keys]:
        raise damaged(table, run)


def _require_count(found: Sequence[sqlite3.Row], counted: Sequence[sqlite3.Row], *, table: str, run: str) -> None:
    if len(found) != counted[0]["rows"]:
        raise damaged(table, run)
