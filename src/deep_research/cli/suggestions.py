"""What was typed where a question or a command may be meant: a slip in a command must not start a run that costs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import takewhile

_ALIKE = 0.75
_RUN_ID = re.compile(r"[0-9a-f]{4,32}")


def command_meant(arguments: Sequence[str], commands: Mapping[str, Sequence[str]]) -> str:
    """Return the command that is nearest to what was typed, or "" where that reads like a question.

    `commands` are the commands with those inside each.
    One word is compared with all commands; of several, the second must fit the first too: "source list" is a slip,
    "source of the Nile" is not.
    """
    words = list(takewhile(lambda word: not word.startswith("-"), arguments))
    if not words or " " in words[0]:
        return ""
    inner = {f"{group} {name}": name for group, names in commands.items() for name in names}
    first, rest = words[0].lower(), words[1:]
    if not rest or _RUN_ID.fullmatch(rest[0]):
        if first in inner.values():
            return next(whole for whole, name in inner.items() if name == first)
        return _nearest(first, [*commands, "--help", "--version"])
    if " " in rest[0]:
        return _nearest(first, ["ask"])
    return _nearest(f"{first} {rest[0].lower()}", inner) if _nearest(first, commands) else ""


def _nearest(typed: str, known: Iterable[str]) -> str:
    return next(iter(get_close_matches(typed, list(known), n=1, cutoff=_ALIKE)), "")
