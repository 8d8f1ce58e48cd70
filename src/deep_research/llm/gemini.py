"""Google's Gemini."""

import json
from contextlib import AsyncExitStack
from typing import Any

import httpx
from google.genai import Client
from google.genai.errors import APIError
from google.genai.types import HttpOptions
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_google_genai.chat_models import ChatGoogleGenerativeAIError
from pydantic import SecretStr

from deep_research.llm.address import UNLIMITED, connection_options
from deep_research.llm.langchain import plain_messages, talk_through
from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.registry import AnswerWay
from deep_research.llm.structured import plain_schema
from deep_research.llm.vendor import Endpoint, Fault, Talk

_REFUSALS = frozenset(
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT".split()
)
_API_VERSION = "v1beta"


class GeminiVendor:
    """Speaks Gemini's generateContent."""

    errors: tuple[type[Exception], ...] = (APIError, ChatGoogleGenerativeAIError, httpx.HTTPError)
    usage_adds_up = True

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def open(self, stack: AsyncExitStack) -> Talk:
        """Open a model and its connections."""
        endpoint = self._endpoint
        options: dict[str, Any] = connection_options(endpoint.address)
        # For its websockets, which nobody opens, the library would read all certificates at each call.
        arguments = options | {"ssl": options["verify"]}
        client = httpx.AsyncClient(**options, limits=httpx.Limits(**UNLIMITED))
        http = await stack.enter_async_context(client)
        unused = stack.enter_context(httpx.Client(**options))
        model = ChatGoogleGenerativeAI(
            model=endpoint.model,
            api_key=SecretStr(endpoint.key),
            base_url=endpoint.address,
            client_args=arguments,
            vertexai=False,
            # One call and no more; zero would mean the library's own number.
            max_retries=1,
            include_thoughts=True if endpoint.thinks else None,
        )
        # The library's own client may speak through aiohttp, which has other errors.
        model.client = Client(
            api_key=endpoint.key,
            vertexai=False,
            http_options=HttpOptions(
                base_url=endpoint.address,
                api_version=_API_VERSION,
                async_client_args=arguments,
                client_args=arguments,
                httpx_async_client=http,
                httpx_client=unused,
            ),
        )
        return talk_through(model, self)

    def messages(self, request: ModelRequest) -> list[BaseMessage]:
        """Return what the model reads."""
        return plain_messages(request)

    def options(self, request: ModelRequest, way: AnswerWay) -> dict[str, Any]:
        """Return the most it may answer, and the form its answer must have."""
        options: dict[str, Any] = {"max_output_tokens": request.max_tokens + self._endpoint.reasoning_room}
        if request.answer_schema is not None and way != "prompt":
            options["response_mime_type"] = "application/json"
        if request.answer_schema is not None and way == "schema":
            options["response_json_schema"] = plain_schema(request.answer_schema)
        return options

    def stop_reason(self, chunk: AIMessageChunk) -> StopReason | None:
        """Return why the answer ended, or that the question was blocked."""
        blocked = (chunk.response_metadata.get("prompt_feedback") or {}).get("block_reason")
        reason = chunk.response_metadata.get("finish_reason")
        if blocked or reason in _REFUSALS:
            return "refusal"
        if reason == "MAX_TOKENS":
            return "length"
        return "stop" if reason else None

    def fault(self, error: Exception) -> Fault:
        """Return what an error of the library says; langchain's own hides Google's behind it."""
        inner = error if isinstance(error, APIError) else error.__cause__
        if not isinstance(inner, APIError):
            return Fault()
        headers = getattr(inner.response, "headers", None) or {}
        return Fault(inner.code, dict(headers), _retry_delay_s(inner.details))


def _retry_delay_s(details: object) -> float | None:
    """Return the wait that Google names in the answer's body (google.rpc.RetryInfo), as in "34s"."""
    body = details if isinstance(details, dict) else {}
    error = body.get("error")
    parts = error.get("details") if isinstance(error, dict) else None
    for part in parts if isinstance(parts, list) else []:
        delay = part.get("retryDelay") if isinstance(part, dict) else None
        try:
            return float(json.loads(str(delay).removesuffix("s")))
        except (ValueError, TypeError):
            continue
    return None


VENDOR = GeminiVendor
