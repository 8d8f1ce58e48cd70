"""What both interfaces need of a request and of an event stream."""

from collections.abc import AsyncIterator
from typing import cast

from fastapi import Request
from fastapi.responses import StreamingResponse

from deep_research.server.dependencies import service_of
from deep_research.server.openai.conversation import Conversations

# A comment, which clients pass over: it keeps proxies from taking a silent connection for a dead one.
PING = ": ping\n\n"


def streamed(frames: AsyncIterator[str]) -> StreamingResponse:
    """Return an event stream that nothing on its way holds back."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)


def conversations_of(request: Request) -> Conversations:
    """Return the conversations of the application, which remember what is under way."""
    state, service = request.app.state, service_of(request)
    kept = getattr(state, "conversations", None)
    if kept is None or kept.service is not service:
        kept = state.conversations = Conversations(service)
    return cast("Conversations", kept)
