"""Vendors that are spoken to through langchain's chat models."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Protocol, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage

from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.registry import AnswerWay
from deep_research.llm.vendor import Piece, Talk, first_message, number_of, turns_of


class LangchainVendor(Protocol):
    """What a vendor's file says about its model."""

    def messages(self, request: ModelRequest) -> list[BaseMessage]:
        """Return what the model reads."""
        ...

    def options(self, request: ModelRequest, way: AnswerWay) -> dict[str, Any]:
        """Return the most it may answer, and the form its answer must have."""
        ...

    def stop_reason(self, chunk: AIMessageChunk) -> StopReason | None:
        """Return why the answer ended, None as long as it has not."""
        ...


def talk_through(model: BaseChatModel, vendor: LangchainVendor) -> Talk:
    """Return how to ask a model of langchain's."""

    async def talk(request: ModelRequest, way: AnswerWay) -> AsyncGenerator[Piece, None]:
        stream = model.astream(vendor.messages(request), **vendor.options(request, way))
        # langchain's iterator is a generator; its connection is let go when it is closed.
        async with aclosing(cast("AsyncGenerator[AIMessageChunk, None]", stream)) as chunks:
            async for chunk in chunks:
                text, thought = _words(chunk)
                yield Piece(text, thought, vendor.stop_reason(chunk), _usage(chunk.usage_metadata))

    return talk


def plain_messages(request: ModelRequest) -> list[BaseMessage]:
    """Return a request as messages: the user's first one holds context and prompt."""
    system: list[BaseMessage] = [SystemMessage(request.system)] if request.system else []
    return [*system, HumanMessage(first_message(request)), *turn_messages(request)]


def turn_messages(request: ModelRequest) -> list[BaseMessage]:
    """Return what was said after the prompt."""
    return [AIMessage(text) if speaker == "model" else HumanMessage(text) for speaker, text in turns_of(request)]


def _words(chunk: AIMessageChunk) -> tuple[str, str]:
    """Return text and thought of a piece; the input of the tool that stands for an answer is its text."""
    text, thought = [], [str(chunk.additional_kwargs.get("reasoning_content") or "")]
    for block in [chunk.content] if isinstance(chunk.content, str) else chunk.content:
        if isinstance(block, str):
            text.append(block)
        elif block.get("type") == "text":
            text.append(str(block.get("text") or ""))
        elif block.get("type") == "thinking":
            thought.append(str(block.get("thinking") or ""))
    text.extend(str(call.get("args") or "") for call in chunk.tool_call_chunks)
    return "".join(text), "".join(thought)


def _usage(report: Mapping[str, object] | None) -> Usage | None:
    if not report:
        return None
    details = report.get("input_token_details")
    parts = details if isinstance(details, dict) else {}
    return Usage(
        read=number_of(report.get("input_tokens")),
        cached=number_of(parts.get("cache_read")),
        cache_written=number_of(parts.get("cache_creation")),
        written=number_of(report.get("output_tokens")),
    )
