"""How often somebody may try to sign in: counted by name, by address and by both, in the database, over restarts.

Nobody is locked out for ever: every count runs out by itself, what is refused counts for nothing, and the count by name
(which a stranger can drive up from anywhere) does not hold for an address from which the account has signed in lately.
"""

import secrets
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NamedTuple

from deep_research.errors import TooManyTries
from deep_research.service.database import Records
from deep_research.value import digest_of

_DAY = timedelta(days=1)
_KNOWN_FOR = timedelta(days=30)


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
