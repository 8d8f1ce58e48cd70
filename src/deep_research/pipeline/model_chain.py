"""The models of a run as an act sees them: one that answers, is never paid twice, and falls back along the chain.

Each try is a call of its own in the journal, with its own reservation: a resumed run goes on at the try it stood at.
"""

from collections.abc import Callable
from typing import Final

from deep_research.errors import ModelBusy, ModelError, ModelRefused, NetworkError, UnusableAnswer
from deep_research.llm.port import ChatModel, ModelReply, ModelRequest, OnDelta
from deep_research.pipeline.clock import Clock
from deep_research.pipeline.journal import Answer, Call
from deep_research.pipeline.journalled import Desk
from deep_research.pipeline.prompt_meter import PromptMeter
from deep_research.request import Spend
from deep_research.value import JsonObject

# A provider that asks for a longer wait is left for the next one.
LONGEST_WAIT_S: Final = 60.0
_FIRST_WAIT_S: Final = 1.0


class JournalledModel:
    """The chain of models behind one port: the first that answers is asked, the others stand by.

    `is_struck` says that the act was given up: what is on record is still returned, but no call is made.
    """

    def __init__(
        self,
        models: tuple[ChatModel, ...],
        desk: Desk,
        *,
        clock: Clock,
        meter: PromptMeter,
        tries: int = 1,
        jitter: Callable[[], float] = lambda: 1.0,
        on_delta: OnDelta | None = None,
        is_struck: bool = False,
    ) -> None:
        self._models = models
        self._desk = desk
        self._clock = clock
        self._meter = meter
        self._tries = tries
        self._jitter = jitter
        self._on_delta = on_delta
        self._is_struck = is_struck
        self.left_out = 0
        self.replies: list[ModelReply] = []

    @property
    def name(self) -> str:
        """Return the name of the first model."""
        return self._models[0].name

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the models whose price nobody has told."""
        return tuple(name for model in self._models for name in model.unpriced)

    def estimate(self, request: ModelRequest) -> Spend:
        """Return the most that the first try can cost."""
        return self._models[0].estimate(request)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:  # noqa: ARG002 - the run's own is used
        """Answer the request from the journal or from the first model that can."""
        self.left_out = max(self.left_out, request.left_out)
        failure: NetworkError | ModelError | None = None
        for link, model in enumerate(self._models):
            for number in range(self._tries):
                try:
                    reply = await self._try(model, request, link, number)
                except (NetworkError, ModelBusy) as busy:
                    failure = busy
                    if not await self._wait(busy, number):
                        break
                except UnusableAnswer:
                    raise
                except ModelError as refused:
                    # The first reason is the one to tell: it concerns the model that was asked for.
                    failure = failure if isinstance(failure, ModelRefused) else refused
                    break
                else:
                    self.replies.append(reply)
                    return reply
        assert failure is not None, "a chain has at least one model"
        raise failure

    async def _wait(self, failure: NetworkError | ModelBusy, number: int) -> bool:
        """Wait before the next try of the same model; say whether there is one."""
        asked_s = failure.retry_after_s if isinstance(failure, ModelBusy) else None
        if number + 1 >= self._tries or (asked_s or 0.0) > LONGEST_WAIT_S:
            return False
        if not failure.is_recorded:
            await self._clock.sleep((asked_s or 0.0) + _FIRST_WAIT_S * 2**number * (0.5 + self._jitter() / 2))
        return True

    async def _try(self, model: ChatModel, request: ModelRequest, link: int, number: int) -> ModelReply:
        async def perform() -> Answer:
            if self._is_struck:
                raise UnusableAnswer(f"the model failed at {request.act} too often in a row; it is not asked again")
            measured = self._meter.measure(request)
            reply = await model.complete(request, on_delta=self._on_delta)
            return Answer({"reply": reply.to_json(), "prompt": measured.to_json()}, reply.spend)

        # The same prompt has the same answer wherever in the run it is asked; a model's name is not part of it, so that
        # a run that goes on with another model keeps what it has.
        payload: JsonObject = {"request": request.to_json(), "link": link, "try": number}
        call = Call("llm", self._desk.scope, payload, model.estimate(request), self._desk.phase, is_run_wide=True)
        answer = await self._desk.journal.call(call, perform, self._desk.trail)
        assert isinstance(answer, dict)
        return ModelReply.from_json(answer["reply"])
