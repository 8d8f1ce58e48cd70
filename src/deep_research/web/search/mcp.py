"""Tools of MCP servers as sources, through the official SDK, after modelcontextprotocol.io (server features, tools).

Every search has a session of its own, so that nothing of one run is left for another. Offers a server nothing but
the query: no model, no files, no answers to its questions.
"""

import asyncio
import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import httpx2

from deep_research.errors import CallFailed, NetworkError, SourceBusy, SourceError, SourceRefused
from deep_research.value import Json, JsonObject, json_of
from deep_research.web.net.headers import retry_after_s, user_agent
from deep_research.web.search.cleaning import web_address
from deep_research.web.search.engine import Endpoint, OnePageSearch, PageQuery, SearchResult
from deep_research.web.search.mcp_servers import McpServer
from deep_research.web.search.throttle import Throttle

# The names under which tools give address, title, text and date of a result.
_ADDRESS = ("url", "link", "href", "uri", "address", "page_url")
_TITLE = ("title", "name", "headline")
_TEXT = ("snippet", "description", "summary", "abstract", "text", "content", "highlights")
_DATE = ("published", "published_date", "publishedDate", "published_at", "publishedAt", "date", "page_age")
_MAX_DEPTH = 8

_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)")
_BARE = re.compile(r"https?://[^\s<>\"'`\[\]{}|（），。；、》」]+")
_MARKS = re.compile(r"^\s*(?:#+|[-*•]|\d{1,3}[.)、])\s+")
_LABEL = re.compile(
    r"^\W*(?:title|name|url|link|address|snippet|description|summary|abstract|text|content|标题|標題|链接|連結|摘要|内容|內容)"
    r"\W*[:：]\W*(?=\S|$)",
    re.IGNORECASE,
)
if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp.types import CallToolResult


def results_in_reply(data: Json, texts: Sequence[str]) -> list[SearchResult] | None:
    """Return the results of an answer, its data before its texts; None where it has words but no address.

    Words without an address may be an apology or an error; only an empty list says that nothing was found.
    """
    parsed = [_parsed(text) for text in texts]
    found = list(_objects(data)) or list(_objects(parsed))
    found = found or [link for text in texts for piece in _pieces(text) if (link := _linked(piece))]
    has_words = any(isinstance(value, str) and value.strip() for value in _nested([data, *texts]))
    return None if not found and has_words and [] not in _nested([data, *parsed]) else found


def _parsed(text: str) -> Json:
    try:
        return json_of(text)
    except ValueError:
        return None


def _objects(data: Json, depth: int = 0) -> Iterator[SearchResult]:
    """Yield every object that holds an address, in order."""
    if isinstance(data, dict) and web_address(address := _first(data, _ADDRESS)):
        yield SearchResult(address, *(_first(data, names) for names in (_TITLE, _TEXT, _DATE)))
    elif depth < _MAX_DEPTH:
        for item in _items(data):
            yield from _objects(item, depth + 1)


def _items(data: Json) -> Iterable[Json]:
    return data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()


def _nested(data: Json) -> Iterator[Json]:
    """Yield data and everything in it."""
    yield data
    for item in _items(data):
        yield from _nested(item)


def _first(data: JsonObject, names: tuple[str, ...]) -> Json:
    return next((value for name in names if isinstance(value := data.get(name), str) and value), "")


def _pieces(text: str) -> Iterator[list[str]]:
    """Yield the lines that belong to one link: they end at an empty line, or where the next link begins."""
    piece: list[str] = []
    for line in [*text.splitlines(), ""]:
        if piece and (not line.strip() or (_BARE.search(line) and any(_BARE.search(known) for known in piece))):
            yield piece
            piece = []
        if line.strip():
            piece.append(line)


def _linked(lines: list[str]) -> SearchResult | None:
    whole = "\n".join(lines)
    link, bare = _LINK.search(whole), _BARE.search(whole)
    if bare is None:
        return None
    address = link.group(2) if link else _without_stop(bare.group())
    texts = [text for line in lines if (text := _plain(line))]
    title = link.group(1) if link else (texts.pop(0) if texts else "")
    return SearchResult(address, title, " ".join(texts))


def _without_stop(address: str) -> str:
    """Return an address without what ends the sentence or the brackets that it stands in."""
    address = address.rstrip(".,;:!?*")
    is_open = address.endswith(")") and address.count(")") > address.count("(")
    return _without_stop(address[:-1]) if is_open else address


def _plain(line: str) -> str:
    """Return a line without its links, marks and labels."""
    without = _BARE.sub("", _LINK.sub("", line))
    return _LABEL.sub("", _MARKS.sub("", without)).strip(" \t:：-–—|()<>*`")


class McpSearch(OnePageSearch):
    """One tool of one server."""

    page_size = 50

    def __init__(self, server: McpServer, timeout_s: float, contact: str, throttle: Throttle | None) -> None:
        title = f"MCP server {server.name}"
        super().__init__(
            Endpoint(
                server.engine_name, title, server.address, timeout_s, server.key, contact=contact, throttle=throttle
            )
        )
        self._server = server
        # The SDK logs what servers say, page and all; our errors say what an operator needs.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL)

    async def results(self, query: PageQuery) -> list[SearchResult]:
        limit = {self._server.limit_argument: query.size} if self._server.limit_argument else {}
        result = await self._call({**self._server.arguments, self._server.argument: query.words, **limit})
        if result.is_error:
            raise SourceError(f"{self.endpoint.title} could not run its tool {self._server.tool}.")
        texts = [text for block in result.content if isinstance(text := getattr(block, "text", None), str)]
        linked = [block.model_dump(mode="json") for block in result.content if block.type == "resource_link"]
        inside = [block.resource.model_dump(mode="json") for block in result.content if block.type == "resource"]
        structured: Json = result.structured_content
        found = results_in_reply([structured, *linked, *inside], texts)
        if found is None:
            raise SourceError(f"{self.endpoint.title} answered without the address of any source.")
        return found

    async def _call(self, arguments: JsonObject) -> "CallToolResult":
        from mcp import Client, MCPError

        refusals: list[httpx2.Response] = []
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(Client(await self._transport(stack, refusals)))
                return await client.call_tool(self._server.tool, arguments)
        except (ExceptionGroup, MCPError, OSError, httpx2.HTTPError) as exc:
            # Called off, or out of time: the SDK's own tasks may fail then, and hide it.
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError from exc
            raise self._failure(exc, refusals) from exc

    async def _transport(self, stack: AsyncExitStack, refusals: list[httpx2.Response]) -> "Transport":
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        if self._server.command:
            program, *rest = self._server.command
            started = StdioServerParameters(command=program, args=rest, env=self._server.environment)
            # What a server says beside its answers would garble the terminal.
            return stdio_client(started, errlog=stack.enter_context(_nowhere()))

        async def note(response: httpx2.Response) -> None:
            if response.status_code in (401, 403, 429) or response.status_code >= 500:
                refusals.append(response)

        headers = {"User-Agent": user_agent(self.endpoint.contact), **self.headers(self._server.key)}
        # The limit of the whole search comes first: what the SDK makes of its own says less.
        client = httpx2.AsyncClient(
            headers=headers, timeout=2 * self.endpoint.timeout_s, event_hooks={"response": [note]}
        )
        return streamable_http_client(self._server.address, http_client=await stack.enter_async_context(client))

    def _failure(self, error: Exception, refusals: list[httpx2.Response]) -> CallFailed:
        title = self.endpoint.title
        if refusals:
            status = refusals[-1].status_code
            if status in (401, 403):
                return SourceRefused(f"{title} refused the call (status {status}): check its key.")
            wait_s = retry_after_s(refusals[-1].headers)
            return SourceBusy(f"{title} answered with status {status}.", retry_after_s=wait_s)
        causes = ExceptionGroup("", [error]).subgroup((OSError, httpx2.HTTPError))
        if causes is not None:
            return NetworkError(f"{title} could not be reached.")
        return SourceError(f"{title} did not answer as an MCP server does.")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
