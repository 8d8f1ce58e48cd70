"""`SearchExecutor`: one search task over the sources that suit it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from deep_research.errors import BudgetExceeded, CallFailed, ServiceClosed
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.fan_out import together
from deep_research.pipeline.state import TaskState, Update
from deep_research.reasoning.rules.special_sources import choose_sources, widen
from deep_research.report.sources.hit import EARLIER, Hit, SearchQuery
from deep_research.report.sources.ranking import LOCAL, Ranked, fuse
from deep_research.request import EarlierRun
from deep_research.text.script import detect_language
from deep_research.value import Strings


class SearchExecutor:
    """Runs search tasks; an engine that fails is skipped, and the report's account of the search names it."""

    async def execute(self, query: SearchQuery, context: StageContext) -> list[Hit]:
        """Return the hits of the engines that suit the query, merged and ranked, each address once."""
        async with context.run.search_slots:
            try:
                await context.count_query(query.query)
            except BudgetExceeded as refused:
                await context.lost("search", query.query, refused)
                return []
            return await self._hits(suited(query, context), context)

    async def _hits(self, query: SearchQuery, context: StageContext) -> list[Hit]:
        route = route_of(query, context)
        search = _Search(query)
        rankings = await self._first(route, search, context)
        if not any(ranking.hits for ranking in rankings):
            rankings += await search.all_of(route.last_resort, context)
        # Where no web search engine answers, sources that need no key stand in for it.
        is_web_lost = route.chain and all(name in search.failures for name in route.chain)
        if is_web_lost or not any(ranking.hits for ranking in rankings):
            rankings += await search.all_of(route.widened, context)
        # With no answer at all, nobody can say that there is nothing to be found.
        if search.failures and not search.engines_answered:
            # A service that is no longer asked because it failed before says least about why.
            first = min(search.failures.values(), key=lambda failure: isinstance(failure, ServiceClosed))
            await context.lost("search", query.query, first)
        return fuse(rankings, query=query, today=context.run.row.created_at.date())

    async def _first(self, route: "Route", search: "_Search", context: StageContext) -> list[Ranked]:
        """Ask as the strategy says: everybody, the quickest, or along the chain with the specialists beside it."""
        config = context.request.search
        if config.parallel_strategy == "batch":
            return await search.all_of((*route.documents, *route.chain, *route.specialists), context)
        left, right = context.at(), context.at()
        if config.parallel_strategy == "race":
            sides = [search.race((*route.chain, *route.specialists), left), search.all_of(route.documents, right)]
        else:
            along = search.race if config.enable_race_mode else search.one_after_another
            sides = [along(route.chain, left), search.all_of((*route.documents, *route.specialists), right)]
        found = await together(sides)
        context.dependencies.join([left.dependencies, right.dependencies])
        return [ranking for rankings in found for ranking in rankings]


@dataclass
class _Search:
    """One query on its way through the engines."""

    query: SearchQuery
    engines_answered: int = 0
    failures: dict[str, CallFailed] = field(default_factory=dict)

    async def ask(self, name: str, at: StageContext) -> Ranked:
        """Return what one engine finds; one that fails finds nothing, and its row in the journal says why."""
        try:
            hits = await at.search(name, self.query)
        except CallFailed as failure:
            self.failures[name] = failure
            return Ranked(engine=name, hits=())
        self.engines_answered += 1
        return Ranked(engine=name, hits=tuple(hit for hit in hits if _is_on(hit.address, self.query.sites)))

    async def all_of(self, names: Sequence[str], context: StageContext) -> list[Ranked]:
        """Ask all at once and wait for all."""
        branches = [context.at(name) for name in names]
        rankings = await together([self.ask(name, at) for name, at in zip(names, branches, strict=True)])
        context.dependencies.join([at.dependencies for at in branches])
        return rankings

    async def one_after_another(self, names: Sequence[str], context: StageContext) -> list[Ranked]:
        """Ask one after another until one finds something."""
        rankings: list[Ranked] = []
        for name in names:
            rankings += await self.all_of([name], context)
            if rankings[-1].hits:
                break
        return rankings

    async def race(self, names: Sequence[str], context: StageContext) -> list[Ranked]:
        """Ask all at once and keep the first that finds something; which one that was is on record."""
        if len(names) < 2:
            return await self.all_of(names, context)
        winner = await context.decide("race", names, lambda: self._first_with_hits(names, context))
        # Whoever is asked here has answered already: the journal knows what.
        return await self.all_of([winner] if winner else names, context)

    async def _first_with_hits(self, names: Sequence[str], context: StageContext) -> str:
        trial = replace(self, failures={})
        running = {asyncio.ensure_future(trial.ask(name, context.at(name))): name for name in names}
        waiting = set(running)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                # Several may be done at once: the order in which they were chosen decides.
                for task in (task for task in running if task in done):
                    if task.result().hits:
                        return running[task]
            return ""
        finally:
            for task in waiting:
                context.at(running[task]).call_off_search(running[task], self.query)
            await asyncio.gather(*waiting, return_exceptions=True)


def _is_on(address: str, sites: Sequence[str]) -> bool:
    """Say whether an address lies on one of the sites, where some were named; files always do."""
    host = urlsplit(address).hostname if sites and address.startswith(("http://", "https://")) else None
    return host is None or any(host == site or host.endswith(f".{site}") for site in sites)


# Where patents are found without a key to an office's own search.
_PATENT_SITES = ("patents.google.com", "worldwide.espacenet.com", "patentscope.wipo.int")


@dataclass(frozen=True)
class Route:
    """The engines of a query: the user's documents, a chain of which each is asked where the one before finds nothing,
    and those for special subjects. `last_resort` and then `widened` are only asked where all of these find nothing.
    """

    documents: Strings = ()
    chain: Strings = ()
    specialists: Strings = ()
    last_resort: Strings = ()
    widened: Strings = ()


def suited(query: SearchQuery, context: StageContext) -> SearchQuery:
    """Return the query with what the user said about the whole run: the kind of source, the time, the sites."""
    request = context.request
    kind = request.search.strategy if query.kind == "general" else query.kind
    has_office = any("patents" in spec.kinds for spec in context.adapters.specs.values())
    return query.replace(
        kind=kind,
        language=query.language or detect_language(query.query),
        since=query.since or request.since,
        until=query.until or request.until,
        sites=query.sites or request.sites or (_PATENT_SITES if kind == "patents" and not has_office else ()),
    )


def route_of(query: SearchQuery, context: StageContext) -> Route:
    """Return where a query goes; a reasoner's choice of specialists counts, else rules choose them."""
    names = [engine.name for engine in context.adapters.engines]
    documents = tuple(name for name in names if name == LOCAL)
    if query.kind == "local":
        return Route(documents=documents)
    specs = context.adapters.specs
    special = tuple(specs[name] for name in names if name in specs and specs[name].is_specialist)
    known = {spec.name for spec in special}
    web = [name for name in names if name not in documents and name not in known]
    # Of an engine that nobody described, all is hoped for.
    fitting = tuple(name for name in web if name not in specs or query.kind in specs[name].kinds)
    specialists = tuple(name for name in query.engines if name in known) or choose_sources(query, special)
    # For papers, code and patents the general web is the last resort; for the rest it comes first.
    chain = fitting if query.kind in ("general", "news") else tuple(name for name in fitting if name in specs)
    if not chain and not specialists:
        chain = tuple(web)
    return Route(
        documents=documents,
        chain=chain,
        specialists=specialists,
        last_resort=tuple(name for name in web if name not in chain),
        widened=widen(query, special, specialists),
    )


async def harvest(state: TaskState, context: StageContext, executor: SearchExecutor) -> Update:
    """Search for one query, or take what was found for it before the plan was made.

    What an engine loses is on record, never raised.
    """
    if scouted := state.scouted.get(state.query.query):
        return {"hits": scouted}
    hits = await executor.execute(state.query, context)
    known = _known_sources(state, context.request.update)
    fresh = [hit for hit in hits if hit.address not in {one.address for one in known}]
    return {"hits": await context.records.keep([*known, *fresh])}


def _known_sources(state: TaskState, earlier: EarlierRun | None) -> list[Hit]:
    """Return what an earlier report cites, for the first task: it is read again, whatever is found."""
    if not earlier or (state.round, state.task) != (1, 1):
        return []
    cited = {address: title for own in earlier.sources.values() for address, title in own.items()}
    return [Hit(address=address, title=title, engine=EARLIER) for address, title in cited.items()]
