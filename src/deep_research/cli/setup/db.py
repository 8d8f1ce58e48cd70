"""`db migrate`, `db check` and `db copy`: the database of runs, accounts and schedules."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from deep_research.cli.printing import counted, show
from deep_research.errors import ConfigurationError
from deep_research.settings import load_settings

_MEGA = 1_000_000
_MAX_CLOCK_DIFFERENCE_S = 5.0
db = typer.Typer()


@db.command()
async def migrate() -> None:
    """Bring the database up to date, and say what that changed; runs stay as they are."""
    from deep_research.service.database_check import migrate_database, schema_numbers

    settings = load_settings()
    before = schema_numbers(settings)
    await migrate_database(settings)
    for part, number in schema_numbers(settings).items():
        name = part.rpartition(".")[2]
        is_changed = number != before[part]
        show(
            f"{name:<14} schema {before[part]} → {number}" if is_changed else f"{name:<14} schema {number}, up to date"
        )


@db.command()
async def check(full: Annotated[bool, Option("--full", help="Read every journal, document and blob.")] = False) -> int:
    """Say whether the database can be reached and written, what it holds, and whether it is sound."""
    from deep_research.service.database_check import check_database

    state = await check_database(load_settings(), is_full=full)
    show(f"{state.place} can be reached and written")
    show("schemas: " + ", ".join(f"{part.rpartition('.')[2]} {number}" for part, number in state.schemas.items()))
    size = state.size
    counts = (counted(size.runs, "run"), counted(size.documents, "document"), counted(size.blobs, "blob"))
    show(f"{', '.join(counts)}, {size.bytes_on_disk / _MEGA:.1f} MB")
    off = "" if abs(state.clock_ahead_s) < _MAX_CLOCK_DIFFERENCE_S else ": correct the clock of this host"
    show(f"its clock is {state.clock_ahead_s:+.2f} s off this host's{off}")
    if full:
        show(f"documents and blobs held against their ids: {state.checked}")
    for line in state.damage:
        show(f"damaged: {line}")
    return 1 if state.damage else 0


@db.command()
async def copy(
    home: Annotated[Path | None, Option("--from", metavar="FOLDER", help="Home to copy; by default your own.")] = None,
) -> None:
    """Copy runs, accounts, schedules and uploaded documents of a home to the PostgreSQL of the settings."""
    from deep_research.service.moving import copy_home

    settings = load_settings()
    if settings.database_url is None:
        raise ConfigurationError("Set DEEP_RESEARCH_DATABASE_URL to the PostgreSQL that the files are copied to.")
    for table, count in (await copy_home(settings, home or settings.home)).items():
        show(f"{table:<22} {count:>9}")
    show("All rows are in the database. The files are left as they were.")
