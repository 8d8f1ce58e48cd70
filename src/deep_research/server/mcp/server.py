"""The server of the protocol: tools, and reports as resources, for whoever a transport says is calling."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from deep_research.errors import DeepResearchError, NotFound, UnknownRun
from deep_research.server.mcp.library import FetchedItem, Library
from deep_research.server.mcp.tools import TOOLS, Caller, ToolSpec
from deep_research.service.accounts.identity import LOCAL, Identity
from deep_research.service.public_text import public_message
from deep_research.service.report_text import SCHEME, Links
from deep_research.service.service import ResearchService
from deep_research.settings import Settings

_log = logging.getLogger(__name__)
_INSTRUCTIONS = """\
Deep Research answers questions that need many sources. It plans, searches the web and the user's documents, reads, and
writes a report in Markdown whose sentences carry numbered citations, each checked against a stored passage.

Call research with a whole question. It takes from seconds to many minutes: if the answer says that it is under way,
call research_status with the run's id until it is done. If it asks something back, put the question to the user and
pass the answer on with answer. Quote reports with their citation numbers and sources.

search and fetch look through what is there already: finished reports, the sources read for them, and the user's
documents. Try them before starting a new research on the same subject.
"""
_URI = re.compile(
    rf"{SCHEME}://(?:runs/(?P<run>[0-9a-f]+)/(?:report\.md|sources/(?P<document>[0-9a-f]+))"
    r"|documents/(?P<collection>\w+)/(?P<address>.+))"
)
_TEMPLATES = [
    ResourceTemplate(name=name, uri_template=f"{SCHEME}://{path}", description=description, mime_type=mime_type)
    for name, path, description, mime_type in (
        ("report", "runs/{run}/report.md", "The report of a finished research.", "text/markdown"),
        ("source", "runs/{run}/sources/{document}", "The text of a source of a report.", "text/plain"),
        ("document", "documents/{collection}/{name}", "The text of a user's document.", "text/plain"),
    )
]
# The newest reports are listed; older ones are found by search.
_LISTED = 50
Context = ServerRequestContext[Any, Any]


@dataclass
class ResearchServer:
    """Serves one service; `who_calls` and `links_of` say for each request who it is from and how they reach us."""

    service: ResearchService
    who_calls: Callable[[Context], Identity]
    links_of: Callable[[Context], Links] = lambda _: Links()

    def protocol(self) -> Server[Any]:
        """Return what a transport serves."""
        return Server(
            "deep-research",
            title="Deep Research",
            version=version("deep-research"),
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    async def _list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_listed(name, spec) for name, spec in TOOLS.items()])

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        spec = TOOLS.get(params.name)
        if spec is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}; there are {', '.join(TOOLS)}.")
        try:
            arguments = spec.arguments.model_validate(params.arguments or {})
            result = await spec.call(arguments, self._caller(context))
        except ValidationError as exc:
            return _failed("; ".join(_misfit(error["loc"], error["msg"]) for error in exc.errors()))
        except UnknownRun as exc:
            return _failed(f"{public_message(str(exc))} Take run ids from research, or find reports with search.")
        except DeepResearchError as exc:
            return _failed(public_message(str(exc)))
        except Exception:  # Told without its words, which may quote paths and pages.
            _log.exception("the tool %s failed", params.name)
            return _failed("Something went wrong in the server; its log says what. Another try may help.")
        return CallToolResult(
            content=[TextContent(type="text", text=result.text)],
            structured_content=result.data.model_dump(mode="json"),
        )

    def _caller(self, context: Context) -> Caller:
        sent = 0

        async def tell(text: str) -> None:
            nonlocal sent
            sent += 1
            await context.session.report_progress(sent, None, text)

        return Caller(self.service, self.who_calls(context), self.links_of(context), tell)

    async def _list_resources(self, context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        rows = await self._library(context).reports(_LISTED)
        return ListResourcesResult(
            resources=[
                Resource(
                    uri=Links().report(row.id),
                    name=row.id,
                    title=row.title,
                    description=row.request.question[:500],
                    mime_type="text/markdown",
                )
                for row in rows
            ]
        )

    async def _list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=_TEMPLATES)

    async def _read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        found = _URI.fullmatch(uri)
        try:
            if found is None:
                raise NotFound(f"There is no resource {uri!r}.")
            item, kind = await self._read(self._library(context), found)
        except DeepResearchError as exc:
            raise MCPError(INVALID_PARAMS, public_message(str(exc))) from exc
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=item.text, mime_type=kind)])

    async def _read(self, library: Library, found: re.Match[str]) -> tuple[FetchedItem, str]:
        if found["collection"]:
            return await library.document(found["collection"], unquote(found["address"]), found[0]), "text/plain"
        if found["document"]:
            return await library.source(found["run"], found["document"], found[0]), "text/plain"
        return await library.report(found["run"], found[0]), "text/markdown"

    def _library(self, context: Context) -> Library:
        return Library(self.service, self.who_calls(context), self.links_of(context))


async def serve_stdio(settings: Settings) -> None:
    """Serve a client that started this as a program of its own, until it closes the input.

    Runs that are under way then go on with the next start.
    """
    async with ResearchService(settings, at_once=settings.server_runs_at_once) as service:
        protocol = ResearchServer(service, who_calls=lambda _: LOCAL).protocol()
        async with stdio_server() as (incoming, outgoing):
            await protocol.run(incoming, outgoing, protocol.create_initialization_options())


def _listed(name: str, spec: ToolSpec) -> Tool:
    return Tool(
        name=name,
        title=spec.title,
        description=spec.description,
        input_schema=spec.arguments.model_json_schema(),
        output_schema=spec.output.model_json_schema(),
        annotations=ToolAnnotations(
            title=spec.title,
            read_only_hint=spec.is_read_only,
            destructive_hint=name == "cancel",
            open_world_hint=name in ("research", "answer"),
        ),
    )


def _misfit(location: tuple[int | str, ...], problem: str) -> str:
    where = ".".join(map(str, location))
    return f"{where}: {problem}" if where else problem


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
