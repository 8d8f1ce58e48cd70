"""The adapters read real answers of their services as these stand; skipped where the recordings are not at hand."""

import json
from typing import Any

import pytest

from deep_research.errors import QueryRefused, SourceBusy, SourceError, SourceRefused
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.web.search.engine import connect
from deep_research.web.search.gemini_search import GeminiSearch
from deep_research.web.search.registry import ENGINES
from tests.contract.search_recordings import EXPECTED, Told, check, letters, recording, told_by
from tests.support.search_server import Answer, Asked, Script, SearchServer
from tests.support.search_suite import KEY

# Enough for all results, and a subject that the lists which we search ourselves are about.
LIMIT = 50
WORDS = "language models"


async def replay(engine: str, script: Script | Answer, *, limit: int = LIMIT) -> tuple[list[Hit], SearchServer]:
    """Return hits and requests of one search."""
    spec = ENGINES[engine]
    with SearchServer(script) as server:
        opened = connect(spec, address=server.address, key=KEY if spec.key_setting else "", timeout_s=60)
        hits = await opened.search(SearchQuery(query=WORDS), limit=limit)
    return hits, server


@pytest.mark.parametrize(
    ("engine", "name", "count", "calls"),
    [
        ("arxiv", "arxiv/query-ten.xml", 10, 1),
        ("arxiv", "arxiv/ids-one-missing.xml", 1, 1),
        ("arxiv", "arxiv/nothing-found.xml", 0, 1),
        ("crossref", "crossref/works-ecology.json", 20, 1),
        ("crossref", "crossref/works-without-title.json", 2, 1),
        ("crossref", "crossref/nothing-found.json", 0, 1),
        ("github-issues", "github/issues-two.json", 2, 1),
        # Here and below a second call meets the same page again and ends the search.
        ("hacker-news", "hacker-news/stories-twenty.json", 20, 2),
        ("openai-search", "openai-search/web-search-cited.json", 3, 1),
        ("openai-search", "openai-search/web-search-uncited.json", 0, 1),
        ("openalex", "openalex/works-by-title.json", 2, 1),
        ("openalex", "openalex/work-closed.json", 1, 1),
        ("openrouter-search", "openrouter-search/annotations-five.json", 5, 1),
        ("searxng", "searxng/search-severance.json", 6, 1),
        ("semantic-scholar", "semantic-scholar/search-open-access.json", 20, 2),
        ("semantic-scholar", "semantic-scholar/match-with-identifiers.json", 1, 1),
        ("semantic-scholar", "semantic-scholar/nothing-found.json", 0, 1),
        ("serper", "serper/search-world-cup.json", 10, 2),
        ("tavily", "tavily/search-basic.json", 5, 1),
        ("tavily", "tavily/search-one-site.json", 5, 1),
    ],
)
async def test_hits_are_what_stands_in_the_answer(engine, name, count, calls):
    kept = recording(name)
    hits, server = await replay(engine, kept.answer)
    expected = EXPECTED[engine](kept.data)
    assert len(expected) == count
    check(hits, expected)
    assert len(server.requests) == calls


@pytest.mark.parametrize(
    ("engine", "name", "kind", "told"),
    [
        ("arxiv", "arxiv/wrong-number-400.xml", QueryRefused, "status 400"),
        ("semantic-scholar", "semantic-scholar/wrong-fields-400.json", QueryRefused, "status 400"),
        ("wikipedia", "wikipedia/search-disabled-error.json", SourceError, "not its own"),
        ("openrouter-search", "openrouter-search/rate-limited-429.json", SourceBusy, "status 429"),
        ("openai-search", "openai-search/no-such-model-400.json", SourceRefused, "openai_search_model"),
        ("gemini-search", "gemini/wrong-key-400.json", SourceRefused, "GEMINI_API_KEY"),
        ("gemini-search", "gemini/no-such-model-404.json", SourceRefused, "gemini_search_model"),
        ("gemini-search", "gemini/exhausted-429.json", SourceBusy, "status 429"),
        ("openrouter-search", "openrouter/no-key-401.json", SourceRefused, "OPENROUTER_API_KEY"),
    ],
)
async def test_refusal_is_told_as_what_it_is(engine, name, kind, told):
    with pytest.raises(SourceError) as caught:
        await replay(engine, recording(name).answer)
    assert type(caught.value) is kind
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("engine", "name", "count", "held"),
    [
        ("arxiv", "arxiv/query-ten.xml", 10, ""),
        (
            "crossref",
            "crossref/works-ecology.json",
            15,
            "Existing practices promoting a broader set of models are the best way",
        ),
        ("openalex", "openalex/works-by-title.json", 2, ""),
        ("tavily", "tavily/search-basic.json", 0, ""),
    ],
)
async def test_abstracts_come_whole_and_only_where_there_are_some(engine, name, count, held):
    hits, _ = await replay(engine, recording(name).answer)
    delivered = [hit.delivered for hit in hits if hit.delivered]
    assert len(delivered) == count
    assert {(one.kind, one.engine) for one in delivered} <= {("abstract", engine)}
    assert all("<" not in one.text.replace("<=", "") and len(one.text) > 100 for one in delivered)
    assert any(held in one.text for one in delivered) or not delivered


async def test_brave_goes_on_after_a_page_that_is_a_little_short():
    first, second = (recording(f"brave/web-{count}-of-20.json") for count in (18, 17))
    pages = [first, second]
    hits, server = await replay("brave", lambda asked: pages[int(asked.params["offset"])].answer, limit=30)
    unique: dict[str, Told] = {}
    for told in (*EXPECTED["brave"](first.data), *EXPECTED["brave"](second.data)):
        unique.setdefault(told.address.rstrip("/"), told)
    assert len(unique) > 30
    check(hits, list(unique.values())[:30])
    assert [call.params["offset"] for call in server.requests] == ["0", "1"]


async def test_wikipedia_articles_stand_under_their_titles():
    kept = recording("wikipedia/search-three.json")
    hits, server = await replay("wikipedia", kept.answer)
    expected = [
        Told(f"{server.address}/wiki/{one['title'].replace(' ', '_')}", letters(one["title"]), letters(one["snippet"]))
        for one in kept.data["query"]["search"]
    ]
    assert len(expected) == 3
    check(hits, expected)


async def test_papers_of_a_list_are_those_that_the_query_is_about():
    kept = recording("hugging-face/daily-papers.json")
    hits, _ = await replay("hugging-face-daily", kept.answer)
    papers = {f"https://huggingface.co/papers/{entry['paper']['id']}": entry["paper"] for entry in kept.data}
    assert len(hits) == len({hit.address for hit in hits}) == 20
    for hit in map(told_by, hits):
        paper = papers[hit.address]
        assert (hit.title, hit.published) == (letters(paper["title"]), paper["publishedAt"][:10])
        assert letters(paper["summary"]).startswith(hit.text)
    # Those whose words hold both of the query's come before those with one.
    has_both = [all(word in str(papers[hit.address]).lower() for word in ("language", "model")) for hit in hits]
    assert has_both == sorted(has_both, reverse=True)


@pytest.mark.parametrize(
    ("name", "sites"),
    [
        ("grounded-three", ["weather.gov", "wunderground.com"]),
        ("grounded-google-only", []),
    ],
)
async def test_grounding_gives_the_pages_themselves_and_none_of_googles_own(name, sites):
    kept = recording(f"gemini-search/{name}.json")
    assert "https://www.google.com/search?q=" in json.dumps(kept.data)
    hits, asked = await _grounded(kept.data)
    assert [(hit.address, hit.title) for hit in hits] == [(f"https://{site}/page", site) for site in sites]
    leads = [call for call in asked if call.method == "GET"]
    assert len(leads) == len(sites)
    assert not any("x-goog-api-key" in call.headers for call in leads)


async def _grounded(data: Any) -> tuple[list[Hit], list[Asked]]:
    """Return hits and requests, with the addresses that lead on moved to the local server."""
    real = "https://vertexaisearch.cloud.google.com/"
    chunks = data["candidates"][0]["groundingMetadata"]["groundingChunks"]
    titles = {chunk["web"]["uri"].rsplit("/", 1)[1]: chunk["web"]["title"] for chunk in chunks}

    def script(asked: Asked) -> Answer:
        if asked.method == "POST":
            return Answer(json.dumps(data).replace(real, f"http://{asked.headers['host']}/").encode())
        site = titles[asked.path.rsplit("/", 1)[1]]
        return Answer(b"", status=302, headers={"Location": f"https://{site}/page"})

    with SearchServer(script) as server:
        engine = connect(ENGINES["gemini-search"], address=server.address, key=KEY)
        assert isinstance(engine, GeminiSearch)
        engine.redirects = engine.redirects.replace(real, f"{server.address}/")
        hits = await engine.search(SearchQuery(query=WORDS), limit=LIMIT)
    return hits, server.requests
