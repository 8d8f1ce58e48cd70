"""Runs in SQLite, in a transaction of the caller: finding them, who may write to them, numbering what they tell."""

import logging
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC

from deep_research.errors import DeepResearchError, RunCancelled, RunHeld, RunTaken, StoreCorrupt, UnknownRun
from deep_research.events import RunEvent, RunStatus
from deep_research.store.lease import Owner, holds_lease
from deep_research.store.port import Claim, NewEvent, RunRow
from deep_research.store.sqlite_file import Session, corrupt
from deep_research.store.sqlite_rows import damaged, json_column, read_owner, read_run, require_sound, time_column

_log = logging.getLogger(__name__)

_MIN_PREFIX = 4
_SEE_LIST = "`deep-research runs list` shows all."


def get_run(session: Session, run: str) -> RunRow:
    """Return a run by its whole id."""
    return read_run(_row_of(session, run))


def find_run(session: Session, name: str) -> RunRow:
    """Return a run by its id or by a prefix that is no other run's."""
    found = [run_at(session, row["rowid"]) for row in session.all("find_rows", prefix=name)]
    if found and (found[0].id == name or (len(found) == 1 and len(name) >= _MIN_PREFIX)):
        return found[0]
    if len(name) < _MIN_PREFIX:
        raise UnknownRun(f"“{name}” names no run: give at least {_MIN_PREFIX} characters of its id. {_SEE_LIST}")
    if found:
        raise UnknownRun(f"Several runs start with “{name}”: give more characters. {_SEE_LIST}")
    raise _unknown(session, name)


def list_runs(session: Session, *, limit: int, status: RunStatus | None) -> list[RunRow]:
    """Return the newest runs first; a damaged one is left out with a warning, so that the others stay in reach."""
    _check_all_found(session)
    listed: list[RunRow] = []
    for row in session.all("list_rows"):
        if len(listed) == limit:
            break
        try:
            run = run_at(session, row["rowid"])
        except StoreCorrupt as exc:
            _log.warning("run %s is left out: %s", (row["id"] or b"?").decode(errors="replace"), exc)
            continue
        if status is None or run.status == status:
            listed.append(run)
    return listed


def run_at(session: Session, number: int) -> RunRow:
    """Return the run of a row of the table, whatever the index of ids says."""
    row = session.one("get_row", row=number)
    if row is None:
        raise corrupt(session.path)
    return read_run(row)


def check_exists(session: Session, run: str) -> None:
    """Raise `UnknownRun` unless there is such a run."""
    _row_of(session, run)


def check_free(session: Session, run: str, claimant: Owner, *, lease_s: float) -> None:
    """Raise `RunHeld` while a live owner holds the run's lease."""
    row = _row_of(session, run)
    _refuse_held(require_sound(row, table="runs", key=run), claimant, lease_s=lease_s)


def check_removable(session: Session, run: str, claimant: Owner, *, lease_s: float) -> None:
    """Raise `RunHeld` while a live owner holds the run's lease; a damaged run is held by whom its row still names."""
    with suppress(StoreCorrupt):
        row = session.one("get_hold", run=run)
        if row is not None:
            _refuse_held(row, claimant, lease_s=lease_s)
            return
    check_exists(session, run)


def _refuse_held(row: sqlite3.Row, claimant: Owner, *, lease_s: float) -> None:
    owner = read_owner(row)
    if owner is not None and holds_lease(owner, claimant, lease_s=lease_s):
        raise RunHeld(
            f"Run {row['id']} is being worked on by process {owner.pid} on {owner.host} since {row['claimed_at']}."
        )


def check_claim(session: Session, claim: Claim, *, even_if_cancelled: bool = False) -> None:
    """Raise `RunTaken` unless the claim is the run's newest, and `RunCancelled` once a cancel was asked for."""
    row = session.one("get_hold", run=claim.run)
    is_newest = row is not None and row["epoch"] == claim.epoch
    if row is not None and is_newest and (even_if_cancelled or not row["cancel_requested"]):
        return
    if row is not None:
        # Only now, because this is asked at every write.
        get_run(session, claim.run)
    if not is_newest:
        raise RunTaken(f"Another process took run {claim.run} over or removed it; this one changed nothing since.")
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


def _row_of(session: Session, run: str) -> sqlite3.Row:
    row = session.one("get_run", run=run)
    if row is None:
        raise _unknown(session, run)
    if row["id"] != run:
        raise damaged("runs", run)
    return row


def _unknown(session: Session, run: str) -> DeepResearchError:
    """Return that there is no such run, or that there may be one in what is damaged."""
    _check_all_found(session)
    for row in session.all("list_rows"):
        if run_at(session, row["rowid"]).id == run:
            return corrupt(session.path)
    return UnknownRun(f"There is no run “{run}” in the store {session.path}. {_SEE_LIST}")


def _check_all_found(session: Session) -> None:
    (counts,) = session.all("count_runs")
    if counts["rows"] != counts["ids"]:
        raise corrupt(session.path)
