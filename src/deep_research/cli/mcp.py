"""The command that other agents start: a server of the Model Context Protocol on standard input and output."""

import asyncio
from importlib.util import find_spec

from deep_research.errors import UsageError
from deep_research.settings import load_settings


def mcp() -> None:
    """Serve until the client closes the input; standard output carries nothing but the protocol."""
    if not find_spec("mcp"):
        raise UsageError("This needs an extra: pip install 'deep-research[mcp]'")
    from deep_research.mcp_server.stdio import serve_stdio

    asyncio.run(serve_stdio(load_settings()))
