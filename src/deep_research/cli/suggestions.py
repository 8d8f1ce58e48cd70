"""What was typed where a question or a command may be meant: a slip in a command must not start a run that costs."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from itertools import takewhile

_ALIKE = 0.75
# Who quotes what follows means a command, also where only two of its three letters stand in order: aks.
_ALIKE_BEFORE_QUOTES = 0.6
_RUN_ID = re.compile(r"[0-9a-f]{4,32}")


def command_meant(arguments: Sequence[str], commands: Sequence[str], inside: Callable[[str], Sequence[str]]) -> str:
    """Return what was typed with the nearest command in it, or "" where it reads like a question.

    `inside` returns the commands inside one. One word is compared with all of them; of several, the second must fit the
    first too: "source list" is a slip, "source of the Nile" is not.
    """
    words = list(takewhile(lambda word: not word.startswith("-"), arguments))
    if not words or " " in words[0]:
        return ""
    first, second = words[0].lower(), words[1].lower() if len(words) > 1 else ""
    if " " in second:
        return _corrected(arguments, 1, _nearest(first, ["ask"], _ALIKE_BEFORE_QUOTES))
    if second and not _RUN_ID.fullmatch(second):
        group = _nearest(first, commands)
        inner = [f"{group} {name}" for name in inside(group)] if group else []
        return _corrected(arguments, 2, _nearest(f"{first} {second}", inner))
    own = next((f"{group} {first}" for group in commands if first in inside(group)), "")
    return _corrected(arguments, 1, own or _nearest(first, [*commands, "--help", "--version"]))


def _nearest(typed: str, known: Iterable[str], cutoff: float = _ALIKE) -> str:
    return next(iter(get_close_matches(typed, list(known), n=1, cutoff=cutoff)), "")


def _corrected(arguments: Sequence[str], count: int, command: str) -> str:
    return f"{command} {shlex.join(arguments[count:])}".rstrip() if command else ""
