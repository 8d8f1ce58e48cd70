"""Which sources of the web a run may use, from the settings: what is named, what has a key, what is missing."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deep_research.errors import ConfigurationError
from deep_research.settings import Settings, variable_of
from deep_research.text.messages.words import Words, words_in
from deep_research.value import digest
from deep_research.web.search.registry import ENGINES, EngineSpec
from deep_research.wiring.stores import open_database, shared_limiter

if TYPE_CHECKING:
    from deep_research.web.cache.cache import Cache
    from deep_research.web.fetch.port import Fetcher
    from deep_research.web.search.engine import PagedSearch
    from deep_research.web.search.port import SearchEngine

NO_ENGINES = ("none",)
# Asking a source again is better than to wait longer for a database that is away.
_CACHE_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Web:
    """The sources of a run, the way to their pages, and what is kept of both; all closed together."""

    engines: "tuple[SearchEngine, ...]"
    specs: Mapping[str, EngineSpec]
    fetcher: "Fetcher | None"
    cache: "Cache | None"
    close: Callable[[], Awaitable[None]] | None


def known_engines(settings: Settings) -> dict[str, EngineSpec]:
    """Return all sources by name: those of the registry, the web engines in the order of the chain, and MCP servers."""
    named = () if settings.engines == NO_ENGINES else settings.engines
    known = {*ENGINES, *(server.engine_name for server in settings.mcp_servers)}
    unknown = [name for name in (*settings.search_chain, *named) if name not in known]
    if unknown:
        raise ConfigurationError(
            f"There is no source {unknown[0]!r}; `deep-research sources list` shows those that there are."
        )
    chain = [ENGINES[name] for name in dict.fromkeys(settings.search_chain)]
    others = [spec for spec in ENGINES.values() if spec not in chain]
    servers = [
        EngineSpec(name=own.engine_name, title=f"MCP server {own.name}", kinds=own.kinds, priority=own.priority)
        for own in settings.mcp_servers
    ]
    return {spec.name: spec for spec in (*chain, *others, *servers)}


def searches_web(settings: Settings) -> bool:
    """Return whether runs may ask sources of the web; not offline, nor where own documents or none are wanted."""
    return not (settings.offline or settings.strategy == "local" or settings.engines == NO_ENGINES)


def chosen_engines(settings: Settings) -> tuple[str, ...]:
    """Return the sources of the web that a run asks, if it may.

    One that was named and lacks something is an error; of the others, those that lack something are left out.
    """
    if not searches_web(settings):
        return ()
    specs = known_engines(settings)
    if settings.engines:
        for name in settings.engines:
            if problem := problem_of(specs[name], settings):
                raise ConfigurationError(problem)
        return tuple(name for name in specs if name in settings.engines)
    usable = [spec for spec in specs.values() if not problem_of(spec, settings)]
    if settings.search_mode == "model":
        searching = tuple(spec.name for spec in usable if spec.is_model_search)
        if not searching:
            models = [spec for spec in ENGINES.values() if spec.is_model_search]
            keys = ", ".join(spec.key_variable for spec in models)
            raise ConfigurationError(f"No model that searches by itself can be used; set one of {keys}.")
        return searching
    return tuple(
        spec.name
        for spec in usable
        if not spec.is_model_search and (spec.is_specialist or spec.name in settings.search_chain)
    )


def problem_of(spec: EngineSpec, settings: Settings, words: Words | None = None) -> str:
    """Return what a source lacks and how to correct it, in English unless asked otherwise; "" where it can be asked."""
    words = words or words_in("en")
    if spec.needs_key and not key_of(spec, settings):
        return words("doctor.needs_key", title=spec.title, variable=spec.key_variable)
    if spec.address_setting and not address_of(spec, settings):
        return words("doctor.needs_address", title=spec.title, variable=variable_of(spec.address_setting))
    return ""


def key_of(spec: EngineSpec, settings: Settings) -> str:
    """Return the key of a source, "" where none is set."""
    value = getattr(settings, spec.key_setting) if spec.key_setting else None
    return value if isinstance(value, str) else value.get_secret_value() if value else ""


def address_of(spec: EngineSpec, settings: Settings) -> str:
    """Return where a source is reached; "" where that is not set."""
    return (getattr(settings, spec.address_setting) if spec.address_setting else "") or ""


def model_of(spec: EngineSpec, settings: Settings) -> str:
    """Return the model that searches for a source; "" where none does."""
    return getattr(settings, spec.model_setting) if spec.model_setting else ""


def open_engine(spec: EngineSpec, settings: Settings) -> "PagedSearch":
    """Return one source as it answers by itself, without cache."""
    from deep_research.web.net.headers import mail_of
    from deep_research.web.search.engine import connect
    from deep_research.web.search.mcp_servers import connect_server
    from deep_research.web.search.throttle import throttle_of

    address, key, timeout_s = address_of(spec, settings), key_of(spec, settings), settings.search_timeout_s
    contact = settings.contact
    throttle = throttle_of(spec, address=address, key=key, mail=mail_of(contact), shared=shared_limiter(settings))
    server = next((one for one in settings.mcp_servers if one.engine_name == spec.name), None)
    if server is not None:
        return connect_server(server, timeout_s=timeout_s, contact=contact, throttle=throttle)
    model = model_of(spec, settings)
    return connect(spec, address=address, key=key, timeout_s=timeout_s, model=model, contact=contact, throttle=throttle)


def open_web(settings: Settings) -> Web:
    """Return the sources that a run asks and the fetcher of their pages; without any, nothing leaves the machine."""
    names = chosen_engines(settings)
    specs = {name: spec for name, spec in known_engines(settings).items() if name in names}
    cache = open_cache(settings) if settings.cache else None
    if not specs:
        return Web((), {}, None, cache, cache.close if cache else None)
    from deep_research.web.cache.pages import CachedFetcher
    from deep_research.web.cache.searches import CachedEngine
    from deep_research.web.fetch.chromium import ChromiumRenderer, find_chromium
    from deep_research.web.fetch.web import WebFetcher
    from deep_research.web.net.client import GuardedClient
    from deep_research.web.net.guard import Guard

    client = GuardedClient(Guard(allowed=settings.allowed_hosts), contact=settings.contact)
    chromium = find_chromium() if settings.render_pages else None
    web = WebFetcher(
        client,
        timeout_s=settings.fetch_timeout_s,
        honours_robots=settings.respect_robots,
        renderer=None if chromium is None else ChromiumRenderer(client, chromium),
    )
    engines = [open_engine(spec, settings) for spec in specs.values()]

    async def close() -> None:
        await client.aclose()
        for engine in engines:
            await engine.close()
        if cache is not None:
            await cache.close()

    if cache is None:
        return Web(tuple(engines), specs, web, None, close)
    usable = tuple(
        CachedEngine(engine, cache, identity=_identity(specs[engine.name], settings), ttl_s=settings.search_cache_s)
        for engine in engines
    )
    # A page that other settings let in must not come out under these.
    rules = digest(sorted(settings.allowed_hosts), settings.respect_robots, chromium is not None)
    pages = CachedFetcher(web, cache, identity=rules, fresh_s=settings.search_cache_s)
    return Web(usable, specs, pages, cache, close)


def _identity(spec: EngineSpec, settings: Settings) -> str:
    """Return what differs between engines of one name: where it stands, who searches, what is started for it."""
    server = next((one for one in settings.mcp_servers if one.engine_name == spec.name), None)
    if server is not None:
        return digest(server.model_dump(mode="json", exclude={"key"}))
    return " ".join(filter(None, (address_of(spec, settings), model_of(spec, settings))))


def open_cache(settings: Settings) -> "Cache":
    """Return what is kept between runs: in the PostgreSQL that is named, for all hosts, else in a file."""
    from deep_research.web.cache.cache import Cache, CacheFile

    database = (
        CacheFile(settings.cache_path)
        if settings.database_url is None
        else open_database(settings, "deep_research.web.cache", patience_s=_CACHE_PATIENCE_S)
    )
    return Cache(database, max_bytes=int(settings.cache_mb * 1_000_000))
