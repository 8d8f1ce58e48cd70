"""The commands of `users` and their options; what they do is imported when they run."""

from typing import Annotated

import typer
from typer import Argument, Option

users = typer.Typer(
    help="Accounts of the server: add, list, remove, password, limits, token, revoke, log.", no_args_is_help=True
)
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
UserName = Annotated[str, Argument(metavar="NAME", help="Name of the user.")]
RunsAtOnce = Annotated[int | None, Option(min=-1, help="Most unfinished runs at a time.")]
RunsADay = Annotated[int | None, Option(min=-1, help="Most runs that are started in a day.")]
UsdAMonth = Annotated[float | None, Option(min=-1, help="Most money in a month, in US dollars.")]
QueriesADay = Annotated[int | None, Option(min=-1, help="Most search queries in a day.")]


@users.command("add")
def add_user(
    name: UserName,
    admin: Annotated[bool, Option("--admin", help="May see settings and metrics.")] = False,
    take_over: Annotated[
        bool, Option("--take-over", help="Gets the runs and documents that were made on the page without accounts.")
    ] = False,
    runs_at_once: RunsAtOnce = None,
    runs_a_day: RunsADay = None,
    usd_a_month: UsdAMonth = None,
    queries_a_day: QueriesADay = None,
) -> None:
    """Add a user; the password is asked for, or read from standard input."""
    from deep_research.cli.users import add_user

    add_user(
        name,
        is_admin=admin,
        take_over=take_over,
        limits=_limits(runs_at_once, runs_a_day, usd_a_month, queries_a_day),
    )


@users.command("list")
def list_users(as_json: Json = False) -> None:
    """List users with their limits and tokens."""
    from deep_research.cli.users import print_users

    print_users(as_json=as_json)


@users.command("remove")
def remove_user(name: UserName) -> None:
    """Remove a user; their unfinished runs are cancelled."""
    from deep_research.cli.users import remove_user

    remove_user(name)


@users.command("password")
def change_password(name: UserName) -> None:
    """Give a user a new password, and sign them out everywhere."""
    from deep_research.cli.users import change_password

    change_password(name)


@users.command("limits")
def change_limits(
    name: UserName,
    runs_at_once: RunsAtOnce = None,
    runs_a_day: RunsADay = None,
    usd_a_month: UsdAMonth = None,
    queries_a_day: QueriesADay = None,
) -> None:
    """Change what a user may use; -1 takes a limit away."""
    from deep_research.cli.users import change_limits

    change_limits(name, _limits(runs_at_once, runs_a_day, usd_a_month, queries_a_day))


@users.command("token")
def make_token(
    name: UserName,
    scopes: Annotated[
        str, Option(metavar="LIST", help="What it may do: read, research, documents, admin.")
    ] = "read,research,documents",
    label: Annotated[str, Option(metavar="TEXT", help="What it is for.")] = "",
    expires: Annotated[str | None, Option(metavar="TIME", help="When it ends: 12h, 30d, 2w.")] = None,
) -> None:
    """Make a token for programs, and print it once."""
    from deep_research.cli.users import make_token

    make_token(name, scopes=scopes, label=label, expires=expires)


@users.command("revoke")
def revoke_token(
    token: Annotated[str, Argument(metavar="TOKEN", help="Id of the token, as the list shows it.")],
) -> None:
    """Make a token worthless."""
    from deep_research.cli.users import revoke_token

    revoke_token(token)


@users.command("log")
def show_log(
    limit: Annotated[int, Option(min=1, help="How many entries.")] = 100,
    as_json: Json = False,
) -> None:
    """Show who did what on the server, the newest last."""
    from deep_research.cli.users import print_log

    print_log(limit=limit, as_json=as_json)


def _limits(at_once: int | None, a_day: int | None, usd: float | None, queries: int | None) -> dict[str, float | None]:
    return {"runs_at_once": at_once, "runs_a_day": a_day, "usd_a_month": usd, "queries_a_day": queries}
