"""The DevTools protocol over a pipe, as far as rendering a page needs it: calls with answers, and events."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from deep_research.errors import SourceError
from deep_research.value import Json, JsonObject

# One message may hold a whole page.
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
_END = b"\0"


@dataclass
class Devtools:
    """A conversation with one browser; `on_event` gets everything that is no answer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    on_event: Callable[[str, JsonObject], None]
    _waiting: dict[int, asyncio.Future[JsonObject]] = field(default_factory=dict)
    _last_id: int = 0

    async def call(self, method: str, session: str = "", **params: Json) -> JsonObject:
        """Return the result of a call; raise `SourceError` where the browser refuses it or is gone."""
        self._last_id += 1
        message: JsonObject = {"id": self._last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        pending_reply: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = pending_reply
        try:
            self.writer.write(json.dumps(message).encode() + _END)
            await self.writer.drain()
            return await pending_reply
        # What uvloop raises where the pipe is closed is a RuntimeError.
        except (ConnectionError, RuntimeError) as exc:
            raise SourceError("The browser ended in the middle of a page.") from exc

    async def listen(self) -> None:
        """Hand out answers and events until the browser goes."""
        try:
            while True:
                self._handle(json.loads((await self.reader.readuntil(_END))[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            for pending_reply in self._waiting.values():
                if not pending_reply.done():
                    pending_reply.set_exception(SourceError("The browser ended in the middle of a page."))

    def _handle(self, message: JsonObject) -> None:
        number, params, result = message.get("id"), message.get("params"), message.get("result")
        if isinstance(number, int):
            pending_reply = self._waiting.pop(number, None)
            if pending_reply is None or pending_reply.done():
                return
            if isinstance(result, dict):
                pending_reply.set_result(result)
            else:
                pending_reply.set_exception(SourceError("The browser could not do what was asked of it."))
        else:
            self.on_event(str(message.get("method")), params if isinstance(params, dict) else {})
