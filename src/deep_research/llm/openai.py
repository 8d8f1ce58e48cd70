"""OpenAI and all who speak its protocol of chat completions: DeepSeek, Qwen, OpenRouter, vLLM, LM Studio, llama.cpp.

Spoken here and not through a vendor's library: the protocol is a POST and a stream of JSON, and the libraries take
longer to load than the first answer takes to come (docs/decisions/0011).
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import httpx2

from deep_research.llm.address import CONNECT_TIMEOUT_S, UNLIMITED, connection_options
from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.registry import AnswerWay
from deep_research.llm.structured import ANSWER_NAME, plain_schema
from deep_research.llm.vendor import Endpoint, Fault, Piece, Talk, first_message, number_of, turns_of

_STOPS: dict[str, StopReason] = {"length": "length", "content_filter": "refusal"}
_SPEAKERS = {"model": "assistant", "user": "user"}
_END, _BYTE_ORDER_MARK = b"[DONE]", b"\xef\xbb\xbf"


class _Refused(Exception):
    """The server answered, but with an error; one that comes in the middle of a stream has a code at best."""

    def __init__(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status)
        self.fault = Fault(status, headers or {})


class OpenaiVendor:
    """Speaks chat completions."""

    errors: tuple[type[Exception], ...] = (_Refused, httpx2.HTTPError)
    usage_adds_up = False

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def open(self, stack: AsyncExitStack) -> Talk:
        """Open connections."""
        options: dict[str, Any] = connection_options(self._endpoint.address)
        headers = {"Authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}
        timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
        limits = httpx2.Limits(**UNLIMITED)
        client = httpx2.AsyncClient(**options, headers=headers, timeout=timeout, limits=limits)
        return partial(self._talk, await stack.enter_async_context(client))

    async def _talk(
        self, http: httpx2.AsyncClient, request: ModelRequest, way: AnswerWay
    ) -> AsyncGenerator[Piece, None]:
        address = f"{self._endpoint.address}/chat/completions"
        async with http.stream("POST", address, json=self._body(request, way)) as response:
            if response.status_code != httpx2.codes.OK:
                raise _Refused(response.status_code, response.headers)
            async for event in _events(response):
                yield _piece(event)

    def _body(self, request: ModelRequest, way: AnswerWay) -> dict[str, Any]:
        """Return what the model reads, the most it may answer, and the form its answer must have."""
        endpoint = self._endpoint
        system = [{"role": "system", "content": request.system}] if request.system else []
        turns = [{"role": _SPEAKERS[speaker], "content": text} for speaker, text in turns_of(request)]
        # OpenAI has renamed the limit, and the others have not.
        limit = "max_completion_tokens" if endpoint.provider.name == "openai" else "max_tokens"
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [*system, {"role": "user", "content": first_message(request)}, *turns],
            limit: request.max_tokens + endpoint.reasoning_room,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.answer_schema is not None and way in ("schema", "json"):
            schema = {"name": ANSWER_NAME, "strict": True, "schema": plain_schema(request.answer_schema)}
            is_schema = way == "schema"
            body["response_format"] = (
                {"type": "json_schema", "json_schema": schema} if is_schema else {"type": "json_object"}
            )
        return body

    def fault(self, error: Exception) -> Fault:
        """Return what went wrong with a call."""
        return error.fault if isinstance(error, _Refused) else Fault()


async def _events(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """Yield the objects of a stream, whatever it is labelled; a server that does not stream sends a single one.

    What follows the last object is read too, because only then the connection serves the next call.
    """
    rest, is_over = b"", False
    async for chunk in response.aiter_bytes():
        rest = (rest + chunk).removeprefix(_BYTE_ORDER_MARK)
        if is_over or rest.lstrip()[:1] == b"{":
            continue
        *lines, rest = rest.split(b"\n")
        for data in filter(None, map(_data, lines)):
            is_over = is_over or data == _END
            if not is_over:
                yield _object(data)
    last = rest.strip() if rest.lstrip()[:1] == b"{" else _data(rest)
    if last and last != _END and not is_over:
        yield _object(last)


def _data(line: bytes) -> bytes:
    """Return the data of a line; others are comments that keep the connection alive, or name the event."""
    field, _, data = line.partition(b":")
    return data.strip() if field == b"data" else b""


def _object(data: bytes) -> dict[str, Any]:
    found = json.loads(data)
    if not isinstance(found, dict):
        raise TypeError("a stream consists of objects")
    if error := found.get("error"):
        code = error.get("code") if isinstance(error, dict) else None
        raise _Refused(code if isinstance(code, int) else 500)
    return found


def _piece(event: dict[str, Any]) -> Piece:
    """Return what an object adds to the answer; servers give thoughts under either of two names."""
    choice: dict[str, Any] = next((one for one in event.get("choices") or [] if not one.get("index")), {})
    said = choice.get("delta") or choice.get("message") or {}
    refusal, reason = said.get("refusal"), choice.get("finish_reason")
    if reason == "error":
        raise _Refused(500)
    content = said.get("content")
    parts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
    calls = [call["function"].get("arguments") for call in said.get("tool_calls") or []]
    texts = [part for part in (*parts, refusal, *calls) if isinstance(part, str)]
    thought = said.get("reasoning_content") or said.get("reasoning")
    return Piece(
        text="".join(texts),
        thought=thought if isinstance(thought, str) else "",
        stop="refusal" if refusal else _STOPS.get(reason, "stop") if reason else None,
        usage=_usage(event.get("usage")),
    )


def _usage(report: Any) -> Usage | None:
    if not isinstance(report, dict):
        return None
    details = report.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else report.get("prompt_cache_hit_tokens")
    return Usage(
        read=number_of(report.get("prompt_tokens")),
        cached=number_of(cached),
        written=number_of(report.get("completion_tokens")),
    )


VENDOR = OpenaiVendor
