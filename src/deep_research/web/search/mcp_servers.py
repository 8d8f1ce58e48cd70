"""The MCP servers that a user has set up as sources, and the way from one to an engine. Loads no SDK."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import Field

from deep_research.errors import ConfigurationError
from deep_research.report.sources.hit import Priority
from deep_research.request import SearchKind
from deep_research.value import JsonObject, Value
from deep_research.web.net.headers import PROJECT_ADDRESS

if TYPE_CHECKING:
    from deep_research.web.search.engine import PagedSearch
    from deep_research.web.search.throttle import Throttle


class McpServer(Value):
    """A server, started by a command or called at an address, and the tool of it that searches.

    The tool gets the query as `argument`, the number of results as `limit_argument` if it has one, and `arguments`.
    """

    name: str
    tool: str
    argument: str = "query"
    limit_argument: str = ""
    arguments: JsonObject = Field(default_factory=dict)
    command: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict, repr=False)
    address: str = ""
    key: str = Field(default="", repr=False)
    kinds: tuple[SearchKind, ...] = ("general",)
    priority: Priority = "medium"

    @property
    def engine_name(self) -> str:
        """Return the name under which the server is searched, which no engine of the registry has."""
        return f"mcp:{self.name}"


def connect_server(
    server: McpServer, *, timeout_s: float = 30.0, contact: str = PROJECT_ADDRESS, throttle: "Throttle | None" = None
) -> "PagedSearch":
    """Return a server as an engine; raise `ConfigurationError` where something for it is missing."""
    if bool(server.command) == bool(server.address):
        raise ConfigurationError(f"The MCP server {server.name} needs either a command or an address.")
    if server.address and not server.address.startswith(("http://", "https://")):
        raise ConfigurationError(f"The MCP server {server.name} needs an address that begins with http:// or https://.")
    if find_spec("mcp") is None:
        raise ConfigurationError('MCP servers need the extra mcp; install it with: pip install "deep-research[mcp]"')
    engine: PagedSearch = import_module(f"{__package__}.mcp").McpSearch(server, timeout_s, contact, throttle)
    return engine
