"""What a run learns from a corpus and from models, kept in its journal; other calls are made by a stage's context."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar, cast

from pydantic import Field, TypeAdapter

from deep_research.documents.corpus.port import Corpus, Listed, OnProgress, PassageHit, Survey
from deep_research.errors import CreditSpent, ModelBusy, ModelError, ModelRefused, NetworkError, UnusableAnswer
from deep_research.llm.port import ChatModel, ModelReply, ModelRequest, OnDelta
from deep_research.pipeline.clock import Clock
from deep_research.pipeline.journal import Call, CallResult, Dependencies, Journal
from deep_research.pipeline.prompt_meter import PromptMeter
from deep_research.request import Spend
from deep_research.value import Json, Strings, Value, canonical_json

Result = TypeVar("Result")
# `StageContext.call`.
MakeCall = Callable[..., Awaitable[Json]]


class Snapshot(Value):
    """What the journal keeps of a fetch, with time and headers: the bytes lie in the store under `snapshot`."""

    address: str
    media_type: str
    snapshot: str
    title: str
    published: str
    status: int = 200
    headers: dict[str, str] = Field(default_factory=dict)
    fetched_at: str = ""


# The journal of the run that the current task works for.
_at_work: ContextVar[Journal | None] = ContextVar("journal", default=None)
_PASSAGES, _CONTENTS = TypeAdapter(list[PassageHit]), TypeAdapter(list[Listed])
_COUNTS, _TEXT = TypeAdapter(tuple[int, dict[str, int]]), TypeAdapter(str)


@contextmanager
def working_for(journal: Journal) -> Iterator[None]:
    """Let the journal keep what the tasks begun here learn from a corpus."""
    token = _at_work.set(journal)
    try:
        yield
    finally:
        _at_work.reset(token)


@dataclass(frozen=True)
class JournalledCorpus:
    """A corpus whose answers the run that asks keeps, so that it can be replayed when files have changed.

    Reasoners are built before there is a run: whose journal it is follows from the task.
    """

    corpus: Corpus

    async def refresh(self, on_progress: OnProgress | None = None) -> Survey:
        return await self.corpus.refresh(on_progress)

    async def search(self, query: str, *, limit: int) -> list[PassageHit]:
        return await journalled_lookup(
            "search", [query, limit], lambda: self.corpus.search(query, limit=limit), _PASSAGES
        )

    async def contents(self) -> list[Listed]:
        return await journalled_lookup("contents", [], self.corpus.contents, _CONTENTS)

    async def passages(self, address: str) -> list[PassageHit]:
        return await journalled_lookup("passages", [address], lambda: self.corpus.passages(address), _PASSAGES)

    async def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        return await journalled_lookup("frequencies", list(terms), lambda: self.corpus.frequencies(terms), _COUNTS)

    async def spelled_like(self, term: str) -> str:
        return await journalled_lookup("spelled_like", [term], lambda: self.corpus.spelled_like(term), _TEXT)

    async def close(self) -> None:
        await self.corpus.close()


async def journalled_lookup(
    act: str, asked: list[Json], lookup: Callable[[], Awaitable[Result]], kind: TypeAdapter[Result]
) -> Result:
    """Return what a run learned on this machine when it first asked, or look now; outside of a run, just look."""
    journal = _at_work.get()
    if not journal:
        return await lookup()
    payload = [act, *asked]
    key = canonical_json(payload)
    if key not in journal.lookups:

        async def perform() -> CallResult:
            return CallResult(kind.dump_python(await lookup(), mode="json"))

        call = Call("look", f"look/{act}", payload, Spend(), "ending")
        journal.lookups[key] = kind.validate_python(await journal.call(call, perform, Dependencies()))
    return cast("Result", journal.lookups[key])


# A provider that asks for a longer wait is left for the next one.
LONGEST_WAIT_S = 60.0
_FIRST_WAIT_S = 1.0


@dataclass
class JournalledModel:
    """The chain of models behind one port: the first is asked, and where it fails for good the next.

    A first model that refuses every call is not passed over, unless its credit is spent: its user can mend that, and
    nobody else is billed for it. `passed_over` is the failure of the first where another answered. `listen` returns
    who listens to one try. `is_abandoned` says that the act was given up: what is on record is still returned, but no
    call is made.
    """

    models: tuple[ChatModel, ...]
    call: MakeCall
    clock: Clock
    meter: PromptMeter
    tries: int = 1
    jitter: Callable[[], float] = lambda: 1.0
    listen: Callable[[], OnDelta | None] = lambda: None
    is_abandoned: bool = False
    left_out: int = 0
    passed_over: NetworkError | ModelError | None = None
    replies: list[ModelReply] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.models[0].name

    @property
    def unpriced(self) -> Strings:
        return tuple(name for model in self.models for name in model.unpriced)

    def estimate(self, request: ModelRequest) -> Spend:
        """Return the most that the first try can cost."""
        return self.models[0].estimate(request)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:  # noqa: ARG002 - the run's own is used
        """Answer the request from the journal or from the first model that can."""
        self.left_out = max(self.left_out, request.left_out)
        failures: list[NetworkError | ModelError] = []
        for link, model in enumerate(self.models):
            for number in range(self.tries):
                try:
                    reply = await self._try(model, request, link, number)
                except UnusableAnswer:
                    raise
                except (NetworkError, ModelError) as exc:
                    if link == 0 and isinstance(exc, ModelRefused) and not isinstance(exc, CreditSpent):
                        raise
                    failure = exc
                    if not await self._wait(failure, number):
                        break
                else:
                    self.replies.append(reply)
                    self.passed_over = failures[0] if failures else None
                    return reply
            failures.append(failure)
        # What the model that was asked for says of itself is raised; who tries again asks all once more.
        failures[0].call_keys = tuple(each.call_key for each in failures)
        raise failures[0]

    async def _wait(self, failure: NetworkError | ModelError, number: int) -> bool:
        """Wait before the next try of the same model; say whether there is one."""
        asked_s = failure.retry_after_s or 0.0
        may_pass = isinstance(failure, NetworkError | ModelBusy) and asked_s <= LONGEST_WAIT_S
        if number + 1 >= self.tries or not may_pass:
            return False
        if not failure.is_recorded:
            await self.clock.sleep(asked_s + _FIRST_WAIT_S * 2**number * (0.5 + self.jitter() / 2))
        return True

    async def _try(self, model: ChatModel, request: ModelRequest, link: int, number: int) -> ModelReply:
        async def perform() -> CallResult:
            if self.is_abandoned:
                raise UnusableAnswer(f"the model failed at {request.act} too often in a row; it is not asked again")
            measured = self.meter.measure(request)
            reply = await model.complete(request, on_delta=self.listen())
            return CallResult({"reply": reply.to_json(), "prompt": measured.to_json()}, reply.spend)

        # A model's name is no part of it, so that a run that goes on with another model keeps what it has.
        payload = {"request": request.to_json(), "link": link, "try": number}
        estimate = model.estimate(request)
        result = await self.call("llm", payload, perform, estimate, name=model.name)
        assert isinstance(result, dict)
        return ModelReply.from_json(result["reply"])
