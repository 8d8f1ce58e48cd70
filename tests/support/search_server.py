"""A server on this machine that plays a search service: keeps what it was asked, answers and fails as told."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from deep_research.value import json_of
from tests.support.loopback import LoopbackServer, Request, head_of


@dataclass(frozen=True)
class Asked:
    """One request: the names of headers are in lower case, `params` come from the address, `body` is as sent."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""

    @property
    def json(self) -> dict[str, Any]:
        """Return the body as the JSON object it should be."""
        data = json_of(self.body)
        assert isinstance(data, dict)
        return data

    @property
    def form(self) -> dict[str, str]:
        """Return the fields of a form."""
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass(frozen=True)
class Answer:
    """What the server says: text as it stands, anything else as JSON; `cut_after` drops the connection in mid-body."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    hangs: bool = False
    cut_after: int | None = None

    @property
    def content(self) -> bytes:
        """Return the bytes of the body."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()

    @property
    def media_type(self) -> str:
        """Return what kind of body it is, as far as can be seen."""
        return "text/html; charset=utf-8" if isinstance(self.body, str) else "application/json"


Script = Callable[[Asked], Answer]


class SearchServer(LoopbackServer):
    """Answers each request with what the script says to it, and keeps every request in order."""

    def __init__(self, script: Script | Answer) -> None:
        super().__init__()
        self.script: Script = (lambda _: script) if isinstance(script, Answer) else script
        self.requests: list[Asked] = []

    @property
    def address(self) -> str:
        """Return the address under which the server answers."""
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answer as the script says."""
        asked = asked_of(request)
        self.requests.append(asked)
        await write_answer(self.script(asked), writer)


def asked_of(request: Request) -> Asked:
    """Return a request with its address taken apart."""
    parts = urlsplit(request.target)
    params = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Asked(request.method, parts.path, params, request.headers, request.body)


async def write_answer(answer: Answer, writer: asyncio.StreamWriter) -> None:
    """Send an answer, or fail as it says."""
    await asyncio.sleep(answer.delay_s)
    if answer.hangs:
        await asyncio.Event().wait()
    content = answer.content
    headers = {"Content-Type": answer.media_type, "Content-Length": str(len(content)), **answer.headers}
    writer.write(head_of(answer.status, headers) + content[: answer.cut_after])
    if answer.cut_after is not None:
        writer.close()
