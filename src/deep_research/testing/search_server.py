"""A server on this machine that plays a search service: keeps what it was asked, answers and fails as told.

It runs in threads of its own, so that tests, child processes and benchmarks alike can talk to it.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from deep_research.value import json_of


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


class SearchServer:
    """Answers each request with what the script says to it, and keeps every request in order."""

    def __init__(self, script: Script | Answer) -> None:
        self.script: Script = (lambda _: script) if isinstance(script, Answer) else script
        self.requests: list[Asked] = []
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        # Short, for it is what every test waits for at its end.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.005,), name="search-server")

    @property
    def address(self) -> str:
        """Return the address under which the server answers."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = _asked(self)
                owner.requests.append(asked)
                answer = owner.script(asked)
                time.sleep(answer.delay_s)
                if answer.hangs:
                    owner.closing.wait()
                else:
                    _reply(self, answer)

            do_POST = do_GET  # noqa: N815 - the library's name

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                """Say nothing: the requests are kept."""

        return Handler


def _asked(handler: BaseHTTPRequestHandler) -> Asked:
    parts = urlsplit(handler.path)
    headers = {name.lower(): value for name, value in handler.headers.items()}
    body = handler.rfile.read(int(headers.get("content-length", 0)))
    return Asked(handler.command, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, body)


def _reply(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    content = answer.content
    try:
        handler.send_response(answer.status)
        for name, value in {"Content-Type": answer.media_type, **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: answer.cut_after])
    except ConnectionError:
        # The caller has given up; there is nobody left to tell.
        handler.close_connection = True
