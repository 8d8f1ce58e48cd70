"""An update: what an earlier report says, looked up in what its sources say now."""

import asyncio

from pydantic import TypeAdapter

from deep_research.errors import CallFailed, SourceGone
from deep_research.export.changes import changes_as_markdown, summary_of
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.fan_out import fan_out
from deep_research.pipeline.journalled import journalled_lookup
from deep_research.pipeline.result import edition_of
from deep_research.pipeline.stages.fetch import from_page
from deep_research.report.citation import Source
from deep_research.report.edition import Edition
from deep_research.report.sources.hit import Hit
from deep_research.request import EarlierRun
from deep_research.text.in_thread import in_thread
from deep_research.text.messages.words import words_in
from deep_research.value import Value
from deep_research.verify.changes import NewText, compare_with_sources

# So many sources are opened at once.
_AT_ONCE = 8


class _EarlierTexts(Value):
    """An earlier report with the texts that it was written from, and the snapshots that these were read from."""

    edition: Edition
    texts: dict[str, str]
    snapshots: dict[str, str]


async def changes_since(earlier: EarlierRun, new: Edition, context: StageContext) -> str:
    """Write down what has changed since an earlier run, in two files; return it in one line for the report."""
    records = context.records

    async def lookup() -> _EarlierTexts:
        store = records.store
        edition = await edition_of(await store.get_run(earlier.run), store)
        documents = [await store.get_document(source.document) for source in edition.citations.sources]
        return _EarlierTexts(
            edition=edition,
            texts={document.id: document.text for document in documents},
            snapshots={document.id: document.snapshot for document in documents},
        )

    old = await journalled_lookup("earlier", [earlier.run], lookup, TypeAdapter(_EarlierTexts))
    addresses = await records.store.list_addresses(records.run)
    slots = asyncio.Semaphore(_AT_ONCE)

    async def now(source: Source, at: StageContext) -> NewText:
        try:
            async with slots:
                hit = Hit(address=source.address, title=source.title)
                is_read = source.address in addresses
                document = (
                    await records.document(addresses[source.address]) if is_read else (await from_page(hit, at))[0]
                )
        except CallFailed as failure:
            return NewText(reason=str(failure), is_gone=isinstance(failure, SourceGone))
        # Another version of a reader may find other words in the same bytes.
        is_same = document.snapshot == old.snapshots[source.document]
        return NewText(old.texts[source.document] if is_same else document.text)

    sources = old.edition.citations.sources
    found = await fan_out("source", sources, now, context.at("earlier"))
    texts = {source.document: (await records.document(source.document)).text for source in new.citations.sources}
    by_address = {source.address: text for source, text in zip(sources, found, strict=True)}
    changes = await in_thread(compare_with_sources, old.edition, old.texts, by_address, new, texts)
    words, folder = words_in(new.language), context.run.folder
    await folder.write_json("changes.json", changes.to_json())
    await folder.write("changes.md", changes_as_markdown(changes, words))
    return summary_of(changes, words, "updates", run=earlier.run[:8], date=changes.before.created_at[:10])
