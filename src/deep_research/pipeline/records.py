"""What the store holds of one run: its documents, evidence, calls, and the values its state refers to by content id."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from deep_research.pipeline.journal import unpacked
from deep_research.report.evidence.passage import Evidence
from deep_research.report.sources.document import Document
from deep_research.storage.store.port import JournalRow, Lease
from deep_research.storage.store.store import Store
from deep_research.value import Json, Value, canonical_json, json_of

SomeValue = TypeVar("SomeValue", bound=Value)


@dataclass(frozen=True)
class RunRecords:
    """The store, bound to one run."""

    store: Store
    lease: Lease

    @property
    def run(self) -> str:
        """Return the run's id."""
        return self.lease.run

    async def document(self, id_: str) -> Document:
        """Return a document that was read."""
        return await self.store.get_document(id_)

    async def documents(self) -> dict[str, str]:
        """Return the id of each document that was read, with the first of its addresses."""
        return await first_addresses(self.run, self.store)

    async def evidence(self, ids: Sequence[str], *, sections: Collection[str] = ()) -> list[Evidence]:
        """Return pieces of evidence; what was found for several sections is shown as that of one of these."""
        return await self.store.get_evidence(self.run, ids, sections=sections)

    async def calls(self) -> list[JournalRow]:
        """Return the rows of the journal."""
        return await self.store.list_calls(self.run)

    async def answer(self, call: JournalRow) -> Json:
        """Return the answer of a call."""
        return await unpacked(call.answer, self.store)

    async def keep(self, value: Value | Sequence[Value]) -> str:
        """Store a value, or a list of values; return its content id for the state."""
        data = value.to_json() if isinstance(value, Value) else [item.to_json() for item in value]
        return await self.store.put_blob(self.lease, canonical_json(data).encode())

    async def load(self, kind: type[SomeValue], blob: str) -> SomeValue:
        """Return a stored value."""
        return kind.from_json(json_of(await self.store.get_blob(blob)))

    async def load_all(self, kind: type[SomeValue], blob: str) -> list[SomeValue]:
        """Return a stored list of values; none where the state refers to nothing."""
        data = json_of(await self.store.get_blob(blob)) if blob else []
        return [kind.from_json(item) for item in data] if isinstance(data, list) else []


async def first_addresses(run: str, store: Store) -> dict[str, str]:
    """Return the id of each document that a run has read, with the first of its addresses."""
    first: dict[str, str] = {}
    for address, document in (await store.list_addresses(run)).items():
        first.setdefault(document, address)
    return first
