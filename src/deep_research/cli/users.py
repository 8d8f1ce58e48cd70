"""`users`: accounts of the server, their tokens, and the log of what was done; a server that runs obeys at once."""

import asyncio
import getpass
import sys
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar, cast

from deep_research.cli.printing import show, show_json, tell
from deep_research.errors import UsageError
from deep_research.events import UNFINISHED
from deep_research.pipeline.clock import SystemClock
from deep_research.pipeline.control import cancel_run
from deep_research.service.audit_log import AuditLog
from deep_research.service.database import open_server_database
from deep_research.service.durations import duration_of
from deep_research.service.identity import LOCAL_USER, SCOPES, Scope
from deep_research.settings import Settings, load_settings
from deep_research.store.port import RunChoice
from deep_research.wiring import open_store

if TYPE_CHECKING:
    from deep_research.service.accounts import Accounts

T = TypeVar("T")
_MAX_RUNS = 10_000


def add_user(name: str, *, is_admin: bool, take_over: bool, limits: dict[str, float | None]) -> None:
    """Add a user; with `take_over`, what was made while there were no accounts becomes theirs."""
    from deep_research.service.accounts import Limits

    password = _new_password()

    async def add(accounts: "Accounts", settings: Settings) -> None:
        before = LOCAL_USER if take_over else ""
        account = await accounts.add(
            name, password, is_admin=is_admin, limits=Limits.model_validate(_without_none(limits)), take_over=before
        )
        if take_over:
            store = open_store(settings)
            try:
                await store.give_runs(before=LOCAL_USER, after=account.id)
            finally:
                await store.close()

    _with_accounts(add)
    tell(f"Added {name}. The server now asks everybody to sign in, also one that is running.")


def change_limits(name: str, limits: dict[str, float | None]) -> None:
    """Change some limits of a user, and leave the others as they are."""
    from deep_research.service.accounts import Limits

    async def change(accounts: "Accounts", _: Settings) -> None:
        kept = (await accounts.named(name)).limits.model_dump()
        given = {limit: value for limit, value in limits.items() if value is not None}
        await accounts.set_limits(name, Limits.model_validate(_without_none(kept | given)))

    _with_accounts(change)


def change_password(name: str) -> None:
    """Give a user a new password; every sign-in of theirs ends."""
    password = _new_password()
    _with_accounts(lambda accounts, _: accounts.set_password(name, password))


def print_users(*, as_json: bool) -> None:
    """Print users with their limits and tokens."""

    async def read(accounts: "Accounts", _: Settings) -> None:
        users, tokens = await accounts.all(), await accounts.tokens()
        if as_json:
            show_json(users=[user.to_json() for user in users], tokens=[token.to_json() for token in tokens])
            return
        for user in users:
            limits = [f"{name}={value:g}" for name, value in user.limits if value is not None]
            show(" ".join([user.name, *(["(admin)"] if user.is_admin else []), *limits]))
            for token in tokens:
                if token.user == user.id:
                    until = f"until {token.expires_at:%Y-%m-%d}" if token.expires_at else "for good"
                    used = f"used {token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
                    show(f"  token {token.id} {token.name} ({', '.join(token.scopes)}; {until}; {used})")
        if not users:
            show("There are no users: whoever sits at this machine may do everything. deep-research users add NAME")

    _with_accounts(read)


def remove_user(name: str) -> None:
    """Remove a user and cancel their unfinished runs; reports and documents stay for whoever runs the machine."""

    async def remove(accounts: "Accounts", settings: Settings) -> int:
        account = await accounts.remove(name)
        store = open_store(settings)
        try:
            rows = [
                row
                for status in UNFINISHED
                for row in await store.list_runs(limit=_MAX_RUNS, status=status, choice=RunChoice(user=account.id))
            ]
            for row in rows:
                await cancel_run(store, row, clock=SystemClock(), lease_s=settings.lease_s)
        finally:
            await store.close()
        return len(rows)

    cancelled = _with_accounts(remove)
    tell(f"Removed {name}; {cancelled} unfinished runs are cancelled. deep-research runs list shows what stays.")


def make_token(name: str, *, scopes: str, label: str, expires: str | None) -> None:
    """Print a new token, this once."""
    given = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    if unknown := set(given) - set(SCOPES):
        raise UsageError(f"There is no scope {', '.join(sorted(unknown))}; there are {', '.join(SCOPES)}.")
    try:
        expires_in = duration_of(expires) if expires else None
    except ValueError as exc:
        raise UsageError(f"{expires!r} is no time: {exc}.") from None
    token = _with_accounts(
        lambda accounts, _: accounts.make_token(
            name, scopes=cast("list[Scope]", given), label=label, expires_in=expires_in
        )
    )
    show(token)
    tell("Keep it: it is shown this once.")


def revoke_token(token: str) -> None:
    """Make a token worthless."""
    _with_accounts(lambda accounts, _: accounts.revoke_token(token))


def print_log(*, limit: int, as_json: bool) -> None:
    """Print what was done on the server, the newest last."""

    async def read(accounts: "Accounts", _: Settings) -> None:
        names = {user.id: user.name for user in await accounts.all()} | {"": "-"}
        entries = await accounts.audit.entries(limit=limit)
        if as_json:
            show_json(entries=[entry.to_json() for entry in entries])
            return
        for entry in reversed(entries):
            detail = " ".join(f"{name}={value}" for name, value in entry.detail.items())
            who = names.get(entry.user, entry.user)
            line = f"{entry.at:%Y-%m-%d %H:%M:%S} {who} {entry.address or '-'} {entry.action} {entry.subject} {detail}"
            show(line.rstrip())

    _with_accounts(read)


def _without_none(limits: dict[str, float | None]) -> dict[str, float | None]:
    """Return limits in which -1, which stands for none, is None."""
    return {limit: None if value == -1 else value for limit, value in limits.items()}


def _new_password() -> str:
    """Ask for a password without showing it, or read it from standard input; never from the command line."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise UsageError("The two passwords differ.")
    return password


def _with_accounts(work: "Callable[[Accounts, Settings], Awaitable[T]]") -> T:
    if not find_spec("argon2"):
        raise UsageError("Accounts need an extra: pip install 'deep-research[server]'")
    from deep_research.service.accounts import Accounts

    async def open_and_close() -> T:
        settings = load_settings()
        database = open_server_database(settings)
        accounts = Accounts(database, AuditLog(database))
        try:
            return await work(accounts, settings)
        finally:
            accounts.close()
            await database.close()

    return asyncio.run(open_and_close())
