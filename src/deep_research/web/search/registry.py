"""The table of search engines: what each needs and what it is good for. Loads no engine.

A new engine is an entry here, a module beside this one, and a line for its key and its address in
`settings/search.py`, which take their names, variables and defaults from the entry.
"""

from dataclasses import dataclass, replace

from deep_research.report.sources.hit import Priority
from deep_research.request import SearchKind
from deep_research.web.search.rate_limiter import RateLimit


@dataclass(frozen=True)
class EngineSpec:
    """An engine: who it is, what it needs, and when it is asked.

    `adapter` is `module:class` in this package, `about` says in a few words what the engine holds, and `key_variable`
    is the environment variable in which users keep its key. The engines `in_chain` search the whole web and are tried
    one after another, in the order of the table, until one answers. An engine with a `model` is a model that searches
    by itself. All others are specialists, asked beside the chain; one that `needs_sites` only answers queries that
    name some. `limit` is how often the service lets itself be searched, where it says so, with `limit_with_key` and
    `limit_with_mail` where a key or a contact's mail address allows more. `shared_service` names the service that
    several engines have in common.
    """

    name: str
    title: str
    kinds: tuple[SearchKind, ...]
    adapter: str = ""
    default_address: str = ""
    about: str = ""
    key_variable: str = ""
    is_key_optional: bool = False
    in_chain: bool = False
    model: str = ""
    priority: Priority = "low"
    needs_sites: bool = False
    limit: RateLimit | None = None
    limit_with_key: RateLimit | None = None
    limit_with_mail: RateLimit | None = None
    shared_service: str = ""

    @property
    def is_model_search(self) -> bool:
        """Return whether a model searches by itself."""
        return bool(self.model)

    @property
    def is_specialist(self) -> bool:
        """Return whether the engine is asked beside the chain."""
        return not self.in_chain and not self.model

    @property
    def needs_key(self) -> bool:
        """Return whether the engine can only be asked with a key."""
        return bool(self.key_variable) and not self.is_key_optional

    @property
    def key_setting(self) -> str:
        """Return the name of the setting that holds the key, as in `tavily_api_key`; "" without a key."""
        return self.key_variable.lower()

    @property
    def address_setting(self) -> str:
        """Return the name of the setting that holds the address; models that search share that of their provider."""
        return f"{self._module.removesuffix('_search')}_address" if self.adapter else ""

    @property
    def model_setting(self) -> str:
        """Return the name of the setting that holds the model, as in `openai_search_model`; "" without a model."""
        return f"{self._module}_model" if self.model else ""

    def limit_at(self, address: str, key: str, mail: str = "") -> RateLimit | None:
        """Return how often it may be searched; what stands at another address than its own sets its own limits."""
        if address != self.default_address:
            return None
        more = (self.limit_with_key if key else None) or (self.limit_with_mail if mail else None)
        return more or self.limit

    @property
    def _module(self) -> str:
        return self.adapter.partition(":")[0]


# fmt: off
_HUGGING_FACE_PAPERS = EngineSpec(
    "hugging-face-papers", "Hugging Face papers", ("academic",), "hugging_face:HuggingFacePapers",
    "https://huggingface.co", "machine learning papers, searched by meaning", "HF_TOKEN", is_key_optional=True,
    # huggingface.co/docs/hub/rate-limits: more for its API than for its pages, such as the blog
    priority="high", limit=RateLimit(500, 300.0), limit_with_key=RateLimit(1_000, 300.0), shared_service="Hugging Face",
)
_GITHUB = EngineSpec(
    "github", "GitHub", ("code",), "github:GitHubSearch", "https://api.github.com", "source code repositories",
    "GITHUB_TOKEN", is_key_optional=True, priority="medium", shared_service="GitHub",
    limit=RateLimit(10, 60.0), limit_with_key=RateLimit(30, 60.0),  # docs.github.com/en/rest/search/search
)

_TABLE = (
    # The web, in the order in which the engines are tried.
    EngineSpec(
        "tavily", "Tavily", ("general", "news"), "tavily:TavilySearch", "https://api.tavily.com",
        "the general web, made for research agents", "TAVILY_API_KEY", in_chain=True,
        # docs.tavily.com/documentation/rate-limits: of a development key; nobody can see which kind a key is.
        limit=RateLimit(100, 60.0),
    ),
    EngineSpec(
        "serper", "Serper", ("general", "news"), "serper:SerperSearch", "https://google.serper.dev",
        "the general web as Google finds it", "SERPER_API_KEY", in_chain=True,
    ),
    EngineSpec(
        "duckduckgo", "DuckDuckGo", ("general",), "duckduckgo:DuckDuckGoSearch", "https://html.duckduckgo.com",
        "the general web, without a key", in_chain=True,
        limit=RateLimit(1, 1.0),  # Documented nowhere; who asks more often meets its challenge soon.
    ),
    EngineSpec(
        "exa", "Exa", ("general", "news", "academic"), "exa:ExaSearch", "https://api.exa.ai",
        "the general web, searched by meaning", "EXA_API_KEY", in_chain=True,
        limit=RateLimit(10, 1.0),  # exa.ai/docs/reference/rate-limits
    ),
    EngineSpec(
        "brave", "Brave Search", ("general", "news"), "brave:BraveSearch", "https://api.search.brave.com",
        "the general web from an index of its own", "BRAVE_API_KEY", in_chain=True,
    ),
    EngineSpec(
        "bocha", "Bocha", ("general",), "bocha:BochaSearch", "https://api.bochaai.com",
        "the general web, strong in Chinese", "BOCHA_API_KEY", in_chain=True,
    ),
    EngineSpec(
        "searxng", "SearXNG", ("general", "news", "academic", "code"), "searxng:SearxngSearch", "",
        "the general web through your own SearXNG", in_chain=True,
    ),
    # Specialists; where a key is optional, it only lets one ask more often.
    EngineSpec(
        "zyte", "Zyte", ("general", "news"), "zyte:ZyteSearch", "https://api.zyte.com",
        "articles listed on the sites that a query names", "ZYTE_API_KEY", priority="medium", needs_sites=True,
    ),
    EngineSpec(
        "wikipedia", "Wikipedia", ("general",), "wikipedia:WikipediaSearch", "https://{language}.wikipedia.org",
        "encyclopedia articles, in the language of the query", priority="medium",
    ),
    EngineSpec(
        "arxiv", "arXiv", ("academic",), "arxiv:ArxivSearch", "https://export.arxiv.org",
        "preprints: physics, mathematics, computer science, statistics", priority="high",
        limit=RateLimit(1, 3.0),  # info.arxiv.org/help/api/tou.html
    ),
    EngineSpec(
        "openalex", "OpenAlex", ("academic",), "openalex:OpenAlexSearch", "https://api.openalex.org",
        "scholarly works of all fields, with abstracts", "OPENALEX_API_KEY", is_key_optional=True, priority="high",
        # developers.openalex.org/api-reference/authentication, beside an allowance for the day
        limit=RateLimit(100, 1.0),
    ),
    EngineSpec(
        "crossref", "Crossref", ("academic",), "crossref:CrossrefSearch", "https://api.crossref.org",
        "journal articles and books of all fields, by DOI", priority="medium",
        # www.crossref.org/documentation/retrieve-metadata/rest-api/access-and-authentication, for lists
        limit=RateLimit(1, 1.0), limit_with_mail=RateLimit(3, 1.0),
    ),
    EngineSpec(
        "pubmed", "PubMed", ("academic",), "pubmed:PubMedSearch", "https://eutils.ncbi.nlm.nih.gov",
        "medicine and life sciences, with abstracts", "NCBI_API_KEY", is_key_optional=True, priority="high",
        # support.nlm.nih.gov, KA-05317: three calls in a second, ten with a key; a search takes two.
        limit=RateLimit(3, 2.0), limit_with_key=RateLimit(10, 2.0),
    ),
    EngineSpec(
        "semantic-scholar", "Semantic Scholar", ("academic",), "semantic_scholar:SemanticScholarSearch",
        "https://api.semanticscholar.org", "papers of all fields, found by relevance", "SEMANTIC_SCHOLAR_API_KEY",
        # www.semanticscholar.org/product/api: with a key; without one all callers share what there is.
        is_key_optional=True, priority="high", limit=RateLimit(1, 1.0),
    ),
    _HUGGING_FACE_PAPERS,
    replace(
        _HUGGING_FACE_PAPERS, name="hugging-face-daily", title="Hugging Face daily papers",
        adapter="hugging_face:HuggingFaceDaily", about="machine learning papers of the last days, hand-picked",
    ),
    EngineSpec(
        "hugging-face-blog", "Hugging Face blog", ("code",), "hugging_face:HuggingFaceBlog", "https://huggingface.co",
        "posts on machine learning models, libraries and training", priority="medium",
        limit=RateLimit(100, 300.0), shared_service="Hugging Face",
    ),
    _GITHUB,
    replace(
        _GITHUB, name="github-issues", title="GitHub issues", adapter="github:GitHubIssueSearch",
        about="bug reports and discussions of software projects",
    ),
    EngineSpec(
        "hacker-news", "Hacker News", ("code", "news"), "hacker_news:HackerNewsSearch", "https://hn.algolia.com",
        "technology news and what developers say about them", priority="medium",
        limit=RateLimit(10_000, 3600.0),  # hn.algolia.com/api
    ),
    EngineSpec(
        "gdelt", "GDELT", ("news",), "gdelt:GdeltSearch", "https://api.gdeltproject.org",
        "news articles worldwide, in many languages, since 2017", priority="medium",
        limit=RateLimit(1, 5.0),  # As its refusals say.
    ),
    EngineSpec(
        "epo", "European Patent Office", ("patents",), "epo:EpoSearch", "https://ops.epo.org/3.2",
        "patents worldwide, through the European Patent Office", "EPO_OPS_KEY", priority="high",
    ),
    # Models that search by themselves.
    EngineSpec(
        "openai-search", "OpenAI web search", ("general", "news"), "openai_search:OpenAiWebSearch",
        "https://api.openai.com/v1", "the web as an OpenAI model searches it", "OPENAI_API_KEY", model="gpt-5.4-mini",
    ),
    EngineSpec(
        "gemini-search", "Gemini grounding", ("general", "news"), "gemini_search:GeminiSearch",
        "https://generativelanguage.googleapis.com", "the web as a Gemini model searches it", "GEMINI_API_KEY",
        model="gemini-3.5-flash",
    ),
    EngineSpec(
        "openrouter-search", "OpenRouter web search", ("general", "news"), "openrouter_search:OpenRouterWebSearch",
        "https://openrouter.ai/api/v1", "the web as a model on OpenRouter searches it", "OPENROUTER_API_KEY",
        model="openai/gpt-5.4-mini",
    ),
)
# fmt: on
ENGINES: dict[str, EngineSpec] = {engine.name: engine for engine in _TABLE}
