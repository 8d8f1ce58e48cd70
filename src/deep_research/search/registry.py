"""The engines that can be searched, what each needs and what it is good for. Loads no engine."""

from collections.abc import Iterable
from dataclasses import dataclass

from deep_research.errors import ConfigurationError
from deep_research.sources.hit import Priority, SearchKind


@dataclass(frozen=True)
class EngineSpec:
    """An engine: who it is, what it needs, and when it is asked.

    `key_setting` and `address_setting` name fields of the settings; `key_variable` is where users put the key.
    `tier` is the place in the fallback chain of SPEC H3 from 1 on, 0 for an engine outside it. A specialist is asked
    beside the chain. `is_model_search` marks a model that searches by itself; `model` is the one to ask. An engine
    that `needs_sites` only answers queries that name some.
    """

    name: str
    title: str
    module: str
    kinds: frozenset[SearchKind]
    priority: Priority = "low"
    key_setting: str = ""
    key_variable: str = ""
    is_key_optional: bool = False
    address_setting: str = ""
    default_address: str = ""
    is_specialist: bool = False
    tier: int = 0
    is_model_search: bool = False
    model: str = ""
    needs_sites: bool = False

    @property
    def needs_key(self) -> bool:
        """Say whether the engine can only be asked with a key."""
        return bool(self.key_setting) and not self.is_key_optional


def _kinds(*kinds: SearchKind) -> frozenset[SearchKind]:
    return frozenset(kinds)


_WEB = (
    EngineSpec(
        name="tavily",
        title="Tavily",
        module="tavily",
        kinds=_kinds("general", "news"),
        key_setting="tavily_api_key",
        key_variable="TAVILY_API_KEY",
        address_setting="tavily_address",
        default_address="https://api.tavily.com",
        tier=1,
    ),
    EngineSpec(
        name="serper",
        title="Serper",
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
        module="duckduckgo",
        kinds=_kinds("general"),
        address_setting="duckduckgo_address",
        default_address="https://html.duckduckgo.com",
        tier=3,
    ),
    EngineSpec(
        name="exa",
        title="Exa",
        module="exa",
        kinds=_kinds("general", "news", "academic"),
        key_setting="exa_api_key",
        key_variable="EXA_API_KEY",
        address_setting="exa_address",
        default_address="https://api.exa.ai",
        tier=4,
    ),
    # The chain of SPEC H3 ends here; who has set up one of these has it behind the others.
    EngineSpec(
        name="brave",
        title="Brave Search",
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
        module="searxng",
        kinds=_kinds("general", "news", "academic", "code"),
        address_setting="searxng_address",
        tier=7,
    ),
    EngineSpec(
        name="zyte",
        title="Zyte",
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
        module="openai_search",
        kinds=_kinds("general", "news"),
        key_setting="openai_api_key",
        key_variable="OPENAI_API_KEY",
        address_setting="openai_address",
        default_address="https://api.openai.com/v1",
        is_model_search=True,
        model="gpt-5.4-mini",
    ),
    EngineSpec(
        name="gemini-search",
        title="Gemini grounding",
        module="gemini_search",
        kinds=_kinds("general", "news"),
        key_setting="gemini_api_key",
        key_variable="GEMINI_API_KEY",
        address_setting="gemini_address",
        default_address="https://generativelanguage.googleapis.com",
        is_model_search=True,
        model="gemini-3.5-flash",
    ),
    EngineSpec(
        name="openrouter-search",
        title="OpenRouter web search",
        module="openrouter_search",
        kinds=_kinds("general", "news"),
        key_setting="openrouter_api_key",
        key_variable="OPENROUTER_API_KEY",
        address_setting="openrouter_address",
        default_address="https://openrouter.ai/api/v1",
        is_model_search=True,
        model="openai/gpt-5.4-mini",
    ),
)

# Libraries and lists of one kind, asked beside the chain; a key only lets one ask more often where it is optional.
_LIBRARIES = (
    EngineSpec(
        name="wikipedia",
        title="Wikipedia",
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
        module="arxiv",
        kinds=_kinds("academic"),
        priority="high",
        address_setting="arxiv_address",
        default_address="https://export.arxiv.org",
        is_specialist=True,
    ),
    EngineSpec(
        name="openalex",
        title="OpenAlex",
        module="openalex",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="openalex_api_key",
        key_variable="OPENALEX_API_KEY",
        is_key_optional=True,
        address_setting="openalex_address",
        default_address="https://api.openalex.org",
        is_specialist=True,
    ),
    EngineSpec(
        name="crossref",
        title="Crossref",
        module="crossref",
        kinds=_kinds("academic"),
        priority="medium",
        key_setting="crossref_mailto",
        key_variable="DEEP_RESEARCH_CROSSREF_MAILTO",
        is_key_optional=True,
        address_setting="crossref_address",
        default_address="https://api.crossref.org",
        is_specialist=True,
    ),
    EngineSpec(
        name="pubmed",
        title="PubMed",
        module="pubmed",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="ncbi_api_key",
        key_variable="NCBI_API_KEY",
        is_key_optional=True,
        address_setting="pubmed_address",
        default_address="https://eutils.ncbi.nlm.nih.gov",
        is_specialist=True,
    ),
    EngineSpec(
        name="semantic-scholar",
        title="Semantic Scholar",
        module="semantic_scholar",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="semantic_scholar_api_key",
        key_variable="SEMANTIC_SCHOLAR_API_KEY",
        is_key_optional=True,
        address_setting="semantic_scholar_address",
        default_address="https://api.semanticscholar.org",
        is_specialist=True,
    ),
    EngineSpec(
        name="hugging-face-papers",
        title="Hugging Face papers",
        module="hugging_face",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="hf_token",
        key_variable="HF_TOKEN",
        is_key_optional=True,
        address_setting="hugging_face_address",
        default_address="https://huggingface.co",
        is_specialist=True,
    ),
    EngineSpec(
        name="hugging-face-daily",
        title="Hugging Face daily papers",
        module="hugging_face",
        kinds=_kinds("academic"),
        priority="high",
        key_setting="hf_token",
        key_variable="HF_TOKEN",
        is_key_optional=True,
        address_setting="hugging_face_address",
        default_address="https://huggingface.co",
        is_specialist=True,
    ),
    EngineSpec(
        name="hugging-face-blog",
        title="Hugging Face blog",
        module="hugging_face",
        kinds=_kinds("code"),
        priority="medium",
        address_setting="hugging_face_address",
        default_address="https://huggingface.co",
        is_specialist=True,
    ),
    EngineSpec(
        name="github",
        title="GitHub",
        module="github",
        kinds=_kinds("code"),
        priority="medium",
        key_setting="github_token",
        key_variable="GITHUB_TOKEN",
        is_key_optional=True,
        address_setting="github_address",
        default_address="https://api.github.com",
        is_specialist=True,
    ),
    EngineSpec(
        name="github-issues",
        title="GitHub issues",
        module="github",
        kinds=_kinds("code"),
        priority="medium",
        key_setting="github_token",
        key_variable="GITHUB_TOKEN",
        is_key_optional=True,
        address_setting="github_address",
        default_address="https://api.github.com",
        is_specialist=True,
    ),
    EngineSpec(
        name="hacker-news",
        title="Hacker News",
        module="hacker_news",
        kinds=_kinds("code", "news"),
        priority="medium",
        address_setting="hacker_news_address",
        default_address="https://hn.algolia.com",
        is_specialist=True,
    ),
    EngineSpec(
        name="gdelt",
        title="GDELT",
        module="gdelt",
        kinds=_kinds("news"),
        priority="medium",
        address_setting="gdelt_address",
        default_address="https://api.gdeltproject.org",
        is_specialist=True,
    ),
    EngineSpec(
        name="epo",
        title="European Patent Office",
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
