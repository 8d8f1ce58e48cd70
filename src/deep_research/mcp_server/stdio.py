"""The server over standard input and output, for a client that starts it as a program of its own."""

from mcp.server.stdio import stdio_server

from deep_research.mcp_server.server import ResearchServer
from deep_research.service.identity import LOCAL
from deep_research.service.service import ResearchService
from deep_research.settings import Settings


async def serve_stdio(settings: Settings) -> None:
    """Serve until the client closes the input; runs that are under way then go on with the next start."""
    async with ResearchService(settings, at_once=settings.server_runs_at_once) as service:
        protocol = ResearchServer(service, who_calls=lambda _: LOCAL).protocol()
        async with stdio_server() as (incoming, outgoing):
            await protocol.run(incoming, outgoing, protocol.create_initialization_options())
