"""What kind of place an address is: where things are first published, where anybody's copies lie, or neither."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

SourceQuality = Literal["primary", "ordinary", "weak"]
_COUNTRY = re.compile(r"[a-z]{2}")


class _Hosts(NamedTuple):
    primary: frozenset[str]
    weak: frozenset[str]
    under_country: frozenset[str]
    documentation: frozenset[str]
    archives: frozenset[str]


@lru_cache(maxsize=4_096)
def source_quality_of(address: str) -> SourceQuality:
    """Return what kind of place an address is, judged by its host alone."""
    labels, endings = _parts(address)
    hosts = _hosts()
    if endings & hosts.weak:
        return "weak"
    is_official = labels[-2:-1] != [] and labels[-2] in hosts.under_country and _COUNTRY.fullmatch(labels[-1])
    is_manual = len(labels) > 2 and labels[0] in hosts.documentation
    return "primary" if is_official or is_manual or endings & hosts.primary else "ordinary"


def is_archive(address: str) -> bool:
    """Return whether the works of many who have nothing to do with each other lie at one host, as with journals."""
    return not _hosts().archives.isdisjoint(_parts(address)[1])


def _parts(address: str) -> tuple[list[str], set[str]]:
    """Return the labels of a host, and all names that it ends in."""
    labels = host_of(address).split(".")
    return labels, {".".join(labels[at:]) for at in range(len(labels))}


def host_of(address: str) -> str:
    """Return the host of a web address in small letters without a leading www, "" where there is none."""
    try:
        return (urlsplit(address).hostname or "").rstrip(".").removeprefix("www.")
    except ValueError:
        return ""


@cache
def _hosts() -> _Hosts:
    data = tomllib.loads(
        files("deep_research.report.sources").joinpath("source_quality.toml").read_text(encoding="utf-8")
    )
    return _Hosts(
        _together(data["primary"].values()),
        _together(data["weak"].values()),
        frozenset(data["under_country"]),
        frozenset(data["documentation"]),
        _together((data["primary"]["journals"], data["primary"]["patents"])),
    )


def _together(lists: Iterable[list[str]]) -> frozenset[str]:
    return frozenset(host for hosts in lists for host in hosts)
