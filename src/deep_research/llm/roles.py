"""Several models as one: each request goes to the model of its role."""

from dataclasses import dataclass

from deep_research.llm.port import ChatModel, ModelReply, ModelRequest, OnDelta
from deep_research.request import Spend


@dataclass(frozen=True)
class RoleModels:
    """Plans and reports go to the thinking model, everything else to the task model; a judge of its own is optional."""

    thinking: ChatModel
    task: ChatModel
    judge: ChatModel | None = None

    @property
    def name(self) -> str:
        """Return the names of all, once where they are the same."""
        return " + ".join(dict.fromkeys(each.name for each in self._models))

    @property
    def unpriced(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self._models for name in each.unpriced))

    @property
    def _models(self) -> tuple[ChatModel, ...]:
        return (self.thinking, self.task, *([self.judge] if self.judge else []))

    def estimate(self, request: ModelRequest) -> Spend:
        return self._model(request).estimate(request)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        return await self._model(request).complete(request, on_delta=on_delta)

    def _model(self, request: ModelRequest) -> ChatModel:
        if request.role == "judge" and self.judge is not None:
            return self.judge
        return self.thinking if request.role == "thinking" else self.task
