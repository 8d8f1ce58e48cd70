"""The web engines with a key pass the suite of the search port, each answering in its documented format."""

from deep_research.report.sources.hit import SearchQuery
from tests.support import search_formats
from tests.support.search_server import Answer
from tests.support.search_suite import KEY, SearchConformance, Voice, some_results

NEWS = SearchQuery(query="solar power in Kenya", kind="news")


class TavilyVoice(Voice):
    engine = "tavily"

    def reply(self, asked, results):
        return search_formats.tavily(asked, results)

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("POST", "/search")
        assert call.headers["authorization"] == f"Bearer {KEY}"
        assert call.headers["content-type"] == "application/json"
        assert call.json == {
            "query": query.query,
            "max_results": 3,
            "search_depth": "basic",
            "include_raw_content": "text",
            "topic": "general",
        }

    def check_filters(self, asked):
        sent = asked[0].json
        assert sent["include_domains"] == ["example.org", "example.net"]
        assert (sent["start_date"], sent["end_date"]) == ("2024-01-15", "2024-06-30")


class TestTavily(SearchConformance):
    voice = TavilyVoice()

    async def test_news_are_a_topic(self):
        _, asked = await self.ask(self.telling(*some_results(1)), NEWS)
        assert asked[0].json["topic"] == "news"


class SerperVoice(Voice):
    engine = "serper"

    def reply(self, asked, results):
        return search_formats.serper(asked, results)

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("POST", "/search")
        assert call.headers["x-api-key"] == KEY
        assert "authorization" not in call.headers
        assert call.json == {"q": query.query, "num": 3, "page": 1}

    def check_filters(self, asked):
        assert asked[0].json == {
            "q": "solar power (site:example.org OR site:example.net)",
            "num": 3,
            "page": 1,
            "hl": "zh-cn",
            "gl": "cn",
            "tbs": "cdr:1,cd_min:1/15/2024,cd_max:6/30/2024",
        }


class TestSerper(SearchConformance):
    voice = SerperVoice()

    async def test_news_have_a_place_of_their_own(self):
        hits, asked = await self.ask(self.telling(*some_results(2)), NEWS)
        assert asked[0].path == "/news"
        assert [hit.title for hit in hits] == ["Page 0", "Page 1"]

    async def test_search_without_results_may_leave_the_list_out(self):
        hits, _ = await self.ask(Answer({"searchParameters": {"q": "x"}, "credits": 1}))
        assert hits == []

    async def test_page_that_is_a_little_short_is_not_the_last(self):
        def script(asked):
            # Google shows videos and questions between its results, and counts them.
            answer = self.telling(*some_results(60))(asked)
            del answer.body["organic"][8:]
            return answer

        hits, asked = await self.ask(script, limit=30)
        assert [hit.title for hit in hits] == [f"Page {number}" for number in range(30) if number % 10 < 8]
        assert [call.json["page"] for call in asked] == [1, 2, 3]

    async def test_page_that_is_less_than_half_full_is_the_last(self):
        hits, asked = await self.ask(self.telling(*some_results(4)), limit=30)
        assert (len(hits), len(asked)) == (4, 1)

    async def test_relative_date_is_no_date(self):
        item = {"title": "T", "link": "https://example.org/a", "snippet": "S", "date": "3 hours ago"}
        hits, _ = await self.ask(Answer({"searchParameters": {}, "organic": [item]}))
        assert [hit.published for hit in hits] == [""]


class ExaVoice(Voice):
    engine = "exa"

    def reply(self, asked, results):
        return Answer(
            {
                "requestId": "b5947044c4b78efa9552a7c89b306d95",
                "resolvedSearchType": "neural",
                "results": [
                    {
                        "id": result.address,
                        "title": result.title,
                        "url": result.address,
                        "publishedDate": f"{result.published}T00:00:00.000Z",
                        "author": None,
                        "score": 0.4,
                        "text": result.snippet,
                    }
                    for result in results[: asked.json["numResults"]]
                ],
                "costDollars": {"total": 0.005},
            }
        )

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("POST", "/search")
        assert call.headers["x-api-key"] == KEY
        assert call.json == {
            "query": query.query,
            "type": "neural",
            "numResults": 3,
            "contents": {"text": {"maxCharacters": 10000}},
        }

    def check_filters(self, asked):
        sent = asked[0].json
        assert sent["includeDomains"] == ["example.org", "example.net"]
        assert sent["startPublishedDate"] == "2024-01-15T00:00:00.000Z"
        assert sent["endPublishedDate"] == "2024-06-30T23:59:59.999Z"


class TestExa(SearchConformance):
    voice = ExaVoice()

    async def test_kinds_are_categories(self):
        for kind, category in (("news", "news"), ("academic", "research paper")):
            _, asked = await self.ask(
                self.telling(*some_results(1)), SearchQuery.from_json({"query": "x", "kind": kind})
            )
            assert asked[0].json["category"] == category


class BraveVoice(Voice):
    engine = "brave"

    def reply(self, asked, results):
        return search_formats.brave(asked, results)

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/res/v1/web/search")
        assert call.headers["x-subscription-token"] == KEY
        assert call.headers["accept"] == "application/json"
        assert call.params == {"q": query.query, "count": "3", "offset": "0", "result_filter": "web"}

    def check_filters(self, asked):
        sent = asked[0].params
        assert sent["q"] == "solar power (site:example.org OR site:example.net)"
        assert sent["search_lang"] == "zh-hans"
        assert sent["freshness"] == "2024-01-15to2024-06-30"


class TestBrave(SearchConformance):
    voice = BraveVoice()

    async def test_news_have_a_place_of_their_own(self):
        hits, asked = await self.ask(self.telling(*some_results(2)), NEWS)
        assert asked[0].path == "/res/v1/news/search"
        assert "result_filter" not in asked[0].params
        assert [hit.title for hit in hits] == ["Page 0", "Page 1"]

    async def test_pages_go_on_while_the_service_says_that_there_is_more(self):
        def script(asked):
            # Duplicates are taken out of a page after it was filled.
            answer = self.telling(*some_results(60))(asked)
            del answer.body["web"]["results"][18:]
            return answer

        hits, asked = await self.ask(script, limit=50)
        assert [hit.title for hit in hits] == [f"Page {number}" for number in range(60) if number % 20 < 18][:50]
        assert [call.params["offset"] for call in asked] == ["0", "1", "2"]

    async def test_no_page_is_asked_for_when_the_service_says_there_is_none(self):
        _, asked = await self.ask(self.telling(*some_results(20)), limit=50)
        assert len(asked) == 1


class BochaVoice(Voice):
    engine = "bocha"

    def reply(self, asked, results):
        items = [
            {
                "id": None,
                "name": result.title,
                "url": result.address,
                "displayUrl": result.address,
                "snippet": "A shorter one.",
                "summary": result.snippet,
                "siteName": "example.org",
                "datePublished": f"{result.published}T08:18:30+08:00",
                "dateLastCrawled": "2025-01-01T08:18:30Z",
                "language": None,
            }
            for result in results[: asked.json["count"]]
        ]
        pages = {"webSearchUrl": "", "totalEstimatedMatches": len(results), "value": items, "someResultsRemoved": False}
        data = {"_type": "SearchResponse", "queryContext": {"originalQuery": asked.json["query"]}, "webPages": pages}
        return Answer({"code": 200, "log_id": "d71841ad20095f61", "msg": None, "data": data})

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("POST", "/v1/web-search")
        assert call.headers["authorization"] == f"Bearer {KEY}"
        assert call.json == {"query": query.query, "summary": True, "count": 3, "freshness": "noLimit"}

    def check_filters(self, asked):
        assert asked[0].json["freshness"] == "2024-01-15..2024-06-30"
        assert asked[0].json["include"] == "example.org|example.net"

    def wrong_answers(self):
        refused = {"code": "403", "message": "You do not have enough money", "log_id": "x"}
        broken = {"code": 500, "msg": "search failed", "data": {"webPages": {"value": []}}}
        return [*super().wrong_answers(), Answer(refused), Answer(broken), Answer({"code": 200, "data": None})]


class TestBocha(SearchConformance):
    voice = BochaVoice()

    async def test_older_answers_tell_less(self):
        item = {
            "name": "阿里巴巴",
            "url": "https://example.org/a",
            "snippet": "短摘要",
            "dateLastCrawled": "2024-07-22T00:00:00Z",
        }
        hits, _ = await self.ask(Answer({"code": 200, "data": {"webPages": {"value": [item]}}}))
        assert [(hit.snippet, hit.published) for hit in hits] == [("短摘要", "2024-07-22")]
        hits, _ = await self.ask(Answer({"code": 200, "data": {"webPages": {"value": None}}}))
        assert hits == []
