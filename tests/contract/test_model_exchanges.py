"""Answers in the shapes that real services were recorded with, in words of our own: what they mean is not lost.

They follow recordings of Gemini, OpenAI, Anthropic, Ollama, OpenRouter, Mistral, Groq and Snowflake; errors of accounts
follow the vendors' pages on errors.
"""

import json
from typing import Any

import pytest

from deep_research.errors import CallFailed, CreditSpent, ModelBusy, ModelError, ModelRefused
from deep_research.llm.port import ModelReply, StopReason
from tests.contract.replay import CUTS, FORMED, Replay, cost


def events(*messages: object, end: bytes = b"data: [DONE]\n\n") -> bytes:
    return b"".join(b"data: " + dumped(message) + b"\n\n" for message in messages) + end


def dumped(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def chunk(delta: object, reason: str | None = None, **more: object) -> dict[str, object]:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        **more,
    }


def used(read: int, written: int) -> dict[str, object]:
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


NO_REASON = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Tea 茶", "refusal": "", "tool_calls": None}}]},
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": " 🍵", "refusal": ""}}]},
    {"choices": [], "usage": used(22, 5)},
]
WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Tea 茶 🍵"}}], "usage": used(10, 261)}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "想一想。"}], "closed": True}
ANTHROPIC = [
    {
        "type": "message_start",
        "message": {
            "usage": {
                "input_tokens": 4,
                "cache_read_input_tokens": 1100,
                "cache_creation_input_tokens": 60,
                "output_tokens": 1,
            }
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Tea 茶 🍵"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 256},
    },
    {"type": "message_stop"},
]
AFTER_LENGTH = [
    chunk({"content": "Tea 茶 🍵", "reasoning": None}),
    chunk({"content": "", "reasoning": None}, "length"),
    chunk({"content": ""}, error={"code": 400, "message": "Token limit reached"}, usage=used(43, 10)),
]
OLLAMA = {"model": "m", "message": {"role": "assistant", "content": "Tea 茶 🍵"}, "done": True}


# Provider, body, thoughts, tokens read (None where it is not told), written, cached, written to the cache, end.
ANSWERS: dict[str, tuple[str, bytes, str, int | None, int, int, int, StopReason]] = {
    "stream that ends by its mark alone": ("openai-compatible", events(*NO_REASON), "", 22, 5, 0, 0, "stop"),
    "whole answer without a reason": ("openrouter", dumped(WHOLE), "", 10, 261, 0, 0, "stop"),
    "whole answer over several lines": ("qwen", json.dumps(WHOLE, indent=1).encode(), "", 10, 261, 0, 0, "stop"),
    "thoughts as parts, whole": (
        "openai-compatible",
        dumped(
            {
                "choices": [{"message": {"content": [THOUGHT, {"type": "text", "text": "Tea 茶 🍵"}]}}],
                "usage": used(28, 35),
            }
        ),
        "想一想。",
        28,
        35,
        0,
        0,
        "stop",
    ),
    "thoughts as parts, streamed": (
        "openai-compatible",
        events(chunk({"content": [THOUGHT]}), chunk({"content": "Tea 茶 🍵"}, "stop", usage=used(28, 35))),
        "想一想。",
        28,
        35,
        0,
        0,
        "stop",
    ),
    "usage at the stream's beginning": ("anthropic", events(*ANTHROPIC, end=b""), "", 1164, 256, 1100, 60, "stop"),
    "error after the end, with usage": ("openrouter", events(*AFTER_LENGTH), "", 43, 10, 0, 0, "length"),
    "prompt that is not counted": (
        "ollama",
        dumped(OLLAMA | {"done_reason": "stop", "eval_count": 79}),
        "",
        None,
        79,
        0,
        0,
        "stop",
    ),
    "end without a reason": (
        "ollama",
        dumped(OLLAMA | {"prompt_eval_count": 3, "eval_count": 4}),
        "",
        3,
        4,
        0,
        0,
        "stop",
    ),
}


@pytest.mark.parametrize("case", ANSWERS.values(), ids=list(ANSWERS))
async def test_an_answer_is_taken_as_it_is_meant_however_it_is_cut(case: tuple[Any, ...]) -> None:
    provider, body, thoughts, read, written, cached, cache_written, stop = case
    for cut in CUTS:
        with Replay(200, {"content-type": "text/event-stream"}, body, cut) as server:
            reply = await server.ask(provider)
        assert isinstance(reply, ModelReply), reply
        assert (reply.text, reply.reasoning, reply.stop) == ("Tea 茶 🍵", thoughts, stop)
        assert (reply.tokens_out, reply.tokens_cached) == (written, cached)
        assert reply.tokens_in == read or (read is None and reply.tokens_in > 10)
        assert reply.usd == cost(reply, cache_written)
        assert server.calls == 1


def google(reason: str) -> dict[str, object]:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}
    return {"error": {"code": 400, "message": "No.", "status": "INVALID_ARGUMENT", "details": [info, {"locale": "en"}]}}


def openai(code: object, kind: str = "invalid_request_error") -> dict[str, object]:
    return {"error": {"message": "No.", "type": kind, "param": None, "code": code}}


def claude(kind: str, message: str = "No.") -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}


NO_CREDIT = "Your credit balance is too low to access the Anthropic API. Please add some."


# Provider, status, body, what it is to a user, and the setting to mend.
REFUSALS: dict[str, tuple[str, int, object, type[CallFailed], str]] = {
    "Gemini's key is wrong": ("gemini", 400, google("API_KEY_INVALID"), ModelRefused, "GEMINI_API_KEY"),
    "Gemini's request is wrong": ("gemini", 400, google("OTHER"), ModelError, "did not take"),
    "there is no such model": ("openai", 400, openai("model_not_found"), ModelRefused, "thinking_model"),
    "OpenAI's quota is used up": (
        "openai",
        429,
        openai("insufficient_quota", "insufficient_quota"),
        CreditSpent,
        "OPENAI_API_KEY",
    ),
    "OpenAI's credit is used up": (
        "openai",
        429,
        openai("credit_balance_exhausted", "insufficient_quota"),
        CreditSpent,
        "credit",
    ),
    "OpenAI limits its callers": ("openai", 429, openai("rate_limit_exceeded", "tokens"), ModelBusy, "overloaded"),
    "Qwen's tokens of this minute are used up": (
        "qwen",
        429,
        openai("insufficient_quota", "insufficient_quota"),
        ModelBusy,
        "overloaded",
    ),
    "Qwen's account is in arrears": ("qwen", 400, openai("Arrearage", "Arrearage"), CreditSpent, "DASHSCOPE_API_KEY"),
    "Anthropic's credit is used up": (
        "anthropic",
        400,
        claude("invalid_request_error", NO_CREDIT),
        CreditSpent,
        "ANTHROPIC_API_KEY",
    ),
    "Anthropic's request is wrong": ("anthropic", 400, claude("invalid_request_error"), ModelError, "did not take"),
    "the body of an error is no JSON": ("openai", 404, "gone", ModelRefused, "thinking_model"),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=list(REFUSALS))
async def test_a_refusal_is_told_by_its_own_code_and_not_tried_again(case: tuple[Any, ...]) -> None:
    provider, status, body, kind, says = case
    with Replay(status, {"content-type": "application/json"}, dumped(body)) as server:
        failure = await server.ask(provider, FORMED)
    assert isinstance(failure, CallFailed)
    assert type(failure) is kind
    assert says in str(failure)
    assert "No." not in str(failure)
    if issubclass(kind, ModelRefused):
        assert failure.exit_code == 64
        assert not failure.category.is_retryable
    # Only a request that was not taken is asked for in another form.
    assert server.calls == (3 if kind is ModelError else 1)


def in_mid_stream(error: object) -> bytes:
    return events(chunk({"content": "Tea 茶 🍵"}), end=b"") + b"event: error\n" + events({"error": error}, end=b"")


# Provider, what came in mid-stream, what it is to a user.
BREAKS: dict[str, tuple[str, bytes, type[CallFailed]]] = {
    "status_code beside a name": (
        "openai-compatible",
        in_mid_stream({"type": "invalid_request_error", "code": "tool_use_failed", "status_code": 400}),
        ModelError,
    ),
    "a name alone": ("openai-compatible", in_mid_stream({"type": "authentication_error", "code": None}), ModelRefused),
    "a wrong key": ("openai", in_mid_stream({"code": "invalid_api_key"}), ModelRefused),
    "a number as code": ("openrouter", in_mid_stream({"code": 429}), ModelBusy),
    "a number in quotes": ("openai-compatible", in_mid_stream({"code": "400"}), ModelError),
    "no quota": ("openai", in_mid_stream({"type": "insufficient_quota"}), CreditSpent),
    "a server's fault": ("openai", in_mid_stream({"type": "server_error", "code": None}), ModelBusy),
    "words alone": ("openai-compatible", in_mid_stream("boom"), ModelBusy),
    "an error inside of the choice": (
        "openrouter",
        events({"choices": [{"error": {"code": 402}, "finish_reason": "error"}]}),
        CreditSpent,
    ),
    "Anthropic's bad request": (
        "anthropic",
        events(*ANTHROPIC[:4], claude("invalid_request_error"), end=b""),
        ModelError,
    ),
    "Anthropic's wrong key": (
        "anthropic",
        events(*ANTHROPIC[:4], claude("authentication_error"), end=b""),
        ModelRefused,
    ),
    "Anthropic's overload": ("anthropic", events(*ANTHROPIC[:4], claude("overloaded_error"), end=b""), ModelBusy),
    "Gemini's limit": ("gemini", events({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}, end=b""), ModelBusy),
    "Gemini's wrong key": ("gemini", events(google("API_KEY_INVALID"), end=b""), ModelRefused),
}


@pytest.mark.parametrize("case", BREAKS.values(), ids=list(BREAKS))
async def test_an_error_in_mid_stream_is_told_by_its_own_code(case: tuple[str, bytes, type[CallFailed]]) -> None:
    provider, body, kind = case
    with Replay(200, {"content-type": "text/event-stream"}, body) as server:
        failure = await server.ask(provider)
    assert type(failure) is kind
    assert (failure.spend.tokens > 0) == ("茶".encode() in body)


@pytest.mark.parametrize("status", [200, 400])
async def test_usage_beside_an_error_is_paid_for(status: int) -> None:
    body = dumped({"error": {"code": 400, "message": "No."}, "usage": used(1_000, 200)})
    with Replay(status, {}, body) as server:
        failure = await server.ask("openrouter")
    assert type(failure) is ModelError
    assert failure.spend.tokens == 1_200
    assert failure.spend.usd == pytest.approx((1_000 * 2 + 200 * 10) / 1e6)


async def test_a_packed_answer_that_nobody_asked_for_is_refused_unread() -> None:
    with Replay(200, {"content-encoding": "gzip"}, b"\x1f\x8b" + bytes(100)) as server:
        failure = await server.ask("openai")
    assert type(failure) is ModelError
