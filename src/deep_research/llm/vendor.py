"""What a vendor's file gives: how to ask its models, what their answers say, and how to read its errors.

For answers of a given form there are a schema that every provider takes, and the ways in which an endpoint is asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.registry import AnswerWay, Provider
from deep_research.value import Json, JsonObject

# What a model that thinks may think on top of its answer: without it a small answer would end in mid-thought.
REASONING_RESERVE = 4_000
# What has to be corrected before any call can succeed.
Remedy = Literal["key", "name", "credit"]
# Whether the objects of an answer come as server-sent events, or each on a line of its own.
Framing = Literal["events", "lines"]
# A JSON object as a server sent it; nothing in it is certain.
JsonMessage = dict[str, Any]
ANSWER_NAME = "answer"
# Each provider knows only some of these bounds and refuses the others; our own validation holds them all.
_DROPPED = frozenset(
    "title default examples minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum "
    "multipleOf minItems maxItems uniqueItems minProperties maxProperties".split()
)

# The way that an endpoint was found to take, by its name and address; learned once for all runs of this process.
_known: dict[tuple[str, str], AnswerWay] = {}


@dataclass(frozen=True)
class ModelEndpoint:
    """A model at an address, with what is needed to reach it."""

    provider: Provider
    model: str
    address: str
    key: str = field(default="", repr=False)
    window: int = 32_000

    @property
    def name(self) -> str:
        return f"{self.provider.name}:{self.model}"

    @property
    def thinks(self) -> bool:
        return self.provider.is_thinking_model(self.model)

    @property
    def reasoning_reserve(self) -> int:
        """Return the tokens that the model may think on top of an answer."""
        return REASONING_RESERVE if self.thinks else 0


class Fault(NamedTuple):
    """Why a call failed: the status of the answer, None where none came, and what it said about trying again.

    `remedy` is what the server's own code says is wrong with every call. `flaw` stands where there was an answer that
    cannot be read: it is none, or larger than any.
    """

    status: int | None = None
    headers: Mapping[str, str] = {}
    retry_after_s: float | None = None
    remedy: Remedy | None = None
    flaw: Literal["malformed", "too_large"] | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """What a stream adds to an answer: words, thoughts, why it ended, what was used so far."""

    text: str = ""
    thought: str = ""
    stop: StopReason | None = None
    usage: Usage | None = None


class Vendor(ABC):
    """One vendor's way of speaking: JSON is posted to an address, and JSON objects come back.

    `address` is where a question goes, and `headers` go along with each.
    """

    path: ClassVar[str] = ""
    framing: ClassVar[Framing] = "events"

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint
        self.address = endpoint.address + self.path
        self.headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}

    @abstractmethod
    def body(self, request: ModelRequest, way: AnswerWay) -> JsonMessage:
        """Return a question: what the model reads, the most it may answer, and the form its answer must have."""

    @abstractmethod
    def piece(self, message: JsonMessage) -> Piece | None:
        """Return what an object adds to the answer, None where it is no part of one."""

    @abstractmethod
    def usage(self, message: JsonMessage) -> Usage | None:
        """Return what an object reports as used so far."""

    @abstractmethod
    def fault(self, message: JsonMessage) -> Fault | None:
        """Return the error that an object reports, None where it reports none; `status` is for one in mid-answer."""


def first_message(request: ModelRequest) -> str:
    """Return the user's first words: context and prompt, in the order of their bytes."""
    return "\n\n".join((*request.context, request.prompt))


def messages_of(request: ModelRequest, *, model: str = "assistant") -> list[tuple[str, str]]:
    """Return who said what after the prompt; `model` is what the vendor calls its model."""
    # Servers refuse a message without words.
    return [
        (model, message.text.strip() or "(no answer)") if message.speaker == "model" else ("user", message.text)
        for message in request.turns
    ]


def chat_messages(request: ModelRequest) -> list[JsonMessage]:
    """Return what the model reads as messages with a role and a content, as most vendors take it."""
    system = [("system", request.system)] if request.system else []
    messages = [*system, ("user", first_message(request)), *messages_of(request)]
    return [{"role": role, "content": text} for role, text in messages]


def object_of(value: object) -> JsonMessage:
    """Return an object that a server sent, an empty one where it sent none."""
    return value if isinstance(value, dict) else {}


def status_of(*values: object) -> int:
    """Return the first of some values that is the status of an error, 500 without one."""
    for value in values:
        number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 3 else value
        if isinstance(number, int) and 300 <= number < 600:
            return number
    return 500


def ways_of(endpoint: ModelEndpoint) -> tuple[AnswerWay, ...]:
    """Return the ways to ask an endpoint for a form, the best it is not known to refuse first."""
    ways = endpoint.provider.answer_ways
    known = _known.get((endpoint.name, endpoint.address), ways[0])
    return ways[ways.index(known) :]


def remember_way(endpoint: ModelEndpoint, way: AnswerWay) -> None:
    """Keep that the endpoint takes this way, so that none it refuses is tried again."""
    _known[endpoint.name, endpoint.address] = way


def plain_schema(schema: JsonObject) -> JsonObject:
    """Return a schema without bounds, in which every object is closed and every field is there."""
    plain: JsonObject = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            plain[key] = {name: _plain(part) for name, part in value.items()}
        elif key not in _DROPPED:
            plain[key] = _plain(value)
    properties = plain.get("properties")
    if isinstance(properties, dict):
        plain |= {"additionalProperties": False, "required": list(properties)}
    return plain


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return plain_schema(value)
    return [_plain(part) for part in value] if isinstance(value, list) else value
