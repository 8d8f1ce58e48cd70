"""Idempotency keys: a request that is sent again under its key makes no second run."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from deep_research.errors import InputError
from deep_research.service.database import Records, ServerDatabase
from deep_research.service.runs.new_run import NewRun
from deep_research.value import digest

_KEY_LIFETIME = timedelta(hours=24)


async def reserved_run(
    database: ServerDatabase, key: str, new: NewRun, user: str, *, now: datetime | None = None
) -> str:
    """Return the id of the run that a key stands for, whether or not it has been made yet.

    Whoever comes first decides it, so that two requests at once, or one sent again after a crash, make the same run.
    """
    at, asked = now or datetime.now(UTC), digest(new.model_dump(mode="json"))

    def work(records: Records) -> str:
        # A time far ahead was set before somebody turned the clock back.
        records.run("forget_keys", before=(at - _KEY_LIFETIME).isoformat(), after=(at + _KEY_LIFETIME).isoformat())
        records.run("keep_key", user=user, key=key, request=asked, run=uuid4().hex, now=at.isoformat())
        row = records.one("find_key", user=user, key=key)
        assert row is not None, "it was kept just now"
        if row["request"] != asked:
            raise InputError().with_message("fault.key_reused")
        return str(row["run"])

    return await database.work(work)
