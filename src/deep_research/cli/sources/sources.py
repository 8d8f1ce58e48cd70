"""`sources list` and `sources test`: where can be searched, what each source needs, and whether it answers."""

import time
from typing import Annotated

import typer
from typer import Argument, Option

from deep_research.cli.options import Json
from deep_research.cli.printing import counted, show, show_json, tell
from deep_research.errors import CallFailed, UsageError
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.settings import Settings, load_settings
from deep_research.text.masking import masked, masked_data
from deep_research.value import JsonObject
from deep_research.web.search.registry import EngineSpec
from deep_research.wiring.search import (
    address_of,
    chosen_engines,
    key_of,
    known_engines,
    open_engine,
    problem_of,
)

EXIT_SILENT = 70
_SHOWN_HITS = 5
sources = typer.Typer()


@sources.command("list")
def list_sources(as_json: Json = False) -> None:
    """List every source of the web: which are asked, and what the others lack."""
    settings = load_settings()
    used = chosen_engines(settings)
    entries = [_entry(spec, settings, is_used=spec.name in used) for spec in known_engines(settings).values()]
    if as_json:
        show_json(sources=entries)
        return
    for entry in entries:
        show(f"{entry['state']:<8} {entry['name']:<20} {entry['about']}")
    show()
    show("on: asked by runs; off: not asked; missing: would be asked if it had what it needs.")
    show("Try one with: deep-research sources test NAME")


def _entry(spec: EngineSpec, settings: Settings, *, is_used: bool) -> JsonObject:
    problem = problem_of(spec, settings)
    kinds = ", ".join(sorted(spec.kinds))
    about = f"{spec.about} ({kinds})" if spec.about else kinds
    return {
        "name": spec.name,
        "title": spec.title,
        "state": "on" if is_used else "missing" if problem else "off",
        "about": f"{about}; {problem}" if problem else about,
        "kinds": [*sorted(spec.kinds)],
        "address": masked_data(address_of(spec, settings)),
        "has_key": bool(key_of(spec, settings)),
        "problem": problem,
    }


@sources.command("test")
async def try_source(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the source, as the list shows it.")],
    query: Annotated[str, Option("--query", "-q", metavar="TEXT", help="What to search for.")] = "heat pump",
    as_json: Json = False,
) -> int:
    """Ask one source and show what it answers."""
    settings = load_settings()
    specs = known_engines(settings)
    spec = specs.get(name.strip().lower())
    if spec is None:
        raise UsageError(f"There is no source {name!r}; choose one of {', '.join(specs)}.")
    if settings.offline:
        raise UsageError("The setting offline forbids to ask anybody outside this machine.")
    if problem := problem_of(spec, settings):
        raise UsageError(problem)
    begun = time.monotonic()
    engine, hits, failure = open_engine(spec, settings), list[Hit](), ""
    try:
        hits = await engine.search(SearchQuery(query=query), limit=settings.max_results)
    except CallFailed as exc:
        failure = masked(str(exc))
    finally:
        await engine.close()
    seconds = round(time.monotonic() - begun, 2)
    if as_json:
        show_json(source=spec.name, seconds=seconds, hits=[hit.to_json() for hit in hits], problem=failure)
    elif failure:
        tell(f"{spec.title}: {failure}")
    else:
        show(f"{spec.title}: {counted(len(hits), 'result')} in {seconds:g} s")
        for hit in hits[:_SHOWN_HITS]:
            show(f"- {hit.title}\n  {hit.address}")
    return EXIT_SILENT if failure else 0
