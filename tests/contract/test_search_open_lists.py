"""Code, news, patents and Hugging Face pass the suite of the search port; what is special to each beside it."""

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, date, datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

import pytest

from deep_research.errors import ConfigurationError, SourceBusy, SourceError, SourceRefused
from deep_research.report.sources.hit import SearchQuery
from deep_research.web.search.engine import connect
from deep_research.web.search.registry import ENGINES
from tests.contract.search_identities import IdentityConformance, IdentityVoice
from tests.contract.test_search_open_libraries import found
from tests.support.search_formats import Result
from tests.support.search_server import Answer, Asked
from tests.support.search_suite import CHINESE, KEY, QUERY, SearchConformance, Voice


class GitHubVoice(Voice):
    engine = "github"
    path = "/search/repositories"
    ending = ""
    filters = "solar power pushed:2024-01-15..2024-06-30"

    def reply(self, asked: Asked, results: Sequence[Result]) -> Answer:
        size, number = (int(asked.params[name]) for name in ("per_page", "page"))
        told = results[(number - 1) * size : number * size]
        items = [self.item(result) for result in told]
        return Answer({"total_count": len(results), "incomplete_results": False, "items": items})

    def item(self, result: Result):
        return {
            "id": 3081286,
            "name": "page",
            "full_name": result.title,
            "html_url": result.address,
            "description": result.snippet,
            "created_at": "2012-01-01T00:31:50Z",
            "pushed_at": f"{result.published}T00:34:42Z",
            "stargazers_count": 1,
        }

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", self.path)
        assert call.headers["authorization"] == f"Bearer {KEY}"
        assert call.headers["accept"] == "application/vnd.github+json"
        assert call.headers["x-github-api-version"] == "2022-11-28"
        assert call.params == {"q": query.query + self.ending, "per_page": "3", "page": "1"}

    def check_filters(self, asked):
        assert asked[0].params["q"] == self.filters


class GitHubIssuesVoice(GitHubVoice):
    engine = "github-issues"
    path = "/search/issues"
    ending = " is:issue"
    filters = "solar power is:issue created:2024-01-15..2024-06-30"

    def item(self, result: Result):
        return {
            "html_url": result.address,
            "number": 132,
            "title": result.title,
            "state": "open",
            "created_at": f"{result.published}T20:09:31Z",
            "body": result.snippet,
        }


class TestGitHub(SearchConformance):
    voice = GitHubVoice()

    async def test_long_query_is_cut_and_keeps_its_filters(self):
        query = SearchQuery(query="word " * 100, since=date(2024, 1, 15))
        _, asked = await found("github-issues", Answer({"items": []}), query)
        assert len(asked[0].params["q"]) <= 256
        assert asked[0].params["q"].endswith(" word is:issue created:2024-01-15..*")

    @pytest.mark.parametrize("headers", [{"X-RateLimit-Remaining": "0"}, {"Retry-After": "60"}])
    async def test_refusal_for_asking_too_often_may_be_tried_again(self, headers):
        with pytest.raises(SourceBusy) as caught:
            await found("github", Answer({"message": "rate limit"}, status=403, headers=headers), QUERY)
        assert caught.value.retry_after_s == (60 if "Retry-After" in headers else None)

    async def test_no_token_is_needed(self):
        _, asked = await found("github", Answer({"items": []}), QUERY)
        assert "authorization" not in asked[0].headers


class TestGitHubIssues(SearchConformance):
    voice = GitHubIssuesVoice()


class HackerNewsVoice(Voice):
    engine = "hacker-news"

    def reply(self, asked: Asked, results: Sequence[Result]) -> Answer:
        size, number = (int(asked.params[name]) for name in ("hitsPerPage", "page"))
        hits = [
            {
                "objectID": "8863",
                "title": result.title,
                "url": result.address,
                "story_text": result.snippet,
                "author": "dhouston",
                "points": 111,
                "num_comments": 71,
                "created_at": f"{result.published}T19:16:40Z",
                "created_at_i": 1175714200,
                "_tags": ["story", "author_dhouston", "story_8863"],
            }
            for result in results[number * size : (number + 1) * size]
        ]
        return Answer({"hits": hits, "nbHits": len(results), "nbPages": -(-len(results) // size), "page": number})

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/api/v1/search")
        assert call.params == {"query": query.query, "tags": "story", "hitsPerPage": "3", "page": "0"}

    def check_filters(self, asked):
        # 2024-01-15 00:00:00 and 2024-06-30 23:59:59, both UTC.
        assert asked[0].params["numericFilters"] == "created_at_i>=1705276800,created_at_i<=1719791999"


class TestHackerNews(SearchConformance):
    voice = HackerNewsVoice()

    async def test_question_without_a_link_has_its_own_page(self):
        story = {"objectID": "8863", "title": "Ask HN: Why?", "story_text": "<p>Because &#x2F; not", "nbPages": 1}
        hits, _ = await found("hacker-news", Answer({"hits": [story]}), QUERY)
        assert [(hit.address, hit.snippet) for hit in hits] == [
            ("https://news.ycombinator.com/item?id=8863", "Because / not")
        ]


class PapersVoice(IdentityVoice):
    engine = "hugging-face-papers"

    def identity(self, number, result):
        return f"2405.{number:05d}"

    def built(self, identity):
        return f"https://huggingface.co/papers/{identity}"

    def reply(self, asked: Asked, results: Sequence[Result]) -> Answer:
        return Answer([self.entry(result) for result in results[: int(asked.params["limit"])]])

    def entry(self, result: Result, **more):
        paper = {
            "id": self.identify(result),
            "title": result.title,
            "summary": result.snippet,
            "publishedAt": f"{result.published}T17:59:59.000Z",
            "upvotes": 12,
            **more,
        }
        return {"paper": paper, "title": result.title, "numComments": 2}

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/api/papers/search")
        assert call.headers["authorization"] == f"Bearer {KEY}"
        assert call.params == {"q": query.query, "limit": "3"}

    def check_filters(self, asked):
        assert set(asked[0].params) == {"q", "limit"}


class DailyVoice(PapersVoice):
    engine = "hugging-face-daily"

    def reply(self, asked: Asked, results: Sequence[Result]) -> Answer:
        size, number = (int(asked.params[name]) for name in ("limit", "p"))
        # The keywords, which are not shown, make all papers fit the queries of the suite.
        keywords = ["solar power", CHINESE.query]
        told = results[number * size : (number + 1) * size]
        return Answer([self.entry(result, ai_keywords=keywords) for result in told])

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/api/daily_papers")
        assert call.headers["authorization"] == f"Bearer {KEY}"
        assert call.params == {"p": "0", "limit": "100"}

    def check_filters(self, asked):
        assert set(asked[0].params) == {"p", "limit"}


class TestHuggingFacePapers(IdentityConformance):
    voice = PapersVoice()


class TestHuggingFaceDaily(IdentityConformance):
    voice = DailyVoice()

    async def test_only_papers_on_the_subject_are_kept_best_first(self):
        told = [
            ("2405.00001", "Training language models", "2024-05-01"),
            ("2405.00002", "Solar panels", "2024-05-02"),
            ("2405.00003", "Forecasting solar power in Kenya", "2024-05-03"),
            ("2305.00004", "Solar power in Kenya, last year", "2023-05-03"),
        ]
        entries = [
            {"paper": {"id": number, "title": title, "summary": "", "publishedAt": f"{day}T00:00:00Z"}}
            for number, title, day in told
        ]
        query = SearchQuery(query="solar power in Kenya", since=date(2024, 1, 1))
        hits, _ = await found("hugging-face-daily", Answer(entries), query, limit=10)
        assert [hit.address[-10:] for hit in hits] == ["2405.00003", "2405.00002"]


_RSS = '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Blog</title>{}</channel></rss>'
_POST = '<item><title>{title}</title><pubDate>{day}</pubDate><link>{link}</link><guid isPermaLink="false">{link}</guid>'


class BlogVoice(Voice):
    """The blog's own feed tells title, day and link; description and category, which RSS 2.0 has too, are read."""

    engine = "hugging-face-blog"

    def reply(self, asked: Asked, results: Sequence[Result]) -> Answer:
        items = [
            _POST.format(
                title=escape(result.title),
                day=format_datetime(datetime.fromisoformat(result.published).replace(tzinfo=UTC), usegmt=True),
                link=escape(result.address),
            )
            + f"<description>{escape(result.snippet)}</description>"
            + f"<category>solar power {CHINESE.query}</category></item>"
            for result in results
        ]
        return Answer(_RSS.format("".join(items)).encode())

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path, call.params) == ("GET", "/blog/feed.xml", {})

    def check_filters(self, asked):
        assert asked[0].params == {}

    def wrong_answers(self):
        shapes = ("<rss/>", "<feed xmlns='http://www.w3.org/2005/Atom'/>", "<channel><item/></channel>")
        return [*super().wrong_answers(), *(Answer(shape.encode()) for shape in shapes)]


class TestHuggingFaceBlog(SearchConformance):
    voice = BlogVoice()

    async def test_only_posts_on_the_subject_and_of_the_time_are_kept(self):
        told = [("Training agents", 2024), ("Welcome Solar, a model for power grids", 2024), ("Solar power", 2021)]
        items = [
            _POST.format(
                title=title, day=f"Tue, 14 May {year} 00:00:00 GMT", link=f"https://huggingface.co/blog/{place}"
            )
            + "</item>"
            for place, (title, year) in enumerate(told)
        ]
        query = SearchQuery(query="solar power", since=date(2024, 1, 1), until=date(2024, 12, 31))
        hits, _ = await found("hugging-face-blog", Answer(_RSS.format("".join(items)).encode()), query)
        assert [(hit.address, hit.published) for hit in hits] == [("https://huggingface.co/blog/1", "2024-05-14")]


class GdeltVoice(Voice):
    engine = "gdelt"
    tells_snippet = False

    def reply(self, asked: Asked, results: Sequence[Result]) -> Answer:
        if not results:
            return Answer({})
        articles = [
            {
                "url": result.address,
                "url_mobile": "",
                "title": result.title,
                "seendate": f"{result.published.replace('-', '')}T031500Z",
                "socialimage": "",
                "domain": "example.org",
                "language": "English",
                "sourcecountry": "Kenya",
            }
            for result in results[: int(asked.params["maxrecords"])]
        ]
        return Answer({"articles": articles})

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("GET", "/api/v2/doc/doc")
        assert call.params == {
            "query": "台灣 太陽能 2024 年裝機容量" if query is CHINESE else "solar power Kenya",
            "mode": "artlist",
            "format": "json",
            "maxrecords": "3",
            "sort": "hybridrel",
        }

    def check_filters(self, asked):
        sent = asked[0].params
        assert sent["query"] == "solar power sourcelang:chinese (domainis:example.org OR domainis:example.net)"
        assert (sent["startdatetime"], sent["enddatetime"]) == ("20240115000000", "20240630235959")

    def wrong_answers(self):
        return [answer for answer in super().wrong_answers() if answer.body != {}]


class TestGdelt(SearchConformance):
    voice = GdeltVoice()

    @pytest.mark.parametrize(
        ("sentence", "kind"),
        [
            ("Your query was too short or too long.\n", SourceError),
            ("Please limit requests to one every 5 seconds or contact us.\n", SourceBusy),
        ],
    )
    async def test_error_told_as_a_sentence_with_status_200_is_an_error(self, sentence, kind):
        with pytest.raises(SourceError) as caught:
            await found("gdelt", Answer(sentence), QUERY)
        assert type(caught.value) is kind

    async def test_words_that_would_spoil_the_question_are_left_out(self):
        query = SearchQuery(query="Is AI in the EU's COVID-19 policy a risk? (yes)", sites=("example.org",))
        _, asked = await found("gdelt", Answer({}), query)
        assert asked[0].params["query"] == '"EU\'s" "COVID-19" policy risk yes domainis:example.org'

    async def test_control_characters_in_headlines_are_borne(self):
        answer = Answer(b'{"articles": [{"url": "https://example.org/", "title": "A\tB", "seendate": "2024"}]}')
        hits, _ = await found("gdelt", answer, QUERY)
        assert [(hit.title, hit.published) for hit in hits] == [("A B", "2024")]


_EMPTY = (
    '<fault xmlns="http://ops.epo.org"><code>SERVER.EntityNotFound</code><message>No results found</message></fault>'
)
_EPO_KEY = f"client:{KEY}"


class EpoVoice(IdentityVoice):
    engine = "epo"
    base = "/3.2"
    calls_before = 1

    def identity(self, number, result):
        return str(1_000_000 + number)

    def built(self, identity):
        return f"https://patents.google.com/patent/EP{identity}A1/en"

    def reply(self, asked: Asked, results: Sequence[Result]) -> Answer:
        if asked.path.endswith("/accesstoken"):
            return Answer({"access_token": "token-1", "token_type": "BearerToken", "expires_in": "1199"})
        first, last = (int(number) for number in asked.params["Range"].split("-"))
        told = [{"exchange-document": self.patent(result)} for result in results[first - 1 : last]]
        if not told:
            return Answer(_EMPTY.encode(), status=404)
        # What there is one of is told without a list.
        documents = told[0] if len(told) == 1 else told
        search = {"@total-result-count": str(len(results)), "ops:search-result": {"exchange-documents": documents}}
        return Answer({"ops:world-patent-data": {"ops:biblio-search": search}})

    def patent(self, result: Result):
        day = result.published.replace("-", "")
        docdb = {"@document-id-type": "docdb", "country": {"$": "EP"}, "date": {"$": day}}
        titles = [{"@lang": "de", "$": "Seite"}, {"@lang": "en", "$": result.title}]
        return {
            "@country": "EP",
            "@doc-number": self.identify(result),
            "@kind": "A1",
            "bibliographic-data": {
                "publication-reference": {"document-id": [docdb, {"@document-id-type": "epodoc"}]},
                "invention-title": titles,
            },
            "abstract": {"@lang": "en", "p": {"$": result.snippet}},
        }

    def check_request(self, asked, query):
        token, search = asked
        assert (token.method, token.path) == ("POST", "/3.2/auth/accesstoken")
        assert token.headers["authorization"] == f"Basic {b64encode(_EPO_KEY.encode()).decode()}"
        assert token.form == {"grant_type": "client_credentials"}
        assert (search.method, search.path) == ("GET", "/3.2/rest-services/published-data/search/biblio")
        assert search.headers["authorization"] == "Bearer token-1"
        assert search.headers["accept"] == "application/json"
        words = query.query if query is CHINESE else "solar power Kenya"
        assert search.params == {"q": f'ta all "{words}"', "Range": "1-3"}

    def check_filters(self, asked):
        assert asked[1].params["q"] == 'ta all "solar power" and pd within "20240115 20240630"'


class TestEpo(IdentityConformance):
    voice = EpoVoice()

    def engine(self, address, *, timeout_s=60.0):
        return connect(ENGINES["epo"], address=address + self.voice.base, key=_EPO_KEY, timeout_s=timeout_s)

    def test_key_without_secret_is_told_at_the_start(self):
        with pytest.raises(ConfigurationError, match="client_id:secret"):
            connect(ENGINES["epo"], key="only-an-id")

    @pytest.mark.parametrize(
        ("headers", "kind"), [({"X-Rejection-Reason": "IndividualQuotaPerHour"}, SourceBusy), ({}, SourceRefused)]
    )
    async def test_used_up_quota_may_be_tried_again(self, headers, kind):
        def script(asked):
            return self.voice.reply(asked, []) if "auth" in asked.path else Answer(b"", status=403, headers=headers)

        with pytest.raises(SourceError) as caught:
            await self.ask(script)
        assert type(caught.value) is kind

    @pytest.mark.parametrize("body", ["<html>no such page</html>", '{"fault": "gone"}', ""])
    async def test_address_that_is_not_there_is_no_empty_result(self, body):
        def script(asked):
            return self.voice.reply(asked, []) if "auth" in asked.path else Answer(body, status=404)

        with pytest.raises(SourceError, match="European Patent Office"):
            await self.ask(script)

    async def test_american_application_has_the_zero_after_its_year(self):
        patent = {
            "@country": "US",
            "@doc-number": "2020123456",
            "@kind": "A1",
            "bibliographic-data": {"invention-title": {"@lang": "fr", "$": "Titre"}},
            "abstract": [{"@lang": "fr", "p": [{"$": "Un."}, {"$": "Deux."}]}],
        }
        search = {"ops:search-result": {"exchange-documents": {"exchange-document": [patent]}}}

        def script(asked):
            data = {"ops:world-patent-data": {"ops:biblio-search": search}}
            return self.voice.reply(asked, []) if "auth" in asked.path else Answer(data)

        (hit,), _ = await found("epo", script, QUERY, key=_EPO_KEY)
        assert hit.address == "https://patents.google.com/patent/US20200123456A1/en"
        assert (hit.title, hit.snippet, hit.published) == ("Titre", "Un. Deux.", "")
