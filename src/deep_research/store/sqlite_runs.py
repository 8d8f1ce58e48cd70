"""Runs in SQLite, in a transaction of the caller: finding them, who may write to them, numbering what they tell."""

from collections.abc import Sequence
from datetime import UTC

from deep_research.errors import RunCancelled, RunHeld, RunTaken, UnknownRun
from deep_research.events import RunEvent
from deep_research.store.lease import Owner, holds_lease
from deep_research.store.port import Claim, NewEvent, RunRow
from deep_research.store.sqlite_file import Session
from deep_research.store.sqlite_rows import json_column, read_owner, read_run, time_column

_MIN_PREFIX = 4
_SEE_LIST = "`deep-research runs list` shows all."


def get_run(session: Session, run: str) -> RunRow:
    """Return a run by its whole id."""
    row = session.one("get_run", run=run)
    if row is None:
        raise _unknown(session, run)
    return read_run(row)


def find_run(session: Session, name: str) -> RunRow:
    """Return a run by its id or by a prefix that is no other run's."""
    found = [row["id"] for row in session.all("find_ids", prefix=name)]
    if found and (found[0] == name or (len(found) == 1 and len(name) >= _MIN_PREFIX)):
        return get_run(session, found[0])
    if len(name) < _MIN_PREFIX:
        raise UnknownRun(f"“{name}” names no run: give at least {_MIN_PREFIX} characters of its id. {_SEE_LIST}")
    if found:
        raise UnknownRun(f"Several runs start with “{name}”: give more characters. {_SEE_LIST}")
    raise _unknown(session, name)


def check_exists(session: Session, run: str) -> None:
    """Raise `UnknownRun` unless there is such a run."""
    if session.one("get_hold", run=run) is None:
        raise _unknown(session, run)


def check_free(session: Session, run: str, claimant: Owner, *, lease_s: float) -> None:
    """Raise `RunHeld` while a live owner holds the run's lease."""
    row = session.one("get_hold", run=run)
    if row is None:
        raise _unknown(session, run)
    owner = read_owner(row)
    if owner is not None and holds_lease(owner, claimant, lease_s=lease_s):
        raise RunHeld(f"Run {run} is being worked on by process {owner.pid} on {owner.host} since {row['claimed_at']}.")


def check_claim(session: Session, claim: Claim, *, even_if_cancelled: bool = False) -> None:
    """Raise `RunTaken` unless the claim is the run's newest, and `RunCancelled` once a cancel was asked for."""
    row = session.one("get_hold", run=claim.run)
    if row is None or row["epoch"] != claim.epoch:
        raise RunTaken(f"Another process took run {claim.run} over or removed it; this one changed nothing since.")
    if row["cancel_requested"] and not even_if_cancelled:
        raise RunCancelled(f"Run {claim.run} was cancelled; everything finished so far is kept.")


def append_events(session: Session, run: str, events: Sequence[NewEvent]) -> list[RunEvent]:
    """Number and keep the events whose key is new to the run; return those."""
    new = []
    for event in events:
        at, data = time_column(event.at), json_column(event.data)
        row = session.one("append_event", run=run, at=at, kind=event.kind, key=event.key, data=data)
        if row is not None:
            kept = event.model_dump() | {"at": event.at.astimezone(UTC)}
            new.append(RunEvent(seq=row["seq"], run=run, **kept))
    return new


def _unknown(session: Session, run: str) -> UnknownRun:
    return UnknownRun(f"There is no run “{run}” in the store {session.path}. {_SEE_LIST}")
