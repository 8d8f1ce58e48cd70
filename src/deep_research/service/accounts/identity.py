"""Who asks, an account and what it may do; and who did what and when.

Written down are sign-ins, accounts, tokens, runs, documents, exports, schedules. No secret, no question.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime

from deep_research.service.database import Records, ServerDatabase
from deep_research.storage.database.port import value_of
from deep_research.value import JsonObject, Value, canonical_json, json_of

# What a token may be allowed: read runs and documents, start and steer runs, change documents, everything.
Scope = Literal["read", "research", "documents", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "research", "documents", "admin")
# Whoever sits at this machine, where no accounts are set up.
LOCAL_USER = "local"
Action = Literal[
    "sign-in",
    "sign-in-failed",
    "sign-out",
    "user-added",
    "user-removed",
    "user-changed",
    "token-made",
    "token-revoked",
    "run-made",
    "run-deleted",
    "document-added",
    "document-deleted",
    "collection-made",
    "collection-deleted",
    "report-exported",
    "schedule-made",
    "schedule-deleted",
]
# The oldest entries are removed: nobody fills the disk by failing to sign in.
MAX_ENTRIES = 100_000


class Identity(Value):
    """An account as a request sees it; without accounts there is one, which may do everything and sees all runs.

    `user` is the account's id, `address` where the request came from.
    """

    user: str = LOCAL_USER
    name: str = ""
    scopes: frozenset[Scope] = frozenset(SCOPES)
    address: str = ""

    @property
    def sees_all(self) -> bool:
        """Whether runs of others, and of the command line, are shown too."""
        return self.user == LOCAL_USER


LOCAL = Identity()


class ActionEntry(Value):
    """One thing that somebody did; `user` is the id of an account, "" where there was none."""

    at: AwareDatetime
    user: str
    address: str
    action: Action
    subject: str
    detail: JsonObject


@dataclass
class ActionLog:
    """Writes down what happened, and shows it."""

    database: ServerDatabase
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def record(self, who: Identity, action: Action, subject: str = "", **detail: str | int) -> None:
        """Write down what somebody did."""
        await self.database.work(lambda records: self.write(records, who, action, subject, **detail))

    def write(self, records: Records, who: Identity, action: Action, subject: str = "", **detail: str | int) -> None:
        """Write it down as part of the change itself."""
        records.run(
            "add_audit",
            at=self.now().isoformat(),
            user=who.user,
            address=who.address,
            action=action,
            subject=subject,
            detail=canonical_json(detail),
        )
        records.run("forget_old_audit", kept=MAX_ENTRIES)

    async def entries(self, *, limit: int = 100) -> list[ActionEntry]:
        """Return the newest entries first."""
        rows = await self.database.all("list_audit", limit=limit)
        return [value_of(ActionEntry, row, detail=json_of(row["detail"])) for row in rows]
