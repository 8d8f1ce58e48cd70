"""How much of each prompt repeats an earlier one from its first byte on: that is what providers' caches can serve."""

from bisect import bisect
from collections import deque

from deep_research.llm.port import ModelRequest
from deep_research.llm.tokens import tokens_at_most
from deep_research.value import Value

# Providers keep prompts for minutes; the newest few hundred are more than a run has in that time.
_REMEMBERED = 256


class PromptSize(Value):
    """A prompt's tokens, how many of them begin the prompt before it, and how many begin any earlier one."""

    act: str
    tokens: int
    repeated: int
    seen: int


class PromptMeter:
    """Compares the prompts of one run in the order in which they are sent."""

    def __init__(self) -> None:
        self._earlier: deque[str] = deque()
        self._sorted: list[str] = []

    def measure(self, request: ModelRequest) -> PromptSize:
        """Return how much of the prompt is not new, and remember it."""
        text = request.text
        repeated = _shared(self._earlier[-1], text) if self._earlier else 0
        # Of all texts in order, the neighbours have most in common with one.
        index = bisect(self._sorted, text)
        seen = max((_shared(earlier, text) for earlier in self._sorted[max(0, index - 1) : index + 1]), default=0)
        self._sorted.insert(index, text)
        self._earlier.append(text)
        if len(self._earlier) > _REMEMBERED:
            self._sorted.remove(self._earlier.popleft())
        tokens = tokens_at_most(text)
        length = max(len(text), 1)
        shares = {"repeated": repeated * tokens // length, "seen": seen * tokens // length}
        return PromptSize(act=request.act, tokens=tokens, **shares)


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts have in common from their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low
