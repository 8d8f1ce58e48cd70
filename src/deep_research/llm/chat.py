"""A chat model over any vendor: asks, listens within its time limits, and turns what goes wrong into our own errors.

Tries nothing twice but the form of an answer: retries and fallbacks belong to the pipeline. Which error a failed call
becomes is decided by status and code, never by words.
"""

import asyncio
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from importlib import import_module

from deep_research.errors import CallFailed, CreditSpent, ModelBusy, ModelError, ModelRefused, NetworkError
from deep_research.llm.address import display_host, is_local
from deep_research.llm.answer import GrowingAnswer
from deep_research.llm.port import ModelReply, ModelRequest, OnDelta
from deep_research.llm.prices import Price, PriceTable, load_prices, price_of
from deep_research.llm.registry import AnswerWay, ModelName
from deep_research.llm.tokens import TOKENS_PER_MESSAGE, tokens_at_most
from deep_research.llm.vendor import Fault, ModelEndpoint, Vendor, remember_way, ways_of
from deep_research.llm.wire import MAX_ANSWER_BYTES, CallBroken, ask, new_client
from deep_research.request import Spend
from deep_research.value import canonical_json, digest
from deep_research.web.net.headers import retry_after_s
from deep_research.web.net.per_loop import PerLoop
from deep_research.web.net.slots import slot
from deep_research.web.shared_limits.postgres import SharedLimiter

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
# How long a server may take to end a stream whose answer is complete.
_AFTERWARDS_S = 2.0


def error_of(fault: Fault, endpoint: ModelEndpoint, spend: Spend) -> CallFailed:
    """Return the error for a failed call; it holds neither key nor prompt nor what the server wrote."""
    status, model = fault.status, endpoint.name
    if fault.flaw is not None:
        return ModelError(spend=spend).with_message(f"fault.{fault.flaw}", model=model)
    if status is None:
        host, setting = display_host(endpoint.address), {"setting": f"{endpoint.provider.setting}_address"}
        key, values = ("network_local", setting) if is_local(endpoint.address) else ("network", {})
        return NetworkError(spend=spend).with_message(f"fault.{key}", model=model, place=host, **values)
    remedy, values = _remedy(fault, endpoint)
    if remedy:
        refused = CreditSpent if remedy == "credit" or status == 402 else ModelRefused
        return refused(spend=spend).with_message(f"fault.refused_{remedy}", model=model, status=status, **values)
    if status in _BUSY:
        wait_s = retry_after_s(fault.headers) if fault.retry_after_s is None else fault.retry_after_s
        return ModelBusy(spend=spend, retry_after_s=wait_s).with_message("fault.busy", model=model, status=status)
    return ModelError(spend=spend).with_message("fault.not_taken", model=model, status=status)


def _remedy(fault: Fault, endpoint: ModelEndpoint) -> tuple[str, dict[str, str]]:
    """Return what the user has to correct, and its names; "" where another call may still succeed."""
    status, provider = fault.status or 0, endpoint.provider
    by_status = {401: "key", 402: "credit", 403: "key", 404: "name"}
    remedy = fault.remedy or ("moved" if 300 <= status < 400 else by_status.get(status, ""))
    if remedy in ("name", "moved"):
        return remedy, {"setting": f"{provider.setting}_address"}
    if remedy and not provider.key_variable:
        return "access", {}
    return remedy, {"variable": provider.key_variable} if remedy else {}


@dataclass(frozen=True)
class ModelLimits:
    """How long an answer may take in all and may fall silent, how many are under way, and how large one may be.

    With `shared`, those of other processes count among those under way.
    """

    timeout_s: float = 180.0
    idle_timeout_s: float = 60.0
    calls_in_flight: int = 16
    max_answer_bytes: int = MAX_ANSWER_BYTES
    shared: SharedLimiter | None = None


@dataclass
class VendorChat:
    """A model at an address; `price` is None where it is not known."""

    vendor: Vendor
    endpoint: ModelEndpoint
    price: Price | None
    limits: ModelLimits

    def __post_init__(self) -> None:
        self._clients = PerLoop(lambda: new_client(self.vendor, self.endpoint.address))

    async def close(self) -> None:
        """Close the connections of this event loop; a later call opens new ones."""
        await self._clients.aclose()

    @property
    def name(self) -> str:
        return self.endpoint.name

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return its name where its price is not known."""
        return (self.name,) if self.price is None else ()

    def estimate(self, request: ModelRequest) -> Spend:
        """Return the most that the request can cost; its time is limited here, and so that waiting does not count."""
        read, written = _prompt_tokens(request), request.max_tokens + self.endpoint.reasoning_reserve
        return Spend(tokens=read + written, usd=self.price.most(read, written) if self.price else 0.0)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer the request; a form that the server does not take is asked for in the next way at once."""
        on_delta = on_delta or (lambda _: None)
        ways: tuple[AnswerWay, ...] = ("prompt",) if request.answer_schema is None else ways_of(self.endpoint)
        async with self._slot():
            for way in ways:
                answer = GrowingAnswer(max_tokens=request.max_tokens + self.endpoint.reasoning_reserve)
                fault = await self._listen(request, way, answer, on_delta)
                if fault is None:
                    if request.answer_schema is not None:
                        remember_way(self.endpoint, way)
                    return self._reply(request, answer)
                error = error_of(
                    fault, self.endpoint, self._reply(request, answer).spend if answer.has_begun else Spend()
                )
                # What a server answers when it does not take a request as it is asked.
                is_not_taken = fault.status in (400, 422) and fault.remedy is None
                if answer.has_begun or not is_not_taken:
                    break
        raise error

    def _slot(self) -> AbstractAsyncContextManager[None]:
        address, limits = self.endpoint.address, self.limits
        if limits.shared is None:
            return slot(address, limits.calls_in_flight)
        # An address may hold a key.
        return limits.shared.slot(digest("model", address), limits.calls_in_flight)

    async def _listen(
        self, request: ModelRequest, way: AnswerWay, answer: GrowingAnswer, on_delta: OnDelta
    ) -> Fault | None:
        """Gather the answer; return what went wrong with the call, or None."""
        clock, limits = asyncio.get_running_loop().time, self.limits
        deadline = clock() + limits.timeout_s
        try:
            async with asyncio.timeout_at(deadline) as alarm:
                client, most = await self._clients.get(), limits.max_answer_bytes
                async with aclosing(ask(client, self.vendor, request, way, max_answer_bytes=most)) as pieces:
                    async for piece in pieces:
                        for delta in answer.take(piece):
                            on_delta(delta)
                        # Only from here on: a local model may read for minutes before its first word.
                        silence_s = _AFTERWARDS_S if answer.stop else limits.idle_timeout_s
                        alarm.reschedule(min(deadline, clock() + silence_s))
                        if answer.is_too_large:
                            raise CallBroken(Fault(flaw="too_large"))
                        if answer.is_enough:
                            break
        # What goes wrong after its end, an answer does not need.
        except TimeoutError:
            if not answer.stop:
                limit_s = limits.timeout_s if clock() >= deadline else limits.idle_timeout_s
                spend = self._reply(request, answer).spend
                raise NetworkError(spend=spend).with_message(
                    "fault.silent", model=self.name, seconds=f"{limit_s:g}"
                ) from None
        except CallBroken as exc:
            if not answer.stop:
                return exc.fault
        for delta in answer.finish():
            on_delta(delta)
        # A stream that ends without saying why was cut.
        return None if answer.stop else Fault()

    def _reply(self, request: ModelRequest, answer: GrowingAnswer) -> ModelReply:
        usage = answer.usage(_prompt_tokens(request))
        return ModelReply(
            text=answer.text,
            reasoning=answer.reasoning,
            model=self.name,
            stop=answer.stop or "stop",
            tokens_in=usage.read,
            tokens_out=usage.written,
            tokens_cached=usage.cached,
            usd=self.price.cost(usage) if self.price else 0.0,
        )


def _prompt_tokens(request: ModelRequest) -> int:
    schema = "" if request.answer_schema is None else canonical_json(request.answer_schema)
    messages = 2 + len(request.context) + len(request.turns)
    return tokens_at_most(request.text) + tokens_at_most(schema) + messages * TOKENS_PER_MESSAGE


def connect(
    name: ModelName,
    *,
    address: str,
    key: str = "",
    window: int = 32_000,
    prices: PriceTable | None = None,
    limits: ModelLimits | None = None,
) -> VendorChat:
    """Return the model of a name at an address; whoever asks for it has seen that it is ready."""
    endpoint = ModelEndpoint(name.provider, name.model, address.rstrip("/"), key, window)
    module, _, adapter = name.provider.adapter.partition(":")
    vendor: Vendor = getattr(import_module(f"{__package__}.{module}"), adapter)(endpoint)
    price = price_of(name, address, load_prices() if prices is None else prices)
    return VendorChat(vendor, endpoint, price=price, limits=limits or ModelLimits())
