"""What a round over all sections asks, finds and may read."""

from collections.abc import Sequence

from deep_research.documents.corpus.search import CorpusSearch
from deep_research.events import ResearchMap, SearchTaskDone
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.frontier import Pool, UnreadPage, add_links, pool_of
from deep_research.pipeline.outcome import stop_of
from deep_research.pipeline.scope import Scope
from deep_research.pipeline.state import SectionState, Update
from deep_research.pipeline.streaming import Emitter
from deep_research.report.sources.hit import EARLIER, Hit, SearchQuery
from deep_research.request import Depth


async def pages_of_round(found: Sequence[Sequence[Hit]], pool: Pool, state: SectionState, context: StageContext) -> int:
    """Return how many pages a round may read: so many for each query, and no more than are left; what could not be read
    counts for nothing.
    """
    depth, seen = state.brief.depth, {*state.visited_sources}
    read = sum(len(task.documents) for task in state.tasks)
    queries = max(len(found), 1)
    if not context.adapters.models and depth.max_pages > Depth().max_pages:
        # Rules ask few queries: what finds many pages is read as far as the round's queries would.
        queries = max(queries, state.grant)
    wanted = max(min(depth.urls_per_query * queries, depth.max_pages - read), 0)
    if wanted and (not context.adapters.models or await context.adapters.has_small_folder()):
        # The user's own files cost nothing to read where no model reads them, and little where there are few.
        wanted = max(wanted, sum(one.hit.engine == CorpusSearch.name for at, one in pool.items() if at not in seen))
    return wanted + sum(hit.engine == EARLIER for hits in found for hit in hits)


async def tell_queries(state: SectionState, chosen: Sequence[SearchQuery], context: StageContext) -> None:
    """Report the queries of a round, section by section."""
    by_section: dict[str, list[SearchQuery]] = {}
    for query in chosen:
        by_section.setdefault(_section_of(query, state), []).append(query)
    for title, own in by_section.items():
        number = state.number + state.outline.index(title)
        emit = Emitter(context.run.streaming, Scope.of("section", number, "round", state.round))
        listed = [query.to_json() for query in own]
        await emit("serp-query", {"section": title, "round": state.round, "queries": listed})


async def tell_map(state: SectionState, context: StageContext, *, before: SectionState | None = None) -> None:
    """Report what is looked for and where it stands, and of a round that was judged what it added."""
    entries = [entry.to_json() for entry in state.entries]
    last = {document for task in state.tasks_of_round for document in task.documents}
    known = before or state
    told: ResearchMap = {
        "round": state.round,
        "is_judged": before is not None,
        "entries": entries,
        "new": len(state.entries) - len(known.entries),
        "found": known.newly_found(state.entries),
        "pages": len(state.read),
        "read": len(last) if before else 0,
        "queries": sum(state.grants),
        "changes": state.map_followed,
        "stop": stop_of(state) if before or state.is_ended else state.stop,
    }
    await context.emit("research-map", told)
    await context.run.folder.write_json("map.json", *entries)


async def with_links(state: SectionState, context: StageContext) -> Update:
    """Return the pages that could be read, with those that were linked to in this round."""
    records = context.records
    pool = pool_of(await records.load_all(UnreadPage, state.pool))
    for task in state.tasks_of_round:
        for id_ in task.documents:
            add_links(pool, await records.document(id_))
    return {"pool": await records.keep(list(pool.values()))}


async def report_tasks(state: SectionState, context: StageContext) -> None:
    """Say what each query of a round found and taught, once its pages are read."""
    records, tasks = context.records, state.tasks_of_round
    pieces = await records.evidence([id_ for task in tasks for id_ in task.evidence])
    addresses = await records.store.list_addresses(records.run)
    sections = {query.query: _section_of(query, state) for query in state.queries}
    for task in (task for task in tasks if task.query):
        hits = await records.load_all(Hit, task.hits)
        own = {addresses.get(hit.address) for hit in hits}
        failures = [gap.reason for gap in state.gaps if gap.kind == "search" and gap.scope == task.scope]
        ended: SearchTaskDone = {
            "query": task.query,
            "section": sections[task.query],
            "status": "failed" if failures else "done",
            "hits": len(hits),
            "learning": " ".join([piece.finding for piece in pieces if piece.document in own][:3]),
        }
        emit = Emitter(context.run.streaming, task.scope)
        await emit("search-task", ended | {"error": failures[0]} if failures else ended)


def _section_of(query: SearchQuery, state: SectionState) -> str:
    """Return the section that a query is told with: what is asked for all of them stands with the first."""
    return query.section if query.section in state.outline else state.outline[0]
