"""The rows of the store's tables, in a transaction of the caller: runs, their records, documents and evidence.

Turns values into columns and back. A row that does not fit is `StoreCorrupt`, by table and key. A row that cannot be
found any more leaves no trace in what is found; so rows are counted in a second way.
"""

import hashlib
import json
import logging
import sys
import zlib
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from deep_research.errors import (
    ConfigurationError,
    DeepResearchError,
    RunCancelled,
    RunHeld,
    RunTaken,
    StoreCorrupt,
    UnknownRun,
)
from deep_research.events import RunEvent, RunStatus
from deep_research.report.evidence.passage import Evidence, Passage, evidence_from
from deep_research.report.sources.document import Document, text_id
from deep_research.storage.database.checksums import is_sound
from deep_research.storage.database.port import Column, Row, Session, value_of
from deep_research.storage.store.blobs import BlobStorage
from deep_research.storage.store.lease import Owner, holds_lease
from deep_research.storage.store.port import JournalRow, Lease, NewEvent, RunChoice, RunRow, UnfinishedRun
from deep_research.value import Json, Value

V = TypeVar("V", bound=Value)

_RUN_JSON = ("request", "owner", "pending", "result", "error", "tags")
_CALL_JSON = ("answer", "error", "estimate", "spend", "orphaned", "after")


def time_column(at: datetime) -> str:
    """Return a time in UTC with a fixed width, so that text sorts as time does."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def json_column(data: Json) -> str:
    """Return JSON text that any database takes, also where a string holds half a surrogate pair."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(data, separators=(",", ":"))
    return text


def optional_json_column(data: Json) -> str | None:
    """Return JSON text, or NULL for None."""
    return None if data is None else json_column(data)


def run_columns(run: RunRow) -> dict[str, Column]:
    """Return a run as columns."""
    return _columns(run, _RUN_JSON)


def call_columns(row: JournalRow) -> dict[str, Column]:
    """Return a journal row as columns; its answer may be JSON's null, which is not the absence of an answer."""
    return _columns(row, _CALL_JSON) | {"answer": json_column(row.answer)}


def require_sound(row: Row, table: str, key: str) -> Row:
    """Return a whole row of a table that is as it was written, or raise `StoreCorrupt`."""
    if not is_sound(row):
        raise damaged(table, key)
    return row


def read_run(row: Row) -> RunRow:
    """Return the run of a row."""
    return read_value(RunRow, row, _RUN_JSON, "runs", row["id"])


def read_call(row: Row) -> JournalRow:
    """Return the journal row of a row."""
    return read_value(JournalRow, row, _CALL_JSON, "journal", row["key"])


def read_event(row: Row) -> RunEvent:
    """Return the event of a row."""
    return read_value(RunEvent, row, ["data"], "events", f"{row['run']}/{row['seq']}")


def read_value(kind: type[V], row: Row, json_columns: Iterable[str], table: str, key: str) -> V:
    """Return the value that the columns of a sound row hold, as far as it has fields for them."""
    require_sound(row, table, key)
    data: dict[str, object] = {name: row[name] for name in kind.model_fields}
    for name in json_columns:
        if (text := data[name]) is not None:
            data[name] = read_json(text, table, key)
    try:
        return kind.model_validate(data)
    except ValidationError:
        raise damaged(table, key) from None


def read_json(text: object, table: str, key: str) -> Json:
    """Return the data of a JSON column."""
    try:
        data: Json = json.loads(text if isinstance(text, str) else "")
    except ValueError:
        raise damaged(table, key) from None
    return data


class Packed(NamedTuple):
    """Bytes as they are kept, under their SHA-256."""

    id: str
    size: int
    packed: bytes

    def columns(self, object_: str | None) -> dict[str, Column]:
        """Return a row of `blobs`, without the bytes where they lie in an object."""
        return {"id": self.id, "size": self.size, "packed": b"" if object_ else self.packed, "object": object_}


def pack(raw: bytes) -> Packed:
    """Return bytes compressed."""
    return Packed(hashlib.sha256(raw).hexdigest(), len(raw), zlib.compress(raw))


def unpack(row: Row | None, blob: str, storage: BlobStorage | None) -> bytes:
    """Return the bytes of a row of `blobs`, which must be the ones its id was made from."""
    if row is None:
        raise StoreCorrupt(f"The store does not hold the blob {blob}.")
    packed = row["packed"]
    if row["object"] is not None:
        if storage is None:
            raise ConfigurationError("Content of this store lies outside the database: set `blobs` to where it is.")
        packed = storage.get(row["object"])
        if packed is None:
            raise StoreCorrupt(f"The store does not hold the content of the blob {blob}: {row['object']} is gone.")
    try:
        raw = zlib.decompress(packed)
    except (zlib.error, TypeError):
        raise damaged("blobs", blob) from None
    if hashlib.sha256(raw).hexdigest() != blob:
        raise damaged("blobs", blob)
    return raw


def read_document(row: Row, raw: bytes) -> Document:
    """Return the document of a sound row and of its text's bytes, which must be the ones its id was made from."""
    about = read_json(row["about"], "documents", row["id"])
    try:
        own = {"id": row["id"], "snapshot": row["snapshot"], "text": raw.decode("utf-8", "surrogatepass")}
        document = Document.model_validate((about if isinstance(about, dict) else {}) | own)
    except ValueError:
        raise damaged("documents", row["id"]) from None
    if text_id(document.extractor, document.text) != document.id:
        raise damaged("documents", row["id"])
    return document


def read_passage(row: Row) -> Passage:
    """Return the passage of a row, which must be the one its id was made from."""
    try:
        passage = value_of(Passage, row)
    except ValidationError:
        raise damaged("passages", row["id"]) from None
    if passage.id != row["id"]:
        raise damaged("passages", row["id"])
    return passage


def read_evidence(row: Row, passage: Passage, text: str) -> Evidence:
    """Return the evidence of a row about a passage, with its quote cut from the document's text."""
    finding = read_json(row["finding"], "evidence", passage.id)
    if not 0 <= passage.start <= passage.end <= len(text):
        raise damaged("passages", passage.id)
    if not isinstance(finding, str):
        raise damaged("evidence", passage.id)
    return evidence_from(
        passage, text=text, finding=finding, section=row["section"], score=row["score"], header=row["header"]
    )


def _columns(value: Value, json_columns: Iterable[str]) -> dict[str, Column]:
    data = value.to_json()
    times = {name: time_column(at) for name in data if isinstance(at := getattr(value, name), datetime)}
    texts = {name: optional_json_column(data[name]) for name in json_columns}
    plain = {name: item for name, item in data.items() if isinstance(item, str | int | float | None)}
    return {**plain, **times, **texts}


def damaged(table: str, key: str) -> StoreCorrupt:
    """Return what is said of a row that cannot be read."""
    # Raised without its cause, which would quote the content of the row.
    return StoreCorrupt(f"The store holds a damaged row: table {table}, key {key}.")


_log = logging.getLogger(__name__)

_MIN_PREFIX = 4
_MAX_CACHED_CHARS = 8_000_000
# Sorts behind every time.
_AFTER_ALL = "~"
_SEE_LIST = "`deep-research runs list` shows all."


def get_run(session: Session, run: str) -> RunRow:
    """Return a run by its whole id."""
    return read_run(run_row(session, run))


def find_run(session: Session, run: str) -> RunRow:
    """Return a run by its id or by four or more first characters that are no other run's; else raise `UnknownRun`."""
    if row := session.one("get_run", run=run):
        return read_run(row)
    found = [run_at(session, row["rowid"]) for row in session.all("find_rows", prefix=run)]
    if found and (found[0].id == run or (len(found) == 1 and len(run) >= _MIN_PREFIX)):
        return found[0]
    if len(run) < _MIN_PREFIX:
        raise UnknownRun(f"“{run}” names no run: give at least {_MIN_PREFIX} characters of its id. {_SEE_LIST}")
    if found:
        raise UnknownRun(f"Several runs start with “{run}”: give more characters. {_SEE_LIST}")
    raise _unknown(session, run)


def list_runs(
    session: Session, *, limit: int, status: RunStatus | None = None, choice: RunChoice | None = None
) -> list[RunRow]:
    """Return the newest runs first; a damaged one is left out with a warning, so that the others stay in reach."""
    listed: list[RunRow] = []
    for row in _rows_to_list(session, limit, status, choice or RunChoice()):
        if len(listed) == limit:
            break
        try:
            run = read_run(row) if session.trusts_indexes else run_at(session, row["rowid"])
        except StoreCorrupt as exc:
            _log.warning("run %s is left out: %s", _id_of(row), exc)
            continue
        if status is None or run.status == status:
            listed.append(run)
    return listed


def _rows_to_list(session: Session, limit: int, status: RunStatus | None, choice: RunChoice) -> list[Row]:
    """Return whole rows, no more than wanted; where indexes are not trusted, the numbers of all rows that may fit."""
    created_at, id_ = (time_column(choice.before[0]), choice.before[1]) if choice.before else (_AFTER_ALL, "")
    wanted = choice.model_dump(include={"user", "text", "tag", "origin"})
    if session.trusts_indexes:
        return session.all("list_runs", **wanted, created_at=created_at, id=id_, status=status, limit=limit)
    _check_all_found(session)
    if choice == RunChoice():
        return session.all("list_rows")
    return session.all("choose_rows", **wanted, created_at=created_at, id=id_)


def _id_of(row: Row) -> str:
    id_ = row["id"] or b"?"
    return id_ if isinstance(id_, str) else id_.decode(errors="replace")


def list_unfinished(session: Session) -> list[UnfinishedRun]:
    """Return the runs of servers that should go on, the oldest first: not begun, cut off, or answered.

    What is wrong with one is told as it is read.
    """
    ahead_s = session.clock_ahead_s()
    found = []
    for row in session.all("list_unfinished"):
        owner = _owner_of(row)
        # Held against this machine's clock by whoever asks.
        owner = None if owner is None else owner.on_clock(-ahead_s)
        try:
            since = datetime.fromisoformat(row["updated_at"])
        except (TypeError, ValueError):
            since = datetime.now(UTC)
        found.append(value_of(UnfinishedRun, row, updated_at=since, owner=owner))
    return found


def run_at(session: Session, number: int) -> RunRow:
    """Return the run of a row of the table, whatever the index of ids says."""
    row = session.one("get_row", row=number)
    if row is None:
        raise session.corrupt()
    return read_run(row)


def takeover_columns(session: Session, row: Row) -> dict[str, Column]:
    """Return how often a run was taken over, counted with the claim that is about to be made."""
    calls = session.all("count_ended_calls", run=row["id"])[0]["calls"]
    is_takeover = row["owner"] is not None
    # An owner that ended a call before it was lost had no part in what ended the ones before.
    earlier = row["idle_takeovers"] if calls == row["calls_at_claim"] else 0
    return {
        "calls": calls,
        "takeovers": row["takeovers"] + is_takeover,
        "idle_takeovers": earlier + 1 if is_takeover else 0,
    }


def check_removable(session: Session, run: str, claimant: Owner, *, lease_s: float) -> None:
    """Raise `RunHeld` while a live owner holds the run's lease; a damaged run is held by whom its row still names."""
    with suppress(StoreCorrupt):
        row = session.one("get_hold", run=run)
        if row is not None:
            refuse_held(row, claimant, lease_s=lease_s)
            return
    run_row(session, run)


def refuse_held(row: Row, claimant: Owner, *, lease_s: float) -> None:
    """Raise `RunHeld` while a live owner holds the lease of the run of a row."""
    if row["owner"] is None:
        return
    owner = _owner_of(row)
    if owner is None:
        raise damaged("runs", row["id"])
    if holds_lease(owner, claimant, lease_s=lease_s):
        raise RunHeld(
            f"Run {row['id']} is being worked on by process {owner.pid} on {owner.host} since {row['claimed_at']}."
        )


def in_shared_time(session: Session, owner: Owner) -> Owner:
    """Return the owner with its sign of life on the clock that all users of the database share."""
    return owner.on_clock(session.clock_ahead_s())


def _owner_of(row: Row) -> Owner | None:
    """Return who a row of a run says holds it; None where nobody does, or it cannot be read."""
    try:
        return None if row["owner"] is None else Owner.model_validate_json(row["owner"])
    except ValidationError:
        return None


def check_lease(session: Session, lease: Lease, *, even_if_cancelled: bool = False) -> None:
    """Raise `RunTaken` unless the claim is the run's newest, and `RunCancelled` once a cancel was asked for."""
    row = session.one("get_hold", run=lease.run)
    is_newest = row is not None and row["epoch"] == lease.epoch
    if row is not None:
        if is_newest and (even_if_cancelled or not row["cancel_requested"]):
            return
        # Only now, because this is asked at every write.
        get_run(session, lease.run)
    if not is_newest:
        raise RunTaken(f"Another process took run {lease.run} over or removed it; this one changed nothing since.")
    raise RunCancelled(f"Run {lease.run} was cancelled; everything finished so far is kept.")


def append_events(session: Session, run: str, events: Sequence[NewEvent]) -> list[RunEvent]:
    """Number and keep the events whose key is new to the run; return those."""
    new = []
    for event in events:
        at, data = time_column(event.at), json_column(event.data)
        row = session.one("append_event", run=run, at=at, kind=event.kind, key=event.key, data=data)
        if row is not None:
            fields = event.model_dump() | {"at": event.at.astimezone(UTC)}
            new.append(RunEvent(seq=row["seq"], run=run, **fields))
    return new


def run_row(session: Session, run: str, query: str = "get_run") -> Row:
    """Return the row of a run by its whole id; raise `UnknownRun` if there is none."""
    row = session.one(query, run=run)
    if row is None:
        raise _unknown(session, run)
    if row["id"] != run:
        raise damaged("runs", run)
    return row


def lock_run(session: Session, run: str) -> Row:
    """Return the same, and let nobody else change the run before this transaction ends."""
    return run_row(session, run, "lock_run")


def _unknown(session: Session, run: str) -> DeepResearchError:
    """Return that there is no such run, or that there may be one in what is damaged."""
    _check_all_found(session)
    if not session.trusts_indexes and any(run_at(session, row["rowid"]).id == run for row in session.all("list_rows")):
        return session.corrupt()
    return UnknownRun(f"There is no run “{run}” in the store {session.location}. {_SEE_LIST}")


def _check_all_found(session: Session) -> None:
    if session.trusts_indexes:
        return
    (counts,) = session.all("count_runs")
    if counts["rows"] != counts["ids"]:
        raise session.corrupt()


def list_calls(session: Session, run: str) -> list[JournalRow]:
    """Return the journal of a run in the order in which the calls were started."""
    found = session.all("list_calls", run=run)
    calls = [read_call(row) for row in found]
    _require([row["number"] for row in found], _numbers(found), "journal", run)
    if not session.trusts_indexes:
        _require(sorted(_keys(found)), _keys(session.all("list_call_keys", run=run)), "journal", run)
    return calls


def read_events(session: Session, run: str, *, after: int = 0, limit: int | None = None) -> list[RunEvent]:
    """Return the events of a run with a sequence number above `after`."""
    found = session.all("read_events", run=run, after=after, limit=sys.maxsize if limit is None else limit)
    events = [read_event(row) for row in found]
    _require([event.seq for event in events], _numbers(found, after), "events", run)
    if after == 0 and limit is None and not session.trusts_indexes:
        _require(sorted(_keys(found)), _keys(session.all("list_event_keys", run=run)), "events", run)
    return events


def read_answers(session: Session, run: str) -> dict[str, Json]:
    """Return the user's answers by scope."""
    found = _rows_of(session, run, "answers", "scope")
    return {row["scope"]: read_json(row["answer"], "answers", row["scope"]) for row in found}


def list_addresses(session: Session, run: str) -> dict[str, str]:
    """Return address → document id for everything a run read, in order of address."""
    return {row["address"]: row["document"] for row in _rows_of(session, run, "run_documents", "run")}


def _rows_of(session: Session, run: str, table: str, key: str) -> list[Row]:
    """Return the rows of a run in a table; `key` is the column that names a damaged one."""
    found = session.all(f"list_{table}", run=run)
    if not session.trusts_indexes:
        _require(len(found), session.all(f"count_{table}", run=run)[0]["rows"], table, run)
    return [require_sound(row, table, row[key]) for row in found]


def _require(found: object, expected: object, table: str, key: str) -> None:
    """Hold what was found against what another index says: numbers without a gap, keys in order, a count."""
    if found != expected:
        raise damaged(table, key)


def _numbers(rows: Sequence[Row], after: int = 0) -> list[int]:
    return list(range(after + 1, after + 1 + len(rows)))


def _keys(rows: Sequence[Row]) -> list[str]:
    return [row["key"] for row in rows]


class ReadCache:
    """What was read last of documents and evidence: a run looks at each many times.

    Changed by the store's thread alone; any thread may call `held`.
    """

    def __init__(self, storage: BlobStorage | None = None) -> None:
        self._storage = storage
        self._documents: dict[str, Document] = {}
        self._chars = 0
        self._evidence: dict[tuple[str, str], dict[str, Evidence]] = {}

    def cached(self, document: str) -> Document | None:
        """Return a document if it was read before."""
        return self._documents.get(document)

    def document(self, session: Session, document: str) -> Document:
        """Return a document, from the store if need be."""
        if known := self._documents.get(document):
            return known
        found = get_document(session, document, self._storage)
        self._documents[document] = found
        self._chars += len(found.text)
        while self._chars > _MAX_CACHED_CHARS:
            self._chars -= len(self._documents.pop(next(iter(self._documents))).text)
        return found

    def evidence(self, session: Session, run: str, passage: str, sections: Collection[str]) -> Evidence:
        """Return what a run found in a passage for one of these sections, or else for its first."""
        known = self._evidence.get((run, passage))
        if known is None:
            known = self._evidence[run, passage] = _evidence(session, self, run, passage)
        return next((known[section] for section in known if section in sections), next(iter(known.values())))

    def forget_evidence(self, run: str, passages: Iterable[str]) -> None:
        """Forget what was found in these passages: another finding may stand from now on."""
        for passage in passages:
            self._evidence.pop((run, passage), None)

    def clear(self) -> None:
        """Forget everything: something was removed."""
        self._documents.clear()
        self._evidence.clear()
        self._chars = 0


def _document_row(session: Session, document: str) -> Row:
    row = session.one("get_document", document=document)
    if row is None:
        raise StoreCorrupt(f"The store does not hold the document {document}.")
    return require_sound(row, "documents", document)


def get_document(session: Session, document: str, storage: BlobStorage | None) -> Document:
    """Return a document, checked against its id."""
    row = _document_row(session, document)
    return read_document(row, unpack(session.one("get_blob", blob=row["text"]), row["text"], storage))


def _evidence(session: Session, cache: ReadCache, run: str, id_: str) -> dict[str, Evidence]:
    """Return what a run found in a passage, by section."""
    rows = session.all("get_evidence", run=run, passage=id_)
    passage_row = session.one("get_passage", passage=id_)
    if not rows or passage_row is None:
        raise StoreCorrupt(f"The store does not hold the evidence {id_} of run {run}.")
    if not session.trusts_indexes:
        _require(len(rows), session.all("count_evidence", run=run, passage=id_)[0]["rows"], "evidence", id_)
    for row in rows:
        require_sound(row, "evidence", id_)
    passage = read_passage(passage_row)
    text = cache.document(session, passage.document).text
    return {row["section"]: read_evidence(row, passage, text) for row in rows}


def keep_document(session: Session, run: str, document: str) -> None:
    """Let a document's bytes stay for as long as the run does."""
    row = _document_row(session, document)
    for blob in (row["text"], row["snapshot"]):
        session.run("keep_blob", run=run, blob=blob)


def drop_run(session: Session, run: str) -> list[str]:
    """Remove a run, then the passages, documents and bytes that only it named; return the objects of such bytes."""
    session.run("drop_evidence", run=run)
    session.run("drop_addresses", run=run)
    session.run("drop_loose_passages")
    session.run("drop_loose_documents")
    dropped = session.all("drop_loose_blobs", run=run)
    session.run("drop_run", run=run)
    return [row["object"] for row in dropped if row["object"] is not None]
