"""What a run lost on its way: recorded as a value, emitted as an event, printed in the report's limits."""

import re
from typing import Literal

from deep_research.request import BudgetKind
from deep_research.text.messages.words import Words
from deep_research.value import Value

# `act`: rules stood in for a model that failed at it; `model`: for one that was gone; `chain`: another model did.
GapKind = Literal["act", "model", "chain", "search", "page", "section", "query", "round", "window", "chart"]

# What a program says of its own insides: a trace of calls, the name of an exception, a path of this machine.
_INTERNAL = re.compile(
    r"\n|\bTraceback\b|\b\w*[a-z](?:Error|Exception)\b|\bunexpected [A-Z]\w+$|\[Errno"
    r"|(?<![\w./:-])/(?:home|root|usr|tmp|var|opt|etc|Users|private)/\w"
)
# An address or a name may hold such words.
_NAMED = re.compile(r"https?://\S+|“[^”]*”|「[^」]*」")


class Gap(Value):
    """One thing that is missing: which, where in the run, and why; `budget` names the limit that forbade it.

    `count` says how many passages did not fit a model's window.
    """

    kind: GapKind
    scope: str
    subject: str
    reason: str
    budget: BudgetKind | None = None
    count: int = 0

    @property
    def in_words(self) -> str:
        """Return what is missing and why, the name once."""
        return self.reason if self.subject in self.reason else f"{self.subject}: {self.reason}"


def in_plain_words(reason: str, words: Words) -> str:
    """Return a reason as a report tells it: what only a programmer understands stands in the events alone."""
    return words("failed.unforeseen") if _INTERNAL.search(_NAMED.sub("", reason)) else reason
