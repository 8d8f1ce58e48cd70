"""What OpenAI's clients send, and what of it is served: text in, nothing that chooses models or calls tools.

Whatever goes wrong below /v1, in the middle of a stream too, is answered in OpenAI's shape.
"""

import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from http import HTTPStatus
from typing import Any, Literal, NamedTuple

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException

from deep_research.errors import DeepResearchError
from deep_research.request import DepthName
from deep_research.server.page.views import words_for
from deep_research.server.problems import detail_of, openai_error, status_of
from deep_research.text.messages.words import Words, words_in
from deep_research.value import JsonObject

_log = logging.getLogger(__name__)
# A comment, which clients pass over: it keeps proxies from taking a silent connection for a dead one.
PING = ": ping\n\n"
# What a client may ask for as a model, and the depth that it stands for; the first takes the server's own.
MODELS: dict[str, DepthName | None] = {
    "deep-research": None,
    "deep-research-quick": "quick",
    "deep-research-deep": "deep",
}
_TEXT_PARTS = ("text", "input_text", "output_text")
# Items that clients send back with a conversation and that say nothing new.
_SILENT_ITEMS = ("reasoning",)
Role = Literal["system", "developer", "user", "assistant"]


class Refused(Exception):
    """A request that is not served, and why."""

    def __init__(
        self, message: str, *, status: HTTPStatus = HTTPStatus.BAD_REQUEST, code: str | None = None, param: str = ""
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param or None


def refusal_of(exc: Exception, words: Words) -> tuple[HTTPStatus, Any]:
    """Return the status and the error of whatever went wrong; what is not ours is told to the log alone."""
    match exc:
        case Refused():
            return exc.status, openai_error(str(exc), exc.status, code=exc.code, param=exc.param)
        case DeepResearchError():
            status = status_of(exc)
            # OpenAI's clients know no other status for a request that cannot be used.
            status = HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status
            return status, openai_error(detail_of(exc, words), status)
        case RequestValidationError() | ValidationError():
            return HTTPStatus.BAD_REQUEST, _misfit(exc)
        case StarletteHTTPException():
            status = HTTPStatus(exc.status_code)
            return status, openai_error(str(exc.detail), status)
    _log.error("a request below /v1 failed", exc_info=exc)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return status, openai_error(words("fault.unforeseen"), status)


def _misfit(exc: RequestValidationError | ValidationError) -> Any:
    first = exc.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    message = f"{where}: {first['msg']}" if where else str(first["msg"])
    return openai_error(message, HTTPStatus.BAD_REQUEST, param=where or None)


class OpenAIRoute(APIRoute):
    """A route whose errors have OpenAI's shape; after a failure clients are told not to ask again by themselves."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route, with its errors put into shape."""
        handle = super().get_route_handler()

        async def handle_in_shape(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as exc:  # Clients read no other shape, whatever went wrong.
                status, error = refusal_of(exc, words_for(request))
                headers = dict(exc.headers or {}) if isinstance(exc, HTTPException) else {}
                if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    # Another try would start the research anew.
                    headers["x-should-retry"] = "false"
                # Escaped, as a message may repeat what no encoding holds.
                body = json.dumps(error)
                return Response(body, status_code=status, headers=headers, media_type="application/json")

        return handle_in_shape


def event_stream(frames: AsyncIterator[str], frame_of: Callable[[Any], str]) -> Response:
    """Return an event stream that nothing on its way holds back.

    An error in its middle is its last frame, as a status has been sent by then.
    """

    async def guarded() -> AsyncIterator[str]:
        try:
            async for frame in frames:
                yield frame
        except Exception as exc:  # Without a last frame a client would take the stream for whole.
            yield frame_of(refusal_of(exc, words_in("en"))[1])

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(guarded(), media_type="text/event-stream", headers=headers)


class ChatMessage(NamedTuple):
    """One message of a conversation, as text."""

    role: Role
    text: str


class _RequestBody(BaseModel):
    """What both kinds of request have in common; what is not named here is accepted and has no effect."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(max_length=100)
    stream: bool | None = False
    tools: list[Any] | None = None
    metadata: dict[str, str] | None = None
    deep_research: JsonObject | None = Field(
        default=None, description="Fields of a new run (`POST /api/runs`) but the question, its context and its depth."
    )

    def check_model(self) -> None:
        """Refuse a model that is not served."""
        if self.model not in MODELS:
            raise unknown_model(self.model)


class StreamOptions(BaseModel):
    """What a stream of a chat tells beside its text."""

    include_usage: bool = False


class ChatBody(_RequestBody):
    """The body of `POST /v1/chat/completions`."""

    messages: list[dict[str, Any]] = Field(min_length=1, max_length=2_000)
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=1, ge=1)
    functions: list[Any] | None = None
    modalities: list[str] | None = None
    response_format: dict[str, Any] | None = None

    def conversation(self) -> list[ChatMessage]:
        """Return the messages as text, or refuse what is none."""
        self.check_model()
        _refuse("tools", self.tools or self.functions)
        _refuse("n", (self.n or 1) > 1)
        _refuse("modalities", set(self.modalities or ["text"]) - {"text"})
        _refuse("response_format", (self.response_format or {}).get("type", "text") != "text")
        return [_message(item, f"messages.{at}") for at, item in enumerate(self.messages)]


class ResponsesBody(_RequestBody):
    """The body of `POST /v1/responses`."""

    input: str | list[dict[str, Any]]
    instructions: str | None = None
    previous_response_id: str | None = Field(default=None, max_length=200)
    background: bool | None = False
    conversation: Any = None
    prompt: Any = None
    text: dict[str, Any] | None = None

    def messages(self) -> list[ChatMessage]:
        """Return the input as messages, or refuse what is no text."""
        self.check_model()
        _refuse("tools", self.tools)
        _refuse("conversation", self.conversation)
        _refuse("prompt", self.prompt)
        wanted = (self.text or {}).get("format") or {}
        _refuse("text.format", not isinstance(wanted, dict) or wanted.get("type", "text") != "text")
        first = [ChatMessage("system", self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return [*first, ChatMessage("user", self.input)]
        items = [(at, item) for at, item in enumerate(self.input) if item.get("type") not in _SILENT_ITEMS]
        return [*first, *(_message(item, f"input.{at}") for at, item in items)]


def unknown_model(name: str) -> Refused:
    """Return the refusal of a model that is not served."""
    known = ", ".join(MODELS)
    return Refused(
        f"There is no model {name!r}; choose from {known}.",
        status=HTTPStatus.NOT_FOUND,
        code="model_not_found",
        param="model",
    )


_WHY = {
    "tools": "Tools cannot be called from here: the research searches by itself. Leave `tools` out.",
    "n": "One question gets one report: `n` must be 1.",
    "modalities": "Reports are text: leave `modalities` out.",
    "response_format": "Reports are Markdown: leave `response_format` out.",
    "text.format": "Reports are Markdown: leave `text.format` out.",
    "conversation": "Conversations are not kept here: use `previous_response_id`, or send the messages again.",
    "prompt": "There are no stored prompts here: send the question as `input`.",
}


def _refuse(param: str, is_set: object) -> None:
    if is_set:
        raise Refused(_WHY[param], code="unsupported_parameter", param=param)


def _message(item: dict[str, Any], where: str) -> ChatMessage:
    role = item.get("role")
    if role in ("tool", "function") or (role is None and item.get("type") not in (None, "message")):
        raise Refused(_WHY["tools"], code="unsupported_value", param=where)
    if role not in ("system", "developer", "user", "assistant"):
        raise Refused(f"{where}.role must be system, developer, user or assistant.", param=f"{where}.role")
    return ChatMessage(role, _text(item.get("content"), f"{where}.content"))


def _text(content: object, where: str) -> str:
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, Sequence):
        raise Refused(f"{where} must be a text, or a list of parts.", param=where)
    texts = []
    for at, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "refusal":
            continue
        if kind not in _TEXT_PARTS:
            raise Refused(
                "Only text can be asked about here, no images, sounds or files; upload documents to a collection.",
                code="unsupported_value",
                param=f"{where}.{at}",
            )
        if not isinstance(part.get("text"), str):
            raise Refused(f"{where}.{at}.text must be a text.", param=f"{where}.{at}.text")
        texts.append(part["text"])
    return "\n".join(texts)
