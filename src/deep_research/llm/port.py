"""What the pipeline asks of a chat model."""

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

from deep_research.request import Spend
from deep_research.value import JsonObject, Value

ModelRole = Literal["thinking", "task", "judge"]
# Why an answer ended: by itself, at the token limit, because the model would not, or because it went round in circles.
StopReason = Literal["stop", "length", "refusal", "loop"]


class PriorMessage(Value):
    """What was said after a prompt: the model's unusable answer, or what is wrong with it."""

    speaker: Literal["model", "user"]
    text: str


class ModelRequest(Value):
    """One question to a model: which act asks, what it says, and the most it may answer.

    `system` and `context` come first and are the same bytes in every prompt that shares them, so that a provider's
    cache holds them; `prompt` is what this call adds. `left_out` counts the passages that did not fit the window.
    """

    act: str
    role: ModelRole
    system: str = ""
    context: tuple[str, ...] = ()
    prompt: str
    turns: tuple[PriorMessage, ...] = ()
    max_tokens: int
    answer_schema: JsonObject | None = None
    left_out: int = 0

    @property
    def text(self) -> str:
        """Return everything the model reads, in order."""
        return "\n\n".join((self.system, *self.context, self.prompt, *(message.text for message in self.turns)))


class ModelReply(Value):
    """A model's answer, what it thought aloud on the way, and what both cost."""

    text: str
    reasoning: str = ""
    model: str
    stop: StopReason = "stop"
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    usd: float

    @property
    def spend(self) -> Spend:
        """Return the answer's cost."""
        return Spend(usd=self.usd, tokens=self.tokens_in + self.tokens_out)


class Delta(NamedTuple):
    """A piece of an answer as it comes; live only, never stored."""

    kind: Literal["text", "reasoning"]
    text: str


OnDelta = Callable[[Delta], None]


class ChatModel(Protocol):
    """A chat model behind any vendor."""

    @property
    def name(self) -> str:
        """Return provider and model, as `provider:model`."""

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the models behind this one without a known price."""

    def estimate(self, request: ModelRequest) -> Spend:
        """Return the most that the request can cost; `seconds` is the time after which the journal gives the call up,
        0 where the model itself sees to that.
        """

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer the request, or raise `NetworkError`, `ModelBusy`, `ModelError` or `ModelRefused`."""
