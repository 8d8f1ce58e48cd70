"""The engines that can be searched, what each needs and what it is good for. Loads no engine."""

from collections.abc import Iterable

from deep_research.errors import ConfigurationError
from deep_research.request import SearchKind
from deep_research.search.engine_spec import EngineSpec
from deep_research.search.pacing import RateLimit

__all__ = ["ENGINES", "EngineSpec", "engine_named"]


def _kinds(*kinds: SearchKind) -> frozenset[SearchKind]:
    return frozenset(kinds)


_WEB = (
    EngineSpec(
        name="tavily",
        title="Tavily",
        about="the general web, made for research agents",
        module="tavily",
        kinds=_kinds("general", "news"),
        key_setting="tavily_api_key",
        key_variable="TAVILY_API_KEY",
        address_setting="tavily_address",
        default_address="https://api.tavily.com",
        tier=1,
        # docs.tavily.com/documentation/rate-limits: of a development key; nobody can see which kind a key is.
        limit=RateLimit(100, 60.0),
    ),
    EngineSpec(
        name="serper",
        title="Serper",
        about="the general web as Google finds it",
        module="serper",
        kinds=_kinds("general", "news"),
        key_setting="serper_api_key",
        key_variable="SERPER_API_KEY",
        address_setting="serper_address",
        default_address="https://google.serper.dev",
        tier=2,
    ),
    EngineSpec(
        name="duckduckgo",
        title="DuckDuckGo",
        about="the general web, without a key",
        module="duckduckgo",
        kinds=_kinds("general"),
        address_setting="duckduckgo_address",
        default_address="https://html.duckduckgo.com",
        tier=3,
        limit=RateLimit(1, 1.0),  # Not told anywhere; who asks more often meets its challenge soon.
    ),
    EngineSpec(
        name="exa",
        title="Exa",
        about="the general web, searched by meaning",
        module="exa",
        kinds=_kinds("general", "news", "academic"),
        key_setting="exa_api_key",
        key_variable="EXA_API_KEY",
        address_setting="exa_address",
        default_address="https://api.exa.ai",
        tier=4,
        limit=RateLimit(10, 1.0),  # exa.ai/docs/reference/rate-limits
    ),
    # The chain of SPEC H3 ends here; who has set up one of these has it behind the others.
    EngineSpec(
        name="brave",
        title="Brave Search",
        about="the general web from an index of its own",
        module="brave",
        kinds=_kinds("general", "news"),
        key_setting="brave_api_key",
        key_variable="BRAVE_API_KEY",
        address_setting="brave_address",
        default_address="https://api.search.brave.com",
        tier=5,
    ),
    EngineSpec(
        name="bocha",
        title="Bocha",
        about="the general web, strong in Chinese",
        module="bocha",
        kinds=_kinds("general"),
        key_setting="bocha_api_key",
        key_variable="BOCHA_API_KEY",
        address_setting="bocha_address",
        default_address="https://api.bochaai.com",
        tier=6,
    ),
    EngineSpec(
        name="searxng",
        title="SearXNG",
        about="the general web through your own SearXNG",
        module="searxng",
        kinds=_kinds("general", "news", "academic", "code"),
        address_setting="searxng_address",
        tier=7,
    ),
    EngineSpec(
        name="zyte",
        title="Zyte",
        about="articles listed on the sites that a query names",
        module="zyte",
        kinds=_kinds("general", "news"),
        priority="medium",
        key_setting="zyte_api_key",
        key_variable="ZYTE_API_KEY",
        address_setting="zyte_address",
        default_address="https://api.zyte.com",
        is_specialist=True,
        needs_sites=True,
    ),
)
_MODELS = (
    EngineSpec(
        name="openai-search",
        title="OpenAI web search",
        about="the web as an OpenAI model searches it",
        module="openai_search",
        kinds=_kinds("general", "news"),
        key_setting="openai_api_key",
        key_variable="OPENAI_API_KEY",
        address_setting="openai_address",
        default_address="https://api.openai.com/v1",
        is_model_search=True,
        model="gpt-5.4-mini",
        model_setting="openai_search_model",
    ),
    EngineSpec(
        name="gemini-search",
        title="Gemini grounding",
        about="the web as a Gemini model searches it",
        module="gemini_search",
        kinds=_kinds("general", "news"),
        key_setting="gemini_api_key",
        key_variable="GEMINI_API_KEY",
        address_setting="gemini_address",
        default_address="https://generativelanguage.googleapis.com",
        is_model_search=True,
        model="gemini-3.5-flash",
        model_setting="gemini_search_model",
    ),
    EngineSpec(
        name="openrouter-search",
        title="OpenRouter web search",
        about="the web as a model on OpenRouter searches it",
        module="openrouter_search",
        kinds=_kinds("general", "news"),
        key_setting="openrouter_api_key",
        key_variable="OPENROUTER_API_KEY",
        address_setting="openrouter_address",
        default_address="https://openrouter.ai/api/v1",
        is_model_search=True,
        model="openai/gpt-5.4-mini",
        model_setting="openrouter_search_model",
    ),
)

# Libraries and lists of one kind, asked beside the chain; a key only lets one ask more often where it is optional.
_LIBRARIES = (
    EngineSpec(
        name="wikipedia",
        title="Wikipedia",
        about="encyclopedia articles, in the language of the query",
        module="wikipedia",
        kinds=_kinds("general"),
        priority="medium",
        address_setting="wikipedia_address",
        default_address="https://{language}.wikipedia.org",
        is_specialist=True,
    ),
    EngineSpec(
        name="arxiv",
        title="arXiv",
        about="preprints: physics, mathematics, computer science, statistics",
        module="arxiv",
        kinds=_kinds("academic"),
        priority="high",
        address_setting="arxiv_address",
        default_address="https://export.arxiv.org",
        is_specialist=True,
        limit=RateLimit(1, 3.0),  # info.arxiv.org/help/api/tou.html
    ),
    EngineSpec(
        name="openalex",
        title="OpenAlex",
        about="scholarly works of all fields, with abstracts",
        module="openalex",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="openalex_api_key",
        key_variable="OPENALEX_API_KEY",
        is_key_optional=True,
        address_setting="openalex_address",
        default_address="https://api.openalex.org",
        is_specialist=True,
        # developers.openalex.org/api-reference/authentication, beside an allowance for the day
        limit=RateLimit(100, 1.0),
    ),
    EngineSpec(
        name="crossref",
        title="Crossref",
        about="journal articles and books of all fields, by DOI",
        module="crossref",
        kinds=_kinds("academic"),
        priority="medium",
        address_setting="crossref_address",
        default_address="https://api.crossref.org",
        is_specialist=True,
        # www.crossref.org/documentation/retrieve-metadata/rest-api/access-and-authentication, for lists
        limit=RateLimit(1, 1.0),
        limit_with_mail=RateLimit(3, 1.0),
    ),
    EngineSpec(
        name="pubmed",
        title="PubMed",
        about="medicine and life sciences, with abstracts",
        module="pubmed",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="ncbi_api_key",
        key_variable="NCBI_API_KEY",
        is_key_optional=True,
        address_setting="pubmed_address",
        default_address="https://eutils.ncbi.nlm.nih.gov",
        is_specialist=True,
        # support.nlm.nih.gov, KA-05317: three calls in a second, ten with a key; a search takes two.
        limit=RateLimit(3, 2.0),
        limit_with_key=RateLimit(10, 2.0),
    ),
    EngineSpec(
        name="semantic-scholar",
        title="Semantic Scholar",
        about="papers of all fields, found by relevance",
        module="semantic_scholar",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="semantic_scholar_api_key",
        key_variable="SEMANTIC_SCHOLAR_API_KEY",
        is_key_optional=True,
        address_setting="semantic_scholar_address",
        default_address="https://api.semanticscholar.org",
        is_specialist=True,
        # www.semanticscholar.org/product/api: with a key; without one all callers share what there is.
        limit=RateLimit(1, 1.0),
    ),
    EngineSpec(
        name="hugging-face-papers",
        title="Hugging Face papers",
        about="machine learning papers, searched by meaning",
        module="hugging_face",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="hf_token",
        key_variable="HF_TOKEN",
        is_key_optional=True,
        address_setting="hugging_face_address",
        default_address="https://huggingface.co",
        is_specialist=True,
        # huggingface.co/docs/hub/rate-limits: more for its API than for its pages, such as the blog
        limit=RateLimit(500, 300.0),
        limit_with_key=RateLimit(1_000, 300.0),
        shared_service="Hugging Face",
    ),
    EngineSpec(
        name="hugging-face-daily",
        title="Hugging Face daily papers",
        about="machine learning papers of the last days, hand-picked",
        module="hugging_face",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="hf_token",
        key_variable="HF_TOKEN",
        is_key_optional=True,
        address_setting="hugging_face_address",
        default_address="https://huggingface.co",
        is_specialist=True,
        limit=RateLimit(500, 300.0),
        limit_with_key=RateLimit(1_000, 300.0),
        shared_service="Hugging Face",
    ),
    EngineSpec(
        name="hugging-face-blog",
        title="Hugging Face blog",
        about="posts on machine learning models, libraries and training",
        module="hugging_face",
        kinds=_kinds("code"),
        priority="medium",
        address_setting="hugging_face_address",
        default_address="https://huggingface.co",
        is_specialist=True,
        limit=RateLimit(100, 300.0),
        shared_service="Hugging Face",
    ),
    EngineSpec(
        name="github",
        title="GitHub",
        about="source code repositories",
        module="github",
        kinds=_kinds("code"),
        priority="medium",
        key_setting="github_token",
        key_variable="GITHUB_TOKEN",
        is_key_optional=True,
        address_setting="github_address",
        default_address="https://api.github.com",
        is_specialist=True,
        limit=RateLimit(10, 60.0),  # docs.github.com/en/rest/search/search
        limit_with_key=RateLimit(30, 60.0),
        shared_service="GitHub",
    ),
    EngineSpec(
        name="github-issues",
        title="GitHub issues",
        about="bug reports and discussions of software projects",
        module="github",
        kinds=_kinds("code"),
        priority="medium",
        key_setting="github_token",
        key_variable="GITHUB_TOKEN",
        is_key_optional=True,
        address_setting="github_address",
        default_address="https://api.github.com",
        is_specialist=True,
        limit=RateLimit(10, 60.0),
        limit_with_key=RateLimit(30, 60.0),
        shared_service="GitHub",
    ),
    EngineSpec(
        name="hacker-news",
        title="Hacker News",
        about="technology news and what developers say about them",
        module="hacker_news",
        kinds=_kinds("code", "news"),
        priority="medium",
        address_setting="hacker_news_address",
        default_address="https://hn.algolia.com",
        is_specialist=True,
        limit=RateLimit(10_000, 3600.0),  # hn.algolia.com/api
    ),
    EngineSpec(
        name="gdelt",
        title="GDELT",
        about="news articles worldwide, in many languages, since 2017",
        module="gdelt",
        kinds=_kinds("news"),
        priority="medium",
        address_setting="gdelt_address",
        default_address="https://api.gdeltproject.org",
        is_specialist=True,
        limit=RateLimit(1, 5.0),  # As its refusals say.
    ),
    EngineSpec(
        name="epo",
        title="European Patent Office",
        about="patents worldwide, through the European Patent Office",
        module="epo",
        kinds=_kinds("patents"),
        priority="high",
        key_setting="epo_ops_key",
        key_variable="EPO_OPS_KEY",
        address_setting="epo_address",
        default_address="https://ops.epo.org/3.2",
        is_specialist=True,
    ),
)


def _named(engines: Iterable[EngineSpec]) -> dict[str, EngineSpec]:
    return {engine.name: engine for engine in engines}


ENGINES: dict[str, EngineSpec] = _named((*_WEB, *_LIBRARIES, *_MODELS))


def engine_named(name: str) -> EngineSpec:
    """Return the engine of a name; raise `ConfigurationError` with the valid names where there is none."""
    spec = ENGINES.get(name.strip().lower())
    if spec is None:
        raise ConfigurationError(f"There is no search engine {name!r}; choose one of {', '.join(ENGINES)}.")
    return spec
