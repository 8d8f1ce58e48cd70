"""`users`: accounts of the server, their tokens, and the log of what was done; a server that runs obeys at once."""

import asyncio
import getpass
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Argument, Option

from deep_research.cli.options import Json
from deep_research.cli.printing import show, show_json, tell
from deep_research.errors import UsageError
from deep_research.events import UNFINISHED
from deep_research.pipeline.clock import SystemClock
from deep_research.pipeline.control import cancel_run
from deep_research.service.accounts.identity import LOCAL_USER, SCOPES, ActionLog, Scope
from deep_research.service.database import open_server_database
from deep_research.service.schedules.schedules import duration_of
from deep_research.settings import Settings, load_settings
from deep_research.storage.store.port import RunChoice
from deep_research.wiring.stores import opened_store

if TYPE_CHECKING:
    from deep_research.service.accounts.accounts import Accounts

_MAX_RUNS = 10_000
UserName = Annotated[str, Argument(metavar="NAME", help="Name of the user.")]
RunsAtOnce = Annotated[int | None, Option(min=-1, help="Most unfinished runs at a time.")]
RunsADay = Annotated[int | None, Option(min=-1, help="Most runs that are started in a day.")]
UsdAMonth = Annotated[float | None, Option(min=-1, help="Most money in a month, in US dollars.")]
QueriesADay = Annotated[int | None, Option(min=-1, help="Most search queries in a day.")]
users = typer.Typer()


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
    from deep_research.service.accounts.accounts import Limits

    limits = Limits.model_validate(_limits(runs_at_once, runs_a_day, usd_a_month, queries_a_day))
    password = _new_password()

    async def add() -> None:
        before = LOCAL_USER if take_over else ""
        async with _opened() as (accounts, settings):
            account = await accounts.add(name, password, is_admin=admin, limits=limits, take_over=before)
            if take_over:
                async with opened_store(settings) as (store, _):
                    await store.give_runs(before=LOCAL_USER, after=account.id)

    asyncio.run(add())
    tell(f"Added {name}. The server now asks everybody to sign in, also one that is running.")


@users.command("list")
async def list_users(as_json: Json = False) -> None:
    """List users with their limits and tokens."""
    async with _opened() as (accounts, _):
        known, tokens = await accounts.all(), await accounts.tokens()
    if as_json:
        show_json(users=[user.to_json() for user in known], tokens=[token.to_json() for token in tokens])
        return
    for user in known:
        limits = [f"{name}={value:g}" for name, value in user.limits if value is not None]
        show(" ".join([user.name, *(["(admin)"] if user.is_admin else []), *limits]))
        for token in tokens:
            if token.user == user.id:
                until = f"until {token.expires_at:%Y-%m-%d}" if token.expires_at else "for good"
                used = f"used {token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
                show(f"  token {token.id} {token.name} ({', '.join(token.scopes)}; {until}; {used})")
    if not known:
        show("There are no users: whoever sits at this machine may do everything. deep-research users add NAME")


@users.command("remove")
async def remove_user(name: UserName) -> None:
    """Remove a user; their unfinished runs are cancelled."""
    # Reports and documents stay for whoever runs the machine.
    async with _opened() as (accounts, settings):
        choice = RunChoice(user=(await accounts.remove(name)).id)
        async with opened_store(settings) as (store, _):
            rows = [
                row
                for status in UNFINISHED
                for row in await store.list_runs(limit=_MAX_RUNS, status=status, choice=choice)
            ]
            for row in rows:
                await cancel_run(store, row, clock=SystemClock(), lease_s=settings.lease_s)
    tell(f"Removed {name}; {len(rows)} unfinished runs are cancelled. deep-research runs list shows what stays.")


@users.command("password")
def change_password(name: UserName) -> None:
    """Give a user a new password, and sign them out everywhere."""
    password = _new_password()

    async def change() -> None:
        async with _opened() as (accounts, _):
            await accounts.set_password(name, password)

    asyncio.run(change())


@users.command("limits")
async def change_limits(
    name: UserName,
    runs_at_once: RunsAtOnce = None,
    runs_a_day: RunsADay = None,
    usd_a_month: UsdAMonth = None,
    queries_a_day: QueriesADay = None,
) -> None:
    """Change what a user may use; -1 takes a limit away."""
    from deep_research.service.accounts.accounts import Limits

    chosen = _limits(runs_at_once, runs_a_day, usd_a_month, queries_a_day)
    async with _opened() as (accounts, _):
        current = (await accounts.named(name)).limits.model_dump()
        await accounts.set_limits(name, Limits.model_validate(current | chosen))


@users.command("token")
async def make_token(
    name: UserName,
    scopes: Annotated[
        str, Option(metavar="LIST", help="What it may do: read, research, documents, admin.")
    ] = "read,research,documents",
    label: Annotated[str, Option(metavar="TEXT", help="What it is for.")] = "",
    expires: Annotated[str | None, Option(metavar="TIME", help="When it ends: 12h, 30d, 2w.")] = None,
) -> None:
    """Make a token for programs, and print it once."""
    chosen = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    if unknown := set(chosen) - set(SCOPES):
        raise UsageError(f"There is no scope {', '.join(sorted(unknown))}; there are {', '.join(SCOPES)}.")
    try:
        expires_in = duration_of(expires) if expires else None
    except ValueError as exc:
        raise UsageError(f"{expires!r} is no time: {exc}.") from None
    async with _opened() as (accounts, _):
        show(await accounts.make_token(name, scopes=cast("list[Scope]", chosen), label=label, expires_in=expires_in))
    tell("Keep it: it is shown this once.")


@users.command("revoke")
async def revoke_token(
    token: Annotated[str, Argument(metavar="TOKEN", help="Id of the token, as the list shows it.")],
) -> None:
    """Make a token worthless."""
    async with _opened() as (accounts, _):
        await accounts.revoke_token(token)


@users.command("log")
async def show_log(
    limit: Annotated[int, Option(min=1, help="How many entries.")] = 100,
    as_json: Json = False,
) -> None:
    """Show who did what on the server, the newest last."""
    async with _opened() as (accounts, _):
        names = {user.id: user.name for user in await accounts.all()} | {"": "-"}
        entries = await accounts.action_log.entries(limit=limit)
    if as_json:
        show_json(entries=[entry.to_json() for entry in entries])
        return
    for entry in reversed(entries):
        detail = " ".join(f"{name}={value}" for name, value in entry.detail.items())
        who = names.get(entry.user, entry.user)
        line = f"{entry.at:%Y-%m-%d %H:%M:%S} {who} {entry.address or '-'} {entry.action} {entry.subject} {detail}"
        show(line.rstrip())


def _limits(at_once: int | None, a_day: int | None, usd: float | None, queries: int | None) -> dict[str, float | None]:
    """Return the limits that were given; -1, which stands for none, is None."""
    limits = {"runs_at_once": at_once, "runs_a_day": a_day, "usd_a_month": usd, "queries_a_day": queries}
    return {limit: None if value == -1 else value for limit, value in limits.items() if value is not None}


def _new_password() -> str:
    """Ask for a password without showing it, or read it from standard input; never from the command line."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise UsageError("The two passwords differ.")
    return password


@asynccontextmanager
async def _opened() -> "AsyncIterator[tuple[Accounts, Settings]]":
    if not find_spec("argon2"):
        raise UsageError("Accounts need an extra: pip install 'deep-research[server]'")
    from deep_research.service.accounts.accounts import Accounts

    settings = load_settings()
    database = open_server_database(settings)
    accounts = Accounts(database, ActionLog(database))
    try:
        yield accounts, settings
    finally:
        accounts.close()
        await database.close()
