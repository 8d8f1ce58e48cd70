"""Values of the store port as SQLite columns and back. A row that does not fit is `StoreCorrupt`, by table and key."""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import ValidationError

from deep_research.errors import StoreCorrupt
from deep_research.events import RunEvent
from deep_research.evidence.passage import Evidence, Passage, evidence_from
from deep_research.sources.document import Document, text_id
from deep_research.store.lease import Owner
from deep_research.store.port import JournalRow, RunRow
from deep_research.store.sql import Column
from deep_research.store.sqlite_seals import is_sound
from deep_research.value import Json, Value

V = TypeVar("V", bound=Value)

_RUN_JSON = ("request", "owner", "pending", "result", "error")
_CALL_JSON = ("answer", "error", "estimate", "spend", "orphaned", "after")
_NOT_ABOUT = frozenset({"id", "snapshot", "text"})


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


def optional_json_column(data: Value | Json) -> str | None:
    """Return JSON text, or NULL for None."""
    if data is None:
        return None
    return json_column(data.to_json() if isinstance(data, Value) else data)


def run_columns(run: RunRow) -> dict[str, Column]:
    """Return a run as columns."""
    return _columns(run, _RUN_JSON)


def call_columns(row: JournalRow) -> dict[str, Column]:
    """Return a journal row as columns; its answer may be JSON's null, which is not the absence of an answer."""
    return _columns(row, _CALL_JSON) | {"answer": json_column(row.answer)}


def about_column(document: Document) -> str:
    """Return everything about a document but its text and the ids that have columns of their own."""
    return json_column(document.model_dump(mode="json", exclude=set(_NOT_ABOUT)))


def require_sound(row: sqlite3.Row, *, table: str, key: str) -> sqlite3.Row:
    """Return a whole row of a table that is as it was written, or raise `StoreCorrupt`."""
    if not is_sound(row):
        raise damaged(table, key)
    return row


def read_run(row: sqlite3.Row) -> RunRow:
    """Return the run of a row."""
    return read_value(RunRow, row, _RUN_JSON, table="runs", key=row["id"])


def read_owner(row: sqlite3.Row) -> Owner | None:
    """Return who holds the run of a row, as far as that can be read."""
    if row["owner"] is None:
        return None
    try:
        return Owner.model_validate_json(row["owner"])
    except ValidationError:
        raise damaged("runs", row["id"]) from None


def read_call(row: sqlite3.Row) -> JournalRow:
    """Return the journal row of a row."""
    return read_value(JournalRow, row, _CALL_JSON, table="journal", key=row["key"])


def read_event(row: sqlite3.Row) -> RunEvent:
    """Return the event of a row."""
    return read_value(RunEvent, row, ["data"], table="events", key=f"{row['run']}/{row['seq']}")


def read_value(kind: type[V], row: sqlite3.Row, json_columns: Iterable[str], *, table: str, key: str) -> V:
    """Return the value that the columns of a sound row hold, as far as it has fields for them."""
    require_sound(row, table=table, key=key)
    data: dict[str, object] = {name: row[name] for name in kind.model_fields}
    for name in json_columns:
        if (text := data[name]) is not None:
            data[name] = read_json(text, table=table, key=key)
    try:
        return kind.model_validate(data)
    except ValidationError:
        raise damaged(table, key) from None


def read_json(text: object, *, table: str, key: str) -> Json:
    """Return the data of a JSON column."""
    try:
        data: Json = json.loads(text if isinstance(text, str) else "")
    except ValueError:
        raise damaged(table, key) from None
    return data


def pack(raw: bytes) -> dict[str, Column]:
    """Return bytes as a row of `blobs`."""
    return {"id": hashlib.sha256(raw).hexdigest(), "size": len(raw), "packed": zlib.compress(raw)}


def unpack(row: sqlite3.Row | None, blob: str) -> bytes:
    """Return the bytes of a row of `blobs`, which must be the ones its id was made from."""
    if row is None:
        raise StoreCorrupt(f"The store does not hold the blob {blob}.")
    try:
        raw = zlib.decompress(row["packed"])
    except (zlib.error, TypeError):
        raise damaged("blobs", blob) from None
    if hashlib.sha256(raw).hexdigest() != blob:
        raise damaged("blobs", blob)
    return raw


def text_bytes(document: Document) -> bytes:
    """Return a document's text as the bytes that its blob keeps."""
    return document.text.encode("utf-8", "surrogatepass")


def read_document(row: sqlite3.Row, raw: bytes) -> Document:
    """Return the document of a sound row and of its text's bytes, which must be the ones its id was made from."""
    about = read_json(row["about"], table="documents", key=row["id"])
    try:
        own = {"id": row["id"], "snapshot": row["snapshot"], "text": raw.decode("utf-8", "surrogatepass")}
        document = Document.model_validate((about if isinstance(about, dict) else {}) | own)
    except ValueError:
        raise damaged("documents", row["id"]) from None
    if text_id(document.extractor, document.text) != document.id:
        raise damaged("documents", row["id"])
    return document


def read_passage(row: sqlite3.Row) -> Passage:
    """Return the passage of a row, which must be the one its id was made from."""
    try:
        passage = Passage(document=row["document"], start=row["start"], end=row["end"])
    except ValidationError:
        raise damaged("passages", row["id"]) from None
    if passage.id != row["id"]:
        raise damaged("passages", row["id"])
    return passage


def read_evidence(row: sqlite3.Row, passage: Passage, text: str) -> Evidence:
    """Return the evidence of a row about a passage, with its quote cut from the document's text."""
    finding = read_json(row["finding"], table="evidence", key=passage.id)
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
