"""What a store keeps, as values: runs, leases on them, their journal and events."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from deep_research.events import EventKind, RunStatus
from deep_research.request import ResearchRequest, Spend
from deep_research.storage.store.lease import Owner
from deep_research.value import Json, JsonObject, Value

CallState = Literal["started", "done", "failed", "refused"]


# How a run stands as people are told: its status, or more exactly that it waits for its turn or is about to stop.
ShownStatus = RunStatus | Literal["queued", "stopping"]


class RunRow(Value):
    """Everything the store knows of a run itself; `user` is "" where no server made it.

    `retry_requested` says that whoever takes it next does its failed steps again. `takeovers` counts leases of a run
    whose owner had not let go, `idle_takeovers` those since the last call that ended.
    """

    id: str
    created_at: datetime
    updated_at: datetime
    status: RunStatus
    request: ResearchRequest
    wiring: str
    folder: str
    code_version: str
    epoch: int = 0
    attempt: int = 0
    owner: Owner | None = None
    cancel_requested: bool = False
    active_s: float = 0.0
    pending: JsonObject | None = None
    result: JsonObject | None = None
    error: JsonObject | None = None
    user: str = ""
    tags: tuple[str, ...] = ()
    retry_requested: bool = False
    takeovers: int = 0
    idle_takeovers: int = 0

    @property
    def short_id(self) -> str:
        """The characters of its id by which people name it."""
        return self.id[:8]

    @property
    def title(self) -> str:
        """The title of its report, "" before there is one."""
        return str((self.result or {}).get("title", ""))

    @property
    def shown_status(self) -> ShownStatus:
        """How it stands as people are told."""
        if self.status == "running" and self.cancel_requested:
            return "stopping"
        return "queued" if self.status in ("created", "interrupted") and self.user else self.status

    @property
    def failure(self) -> str:
        """Why it failed, in the operator's words: they may name a path. "" where it did not."""
        return str((self.error or {}).get("detail", ""))

    @property
    def origin(self) -> str:
        """The id of the run that it follows or brings up to date, "" where there is none."""
        return self.request.update.run if self.request.update else self.request.follow


class RunChoice(Value):
    """Which runs are looked for: a user's, with a text in their question or report, under a tag, older than one.

    `origin` is a run that they follow or bring up to date. `before` is the time and the id of the last one seen.
    """

    user: str | None = None
    text: str = ""
    tag: str = ""
    origin: str = ""
    before: tuple[datetime, str] | None = None


class UnfinishedRun(Value):
    """A run of a server that should go on; `owner` is the process that worked on it last, if it did not let go."""

    id: str
    user: str
    status: RunStatus
    updated_at: datetime
    owner: Owner | None = None


class Lease(Value):
    """The right to write to a run: valid until a higher epoch is taken."""

    run: str
    epoch: int


class JournalRow(Value):
    """One outside call or one decision that hung on time.

    `answer` is small JSON; what is larger lies in a blob that the answer names.
    `estimate` is what was reserved, `spend` what it really cost. A call that was started, lost in a crash and
    started again keeps the lost estimates in `orphaned`.
    """

    key: str
    kind: str
    scope: str
    attempt: int
    state: CallState
    answer: Json = None
    error: JsonObject | None = None
    estimate: Spend = Spend()
    spend: Spend = Spend()
    orphaned: Spend = Spend()
    started_at: datetime
    ended_at: datetime | None = None
    after: tuple[str, ...] = ()
    code_version: str = ""
    is_superseded: bool = False


class NewEvent(Value):
    """An event before the store numbered it."""

    at: datetime
    kind: EventKind
    key: str
    data: JsonObject


class StoreSize(Value):
    """How much the store holds."""

    bytes_on_disk: int
    runs: int
    documents: int
    blobs: int


Answers = Mapping[str, Json]
