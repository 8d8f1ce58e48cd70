"""Accounts: users with passwords, tokens for programs, and sign-ins of browsers.

Kept are hashes and digests only. What is changed, by this process or by the command line, holds for the next request.
How often somebody may try to sign in is counted by name, by address and by both, in the database, over restarts. Nobody
is locked out for ever: every count runs out by itself, what is refused counts for nothing, and the count by name (which
a stranger can drive up from anywhere) does not hold for an address from which the account has signed in lately.
"""

import hmac
import re
import secrets
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple, TypeVar

from pydantic import AwareDatetime

from deep_research.errors import SignInFailed, TooManyTries, UsageError
from deep_research.service.accounts.identity import SCOPES, ActionLog, Identity, Scope
from deep_research.service.accounts.passwords import Passwords
from deep_research.service.database import Records, ServerDatabase, open_server_database
from deep_research.settings import Settings
from deep_research.storage.database.port import Row, value_of
from deep_research.value import Value, digest_of

_DAY = timedelta(days=1)
_KNOWN_FOR = timedelta(days=30)
T = TypeVar("T")
# Tokens are found in leaks by how they begin.
TOKEN_PREFIX = "dr_"
SIGN_IN_FOR = timedelta(days=14)
# Whoever uses the commands of this machine.
OPERATOR = Identity(user="", name="command line")
_NAME = re.compile(r"[\w.@+-]{1,64}")
_USED_EVERY = timedelta(minutes=1)


class _ThrottleRule(NamedTuple):
    """So many failures in so much time; then tries are refused until the oldest of them is that old."""

    most: int
    window: timedelta


_BY_BOTH = _ThrottleRule(5, timedelta(minutes=15))
_BY_ADDRESS = _ThrottleRule(30, timedelta(minutes=15))
_BY_NAME = _ThrottleRule(50, timedelta(hours=1))


def begin_try(records: Records, name: str, address: str, now: datetime, *, user: str | None) -> str:
    """Count a try as failed and return its id; `TooManyTries` if it may not be made."""
    network, key = _network(address), _key(name)
    rules = {f"both:{key}:{network}": _BY_BOTH, f"address:{network}": _BY_ADDRESS}
    since = (now - _KNOWN_FOR).isoformat()
    if not (user and records.one("has_signed_in_from", user=user, address=address, since=since)):
        rules[f"name:{key}"] = _BY_NAME
    for who, rule in rules.items():
        _check(records, who, rule, now)
    records.run("forget_old_tries", before=(now - _DAY).isoformat(), now=now.isoformat())
    attempt = secrets.token_hex(8)
    for who in dict.fromkeys([*rules, f"name:{key}"]):
        records.run("add_failed_sign_in", attempt=attempt, who=who, at=now.isoformat())
    return attempt


def try_succeeded(records: Records, attempt: str, name: str, address: str) -> None:
    """Take a try back, and the failures that its user made before at this address."""
    records.run("remove_try", attempt=attempt)
    records.run("remove_tries_of", who=f"both:{_key(name)}:{_network(address)}")


def forget_tries(records: Records, name: str) -> None:
    """Forget what was tried under a name."""
    records.run("remove_tries_of", who=f"name:{_key(name)}")


def _check(records: Records, who: str, rule: _ThrottleRule, now: datetime) -> None:
    since = now - rule.window
    failed = records.all("failed_sign_ins", who=who, since=since.isoformat(), now=now.isoformat())
    if len(failed) >= rule.most:
        free_at = datetime.fromisoformat(failed[-rule.most]["at"]) + rule.window
        raise TooManyTries(retry_after_s=max(1.0, (free_at - now).total_seconds()))


def _key(name: str) -> str:
    return digest_of(name.casefold())[:32]


def _network(address: str) -> str:
    """Return the address that counts: whoever has one IPv6 address has all of its network."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is None:
        return str(ip_network((ip, 64), strict=False))
    return address


class Limits(Value):
    """What an account may use; None is no limit."""

    runs_at_once: int | None = None
    runs_a_day: int | None = None
    usd_a_month: float | None = None
    queries_a_day: int | None = None


class Account(Value):
    """A user of this server."""

    id: str
    name: str
    created_at: AwareDatetime
    is_admin: bool
    limits: Limits


class Token(Value):
    """What is known of a token: all but the token itself."""

    id: str
    user: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: AwareDatetime
    expires_at: AwareDatetime | None
    last_used_at: AwareDatetime | None


class _SecretOwner(NamedTuple):
    """Whom a secret stands for, as long as nothing is changed."""

    identity: Identity
    expires_at: datetime | None
    token: str = ""
    used_at: datetime | None = None


@dataclass
class Accounts:
    """Everything about who may use a server."""

    database: ServerDatabase
    action_log: ActionLog
    passwords: Passwords = field(default_factory=Passwords)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _version: int | None = None
    _known: dict[str, Any] = field(default_factory=dict)

    def close(self) -> None:
        """End the threads that hash passwords."""
        self.passwords.close()

    # Users

    async def exist(self) -> bool:
        """Return whether there are accounts at all."""
        return await self._rechecked("", lambda records: records.one("any_user") is not None)

    async def add(
        self, name: str, password: str, *, is_admin: bool = False, limits: Limits | None = None, take_over: str = ""
    ) -> Account:
        """Add a user; with `take_over`, the collections and schedules of that user become theirs."""
        name = unicodedata.normalize("NFKC", name)
        if not _NAME.fullmatch(name):
            raise UsageError("A name has up to 64 letters, digits or any of . @ + - _")
        hashed = await self.passwords.hash(password)
        id_ = secrets.token_hex(8)
        values = {"id": id_, "name": name, "password": hashed, "created_at": self.now().isoformat()}

        def work(records: Records) -> Account:
            if not records.run("add_user", **values, is_admin=int(is_admin), **(limits or Limits()).model_dump()):
                raise UsageError(f"There is a user {name} already.")
            if take_over:
                records.run("take_over_collections", user=id_, before=take_over)
                records.run("take_over_schedules", user=id_, before=take_over)
            self.action_log.write(records, OPERATOR, "user-added", id_, name=name)
            return account_of(_required(records, name))

        return await self.database.work(work)

    async def all(self) -> list[Account]:
        """Return all users by name."""
        return [account_of(row) for row in await self.database.all("list_users")]

    async def named(self, name: str) -> Account:
        """Return the user of a name."""
        return account_of(await self.database.work(lambda records: _required(records, name)))

    async def get(self, user: str) -> Account | None:
        """Return the user of an id, if there is one."""
        rows = await self.database.all("get_user", id=user)
        return account_of(rows[0]) if rows else None

    async def remove(self, name: str) -> Account:
        """Remove a user with tokens, sign-ins and schedules; runs and documents stay, and nobody else sees them."""

        def work(records: Records) -> Account:
            account = account_of(_required(records, name))
            records.run("remove_schedules_of", user=account.id)
            records.run("remove_user", id=account.id)
            self.action_log.write(records, OPERATOR, "user-removed", account.id, name=account.name)
            return account

        return await self.database.work(work)

    async def set_password(self, name: str, password: str) -> None:
        """Give a user a new password: every sign-in ends, and nothing that was tried before counts."""
        hashed = await self.passwords.hash(password)

        def work(records: Records) -> None:
            user = _required(records, name)["id"]
            records.run("set_password", id=user, password=hashed)
            records.run("remove_sign_ins_of", user=user)
            forget_tries(records, name)
            self.action_log.write(records, OPERATOR, "user-changed", user, what="password")

        await self.database.work(work)

    async def set_limits(self, name: str, limits: Limits) -> None:
        """Change what a user may use, from the next run on."""

        def work(records: Records) -> None:
            user = _required(records, name)["id"]
            records.run("set_limits", id=user, **limits.model_dump())
            self.action_log.write(records, OPERATOR, "user-changed", user, what="limits")

        await self.database.work(work)

    # Tokens

    async def make_token(
        self, name: str, *, scopes: Sequence[Scope], label: str = "", expires_in: timedelta | None = None
    ) -> str:
        """Return a new token of a user; it is shown this once, and kept as a digest."""
        unknown = set(scopes) - set(SCOPES)
        if unknown or not scopes:
            raise UsageError(f"Scopes are some of {', '.join(SCOPES)}.")
        id_ = secrets.token_hex(6)
        token = f"{TOKEN_PREFIX}{id_}_{secrets.token_urlsafe(32)}"
        now = self.now()
        expires_at = (now + expires_in).isoformat() if expires_in else None

        def work(records: Records) -> None:
            user = _required(records, name)
            if "admin" in scopes and not user["is_admin"]:
                raise UsageError(f"{user['name']} is no admin, so that no token of theirs can be one.")
            records.run(
                "add_token",
                id=id_,
                user=user["id"],
                name=label,
                digest=digest_of(token),
                scopes=" ".join(scopes),
                created_at=now.isoformat(),
                expires_at=expires_at,
            )
            self.action_log.write(records, OPERATOR, "token-made", id_, name=user["name"], scopes=" ".join(scopes))

        await self.database.work(work)
        return token

    async def tokens(self) -> list[Token]:
        """Return what is known of all tokens."""
        rows = await self.database.all("list_tokens")
        return [value_of(Token, row, scopes=_scopes(row)) for row in rows]

    async def revoke_token(self, token: str) -> None:
        """Make a token worthless, by its id."""

        def work(records: Records) -> None:
            if not records.run("remove_token", id=token):
                raise UsageError(f"There is no token {token}; deep-research users list shows them.")
            self.action_log.write(records, OPERATOR, "token-revoked", token)

        await self.database.work(work)

    async def of_token(self, token: str) -> Identity | None:
        """Return whose token this is, if it is one and holds."""
        parts = token.removeprefix(TOKEN_PREFIX).split("_", 1)
        if not token.startswith(TOKEN_PREFIX) or len(parts) != 2:
            return None

        def find(records: Records) -> _SecretOwner | None:
            row = records.one("find_token", id=parts[0])
            if row is None or not hmac.compare_digest(row["digest"], digest_of(token)):
                return None
            scopes = _all_scopes(row).intersection(_scopes(row))
            identity = Identity(user=row["user"], name=row["user_name"], scopes=scopes)
            return _SecretOwner(identity, _time(row["expires_at"]), row["id"], _time(row["last_used_at"]))

        known = await self._find(digest_of(token), find)
        if known is None:
            return None
        now = self.now()
        if known.used_at is None or not timedelta() <= now - known.used_at < _USED_EVERY:
            await self.database.run("token_used", id=known.token, at=now.isoformat())
        return known.identity

    # Sign-ins

    async def sign_in(self, name: str, password: str, *, address: str, before: str = "") -> str:
        """Return the secret of a new sign-in; that of an earlier one in the same browser ends."""
        name = unicodedata.normalize("NFKC", name.strip())
        who = Identity(user="", address=address, scopes=frozenset())

        def begin(records: Records) -> tuple[str, Row | None]:
            found = records.one("find_user", name=name)
            return begin_try(records, name, address, self.now(), user=found["id"] if found else None), found

        attempt, user = await self.database.work(begin)
        is_right = await self.passwords.is_right(user["password"] if user else None, password)
        if user is None or not is_right:
            # A name that nobody has is not written down: it may be a password, typed into the wrong field.
            await self.action_log.record(who, "sign-in-failed", user["id"] if user else "")
            raise SignInFailed
        secret = secrets.token_urlsafe(32)
        now = self.now()

        def end(records: Records) -> None:
            found = records.one("get_user", id=user["id"])
            if found is None or found["password"] != user["password"]:
                raise SignInFailed
            try_succeeded(records, attempt, name, address)
            records.run("forget_old_sign_ins", now=now.isoformat())
            records.run("remove_sign_in", digest=digest_of(before))
            records.run(
                "add_sign_in",
                digest=digest_of(secret),
                user=user["id"],
                created_at=now.isoformat(),
                expires_at=(now + SIGN_IN_FOR).isoformat(),
            )
            self.action_log.write(records, who.replace(user=user["id"]), "sign-in")

        await self.database.work(end)
        return secret

    async def of_sign_in(self, secret: str) -> Identity | None:
        """Return who has signed in with this secret, if that still holds."""

        def find(records: Records) -> _SecretOwner | None:
            row = records.one("find_sign_in", digest=digest_of(secret))
            if row is None:
                return None
            identity = Identity(user=row["user"], name=row["user_name"], scopes=_all_scopes(row))
            return _SecretOwner(identity, _time(row["expires_at"]))

        known = await self._find(digest_of(secret), find)
        return None if known is None else known.identity

    async def sign_out(self, secret: str, who: Identity, *, everywhere: bool = False) -> None:
        """End a sign-in, or all of its user."""

        def work(records: Records) -> None:
            records.run("remove_sign_in", digest=digest_of(secret))
            if everywhere:
                records.run("remove_sign_ins_of", user=who.user)
            self.action_log.write(records, who, "sign-out", everywhere=int(everywhere))

        await self.database.work(work)

    async def _find(self, key: str, find: Callable[[Records], _SecretOwner | None]) -> _SecretOwner | None:
        known = await self._rechecked(key, find)
        if known is None or (known.expires_at is not None and known.expires_at <= self.now()):
            return None
        return known

    async def _rechecked(self, key: str, find: Callable[[Records], T]) -> T:
        """Return what is found; it is looked up once as long as nothing is changed, unless it is None."""
        version = self.database.version()
        if version != self._version:
            self._version = version
            self._known.clear()
        found: T = self._known[key] if key in self._known else await self.database.work(find)
        # What was changed meanwhile may not be kept: it would be believed until the next change.
        if found is not None and version == self._version:
            self._known[key] = found
        return found


async def accounts_exist(settings: Settings) -> bool:
    """Return whether there are accounts, before a server is started."""
    database = open_server_database(settings)
    try:
        return bool(await database.all("any_user"))
    finally:
        await database.close()


def _required(records: Records, name: str) -> Row:
    row = records.one("find_user", name=unicodedata.normalize("NFKC", name))
    if row is None:
        names = ", ".join(row["name"] for row in records.all("list_users"))
        raise UsageError(f"There is no user {name}; there is {names or 'none'}.")
    return row


def account_of(row: Row) -> Account:
    """Return the account of a row."""
    return value_of(Account, row, limits=value_of(Limits, row))


def _scopes(row: Row) -> tuple[Scope, ...]:
    return tuple(scope for scope in SCOPES if scope in row["scopes"].split())


def _all_scopes(row: Row) -> frozenset[Scope]:
    return frozenset(scope for scope in SCOPES if scope != "admin" or row["is_admin"])


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
