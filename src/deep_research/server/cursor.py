"""Cursors: where a page of a list of runs begins, as clients and links carry it."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime

from deep_research.errors import InputError
from deep_research.storage.store.port import RunRow


def cursor_after(row: RunRow) -> str:
    """Return the cursor of the runs that are older than this one."""
    return urlsafe_b64encode(json.dumps([row.created_at.isoformat(), row.id]).encode()).decode().rstrip("=")


def last_seen(cursor: str) -> tuple[datetime, str] | None:
    """Return when the last run before a cursor was made, and its id; None for the first page."""
    if not cursor:
        return None
    try:
        at, run = json.loads(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
        created_at = datetime.fromisoformat(at).astimezone(UTC)
        if not isinstance(run, str):
            raise TypeError(run)
    except (ValueError, TypeError, OverflowError):
        raise InputError().with_message("fault.bad_cursor") from None
    return created_at, run
