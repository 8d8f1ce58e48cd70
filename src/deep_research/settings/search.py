"""Settings about the web: which sources are asked, where, how long, and what is kept of their answers."""

from typing import Literal

from pydantic import BaseModel, Field

from deep_research.request import SearchKind
from deep_research.settings.types import Amount, Contact, Duration, Hosts, Key, Names
from deep_research.web.net.headers import PROJECT_ADDRESS
from deep_research.web.search.mcp_servers import McpServer
from deep_research.web.search.registry import ENGINES

SearchMode = Literal["engines", "model"]


def _key(engine: str, note: str = "") -> Key:
    """Return the field of an engine's key, which users keep under its service's usual variable."""
    spec = ENGINES[engine]
    more = ", which lets you ask more often" if spec.is_key_optional else note
    field: Key = Field(default=None, validation_alias=spec.key_variable, description=f"Key of {spec.title}{more}.")
    return field


def _address(engine: str, note: str = "") -> str:
    spec = ENGINES[engine]
    field: str = Field(default=spec.default_address, description=f"Address of {spec.title}{note}.")
    return field


def _model(engine: str) -> str:
    spec = ENGINES[engine]
    field: str = Field(default=spec.model, min_length=1, description=f"The model that searches for {spec.title}.")
    return field


class SearchSettings(BaseModel, use_attribute_docstrings=True):
    """The part of the settings that `web/` is built from."""

    strategy: SearchKind = "general"
    """What kind of source is looked for: `general`, `academic`, `news`, `code`, `patents`, or `local` for your own
    documents alone."""
    search_mode: SearchMode = "engines"
    """Who searches the web: `engines`, or `model` for a model that searches by itself."""
    openai_search_model: str = _model("openai-search")
    gemini_search_model: str = _model("gemini-search")
    openrouter_search_model: str = _model("openrouter-search")
    engines: Names = ()
    """The sources to ask, by the names that `sources list` shows, or `none`; not set, all that have what they need."""
    search_chain: Names = tuple(spec.name for spec in ENGINES.values() if spec.in_chain)
    """The general web engines in the order in which they are tried."""
    max_results: int = Field(default=10, ge=1, le=50)
    """Most results of one engine for one query."""
    search_timeout_s: Duration = 20.0
    """Seconds after which a search is given up."""
    fetch_timeout_s: Duration = 60.0
    """Seconds after which a page is given up."""
    contact: Contact = PROJECT_ADDRESS
    """Mail or web address of whoever runs this, told to all services and sites that are asked; with a mail address
    Crossref and others serve quicker."""
    respect_robots: bool = True
    """Keep to what a site's robots.txt asks of programs."""
    allowed_hosts: Hosts = ()
    """Internal hosts that pages may be fetched from, as `host` or `host:port`; all others are refused. An entry that no
    address can match (a path, a network, `*`) is an error."""
    render_pages: bool = False
    """Run the scripts of pages that are empty without them, with an installed Chromium."""
    model_knowledge: bool = True
    """Where no source at all was found, add what the model knows by itself, marked and never cited."""
    mcp_servers: tuple[McpServer, ...] = ()
    """MCP servers as sources; in `config.toml` one table `[[mcp_servers]]` each."""

    cache: bool = True
    """Keep answers of sources and plans for a while, for all runs."""
    cache_mb: Amount = 500.0
    """Most megabytes that are kept; what was not used goes first."""
    search_cache_s: Amount = 3600.0
    """Seconds for which search results and pages are kept."""
    plan_cache_s: Amount = 1800.0
    """Seconds for which a plan is kept."""

    tavily_api_key: Key = _key("tavily")
    serper_api_key: Key = _key("serper")
    exa_api_key: Key = _key("exa")
    brave_api_key: Key = _key("brave")
    bocha_api_key: Key = _key("bocha")
    zyte_api_key: Key = _key("zyte")
    openalex_api_key: Key = _key("openalex")
    ncbi_api_key: Key = _key("pubmed")
    semantic_scholar_api_key: Key = _key("semantic-scholar")
    github_token: Key = _key("github")
    hf_token: Key = _key("hugging-face-papers")
    epo_ops_key: Key = _key("epo", ", as `client_id:secret`")

    tavily_address: str = _address("tavily")
    serper_address: str = _address("serper")
    duckduckgo_address: str = _address("duckduckgo")
    exa_address: str = _address("exa")
    brave_address: str = _address("brave")
    bocha_address: str = _address("bocha")
    searxng_address: str | None = None
    """Address of your SearXNG; not set, it is not asked."""
    zyte_address: str = _address("zyte")
    wikipedia_address: str = _address("wikipedia", ", with `{language}` where that stands")
    arxiv_address: str = _address("arxiv")
    openalex_address: str = _address("openalex")
    crossref_address: str = _address("crossref")
    pubmed_address: str = _address("pubmed")
    semantic_scholar_address: str = _address("semantic-scholar")
    hugging_face_address: str = _address("hugging-face-papers")
    github_address: str = _address("github")
    hacker_news_address: str = _address("hacker-news")
    gdelt_address: str = _address("gdelt")
    epo_address: str = _address("epo")
