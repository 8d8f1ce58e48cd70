"""The Model Context Protocol over HTTP, at /mcp: the same tools as on standard input, for the account that asks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from fastapi import APIRouter, FastAPI, Request, Response
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from deep_research.server.dependencies import identity_of, links_of
from deep_research.server.mcp.server import Context, ResearchServer
from deep_research.service.service import ResearchService

router = APIRouter(tags=["mcp"])


@asynccontextmanager
async def serving_mcp(app: FastAPI, service: ResearchService) -> AsyncIterator[None]:
    """Serve the protocol as long as the application runs.

    No request depends on an earlier one, so that a client goes on after the server was started again. Host and Origin
    have been checked by then.
    """
    server = ResearchServer(
        service,
        who_calls=lambda context: identity_of(_request(context)),
        links_of=lambda context: links_of(_request(context)),
    )
    app.state.mcp = StreamableHTTPSessionManager(server.protocol(), stateless=True)
    async with app.state.mcp.run():
        yield


# Its messages are described by the protocol, not by OpenAPI.
@router.api_route("/mcp", methods=["GET", "POST", "DELETE"], response_class=Response, include_in_schema=False)
async def speak_mcp(request: Request) -> Response:
    """Answer a message of a client of the Model Context Protocol (streamable HTTP)."""
    return _ProtocolResponse(request.app.state.mcp)


class _ProtocolResponse(Response):
    """An answer that the SDK writes itself."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


def _request(context: Context) -> Request:
    return cast("Request", context.request)
