"""A small MCP server written with the official SDK; run as a program it speaks over stdin and stdout."""

import asyncio
import os
import sys

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, EmbeddedResource, ResourceLink, TextResourceContents

server = MCPServer("demo")


@server.tool()
def find(q: str, count: int = 1, corner: str = "") -> CallToolResult:
    results = [
        {
            "url": f"https://example.org/{place}",
            "title": f"{q} <b>{place}</b>",
            "snippet": f"In {corner}.",
            "published_date": "2024-05-21T08:00:00Z",
        }
        for place in range(count)
    ]
    odd = [{"url": "javascript:alert(1)", "title": "No"}, {"url": "https://example.org/0#again", "title": "Twice"}]
    return CallToolResult(content=[], structured_content={"took_ms": 3, "data": {"results": [*results, *odd]}})


@server.tool()
def link(query: str) -> CallToolResult:
    return CallToolResult(
        content=[
            ResourceLink(uri="https://example.org/l", name="l", title="Linked", description="Described."),
            EmbeddedResource(resource=TextResourceContents(uri="https://example.org/e", text="Whole text.")),
            EmbeddedResource(resource=TextResourceContents(uri="notes://7", text="Not on the web.")),
        ]
    )


@server.tool()
def say(query: str) -> str:
    """Say what the query says."""
    return query


@server.tool()
def environment(query: str) -> dict:
    names = query.split()
    return {
        "results": [{"url": f"https://example.org/{name}", "title": os.environ.get(name, "unset")} for name in names]
    }


@server.tool()
def fail(query: str) -> str:
    raise ValueError("very-secret")


@server.tool()
async def sleep(query: str) -> str:
    await asyncio.Event().wait()
    return ""


if __name__ == "__main__":
    print("noise on stderr", file=sys.stderr)
    server.run("stdio")
