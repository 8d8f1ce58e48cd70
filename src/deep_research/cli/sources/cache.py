"""`cache show` and `cache clear`: what is kept of sources' answers between runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import typer

from deep_research.cli.printing import show
from deep_research.settings import Settings, load_settings
from deep_research.web.cache.cache import Cache
from deep_research.wiring.search import open_cache

_MEGA = 1_000_000
cache = typer.Typer()


@cache.command("show")
async def show_cache() -> None:
    """Show how much is kept."""
    settings = load_settings()
    async with _opened(settings) as opened:
        size = await opened.size()
    state = "on" if settings.cache else "off"
    show(f"{state}: {size / _MEGA:.2f} of {settings.cache_mb:g} MB in {opened.location}")
    show(f"search results and pages for {settings.search_cache_s:g} s, plans for {settings.plan_cache_s:g} s")


@cache.command("clear")
async def clear_cache() -> None:
    """Forget all that is kept; runs are left alone."""
    async with _opened(load_settings()) as opened:
        show(f"Cleared {await opened.clear() / _MEGA:.2f} MB.")


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Cache]:
    opened = open_cache(settings)
    try:
        yield opened
    finally:
        await opened.close()
