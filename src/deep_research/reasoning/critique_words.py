"""The words by which a question asks for judgement, and their false friends; the lists are in `critique.toml`."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from deep_research.reasoning.topic_words import QUOTED
from deep_research.text.folding import to_simplified

# A capital inside a sentence is a title's: "Who wrote Why Nations Fail?" asks no why.
_TITLED_WHY = re.compile(r"(?<=[\w,] )Why\b")


class _Cue(NamedTuple):
    """What fires, and what looks like it."""

    fires: re.Pattern[str]
    false_friends: re.Pattern[str]


def cues_of(question: str) -> frozenset[str]:
    """Return the kinds of judgement that the words of a question ask for: `compare`, `why`, `market_view` and so on."""
    plain = _TITLED_WHY.sub(" ", to_simplified(QUOTED.sub(" ", question)))
    return frozenset(kind for kind, cue in _cues().items() if _is_meant(cue, plain))


def _is_meant(cue: _Cue, text: str) -> bool:
    covered = {at for friend in cue.false_friends.finditer(text) for at in range(*friend.span())}
    return any(covered.isdisjoint(range(*match.span())) for match in cue.fires.finditer(text))


@cache
def _cues() -> dict[str, _Cue]:
    text = files("deep_research.reasoning").joinpath("critique.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, list[str]]] = tomllib.loads(text)
    return {
        kind: _Cue(fires=_any_of(table["en"], table["zh"]), false_friends=_any_of(table["not_en"], table["not_zh"]))
        for kind, table in tables.items()
    }


def _any_of(english: Sequence[str], chinese: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(english)})\b|{'|'.join(chinese)}", re.IGNORECASE)
