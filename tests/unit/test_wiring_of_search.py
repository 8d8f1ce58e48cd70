"""Which sources a run asks: by default, by name, by mode; and what one that cannot be asked lacks."""

import pytest
from pydantic import SecretStr

from deep_research.errors import ConfigurationError, SourceError
from deep_research.report.sources.hit import SearchQuery
from deep_research.runner import request_from, settings_of
from deep_research.settings import Settings, load_settings, variable_of
from deep_research.web.search.mcp_servers import McpServer
from deep_research.web.search.registry import ENGINES
from deep_research.wiring.search import chosen_engines, known_engines, model_of, open_engine, problem_of
from tests.support.search_server import Answer, SearchServer

FREE = {"duckduckgo", "wikipedia", "arxiv", "openalex", "crossref", "pubmed", "github", "hacker-news"}


def test_without_a_key_the_free_sources_are_asked() -> None:
    used = chosen_engines(Settings())
    assert {*used} >= FREE | {"hugging-face-papers"}
    assert not {"tavily", "serper", "exa", "brave", "bocha", "zyte", "searxng", "epo"} & {*used}
    assert not any(ENGINES[name].is_model_search for name in used)


@pytest.mark.parametrize("name", ["tavily", "serper", "exa", "brave", "bocha", "zyte", "epo"])
def test_a_key_adds_its_service_and_a_missing_one_is_named(name: str) -> None:
    spec = ENGINES[name]
    assert spec.key_variable in problem_of(spec, Settings())
    settings = Settings.model_validate({spec.key_setting: SecretStr("k:s")})
    assert name in chosen_engines(settings)
    assert variable_of(spec.key_setting) == spec.key_variable


def test_an_address_adds_searxng() -> None:
    assert "DEEP_RESEARCH_SEARXNG_ADDRESS" in problem_of(ENGINES["searxng"], Settings())
    assert "searxng" in chosen_engines(Settings(searxng_address="http://127.0.0.1:8888"))


def test_every_engine_has_settings_for_its_key_and_its_address() -> None:
    for spec in ENGINES.values():
        for field in (spec.key_setting, spec.address_setting, spec.model_setting):
            assert not field or field in Settings.model_fields, (spec.name, field)
        assert model_of(spec, Settings()) == spec.model
        default = getattr(Settings(), spec.address_setting)
        assert (default or "") == spec.default_address


def test_nothing_is_asked_offline_or_where_only_documents_are_wanted() -> None:
    assert chosen_engines(Settings(offline=True)) == ()
    assert chosen_engines(Settings(strategy="local")) == ()


def test_the_chain_is_asked_in_its_own_order() -> None:
    settings = Settings(tavily_api_key=SecretStr("k"), search_chain=("duckduckgo", "tavily"))
    used = chosen_engines(settings)
    assert used[:2] == ("duckduckgo", "tavily")
    assert "duckduckgo" not in chosen_engines(Settings(search_chain=("searxng",)))


def test_named_sources_alone_are_asked_and_must_have_what_they_need() -> None:
    assert chosen_engines(Settings(engines=("pubmed", "arxiv"))) == ("arxiv", "pubmed")
    with pytest.raises(ConfigurationError, match="TAVILY_API_KEY"):
        chosen_engines(Settings(engines=("tavily",)))
    with pytest.raises(ConfigurationError, match="no source 'nobody'"):
        chosen_engines(Settings(engines=("nobody",)))


def test_a_model_searches_by_itself_where_that_is_the_mode() -> None:
    settings = Settings(search_mode="model", openai_api_key=SecretStr("k"))
    assert chosen_engines(settings) == ("openai-search",)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        chosen_engines(Settings(search_mode="model"))


def test_mcp_servers_are_sources_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    server = McpServer(name="papers", tool="find", command=("papers",), kinds=("academic",))
    settings = Settings(mcp_servers=(server,))
    spec = known_engines(settings)["mcp:papers"]
    assert spec.is_specialist
    assert spec.kinds == ("academic",)
    assert "mcp:papers" in chosen_engines(settings)
    monkeypatch.setenv("DEEP_RESEARCH_MCP_SERVERS", '[{"name": "n", "tool": "t", "address": "https://m.org"}]')
    assert load_settings().mcp_servers[0].engine_name == "mcp:n"


def test_a_run_goes_on_with_the_sources_it_began_with() -> None:
    began = Settings(engines=("arxiv",), strategy="academic", provider="none")
    request = request_from(began, "What do papers say about heat pumps?")
    assert request.search.engines == ("arxiv",)
    later = settings_of(request, Settings(tavily_api_key=SecretStr("k")))
    assert chosen_engines(later) == ("arxiv",)
    assert later.strategy == "academic"
    alone = request_from(Settings(offline=True, provider="none"), "What do papers say about heat pumps?")
    assert chosen_engines(settings_of(alone, Settings())) == ()


async def test_settings_name_the_contact_and_the_model_that_searches() -> None:
    with SearchServer(Answer({})) as server:
        given = {
            "contact": "me@example.org",
            "openai_api_key": SecretStr("k"),
            "openai_address": server.address,
            "openai_search_model": "some-model",
        }
        engine = open_engine(ENGINES["openai-search"], Settings.model_validate(given))
        with pytest.raises(SourceError):
            await engine.search(SearchQuery(query="q"), limit=3)
        await engine.close()
    assert server.requests[0].json["model"] == "some-model"
    assert "me@example.org" in server.requests[0].headers["user-agent"]


@pytest.mark.parametrize("contact", ["", "me", "me@host", "a@b.c)\r\nX: 1", "ftp://a.b", "https://a", "我@例.测试"])
def test_contact_that_nobody_can_use_is_refused(contact: str) -> None:
    with pytest.raises(ValueError, match=r"me@example\.org"):
        Settings(contact=contact)
