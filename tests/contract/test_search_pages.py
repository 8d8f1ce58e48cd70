"""The engines that need no key, or read given sites, pass the suite of the search port."""

from base64 import b64encode
from datetime import date
from html import escape
from urllib.parse import quote

import pytest

from deep_research.errors import ChallengeShown, SourceBusy, SourceError
from deep_research.report.sources.hit import SearchQuery
from deep_research.web.search.engine import Endpoint
from deep_research.web.search.searxng import SearxngSearch
from tests.support import search_formats
from tests.support.search_formats import Result
from tests.support.search_server import Answer, SearchServer
from tests.support.search_suite import FILTERED, KEY, QUERY, SearchConformance, Voice, some_results


class SearxngVoice(Voice):
    engine = "searxng"

    def reply(self, asked, results):
        return search_formats.searxng(asked, results)

    def check_request(self, asked, query):
        # How many results a page holds is not known, so that a short one may not be the last.
        call = asked[0]
        assert (call.method, call.path) == ("GET", "/search")
        assert "authorization" not in call.headers
        assert call.params == {"q": query.query, "format": "json", "pageno": "1", "categories": "general"}

    def check_filters(self, asked):
        assert asked[0].params["q"] == "solar power (site:example.org OR site:example.net)"
        assert asked[0].params["language"] == "zh-CN"


class TestSearxng(SearchConformance):
    voice = SearxngVoice()

    async def test_nothing_found_because_engines_were_silent_is_no_empty_list(self):
        silent = {"query": "x", "results": [], "unresponsive_engines": [["google", "timeout"]]}
        assert isinstance(await self.failure(Answer(silent)), SourceBusy)

    @pytest.mark.parametrize(
        ("told", "snippet", "published"),
        [
            ({"content": "30 Jan 2025 ... What it says."}, "What it says.", "2025-01-30"),
            ({"content": "2025年1月30日 ... 内容提要。"}, "内容提要。", "2025-01-30"),
            ({"content": "Jan 2025 — What it says."}, "What it says.", "2025-01"),
            ({"content": "30 Jan 2025 ... It says.", "publishedDate": "2024-05-21T00:00:00"}, None, "2024-05-21"),
            ({"content": "It says.", "pubdate": "2024-05-21 00:00:00+0000"}, None, "2024-05-21"),
            ({"content": "2024 ... was a good year."}, None, ""),
            ({"content": "On 30 Jan 2025 it rained."}, None, ""),
            ({"content": "30 Jan 2025 was wet."}, None, ""),
        ],
    )
    async def test_date_before_the_text_is_the_date_of_the_hit(self, told, snippet, published):
        item = {"url": "https://example.org/a", "title": "T", "publishedDate": None, "pubdate": "", **told}
        hits, _ = await self.ask(Answer({"query": "x", "results": [item], "unresponsive_engines": []}))
        assert [(hit.snippet, hit.published) for hit in hits] == [(snippet or told["content"], published)]

    async def test_kinds_are_categories(self):
        for kind, category in (("news", "news"), ("academic", "science"), ("code", "it")):
            _, asked = await self.ask(
                self.telling(*some_results(1)), SearchQuery.from_json({"query": "x", "kind": kind})
            )
            assert asked[0].params["categories"] == category

    @pytest.mark.parametrize(
        ("today", "given"), [("2024-01-16", "day"), ("2024-02-01", "month"), ("2025-01-01", "year")]
    )
    async def test_time_is_the_shortest_range_that_holds_it(self, today, given):
        day = date.fromisoformat(today)
        with SearchServer(self.telling(*some_results(1))) as server:
            engine = SearxngSearch(Endpoint("searxng", "SearXNG", server.address, 5, today=lambda: day))
            await engine.search(FILTERED, limit=1)
        assert server.requests[0].params["time_range"] == given


class DuckDuckGoVoice(Voice):
    engine = "duckduckgo"

    def reply(self, asked, results):
        start = int(asked.form.get("s", "0"))
        shown = results[start : start + 10]
        body = "".join(_result_block(result) for result in shown) if shown else _NO_RESULTS
        if start:
            body += _nav_form(asked.form["q"], max(0, start - 10), "Previous")
        if start + 10 < len(results):
            body += _nav_form(asked.form["q"], start + 10, "Next")
        return Answer(_PAGE.format(query=escape(asked.form["q"]), body=body))

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("POST", "/html/")
        assert call.headers["content-type"] == "application/x-www-form-urlencoded"
        assert call.headers["referer"] == f"http://{call.headers['host']}/"
        assert call.form == {"q": query.query, "b": "", "kl": "wt-wt", "df": ""}

    def check_filters(self, asked):
        assert asked[0].form == {
            "q": "solar power (site:example.org OR site:example.net)",
            "b": "",
            "kl": "cn-zh",
            "df": "2024-01-15..2024-06-30",
        }

    def torn(self, answer):
        # Browsers forgive a page that breaks off, and so does the reader of it: torn before its results.
        return Answer(answer.content[: answer.content.index(b'<div class="result ')])


_PAGE = """<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><meta http-equiv="content-type" content="text/html; charset=UTF-8" />
<title>{query} at DuckDuckGo</title></head><body class="body--html">
<form action="/html/" method="post"><input name="q" type="text" value="{query}" /></form>
<div class="serp__results"><div id="links" class="results">{body}</div></div></body></html>"""
_NO_RESULTS = """<div class="result results_links results_links_deep result--no-result">
<div class="links_main links_deep result__body"><div class="no-results">No results.</div></div></div>"""
_AD = """<div class="result results_links results_links_deep result--ad"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy now</a></h2></div>"""


def _result_block(result: Result) -> str:
    link = f"//duckduckgo.com/l/?uddg={quote(result.address, safe='')}&amp;rut=0123abcd"
    return f"""<div class="result results_links results_links_deep web-result ">
<div class="links_main links_deep result__body"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="{link}">{result.title}</a></h2>
<div class="result__extras"><div class="result__extras__url"><span class="result__icon"></span>
<a class="result__url" href="{link}">example.org</a>
<span>&nbsp; &nbsp; {result.published}T00:00:00.0000000</span></div></div>
<a class="result__snippet" href="{link}">{result.snippet}</a></div></div>"""


def _nav_form(query: str, start: int, label: str) -> str:
    return f"""<div class="nav-link"><form action="/html/" method="post">
<input type="submit" class="btn btn--alt" value="{label}" /><input type="hidden" name="q" value="{escape(query)}" />
<input type="hidden" name="s" value="{start}" /><input type="hidden" name="nextParams" value="" />
<input type="hidden" name="v" value="l" /><input type="hidden" name="o" value="json" />
<input type="hidden" name="dc" value="{start + 1}" /><input type="hidden" name="api" value="d.js" />
<input type="hidden" name="vqd" value="4-1234567890" /><input name="kl" value="wt-wt" type="hidden" /></form></div>"""


class TestDuckDuckGo(SearchConformance):
    voice = DuckDuckGoVoice()

    async def test_next_page_is_asked_for_with_the_form_of_the_page_before(self):
        _, asked = await self.ask(self.telling(*some_results(40)), limit=30)
        assert [call.form.get("s") for call in asked] == [None, "10", "20"]
        assert [call.form.get("vqd") for call in asked[1:]] == ["4-1234567890"] * 2
        assert {call.form["q"] for call in asked} == {QUERY.query}

    async def test_advertisements_are_no_results(self):
        page = _PAGE.format(query="x", body=_AD + _result_block(some_results(1)[0]))
        hits, _ = await self.ask(Answer(page))
        assert [hit.title for hit in hits] == ["Page 0"]

    @pytest.mark.parametrize("status", [200, 202])
    async def test_challenge_is_a_busy_source(self, status):
        error = await self.failure(Answer(search_formats.DUCKDUCKGO_CHALLENGE, status=status))
        assert isinstance(error, ChallengeShown)

    async def test_page_without_results_that_does_not_say_so_is_an_error(self):
        error = await self.failure(Answer(_PAGE.format(query="x", body="")))
        assert isinstance(error, SourceError)
        assert not isinstance(error, SourceBusy)


class ZyteVoice(Voice):
    engine = "zyte"
    needs_sites = ("example.org",)

    def reply(self, asked, results):
        articles = [
            {
                "url": result.address,
                "headline": result.title,
                "datePublished": f"{result.published}T00:00:00Z",
                "datePublishedRaw": "May 21",
                "inLanguage": "en",
                "articleBody": result.snippet,
                "metadata": {"probability": 0.95, "url": result.address},
            }
            for result in results
        ]
        url = asked.json["url"]
        return Answer(
            {"url": url, "statusCode": 200, "articleList": {"url": url, "articles": articles, "metadata": {}}}
        )

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("POST", "/v1/extract")
        assert call.headers["authorization"] == f"Basic {b64encode(f'{KEY}:'.encode()).decode()}"
        assert call.json == {"url": "https://example.org/", "articleList": True}

    def check_filters(self, asked):
        assert [call.json["url"] for call in sorted(asked, key=lambda call: call.json["url"])] == [
            "https://example.net/",
            "https://example.org/",
        ]


class TestZyte(SearchConformance):
    voice = ZyteVoice()

    async def test_articles_that_share_words_with_the_query_come_first(self):
        given = [
            Result("https://example.org/1", "Football results"),
            Result("https://example.org/2", "Solar power reaches Kenya"),
            Result("https://example.org/3", "太阳能"),
        ]
        hits, _ = await self.ask(self.telling(*given))
        assert [hit.title for hit in hits] == ["Solar power reaches Kenya", "Football results", "太阳能"]
        hits, _ = await self.ask(self.telling(*given), SearchQuery(query="太陽能", sites=("example.org",)))
        assert hits[0].title == "太阳能"

    async def test_articles_of_another_time_are_left_out(self):
        days = ("2024-01-14", "2024-01-15", "2024-06-30", "2024-07-01", "")
        given = [Result(f"https://example.org/{day}", f"On {day}", "", day) for day in days]
        hits, _ = await self.ask(self.telling(*given), FILTERED, limit=9)
        assert [hit.published for hit in hits] == ["2024-01-15", "2024-06-30", ""]

    async def test_site_that_fails_leaves_the_others(self):
        def script(asked):
            is_first = "example.org" in asked.json["url"]
            return Answer({}, status=503) if is_first else self.telling(*some_results(2))(asked)

        hits, _ = await self.ask(script, FILTERED)
        assert [hit.title for hit in hits] == ["Page 0", "Page 1"]

    async def test_query_without_sites_is_refused(self):
        with SearchServer(self.telling(*some_results(2))) as server, pytest.raises(SourceError, match="names none"):
            await self.engine(server.address).search(QUERY, limit=3)
        assert server.requests == []
