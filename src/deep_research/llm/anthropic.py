"""Anthropic's Claude."""

from contextlib import AsyncExitStack
from functools import cached_property
from typing import Any

import anthropic
import httpx2
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from pydantic import PrivateAttr, SecretStr

from deep_research.llm.address import CONNECT_TIMEOUT_S, UNLIMITED, connection_options
from deep_research.llm.langchain import talk_through, turn_messages
from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.registry import AnswerWay
from deep_research.llm.structured import ANSWER_NAME, plain_schema
from deep_research.llm.vendor import Endpoint, Fault, Talk

_STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
# Errors that come in the middle of a stream have a name in place of a status.
_STATUS_OF = {"rate_limit_error": 429, "overloaded_error": 529, "invalid_request_error": 400, "timeout_error": 504}
# The API takes four marks in a request: one on the system's words, the others on the latest blocks of context.
_MARKED_BLOCKS = 3
_MARK = {"cache_control": {"type": "ephemeral"}}


class _Claude(ChatAnthropic):
    """Uses a connection of its own; langchain's class shares one between event loops."""

    _http: httpx2.AsyncClient = PrivateAttr()

    @cached_property
    def _async_client(self) -> anthropic.AsyncClient:
        timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
        return anthropic.AsyncClient(**self._client_params | {"http_client": self._http, "timeout": timeout})


class AnthropicVendor:
    """Speaks Anthropic's messages."""

    errors: tuple[type[Exception], ...] = (anthropic.AnthropicError, httpx2.HTTPError)
    usage_adds_up = False

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def open(self, stack: AsyncExitStack) -> Talk:
        """Open a model and its connections."""
        endpoint = self._endpoint
        options: dict[str, Any] = connection_options(endpoint.address)
        model = _Claude(
            model_name=endpoint.model,
            api_key=SecretStr(endpoint.key),
            base_url=endpoint.address,
            max_retries=0,
            timeout=None,
            stop=None,
        )
        client = httpx2.AsyncClient(**options, limits=httpx2.Limits(**UNLIMITED))
        model._http = await stack.enter_async_context(client)
        return talk_through(model, self)

    def messages(self, request: ModelRequest) -> list[BaseMessage]:
        """Return what the model reads, with marks for its cache where the parts end that come again."""
        marked = len(request.context) - _MARKED_BLOCKS
        blocks = [_text(f"{block}\n\n", is_marked=number >= marked) for number, block in enumerate(request.context)]
        system: list[BaseMessage] = [SystemMessage([_text(request.system)])] if request.system else []
        user = HumanMessage([*blocks, _text(request.prompt, is_marked=False)])
        return [*system, user, *turn_messages(request)]

    def options(self, request: ModelRequest, way: AnswerWay) -> dict[str, Any]:
        """Return the most it may answer, and the form its answer must have."""
        options: dict[str, Any] = {"max_tokens": request.max_tokens + self._endpoint.reasoning_room}
        if request.answer_schema is None:
            return options
        schema = plain_schema(request.answer_schema)
        if way == "schema":
            options["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        elif way == "tool":
            tool = {"name": ANSWER_NAME, "description": "Give the answer.", "input_schema": schema}
            options |= {"tools": [tool], "tool_choice": {"type": "tool", "name": ANSWER_NAME}}
        return options

    def stop_reason(self, chunk: AIMessageChunk) -> StopReason | None:
        """Return why the answer ended."""
        reason = chunk.response_metadata.get("stop_reason")
        return _STOPS.get(reason, "stop") if reason else None

    def fault(self, error: Exception) -> Fault:
        """Return what an error of the library says."""
        if not isinstance(error, anthropic.APIStatusError):
            return Fault()
        if error.status_code != 200:
            return Fault(error.status_code, error.response.headers)
        detail = error.body.get("error") if isinstance(error.body, dict) else None
        kind = detail.get("type") if isinstance(detail, dict) else None
        return Fault(_STATUS_OF.get(str(kind), 500))


def _text(text: str, *, is_marked: bool = True) -> dict[str, Any]:
    return {"type": "text", "text": text} | (_MARK if is_marked else {})


VENDOR = AnthropicVendor
