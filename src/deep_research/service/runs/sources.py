"""What a run has read: its sources, their texts, and the pages that these were read from."""

from pydantic import Field

from deep_research.errors import NotFound
from deep_research.pipeline.records import first_addresses
from deep_research.pipeline.result import edition_of
from deep_research.report.edition import Edition
from deep_research.report.sources.document import Document, Place
from deep_research.service.public_text import sendable
from deep_research.storage.store.port import RunRow
from deep_research.storage.store.store import Store
from deep_research.value import Strings, Value


class SourceEntry(Value):
    """A document that a run has read; `number` is its citation number, None where the report does not cite it.

    Of a page that could not be read, `delivered` says whose abstract or text it is.
    """

    document: str
    address: str
    title: str
    number: int | None = None
    media_type: str = ""
    language: str = ""
    author: str = ""
    published: str = ""
    characters: int = 0
    delivered: str = ""
    warnings: Strings = ()


class CitedPlace(Value):
    """A passage that the report cites: its bounds in the text, and where it stands in the original."""

    id: str
    start: int
    end: int
    place: str = ""


class SourceText(SourceEntry):
    """The text of a source, the places in it, and the passages that the report cites.

    Offsets count characters (Unicode code points).
    """

    text: str
    places: tuple[Place, ...] = ()
    passages: tuple[CitedPlace, ...] = Field(default=(), description="Passages that the report cites, in order.")


async def list_sources(row: RunRow, store: Store) -> list[SourceEntry]:
    """Return what a run has read so far: what its report cites first, by number, then the rest by address."""
    numbers = cited_numbers(await stored_edition(row, store))
    entries = [
        _entry(await store.get_document(document), address, numbers.get(document))
        for document, address in (await first_addresses(row.id, store)).items()
    ]
    return sorted(entries, key=lambda entry: (entry.number is None, entry.number or 0, entry.address))


async def read_source(row: RunRow, document: str, store: Store) -> SourceText:
    """Return the text of a document that a run has read."""
    address = await _address(row, document, store)
    edition = await stored_edition(row, store)
    found = await store.get_document(document)
    own = [
        CitedPlace(**passage.model_dump(include={*CitedPlace.model_fields}))
        for passage in (edition.passages if edition else ())
        if passage.document == document
    ]
    return SourceText(
        **_entry(found, address, cited_numbers(edition).get(document)).model_dump(),
        text=sendable(found.text),
        places=found.places,
        passages=tuple(sorted(own, key=lambda passage: (passage.start, passage.end))),
    )


async def read_snapshot(row: RunRow, document: str, store: Store) -> tuple[Document, bytes]:
    """Return a document that a run has read, and the page or file as it came."""
    await _address(row, document, store)
    found = await store.get_document(document)
    return found, await store.get_blob(found.snapshot)


async def _address(row: RunRow, document: str, store: Store) -> str:
    """Return the first address of a document of the run; those of other runs are none."""
    address = (await first_addresses(row.id, store)).get(document)
    if address is None:
        raise NotFound().with_message("fault.unknown_source", source=document[:64])
    return address


async def stored_edition(row: RunRow, store: Store) -> Edition | None:
    """Return the report of a run in parts; None where there is none yet, or a run of an earlier version kept none."""
    has_edition = row.result is not None and "edition" in row.result
    return await edition_of(row, store) if has_edition else None


def cited_numbers(edition: Edition | None) -> dict[str, int]:
    """Return the numbers under which a report cites documents."""
    cited = edition.citations.cited if edition else ()
    return {source.document: number for number, source in enumerate(cited, start=1)}


def _entry(document: Document, address: str, number: int | None) -> SourceEntry:
    return SourceEntry(
        document=document.id,
        address=sendable(address),
        title=sendable(document.title),
        number=number,
        author=sendable(document.author),
        characters=len(document.text),
        delivered=document.delivered.engine if document.delivered else "",
        **document.model_dump(include={"media_type", "language", "published", "warnings"}),
    )
