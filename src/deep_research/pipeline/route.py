"""Which engines a query goes to: along the chain of the web, to specialists beside it, to the asker's own documents."""

from dataclasses import dataclass

from deep_research.pipeline.context import Ports
from deep_research.reasoning.tool_rules import choose_sources, widen
from deep_research.search.registry import EngineSpec
from deep_research.sources.hit import SearchQuery
from deep_research.sources.ranking import LOCAL
from deep_research.text.script import detect_language

# SPEC P5: where patents stand for whoever has no key to an office's own search.
_PATENT_SITES = ("patents.google.com", "worldwide.espacenet.com", "patentscope.wipo.int")


@dataclass(frozen=True)
class Route:
    """The engines of a query: `last_resort` and then `widened` are only asked where the others find nothing."""

    own: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    last_resort: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()


def suited(query: SearchQuery, ports: Ports) -> SearchQuery:
    """Return the query with what its asker said about the whole run: the kind of source, the time, the sites."""
    request = ports.request
    kind = request.search.strategy if query.kind == "general" else query.kind
    has_office = any("patents" in spec.kinds for spec in ports.run.parts.specs.values())
    return query.model_copy(
        update={
            "kind": kind,
            "language": query.language or detect_language(query.query),
            "since": query.since or request.since,
            "until": query.until or request.until,
            "sites": query.sites or request.sites or (_PATENT_SITES if kind == "patents" and not has_office else ()),
        }
    )


def route_of(query: SearchQuery, ports: Ports) -> Route:
    """Return where a query goes; a reasoner's choice of specialists counts, else rules choose them."""
    names = [engine.name for engine in ports.run.parts.engines]
    own = tuple(name for name in names if name == LOCAL)
    if query.kind == "local":
        return Route(own=own)
    specs = ports.run.parts.specs
    specialists = tuple(specs[name] for name in names if name in specs and specs[name].is_specialist)
    web = [name for name in names if name not in own and not _is_specialist(specs.get(name))]
    fitting = tuple(name for name in web if _holds(specs.get(name), query.kind))
    known = {spec.name for spec in specialists}
    beside = tuple(name for name in query.engines if name in known) or choose_sources(query, specialists)
    # For papers, code and patents the general web is the last resort (SPEC H4); for the rest it comes first.
    chain = fitting if query.kind in ("general", "news") else tuple(name for name in fitting if name in specs)
    chain = chain or (tuple(web) if not beside else ())
    return Route(
        own=own,
        chain=chain,
        beside=beside,
        last_resort=tuple(name for name in web if name not in chain),
        widened=widen(query, specialists, beside),
    )


def _is_specialist(spec: EngineSpec | None) -> bool:
    return spec is not None and spec.is_specialist


def _holds(spec: EngineSpec | None, kind: str) -> bool:
    """Say whether an engine serves a kind of source; of one that nobody described, all is hoped for."""
    return spec is None or kind in spec.kinds
