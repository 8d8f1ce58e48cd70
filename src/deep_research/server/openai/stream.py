"""What both interfaces need of an event stream."""

from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse

# A comment, which clients pass over: it keeps proxies from taking a silent connection for a dead one.
PING = ": ping\n\n"


def streamed(frames: AsyncIterator[str]) -> StreamingResponse:
    """Return an event stream that nothing on its way holds back."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)
