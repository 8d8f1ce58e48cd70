"""robots.txt (RFC 9309): which pages of a host a program may fetch, and how fast. Does not fetch anything itself."""

import re
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

# The name that a site's owner can address this program by.
AGENT: Final = "deep-research"
_MAX_CHARS: Final = 512 * 1024
_MAX_STARS: Final = 20
_LINE: Final = re.compile(r"^[ \t]*([A-Za-z-]+)[ \t]*:[ \t]*([^#\r\n]*)", re.MULTILINE)
_SAFE: Final = "/:@!$&'()*+,;=~-._%?[]"


class _Rule(NamedTuple):
    path: str
    allows: bool


class Robots(NamedTuple):
    """The rules a host has for one program."""

    rules: tuple[_Rule, ...] = ()
    delay_s: float = 0.0

    def allows(self, address: str) -> bool:
        """Say whether the page may be fetched: the longest rule that fits counts, and of two alike the kinder one."""
        parts = urlsplit(address)
        target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_SAFE)
        fitting = [rule for rule in self.rules if _fits(rule.path, target)]
        return max(fitting, key=lambda rule: (len(rule.path), rule.allows)).allows if fitting else True


def parse_robots(text: str, *, agent: str = AGENT) -> Robots:
    """Return the rules for an agent: those of its own groups, else those for everybody."""
    own: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    named: list[str] = []
    is_open = True
    has_own = False
    for key, value in _LINE.findall(text[:_MAX_CHARS].removeprefix("\ufeff")):
        field, value = key.lower(), value.strip()
        if field == "user-agent":
            # Several names in a row share the lines after them.
            named = [*named, _product(value)] if is_open else [_product(value)]
            is_open = True
            has_own = has_own or agent in named
        elif field in ("allow", "disallow", "crawl-delay"):
            is_open = False
            if agent in named:
                own.append((field, value))
            if "*" in named:
                others.append((field, value))
    return _robots(own if has_own else others)


def _product(value: str) -> str:
    """Return the name in a user-agent line, without its version."""
    return re.split(r"[/\s]", value.strip().lower(), maxsplit=1)[0]


def _robots(lines: list[tuple[str, str]]) -> Robots:
    rules = tuple(
        _Rule(quote(value, safe=_SAFE), field == "allow") for field, value in lines if field != "crawl-delay" and value
    )
    delays = [
        float(value) for field, value in lines if field == "crawl-delay" and re.fullmatch(r"\d+(?:\.\d+)?", value)
    ]
    return Robots(rules, max(delays, default=0.0))


def _fits(path: str, target: str) -> bool:
    """Say whether a rule's path fits: `*` is any text, `$` the end; step by step, so that no pattern can take long."""
    is_whole = path.endswith("$")
    first, *rest = path.removesuffix("$").split("*")[:_MAX_STARS]
    if not target.startswith(first):
        return False
    at = len(first)
    for index, piece in enumerate(rest):
        if is_whole and index == len(rest) - 1:
            return target.endswith(piece) and len(target) - len(piece) >= at
        found = target.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return not is_whole or at == len(target) or bool(rest and not rest[-1])
