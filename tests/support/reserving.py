"""A process that reserves money of one account again and again, beside others; it prints what it got.

python -m tests.support.reserving USER TRIES USD: begins once its input ends, with the settings of its environment.
"""

import asyncio
import json
import sys
from uuid import uuid4

from deep_research.errors import LimitReached
from deep_research.request import Budget, ResearchRequest
from deep_research.service.accounts.identity import Identity
from deep_research.service.accounts.limits import UsageLimits
from deep_research.service.database import open_server_database
from deep_research.settings import load_settings
from deep_research.wiring import open_store
from tests.support.store_samples import make_run


async def reserve(user: str, tries: int, usd: float) -> None:
    """Make runs as a server does, several at once, and print the money of each and the refusals."""
    settings = load_settings()
    database, store = open_server_database(settings), open_store(settings)
    limits = UsageLimits(database, store, at_once=4)
    who, granted, refused = Identity(user=user), [], []

    async def make() -> None:
        run = uuid4().hex
        asked = ResearchRequest(question="Why?", budget=Budget(usd=usd))
        try:
            async with limits.admitted(asked, who, run=run) as request:
                await store.create_run(make_run(run).model_copy(update={"request": request, "user": user}))
            granted.append(request.budget.usd)
        except LimitReached as exc:
            refused.append([exc.limit, exc.left])

    # Connected before the race begins.
    await limits.used(user)
    await store.count_running()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await asyncio.gather(*(make() for _ in range(tries)))
    print(json.dumps({"granted": granted, "refused": refused}))
    await database.close()
    await store.close()


if __name__ == "__main__":
    asyncio.run(reserve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
