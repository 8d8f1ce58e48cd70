"""`cache show` and `cache clear`: what is kept of sources' answers between runs."""

import asyncio
from collections.abc import Awaitable, Callable

import typer

from deep_research.cache.cache import Cache
from deep_research.cli.printing import show
from deep_research.settings import Settings, load_settings
from deep_research.wiring.search import open_cache

_MEGA = 1_000_000
cache = typer.Typer()


@cache.command("show")
def show_cache() -> None:
    """Show how much is kept."""
    settings = load_settings()
    kept, place = _with_cache(settings, Cache.size)
    state = "on" if settings.cache else "off"
    show(f"{state}: {kept / _MEGA:.2f} of {settings.cache_mb:g} MB in {place}")
    show(f"search results and pages for {settings.search_cache_s:g} s, plans for {settings.plan_cache_s:g} s")


@cache.command("clear")
def clear_cache() -> None:
    """Forget all that is kept; runs are left alone."""
    freed, _ = _with_cache(load_settings(), Cache.clear)
    show(f"Cleared {freed / _MEGA:.2f} MB.")


def _with_cache(settings: Settings, work: Callable[[Cache], Awaitable[int]]) -> tuple[int, str]:
    async def open_and_close() -> tuple[int, str]:
        opened = open_cache(settings)
        try:
            return await work(opened), opened.place
        finally:
            await opened.close()

    return asyncio.run(open_and_close())
