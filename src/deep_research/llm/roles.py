"""Two models as one: each request goes to the model of its role."""

from dataclasses import dataclass

from deep_research.llm.port import ChatModel, ModelReply, ModelRequest, OnDelta
from deep_research.request import Spend


@dataclass(frozen=True)
class RoleModels:
    """Plans and reports go to the thinking model, everything else to the task model."""

    thinking: ChatModel
    task: ChatModel

    @property
    def name(self) -> str:
        """Return the names of both, once where they are the same."""
        return " + ".join(dict.fromkeys((self.thinking.name, self.task.name)))

    @property
    def unpriced(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.thinking.unpriced, *self.task.unpriced)))

    def estimate(self, request: ModelRequest) -> Spend:
        return self._model(request).estimate(request)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        return await self._model(request).complete(request, on_delta=on_delta)

    def _model(self, request: ModelRequest) -> ChatModel:
        return self.thinking if request.role == "thinking" else self.task
