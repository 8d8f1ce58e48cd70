"""What the pipeline asks of a store: runs, their journal and events, and everything that was read.

Every method is one transaction. Methods that take a `Claim` write only while that claim is the run's newest,
and raise `RunTaken` otherwise; they raise `RunCancelled` once a cancel was asked for, but for `finish` and for
`record_call` of a call that has ended (its answer was paid for).
Nothing here names SQLite, so that PostgreSQL can implement the same port.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

from deep_research.events import EventKind, RunEvent, RunStatus
from deep_research.evidence.passage import Evidence
from deep_research.request import ResearchRequest, Spend
from deep_research.sources.document import Document
from deep_research.store.lease import Owner
from deep_research.value import Json, JsonObject, Value

CallState = Literal["started", "done", "failed", "refused"]


# How a run stands as people are told: its status, or more exactly that it waits for its turn or is about to stop.
ShownStatus = RunStatus | Literal["queued", "stopping"]


class RunRow(Value):
    """Everything the store knows of a run itself; `user` is "" where no server made it.

    `retry_requested` says that whoever claims it next does its failed steps again. `takeovers` counts claims of a run
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


class Claim(Value):
    """The right to write to a run: valid until a higher epoch is claimed."""

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


class Store(Protocol):
    """The memory of all runs."""

    async def close(self) -> None:
        """Release every connection."""
        ...

    # Runs

    async def create_run(self, run: RunRow) -> None:
        """Add a run with status `created`."""
        ...

    async def get_run(self, run: str) -> RunRow:
        """Return a run by its id or by four or more first characters that are no other run's; else `UnknownRun`."""
        ...

    async def list_runs(
        self, *, limit: int, status: RunStatus | None = None, choice: RunChoice | None = None
    ) -> list[RunRow]:
        """Return the newest runs first."""
        ...

    async def list_unfinished(self) -> list[UnfinishedRun]:
        """Return the runs of servers that should go on, the oldest first: not begun, cut off, or answered."""
        ...

    async def count_running(self) -> dict[str, int]:
        """Return how many runs of each user of a server are being worked on."""
        ...

    async def count_takeovers(self) -> int:
        """Return how often a run was taken over from a process that had not let go of it, over all runs."""
        ...

    async def reopen_run(self, run: str, *, retry: bool) -> RunRow:
        """Have a run that stopped go on (status `interrupted`), with `retry` by doing its failed steps again.

        One that has not begun or is being worked on is left alone.
        """
        ...

    async def is_draining(self) -> bool:
        """Return whether workers are to take up no run."""
        ...

    async def set_draining(self, is_on: bool) -> None:
        """Tell all workers whether to take up runs."""
        ...

    async def count_by_status(self) -> dict[str, int]:
        """Return how many runs have each status."""
        ...

    async def set_tags(self, run: str, tags: Sequence[str]) -> None:
        """File a run under these words alone."""
        ...

    async def give_runs(self, *, before: str, after: str) -> None:
        """Make all runs of one user those of another."""
        ...

    async def delete_run(self, run: str, claimant: Owner) -> None:
        """Remove a run and all that nothing else names; `RunHeld` if it is being worked on."""
        ...

    async def claim(self, run: str, owner: Owner, *, lease_s: float, seen_epoch: int | None = None) -> Claim:
        """Raise the run's epoch, set it `running`, forget any cancel; `RunHeld` while a live owner has the lease.

        `RunHeld` too where the run was claimed or cancelled since the epoch that was seen.
        """
        ...

    async def heartbeat(self, claim: Claim, owner: Owner, *, active_s: float) -> None:
        """Renew the lease of a running run with the owner's fresh times, and add `active_s` to its active seconds."""
        ...

    async def finish(
        self,
        claim: Claim,
        status: RunStatus,
        *,
        event: NewEvent,
        active_s: float = 0.0,
        result: JsonObject | None = None,
        error: JsonObject | None = None,
        pending: JsonObject | None = None,
    ) -> list[RunEvent]:
        """Give the run its status and last active seconds, tell it, release the lease; return the event if new."""
        ...

    async def request_cancel(self, run: str, claimant: Owner, *, lease_s: float, event: NewEvent) -> RunRow:
        """Cancel a run nobody holds at once and keep the event that tells it, or ask its owner to stop.

        A run that is done or cancelled is left alone.
        """
        ...

    async def raise_attempt(self, claim: Claim) -> int:
        """Count a retry of the whole run, supersede its failed and refused calls, and return the new attempt."""
        ...

    async def while_owner(self, claim: Claim, action: Callable[[], None]) -> None:
        """Do something short outside the store (a rename) that must not happen once another process owns the run."""
        ...

    # Answers of the user

    async def put_answer(self, run: str, scope: str, answer: Json) -> bool:
        """Keep the answer to a waiting question; False if it has been answered before (the first answer stands)."""
        ...

    async def get_answers(self, run: str) -> dict[str, Json]:
        """Return all answers by scope."""
        ...

    # Journal

    async def find_call(self, run: str, key: str) -> JournalRow | None:
        """Return one row of the journal."""
        ...

    async def record_call(self, claim: Claim, row: JournalRow) -> None:
        """Insert a row, or replace the one with the same key."""
        ...

    async def supersede_calls(self, claim: Claim, keys: Sequence[str]) -> None:
        """Mark failed rows as tried again, so that the next call takes the next attempt."""
        ...

    async def list_calls(self, run: str) -> list[JournalRow]:
        """Return the journal in the order in which the calls were started."""
        ...

    # Events

    async def append_events(self, claim: Claim, events: Sequence[NewEvent]) -> list[RunEvent]:
        """Number and keep the events whose key is new; return those."""
        ...

    async def read_events(self, run: str, *, after: int = 0, limit: int | None = None) -> list[RunEvent]:
        """Return events with a sequence number above `after`."""
        ...

    async def last_seq(self, run: str) -> int:
        """Return the sequence number of a run's newest event, 0 where it has none."""
        ...

    # What was read

    async def put_blob(self, claim: Claim, raw: bytes) -> str:
        """Keep bytes for a run under their SHA-256, compressed; return that id."""
        ...

    async def get_blob(self, blob: str) -> bytes:
        """Return kept bytes; `StoreCorrupt` if they are missing or damaged."""
        ...

    async def put_document(self, claim: Claim, document: Document, *, address: str) -> None:
        """Keep a document by its id, and that it stood at the address; the run refers to it from now on."""
        ...

    async def get_document(self, document: str) -> Document:
        """Return a document; `StoreCorrupt` if it is missing or damaged."""
        ...

    async def list_addresses(self, run: str) -> dict[str, str]:
        """Return address → document id for everything the run read, in order of address."""
        ...

    async def put_evidence(self, claim: Claim, evidence: Sequence[Evidence]) -> None:
        """Keep passages by content id, with the run's findings about them."""
        ...

    async def get_evidence(self, run: str, ids: Sequence[str], *, section: str = "") -> list[Evidence]:
        """Return the run's evidence in the order of the ids, with what it says for the section (else for the first).

        An id the run does not have is `StoreCorrupt`.
        """
        ...

    async def size(self) -> StoreSize:
        """Return how much the store holds."""
        ...


OpenStore = Callable[[], Store]
Answers = Mapping[str, Json]
