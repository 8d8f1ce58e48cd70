"""Keys that make it safe to send a request again."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from deep_research.errors import InputError
from deep_research.service.database import ServerDatabase
from deep_research.service.runs.new_run import NewRun
from deep_research.service.service import reserved_run


async def test_a_key_stands_for_one_run_of_one_user_for_a_day(tmp_path):
    path = tmp_path / "server.db"
    first, second = ServerDatabase(path), ServerDatabase(path)
    new, other = NewRun(question="What?"), NewRun(question="Why?")
    try:
        made = await asyncio.gather(*(reserved_run(file, "k", new, "ann") for file in (first, second) * 10))
        (run,) = set(made)
        assert await reserved_run(first, "k", new, "ben") != run
        with pytest.raises(InputError):
            await reserved_run(first, "k", other, "ann")
        now = datetime.now(UTC)
        # A clock that is put right by some hours makes no second run of a request that is sent again.
        for hours in (-1, 23, -23):
            assert await reserved_run(first, "k", new, "ann", now=now + timedelta(hours=hours)) == run
        later = await reserved_run(first, "k", other, "ann", now=now + timedelta(days=300))
        assert later != run
        assert await reserved_run(first, "k", new, "ann", now=now) != later
    finally:
        await first.close()
        await second.close()
