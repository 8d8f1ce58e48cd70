"""What an account can look things up in: its finished reports, the sources read for them, and its documents."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from deep_research.documents.corpus.port import PassageHit
from deep_research.errors import NotFound, SourceError, UnknownRun, UsageError
from deep_research.report.citation import Source
from deep_research.service.accounts.identity import Identity
from deep_research.service.report_text import Links, report_text
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunRow
from deep_research.text.analyzer import content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.in_thread import in_thread
from deep_research.wiring.documents import corpus_of

# Of older reports nobody is told here.
_MAX_RUNS = 200
# Of older sources the texts are not looked through.
_MAX_SOURCES = 1_000
_MAX_RESULTS = 20
_PASSAGES = 20


class FoundItem(BaseModel):
    """Something that was found: its id is what `fetch` takes."""

    id: str
    title: str
    url: str


class SearchResults(BaseModel):
    """What was found, the best first."""

    results: list[FoundItem]


class FetchedItem(BaseModel):
    """The whole text of something that was found."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]


class _LibraryMatch(NamedTuple):
    """Something that may fit a query, and the terms of the query that it holds."""

    item: FoundItem
    matched: frozenset[str]


@dataclass
class Library:
    """The reports, sources and documents of one account."""

    service: ResearchService
    who: Identity
    links: Links

    async def search(self, query: str) -> SearchResults:
        """Return what fits a query, by the terms of it that title and text hold; rare ones count more."""
        terms = frozenset(content_terms(query))
        if not terms:
            raise UsageError("The query is empty: name what to look for in a few words.")
        rows = await self.reports()
        reports = await in_thread(self._of_reports, rows, terms)
        candidates = [*reports, *await self._of_sources(rows, terms), *await self._of_documents(query, terms)]
        return SearchResults(results=_ranked(terms, candidates)[:_MAX_RESULTS])

    async def reports(self, limit: int = _MAX_RUNS) -> list[RunRow]:
        """Return the runs with a finished report, the newest first."""
        return await self.service.list(self.who, limit=limit, status="done")

    async def fetch(self, id_: str) -> FetchedItem:
        """Return the whole text of a report, a source or a document."""
        kind, _, rest = id_.partition(":")
        run, _, name = rest.partition(":")
        try:
            match kind:
                case "report":
                    return await self.report(run, id_)
                case "source":
                    return await self.source(run, name, id_)
                case "file":
                    return await self.document(run, name, id_)
        except (UnknownRun, NotFound, SourceError):
            pass
        raise NotFound(f"There is nothing with the id {id_!r}: take ids from the results of search.")

    async def report(self, run: str, id_: str) -> FetchedItem:
        """Return a report as Markdown."""
        row = await self.service.get(run, self.who)
        report = await report_text(self.service, row, self.who, self.links)
        return FetchedItem(
            id=id_,
            title=report.title,
            text=report.text,
            url=self.links.report(row.id),
            metadata={
                "kind": "report",
                "run": row.id,
                "question": row.request.question,
                "created_at": row.created_at.isoformat(timespec="seconds"),
                "is_verified": report.is_verified,
                "sources": len(report.sources),
            },
        )

    async def source(self, run: str, document: str, id_: str) -> FetchedItem:
        """Return the text of a source as a run read it; only what that run names can be read."""
        row = await self.service.get(run, self.who)
        source = next((source for source in _sources(row) if source.document == document), None)
        if source is None:
            raise NotFound(f"Run {row.id} has no source {document!r}.")
        stored = await self.service.store.get_document(document)
        facts = {"author": stored.author, "published": stored.published, "language": stored.language}
        return FetchedItem(
            id=id_,
            title=source.title,
            text=stored.text,
            url=self.links.source(row.id, source),
            metadata={"kind": "source", "run": row.id, "address": source.address}
            | {name: value for name, value in facts.items() if value},
        )

    async def document(self, collection: str, address: str, id_: str) -> FetchedItem:
        """Return the text of a document of a collection as it is searched."""
        folder = await self.service.documents.folder_of(collection, self.who)
        corpus = corpus_of(folder, self.service.settings)
        try:
            # Only what the index names is read, and from the index alone.
            passages = await corpus.passages(address)
        finally:
            await corpus.close()
        title = passages[0].title if passages else address
        metadata = {"kind": "document", "collection": collection, "name": address}
        url = self.links.document(collection, address)
        return FetchedItem(id=id_, title=title, text=_joined(passages), url=url, metadata=metadata)

    def _of_reports(self, rows: Iterable[RunRow], terms: frozenset[str]) -> list[_LibraryMatch]:
        found = []
        for row in rows:
            learned = (row.result or {}).get("learnings")
            said = " ".join(map(str, learned)) if isinstance(learned, list) else ""
            item = FoundItem(id=f"report:{row.id}", title=row.title, url=self.links.report(row.id))
            words = f"{row.title} {row.request.question} {said}"
            found.append(_LibraryMatch(item, terms.intersection(content_terms(words))))
        return found

    async def _of_sources(self, rows: Iterable[RunRow], terms: frozenset[str]) -> list[_LibraryMatch]:
        """Return the sources of runs, each judged by its whole text; the newest run that read one stands for all."""
        read: dict[str, tuple[RunRow, Source]] = {}
        for row in rows:
            for source in _sources(row):
                read.setdefault(source.document, (row, source))
        found = []
        for document, (row, source) in list(read.items())[:_MAX_SOURCES]:
            try:
                text = (await self.service.store.get_document(document)).text
            except NotFound:
                text = ""
            item = FoundItem(
                id=f"source:{row.id}:{document}", title=source.title, url=self.links.source(row.id, source)
            )
            found.append(_LibraryMatch(item, _matched_terms(f"{source.title} {source.address} {text}", terms)))
        return found

    async def _of_documents(self, query: str, terms: frozenset[str]) -> list[_LibraryMatch]:
        found: dict[str, _LibraryMatch] = {}
        for collection in await self.service.documents.list(self.who):
            hits = await self.service.documents.search(collection.id, query, self.who, limit=_PASSAGES)
            for hit in hits.passages:
                id_ = f"file:{collection.id}:{hit.address}"
                before = found[id_].matched if id_ in found else frozenset()
                url = self.links.document(collection.id, hit.address)
                item = FoundItem(id=id_, title=hit.title or hit.address, url=url)
                found[id_] = _LibraryMatch(item, before | terms.intersection(content_terms(f"{hit.title} {hit.text}")))
        return list(found.values())


def _matched_terms(text: str, terms: frozenset[str]) -> frozenset[str]:
    """Return the terms that a long text holds; stems are looked for as they are, without an analysis of the text."""
    folded = to_simplified(text.casefold())
    return frozenset(term for term in terms if term in folded)


def _ranked(terms: frozenset[str], candidates: Sequence[_LibraryMatch]) -> list[FoundItem]:
    counts = Counter(term for candidate in candidates for term in candidate.matched)
    weights = {term: math.log(1 + len(candidates) / (1 + counts[term])) for term in terms}
    # Exact, so that the same terms weigh the same in whatever order a set gives them.
    weighed = [(math.fsum(weights[term] for term in matched), item) for item, matched in candidates if matched]
    # Reports come first among equals: they answer, where the others only hold what was read.
    return [item for _, item in sorted(weighed, key=lambda pair: -pair[0])]


def _sources(row: RunRow) -> list[Source]:
    listed = (row.result or {}).get("sources")
    return [Source.from_json(source) for source in listed] if isinstance(listed, list) else []


def _joined(passages: Sequence[PassageHit]) -> str:
    """Return the text that passages cover, which may overlap."""
    text, end = "", 0
    for passage in passages:
        gap = "\n\n" if text and passage.start > end else ""
        text += gap + passage.text[max(0, end - passage.start) :]
        end = max(end, passage.end)
    return text
