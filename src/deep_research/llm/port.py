"""What the pipeline asks of a chat model."""

from typing import Literal, Protocol

from deep_research.request import Spend
from deep_research.value import JsonObject, Value

ModelRole = Literal["thinking", "task"]


class ModelRequest(Value):
    """One question to a model: which act asks, what it says, and the most it may answer."""

    act: str
    role: ModelRole
    system: str = ""
    prompt: str
    max_tokens: int
    answer_schema: JsonObject | None = None


class ModelReply(Value):
    """A model's answer and what it cost."""

    text: str
    model: str
    tokens_in: int
    tokens_out: int
    usd: float

    @property
    def spend(self) -> Spend:
        """Return the answer's cost."""
        return Spend(usd=self.usd, tokens=self.tokens_in + self.tokens_out)


class ChatModel(Protocol):
    """A chat model behind any vendor."""

    def estimate(self, request: ModelRequest) -> Spend:
        """Return the most that the request can cost; `seconds` is the time after which the call gives up."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer the request, or raise `ModelError` or `NetworkError`."""
        ...
