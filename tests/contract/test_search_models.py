"""Models that search by themselves pass the suite of the search port: what they cite becomes hits."""

import pytest

from deep_research.errors import QueryRefused, SourceBusy, SourceError, SourceRefused
from deep_research.text.messages.words import words_in
from deep_research.value import JsonObject
from deep_research.web.search.engine import connect
from deep_research.web.search.gemini_search import GeminiSearch
from deep_research.web.search.registry import ENGINES
from tests.support.search_formats import Result
from tests.support.search_server import Answer, SearchServer
from tests.support.search_suite import KEY, QUERY, SearchConformance, Voice, some_results

# Models answer with as many pages as they like, however few were asked for.
MOST_CITED = 30


class OpenAiVoice(Voice):
    engine = "openai-search"
    base = "/v1"
    tells_snippet = False
    tells_published = False

    def reply(self, asked, results):
        cited = [
            {"type": "url_citation", "start_index": 0, "end_index": 9, "url": result.address, "title": result.title}
            for result in results[:MOST_CITED]
        ]
        text = {"type": "output_text", "text": "The model says so.", "annotations": cited, "logprobs": []}
        action = {"type": "search", "query": "solar", "sources": [{"type": "api", "name": "oai-weather"}]}
        return Answer(
            {
                "id": "resp_1",
                "object": "response",
                "status": "completed",
                "error": None,
                "model": asked.json["model"],
                "output": [
                    {"id": "rs_1", "type": "reasoning", "summary": []},
                    {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": action},
                    {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text]},
                ],
                "usage": {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30},
            }
        )

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("POST", "/v1/responses")
        assert call.headers["authorization"] == f"Bearer {KEY}"
        sent = dict(call.json)
        assert str(sent.pop("input")).endswith(f"\n{query.query}")
        assert sent == {
            "model": ENGINES["openai-search"].model,
            "tools": [{"type": "web_search"}],
            "tool_choice": "required",
            "include": ["web_search_call.action.sources"],
            "store": False,
        }

    def check_filters(self, asked):
        sent = asked[0].json
        filters = {"allowed_domains": ["example.org", "example.net"]}
        assert sent["tools"] == [{"type": "web_search", "filters": filters}]
        assert "2024-01-15" in sent["input"]
        assert "2024-06-30" in sent["input"]
        assert "zh-Hans" in sent["input"]

    def wrong_answers(self):
        failed = {"status": "failed", "error": {"code": "server_error"}, "output": []}
        return [*super().wrong_answers(), Answer(failed), Answer({"status": "completed", "output": "none"})]


class TestOpenAiSearch(SearchConformance):
    voice = OpenAiVoice()

    async def test_pages_that_were_looked_at_follow_those_that_are_cited(self):
        def script(asked):
            answer = self.telling(*some_results(1))(asked)
            sources = [
                {"type": "url", "url": "https://example.org/page/0"},
                {"type": "url", "url": "https://example.net/x"},
            ]
            answer.body["output"][1]["action"]["sources"] = sources
            return answer

        hits, _ = await self.ask(script)
        assert [(hit.address, hit.title) for hit in hits] == [
            ("https://example.org/page/0", "Page 0"),
            ("https://example.net/x", "https://example.net/x"),
        ]
        assert {hit.snippet for hit in hits} == {""}


class GeminiVoice(Voice):
    engine = "gemini-search"
    tells_snippet = False
    tells_published = False

    def reply(self, asked, results):
        chunks = [{"web": {"uri": result.address, "title": result.title}} for result in results[:MOST_CITED]]
        support = {"segment": {"startIndex": 0, "endIndex": 9, "text": "It says"}, "groundingChunkIndices": [0]}
        grounding = {
            "webSearchQueries": ["solar"],
            "searchEntryPoint": {"renderedContent": "<div></div>"},
            "groundingChunks": chunks,
            "groundingSupports": [support],
        }
        candidate = {
            "content": {"parts": [{"text": "It says so."}], "role": "model"},
            "finishReason": "STOP",
            "index": 0,
            **({"groundingMetadata": grounding} if chunks else {}),
        }
        return Answer({"candidates": [candidate], "usageMetadata": {"totalTokenCount": 30}, "modelVersion": "gemini"})

    def check_request(self, asked, query):
        (call,) = asked
        model = ENGINES["gemini-search"].model
        assert (call.method, call.path) == ("POST", f"/v1beta/models/{model}:generateContent")
        assert call.params == {}
        assert call.headers["x-goog-api-key"] == KEY
        sent = call.json
        assert sent["tools"] == [{"google_search": {}}]
        assert sent["contents"][0]["role"] == "user"
        assert sent["contents"][0]["parts"][0]["text"].endswith(f"\n{query.query}")

    def check_filters(self, asked):
        sent = asked[0].json
        times = {"startTime": "2024-01-15T00:00:00Z", "endTime": "2024-06-30T23:59:59Z"}
        assert sent["tools"] == [{"google_search": {"timeRangeFilter": times}}]
        assert "(site:example.org OR site:example.net)" in sent["contents"][0]["parts"][0]["text"]

    def wrong_answers(self):
        blocked = {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}
        return [*super().wrong_answers(), Answer(blocked), Answer({"promptFeedback": {"blockReason": "SAFETY"}})]


class TestGeminiSearch(SearchConformance):
    voice = GeminiVoice()

    async def test_chunks_that_are_no_pages_are_left_out(self):
        def script(asked):
            answer = self.telling(*some_results(1))(asked)
            chunks = answer.body["candidates"][0]["groundingMetadata"]["groundingChunks"]
            chunks.insert(0, {"maps": {"uri": "https://maps.example/1", "title": "A place"}})
            return answer

        hits, _ = await self.ask(script)
        assert [hit.title for hit in hits] == ["Page 0"]

    async def test_pages_that_google_made_for_the_question_are_no_sources(self):
        own = (
            "https://www.google.com/search?q=time+in+Nairobi",
            "https://google.com.hk/search?q=weather+in+Hong Kong",
            "https://www.google.co.uk/search?q=x",
        )
        page = Result("https://www.google.com/about", "About Google")
        hits, _ = await self.ask(self.telling(*(Result(address, "Weather") for address in own), page))
        assert [hit.address for hit in hits] == [page.address]

    async def test_addresses_that_lead_on_become_those_of_the_pages(self):
        targets = {"AUZ1": "https://example.org/a", "AUZ2": "https://www.google.com/search?q=x", "AUZ3": ""}

        def script(asked):
            if asked.method == "POST":
                base = f"http://{asked.headers['host']}/grounding-api-redirect"
                return self.telling(*(Result(f"{base}/{name}", "example.org") for name in targets))(asked)
            target = targets[asked.path.rsplit("/", 1)[1]]
            return Answer(b"", status=302, headers={"Location": target}) if target else Answer(b"", status=404)

        with SearchServer(script) as server:
            engine = self.engine(server.address)
            assert isinstance(engine, GeminiSearch)
            engine.redirects = f"{server.address}/grounding-api-redirect/"
            hits = await engine.search(QUERY, limit=5)
        assert [hit.address for hit in hits] == [
            "https://example.org/a",
            f"{server.address}/grounding-api-redirect/AUZ3",
        ]
        assert [call.headers.get("x-goog-api-key") for call in server.requests] == [KEY, None, None, None]


class OpenRouterVoice(Voice):
    engine = "openrouter-search"
    base = "/api/v1"
    tells_published = False

    def reply(self, asked, results):
        cited = [
            {
                "type": "url_citation",
                "url_citation": {
                    "url": result.address,
                    "title": result.title,
                    "content": result.snippet,
                    "start_index": 0,
                    "end_index": 9,
                },
            }
            for result in results[: asked.json["tools"][0]["parameters"]["max_results"]]
        ]
        message = {"role": "assistant", "content": "It says so.", **({"annotations": cited} if cited else {})}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "native_finish_reason": "stop"}
        return Answer({"id": "gen-1", "model": asked.json["model"], "choices": [choice], "usage": {"total_tokens": 9}})

    def check_request(self, asked, query):
        (call,) = asked
        assert (call.method, call.path) == ("POST", "/api/v1/chat/completions")
        assert call.headers["authorization"] == f"Bearer {KEY}"
        sent = call.json
        assert sent["model"] == ENGINES["openrouter-search"].model
        limits = {"max_results": 3, "max_total_results": 3}
        assert sent["tools"] == [{"type": "openrouter:web_search", "parameters": limits}]
        assert sent["tool_choice"] == {"type": "openrouter:web_search"}
        assert "plugins" not in sent
        assert sent["messages"][0]["content"].endswith(f"\n{query.query}")

    def check_filters(self, asked):
        assert asked[0].json["tools"][0]["parameters"]["allowed_domains"] == ["example.org", "example.net"]
        assert "2024-01-15" in asked[0].json["messages"][0]["content"]

    def wrong_answers(self):
        failed = {"index": 0, "finish_reason": "error", "error": {"code": 502}, "message": {"content": ""}}
        return [*super().wrong_answers(), Answer({"choices": [failed]}), Answer({"choices": []})]


class TestOpenRouterSearch(SearchConformance):
    voice = OpenRouterVoice()


# As the services spell them; the codes tell, not the words.
NO_SUCH_MODEL: JsonObject = {
    "error": {"message": "No.", "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
}
WRONG_KEY: JsonObject = {
    "error": {
        "code": 400,
        "message": "No.",
        "status": "INVALID_ARGUMENT",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
            {"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US", "message": "No."},
        ],
    }
}
NO_QUOTA: JsonObject = {
    "error": {"message": "No.", "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}
}


@pytest.mark.parametrize(
    ("engine", "answer", "told"),
    [
        ("openai-search", Answer(NO_SUCH_MODEL, status=400), "check the setting openai_search_model"),
        ("openai-search", Answer(NO_QUOTA, status=429), "no credit"),
        ("openai-search", Answer({}, status=401), "check the key in OPENAI_API_KEY"),
        ("gemini-search", Answer(WRONG_KEY, status=400), "check the key in GEMINI_API_KEY"),
        ("gemini-search", Answer({}, status=404), "gemini_search_model and gemini_address"),
        ("openrouter-search", Answer({}, status=402), "no credit"),
    ],
)
async def test_what_only_the_settings_can_mend_is_told_with_the_setting(engine, answer, told):
    with SearchServer(answer) as server, pytest.raises(SourceRefused) as caught:
        await connect(ENGINES[engine], address=server.address, key=KEY).search(QUERY, limit=3)
    assert told in str(caught.value)
    for language in ("zh-Hans", "zh-Hant"):
        assert ENGINES[engine].title in caught.value.in_words(words_in(language))


@pytest.mark.parametrize("body", [b"", b"[", {"error": "no"}, {"error": {"code": 400, "details": [1, {}]}}])
async def test_other_errors_with_these_statuses_are_what_they_were(body):
    for status, kind in ((400, QueryRefused), (429, SourceBusy)):
        with SearchServer(Answer(body, status=status)) as server, pytest.raises(kind) as caught:
            await connect(ENGINES["openai-search"], address=server.address, key=KEY).search(QUERY, limit=3)
        assert type(caught.value) is kind


@pytest.mark.parametrize("name", [name for name, spec in ENGINES.items() if spec.is_model_search])
async def test_another_model_can_be_asked(name):
    with SearchServer(Answer({})) as server:
        engine = connect(ENGINES[name], address=server.address, key=KEY, model="some-model")
        with pytest.raises(SourceError):
            await engine.search(QUERY, limit=3)
    assert b"some-model" in server.requests[0].body or "some-model" in server.requests[0].path
