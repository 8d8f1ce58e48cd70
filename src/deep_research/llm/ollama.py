"""Ollama, through its own protocol, which alone can set the window of the model."""

from contextlib import AsyncExitStack
from typing import Any

import httpx
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_ollama import ChatOllama
from ollama import ResponseError

from deep_research.llm.address import CONNECT_TIMEOUT_S, connection_options
from deep_research.llm.langchain import plain_messages, talk_through
from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.registry import AnswerWay
from deep_research.llm.structured import plain_schema
from deep_research.llm.vendor import Endpoint, Fault, Talk


class _Ollama(ChatOllama):
    """Keeps thoughts without asking for them: a model that cannot think would refuse."""

    def _chat_params(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return super()._chat_params(*args, **kwargs) | {"think": None}

    async def aclose(self) -> None:
        """Close both connections."""
        self._client.close()  # type: ignore[no-untyped-call]  # the library gives it no types
        await self._async_client.close()  # type: ignore[no-untyped-call]  # the same


async def _raise_for_status(response: httpx.Response) -> None:
    """Raise before the library does, whose error has lost the answer's headers."""
    if response.status_code >= 300:
        await response.aread()
        response.raise_for_status()


class OllamaVendor:
    """Speaks Ollama's /api/chat."""

    errors: tuple[type[Exception], ...] = (ResponseError, httpx.HTTPError, ConnectionError)
    usage_adds_up = False

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def open(self, stack: AsyncExitStack) -> Talk:
        """Open a model and its connections."""
        endpoint = self._endpoint
        options: dict[str, Any] = connection_options(endpoint.address)
        if endpoint.key:
            options["headers"] = {"Authorization": f"Bearer {endpoint.key}"}
        model = _Ollama(
            model=endpoint.model,
            base_url=endpoint.address,
            reasoning=True,
            client_kwargs=options | {"timeout": httpx.Timeout(None, connect=CONNECT_TIMEOUT_S)},
            async_client_kwargs={"event_hooks": {"response": [_raise_for_status]}},
        )
        stack.push_async_callback(model.aclose)
        return talk_through(model, self)

    def messages(self, request: ModelRequest) -> list[BaseMessage]:
        """Return what the model reads."""
        return plain_messages(request)

    def options(self, request: ModelRequest, way: AnswerWay) -> dict[str, Any]:
        """Return the window, the most it may answer, and the form its answer must have."""
        room = self._endpoint.reasoning_room
        limits = {"num_ctx": self._endpoint.window + room, "num_predict": request.max_tokens + room}
        options: dict[str, Any] = {"options": limits}
        if request.answer_schema is not None and way in ("schema", "json"):
            options["format"] = plain_schema(request.answer_schema) if way == "schema" else "json"
        return options

    def stop_reason(self, chunk: AIMessageChunk) -> StopReason | None:
        """Return why the answer ended."""
        reason = chunk.response_metadata.get("done_reason")
        return "length" if reason == "length" else "stop" if reason else None

    def fault(self, error: Exception) -> Fault:
        """Return what an error of the library says; one in the middle of a stream has no status."""
        if isinstance(error, httpx.HTTPStatusError):
            return Fault(error.response.status_code, error.response.headers)
        if isinstance(error, ResponseError):
            return Fault(error.status_code if error.status_code > 0 else 500)
        return Fault()


VENDOR = OllamaVendor
