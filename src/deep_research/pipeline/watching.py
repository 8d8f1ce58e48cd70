"""What can be watched of a run while it goes on: the run itself, its stages, and each call to somebody outside."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from deep_research.value import Json


@dataclass
class Work:
    """Something that takes a while: a `run`, a `stage`, or a call by its kind in the journal (`llm`, `search` …).

    `name` is the stage, or who is called. `asked` and `answer`, which is there once it has come, are the user's own
    business: whoever watches passes on nothing of their texts unless the user wants that.
    """

    kind: str
    name: str
    run: str
    scope: str = ""
    asked: Json = None
    answer: Json = None


class Observer(Protocol):
    """Somebody who watches; what it does must not fail, for the run would."""

    def watch(self, work: Work) -> AbstractContextManager[object]:
        """Return what is entered as the work begins and left as it ends, with its error if it fails."""


@contextmanager
def watched(observers: Iterable[Observer], work: Work) -> Iterator[Work]:
    """Let everybody watch a piece of work."""
    with ExitStack() as stack:
        for observer in observers:
            stack.enter_context(observer.watch(work))
        yield work
