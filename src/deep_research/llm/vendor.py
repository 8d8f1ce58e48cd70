"""What a vendor's file gives: how to ask its models, what their answers say, and how to read its errors."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.registry import AnswerWay, Provider

# What a model that thinks may think on top of its answer: without it a small answer would end in mid-thought.
REASONING_ROOM: Final = 4_000
# Servers refuse a message without words; this stands for a model's empty answer.
_NO_WORDS: Final = "(no answer)"


@dataclass(frozen=True)
class Endpoint:
    """A model at an address, with what is needed to reach it."""

    provider: Provider
    model: str
    address: str
    key: str = field(default="", repr=False)
    window: int = 16_000

    @property
    def name(self) -> str:
        """Return provider and model."""
        return f"{self.provider.name}:{self.model}"

    @property
    def thinks(self) -> bool:
        """Say whether the model thinks before it answers."""
        return self.provider.is_thinking_model(self.model)

    @property
    def reasoning_room(self) -> int:
        """Return the tokens that the model may think on top of an answer."""
        return REASONING_ROOM if self.thinks else 0


class Fault(NamedTuple):
    """Why a call failed: the status of the answer, None where none came, and what it said about trying again."""

    status: int | None = None
    headers: Mapping[str, str] = {}
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """What a stream adds to an answer: words, thoughts, why it ended, what was used so far."""

    text: str = ""
    thought: str = ""
    stop: StopReason | None = None
    usage: Usage | None = None


# Asks for an answer in one of the ways, and yields it piece by piece.
Talk = Callable[[ModelRequest, AnswerWay], AsyncGenerator[Piece, None]]


class Vendor(Protocol):
    """One vendor's way of speaking."""

    # What a failed call raises.
    errors: tuple[type[Exception], ...]
    # Whether reports of usage in the middle of a stream add up, or each holds all before it.
    usage_adds_up: bool

    async def open(self, stack: AsyncExitStack) -> Talk:
        """Open connections that all calls of a loop share; the stack closes them."""
        ...

    def fault(self, error: Exception) -> Fault:
        """Return what an error says."""
        ...


def first_message(request: ModelRequest) -> str:
    """Return the user's first words: context and prompt, in the order of their bytes."""
    return "\n\n".join((*request.context, request.prompt))


def turns_of(request: ModelRequest) -> list[tuple[str, str]]:
    """Return who said what after the prompt."""
    return [
        (turn.speaker, (turn.text.strip() or _NO_WORDS) if turn.speaker == "model" else turn.text)
        for turn in request.turns
    ]


def number_of(value: object) -> int:
    """Return a count that a server reported, 0 where it is none."""
    return value if isinstance(value, int) else 0
