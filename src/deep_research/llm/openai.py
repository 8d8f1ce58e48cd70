"""OpenAI and all who speak its protocol of chat completions: DeepSeek, Qwen, OpenRouter, vLLM, LM Studio, llama.cpp."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import SecretStr

from deep_research.llm.address import CONNECT_TIMEOUT_S, connection_options
from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.registry import AnswerWay
from deep_research.llm.structured import ANSWER_NAME, plain_schema
from deep_research.llm.vendor import Endpoint, Fault, plain_messages

_STOPS: dict[str, StopReason] = {"length": "length", "content_filter": "refusal"}
# The library wants a key; servers that need none do not look at it.
_NO_KEY = "none"


class _ChatCompletions(BaseChatOpenAI):
    """Keeps what langchain's own class drops: thoughts, under either name that servers give them, and refusals."""

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        made = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        choices = chunk.get("choices")
        delta = choices[0].get("delta") if choices else None
        if made is not None and delta:
            thought = delta.get("reasoning_content") or delta.get("reasoning")
            kept = {"reasoning_content": thought, "refusal": delta.get("refusal")}
            made.message.additional_kwargs |= {name: text for name, text in kept.items() if isinstance(text, str)}
        return made


class OpenaiVendor:
    """Speaks chat completions."""

    errors: tuple[type[Exception], ...] = (openai.OpenAIError, httpx2.HTTPError)
    usage_adds_up = False

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @asynccontextmanager
    async def open(self) -> AsyncIterator[BaseChatModel]:
        """Open a model for one call."""
        endpoint = self._endpoint
        options: dict[str, Any] = connection_options(endpoint.address)
        async with httpx2.AsyncClient(**options) as http:
            with httpx2.Client(**options) as unused:
                model = _ChatCompletions(
                    model=endpoint.model,
                    api_key=SecretStr(endpoint.key or _NO_KEY),
                    base_url=endpoint.address,
                    http_async_client=http,
                    http_client=unused,
                    openai_proxy="",
                    timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
                    max_retries=0,
                    stream_usage=True,
                    stream_chunk_timeout=None,
                    use_responses_api=False,
                )
                if endpoint.provider.name != "openai":
                    # The library takes them from the environment, and they are nobody else's business.
                    model.root_async_client.organization = model.root_async_client.project = None
                yield model

    def messages(self, request: ModelRequest) -> list[BaseMessage]:
        """Return what the model reads."""
        return plain_messages(request)

    def options(self, request: ModelRequest, way: AnswerWay) -> dict[str, Any]:
        """Return the most it may answer, and the form its answer must have."""
        endpoint = self._endpoint
        # OpenAI has renamed the limit, and the others have not.
        limit = "max_completion_tokens" if endpoint.provider.name == "openai" else "max_tokens"
        options: dict[str, Any] = {limit: request.max_tokens + endpoint.reasoning_room}
        if request.answer_schema is not None and way in ("schema", "json"):
            schema = {"name": ANSWER_NAME, "strict": True, "schema": plain_schema(request.answer_schema)}
            form = {"type": "json_schema", "json_schema": schema} if way == "schema" else {"type": "json_object"}
            # In the body and not as an argument, for which the library parses the answer and fails where it is cut.
            options["extra_body"] = {"response_format": form}
        return options

    def stop_reason(self, chunk: AIMessageChunk) -> StopReason | None:
        """Return why the answer ended."""
        if chunk.additional_kwargs.get("refusal"):
            return "refusal"
        reason = chunk.response_metadata.get("finish_reason")
        return _STOPS.get(reason, "stop") if reason else None

    def fault(self, error: Exception) -> Fault:
        """Return what an error of the library says; one that is sent in the middle of a stream has a code at best."""
        if isinstance(error, openai.APIStatusError):
            return Fault(error.status_code, error.response.headers)
        if isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError):
            code = error.body.get("code") if isinstance(error.body, dict) else None
            return Fault(code if isinstance(code, int) else 500)
        return Fault()


VENDOR = OpenaiVendor
