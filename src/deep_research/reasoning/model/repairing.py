"""Asking a model until its answer can be used: once, and once more with what was wrong."""

from collections.abc import Callable
from typing import Final, TypeVar

from deep_research.errors import UnusableAnswer
from deep_research.llm.port import ChatModel, ModelReply, ModelRequest, Turn
from deep_research.reasoning.model.prompting import DRAFT_TAG, Prompts, fenced

Result = TypeVar("Result")
# Returns what an answer holds (None: nothing), and what is wrong with it ("": nothing).
Read = Callable[[ModelReply], tuple[Result | None, str]]
# Of a useless answer, so much is shown to the one who gave it.
_SHOWN_CHARS: Final = 2_000
# An answer that was cut off gets this much more room.
_MORE: Final = 2


async def ask(model: ChatModel, request: ModelRequest, read: Read[Result], *, prompts: Prompts) -> Result:
    """Return what the model answers; one repair shows it what was wrong; raise `UnusableAnswer` if that fails too."""
    reply = await model.complete(request)
    first, problem = _read(reply, read)
    if not problem and first is not None:
        return first
    turns = (
        # What it wrote may repeat what it has read, so that it stands between marks like that.
        Turn(speaker="model", text=fenced(DRAFT_TAG, reply.text[:_SHOWN_CHARS] or "(no answer)")),
        Turn(speaker="user", text=prompts.fill("repair", problem=problem)),
    )
    room = request.max_tokens * _MORE if reply.stop == "length" else request.max_tokens
    second, problem = _read(await model.complete(request.model_copy(update={"turns": turns, "max_tokens": room})), read)
    best = second if second is not None else first
    if best is None:
        raise UnusableAnswer(f"{request.act}: the model's answer cannot be used, {problem}")
    return best


def _read(reply: ModelReply, read: Read[Result]) -> tuple[Result | None, str]:
    value, problem = read(reply)
    if reply.stop == "refusal" and (value is None or problem):
        return value, "the model refused to answer"
    if reply.stop == "length" and value is None:
        return None, f"it was cut off at the limit before it was complete ({problem}); be shorter"
    if not reply.text.strip():
        return None, "it was empty"
    return value, problem
