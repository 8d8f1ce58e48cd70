"""The commands of `db` and their options; what they do is imported when they run."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Exit, Option

db = typer.Typer(help="The database of runs, accounts and schedules: migrate, check, copy.", no_args_is_help=True)


@db.command("migrate")
def migrate_database() -> None:
    """Bring the database up to date, and say what that changed; runs stay as they are."""
    from deep_research.cli.db import migrate

    migrate()


@db.command("check")
def check_database(
    full: Annotated[bool, Option("--full", help="Read every journal, document and blob.")] = False,
) -> None:
    """Say whether the database can be reached and written, what it holds, and whether it is sound."""
    from deep_research.cli.db import check

    raise Exit(check(is_full=full))


@db.command("copy")
def copy_to_database(
    home: Annotated[Path | None, Option("--from", metavar="FOLDER", help="Home to copy; by default your own.")] = None,
) -> None:
    """Copy runs, accounts, schedules and uploaded documents of a home to the PostgreSQL of the settings."""
    from deep_research.cli.db import copy

    copy(home)
