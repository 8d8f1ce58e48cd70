"""What a vendor's file gives: a langchain chat model, how to ask it, and how to read its ends and its errors."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage

from deep_research.llm.port import ModelRequest, StopReason
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


class Vendor(Protocol):
    """One vendor's way of speaking."""

    # What its library raises for a failed call.
    errors: tuple[type[Exception], ...]
    # Whether reports of usage in the middle of a stream add up, or each holds all before it.
    usage_adds_up: bool

    def open(self) -> AbstractAsyncContextManager[BaseChatModel]:
        """Open a model for one call and close its connection afterwards; calls share none, so that any loop may ask."""
        ...

    def messages(self, request: ModelRequest) -> list[BaseMessage]:
        """Return what the model reads."""
        ...

    def options(self, request: ModelRequest, way: AnswerWay) -> dict[str, Any]:
        """Return the most it may answer, and the form its answer must have."""
        ...

    def stop_reason(self, chunk: AIMessageChunk) -> StopReason | None:
        """Return why the answer ended, None as long as it has not."""
        ...

    def fault(self, error: Exception) -> Fault:
        """Return what an error of its library says."""
        ...


def plain_messages(request: ModelRequest) -> list[BaseMessage]:
    """Return a request as messages: the user's first one holds context and prompt, in the order of their bytes."""
    system: list[BaseMessage] = [SystemMessage(request.system)] if request.system else []
    return [*system, HumanMessage("\n\n".join((*request.context, request.prompt))), *turn_messages(request)]


def turn_messages(request: ModelRequest) -> list[BaseMessage]:
    """Return what was said after the prompt."""
    return [
        AIMessage(turn.text.strip() or _NO_WORDS) if turn.speaker == "model" else HumanMessage(turn.text)
        for turn in request.turns
    ]
