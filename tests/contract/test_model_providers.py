"""Every provider's adapter against a server that speaks its protocol: what it asks, hears, and makes of faults."""

import json
from dataclasses import replace
from typing import Any

import pytest

from deep_research.errors import CallFailed, CreditSpent, ModelBusy, ModelError, ModelRefused, NetworkError
from deep_research.llm.chat import ModelLimits, VendorChat, connect
from deep_research.llm.port import ChatModel, Delta, ModelRequest, PriorMessage
from deep_research.llm.prices import Price
from deep_research.llm.registry import PROVIDERS, ModelName
from deep_research.request import Spend
from deep_research.value import JsonObject
from tests.support.model_dialects import Answer, Asked, stream_of
from tests.support.model_server import ModelServer

KEY = "sk-very-secret-1234567890"
MODEL = "some-model"
PRICE = {"in": 2.0, "cached": 0.5, "out": 10.0}
LIMITS = ModelLimits(timeout_s=60, idle_timeout_s=60)
SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 80, "title": "Title"},
        "scores": {"type": "array", "items": {"type": "number", "minimum": 0}, "maxItems": 5},
    },
    "required": ["title"],
}
PLAIN = ModelRequest(act="plan", role="thinking", system="你是研究员。", prompt="What is known?", max_tokens=300)
FORMED = PLAIN.model_copy(update={"answer_schema": SCHEMA})

each_provider = pytest.mark.parametrize("provider", PROVIDERS)
# Providers of one protocol differ in their settings only.
PROTOCOLS = {provider.adapter: name for name, provider in reversed(PROVIDERS.items())}
each_protocol = pytest.mark.parametrize("provider", sorted(PROTOCOLS.values()))


@pytest.fixture(autouse=True)
def hostile_environment(monkeypatch):
    """Point every variable that vendors' libraries read at a place where nobody listens."""
    nowhere = "http://127.0.0.1:9/elsewhere"
    for name in (
        "OPENAI_BASE_URL OPENAI_API_BASE OPENAI_PROXY ANTHROPIC_BASE_URL ANTHROPIC_API_URL GOOGLE_GEMINI_BASE_URL "
        "OLLAMA_HOST HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy LANGSMITH_GATEWAY"
    ).split():
        monkeypatch.setenv(name, nowhere)
    for name in "OPENAI_API_KEY ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN GOOGLE_API_KEY GEMINI_API_KEY".split():
        monkeypatch.setenv(name, "key-of-the-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")


def model_at(server: ModelServer, provider: str, *, model: str = MODEL, limits: ModelLimits = LIMITS) -> VendorChat:
    prices = {provider: {model: Price.model_validate(PRICE)}}
    name = ModelName(PROVIDERS[provider], model)
    return connect(name, address=server.address_of(provider), key=KEY, window=9_000, prices=prices, limits=limits)


async def ask(provider: str, answer: Answer, request: ModelRequest = PLAIN, **options):
    with ModelServer(answer) as server:
        return await model_at(server, provider, **options).complete(request)


async def failure(provider: str, answer: Answer, request: ModelRequest = PLAIN, **options) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await ask(provider, answer, request, **options)
    error = caught.value
    assert KEY not in f"{error} {error!r}"
    assert request.prompt not in str(error)
    assert error.__cause__ is None
    return error


@each_provider
async def test_request_goes_to_its_address_with_key_model_and_words_in_order(provider):
    request = PLAIN.model_copy(
        update={
            "context": ("Block one.", "第二块。"),
            "turns": (PriorMessage(speaker="model", text="{bad"), PriorMessage(speaker="user", text="Mend it.")),
        }
    )
    with ModelServer(Answer(text="fine")) as server:
        await model_at(server, provider).complete(request)
    (asked,) = server.requests
    words = [request.system, "Block one.", "第二块。", "What is known?", "{bad", "Mend it."]
    places = [asked.text.find(word) for word in words]
    assert places == sorted(places)
    assert min(places) >= 0
    assert asked.model == MODEL
    assert asked.is_streamed
    assert _key_of(asked) == KEY
    assert "org-of-the-environment" not in asked.headers.values() or provider == "openai"
    assert _limit_of(asked) == 300
    assert asked.form is None


@each_protocol
async def test_context_is_the_same_bytes_at_the_start_of_every_prompt(provider):
    with ModelServer(Answer(text="fine")) as server:
        for prompt in ("One?", "Two?"):
            context = ("Block one.", "Block two.")
            await model_at(server, provider).complete(PLAIN.model_copy(update={"prompt": prompt, "context": context}))
    users = ["".join(_user_texts(asked)) for asked in server.requests]
    assert users == ["Block one.\n\nBlock two.\n\nOne?", "Block one.\n\nBlock two.\n\nTwo?"]


@each_provider
async def test_answer_comes_in_pieces_with_thoughts_apart(provider):
    deltas: list[Delta] = []
    told = Answer(text="Tea contains caffeine. 茶含有咖啡因。", reasoning="First I look at tea.", piece_chars=5)
    with ModelServer(told) as server:
        model: ChatModel = model_at(server, provider)
        reply = await model.complete(PLAIN, on_delta=deltas.append)
    assert (reply.text, reply.reasoning, reply.stop) == (told.text, told.reasoning, "stop")
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == told.text
    assert "".join(delta.text for delta in deltas if delta.kind == "reasoning") == told.reasoning
    assert len(deltas) > 8
    assert reply.model == f"{provider}:{MODEL}"


@each_protocol
async def test_think_tags_are_stripped(provider):
    reply = await ask(provider, Answer(text="<think>Hm, tea.</think>Tea it is.", piece_chars=3))
    assert (reply.text, reply.reasoning) == ("Tea it is.", "Hm, tea.")


@each_provider
async def test_usage_and_cost_are_the_providers_own(provider):
    reply = await ask(provider, Answer(text="fine", tokens_in=1_000, tokens_out=200, tokens_cached=400))
    cached = 0 if provider == "ollama" else 400
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (1_000, 200, cached)
    assert reply.usd == pytest.approx(((1_000 - cached) * 2 + cached * 0.5 + 200 * 10) / 1e6)


@each_protocol
async def test_usage_is_estimated_where_none_is_reported(provider):
    with ModelServer(Answer(text="word " * 50, reports_usage=False)) as server:
        model = model_at(server, provider)
        reply = await model.complete(PLAIN)
        most = model.estimate(PLAIN)
    assert 10 < reply.tokens_in < 60
    assert 50 <= reply.tokens_out < 120
    assert 0 < reply.usd < most.usd
    assert most.tokens == reply.tokens_in + 300
    assert most.seconds == 0


@each_provider
async def test_structured_answer_is_asked_for_and_comes_back_as_text(provider):
    wanted = json.dumps({"title": "Tea", "scores": [1]})
    with ModelServer(Answer(text=wanted, piece_chars=4)) as server:
        reply = await model_at(server, provider).complete(FORMED)
    assert json.loads(reply.text) == json.loads(wanted)
    _check_form(provider, server.requests[0])


@each_provider
async def test_refused_form_is_asked_for_in_the_next_way_and_remembered(provider):
    def script(asked: Asked) -> Answer:
        return Answer(text="fine") if asked.form is None else Answer(status=400)

    with ModelServer(script) as server:
        model = model_at(server, provider)
        assert (await model.complete(FORMED)).text == "fine"
        ways = PROVIDERS[provider].answer_ways
        forms = [json.dumps(asked.form) for asked in server.requests]
        assert len(set(forms)) == len(forms) == len(ways)
        assert (await model_at(server, provider).complete(FORMED)).text == "fine"
        assert len(server.requests) == len(ways) + 1


async def test_older_claude_answers_as_the_input_of_a_tool():
    def script(asked: Asked) -> Answer:
        return Answer(status=400) if "output_config" in asked.body else Answer(text='{"title": "茶"}', piece_chars=3)

    with ModelServer(script) as server:
        reply = await model_at(server, "anthropic").complete(FORMED)
    assert (reply.text, reply.stop) == ('{"title": "茶"}', "stop")
    body: dict[str, Any] = server.requests[1].body
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert body["tools"][0]["input_schema"]["required"] == ["title", "scores"]


@each_protocol
async def test_thoughts_without_end_are_cut_off(provider):
    reply = await ask(provider, Answer(reasoning="Wait, but is it? " * 5_000, text="never comes"))
    assert (reply.text, reply.stop) == ("", "loop")
    assert len(reply.reasoning) < 1_000


@each_protocol
async def test_request_refused_in_every_way_is_an_error_and_not_remembered(provider):
    with ModelServer(Answer(status=422)) as server:
        model = model_at(server, provider)
        with pytest.raises(ModelError) as caught:
            await model.complete(FORMED)
        assert type(caught.value) is ModelError
        server.script = lambda _: Answer(text="{}")
        await model.complete(FORMED)
    assert server.requests[-1].form == server.requests[0].form


@each_protocol
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelError),
        (401, ModelRefused),
        (402, CreditSpent),
        (403, ModelRefused),
        (404, ModelRefused),
        (307, ModelRefused),
        (408, ModelBusy),
        (413, ModelError),
        (429, ModelBusy),
        (500, ModelBusy),
        (502, ModelBusy),
        (503, ModelBusy),
        (504, ModelBusy),
        (529, ModelBusy),
    ],
)
async def test_status_decides_the_error_after_one_call(provider, status, kind):
    answer = Answer(status=status, headers={"location": "/elsewhere"})
    with ModelServer(answer) as server, pytest.raises(CallFailed) as caught:
        await model_at(server, provider).complete(PLAIN)
    assert type(caught.value) is kind
    assert len(server.requests) == 1
    assert caught.value.spend == Spend()
    assert KEY not in str(caught.value)


@each_provider
async def test_refusal_of_access_says_which_setting_to_mend(provider):
    known = PROVIDERS[provider]
    assert known.key_variable in str(await failure(provider, Answer(status=401)))
    assert f"{known.setting}_address" in str(await failure(provider, Answer(status=404)))


@each_protocol
@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_busy_model_says_how_long_to_wait(provider, headers, wait_s):
    error = await failure(provider, Answer(status=429, headers=headers))
    assert isinstance(error, ModelBusy)
    assert error.retry_after_s == wait_s


async def test_gemini_names_the_wait_in_the_body():
    delay: JsonObject = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    error = await failure("gemini", Answer(status=429, error_details=({"@type": "other"}, delay)))
    assert isinstance(error, ModelBusy)
    assert error.retry_after_s == 34.5


@each_protocol
async def test_connection_cut_in_mid_stream_keeps_what_was_used(provider):
    error = await failure(provider, Answer(text="word " * 100, cut_after=12))
    assert isinstance(error, NetworkError)
    assert error.spend.tokens > 20
    assert error.spend.usd > 0


@each_protocol
async def test_stream_that_ends_without_its_end_is_a_cut(provider):
    last = {"openai": 2, "anthropic": 2, "gemini": 1, "ollama": 1}

    def script(asked: Asked) -> Answer:
        pieces = list(stream_of(asked, Answer(text="half an ans", reports_usage=False)))
        return Answer(raw=b"".join(pieces[: -last[asked.dialect]]))

    with ModelServer(script) as server, pytest.raises(NetworkError):
        await model_at(server, provider).complete(PLAIN)


@each_protocol
async def test_connection_cut_at_once_is_a_network_error(provider):
    assert isinstance(await failure(provider, Answer(text="x", cut_after=0)), NetworkError)


@each_protocol
async def test_nobody_at_the_address_is_a_network_error(provider):
    with ModelServer(Answer()) as server:
        model = model_at(server, provider)
    with pytest.raises(NetworkError) as caught:
        await model.complete(PLAIN)
    assert caught.value.spend == Spend()


@each_protocol
async def test_hang_before_the_first_word_is_bounded(provider):
    error = await failure(provider, Answer(text="x", hang_after=0), limits=ModelLimits(timeout_s=0.3))
    assert isinstance(error, NetworkError)
    assert error.spend.tokens > 0


@each_protocol
async def test_hang_in_mid_answer_is_bounded(provider):
    limits = ModelLimits(timeout_s=30, idle_timeout_s=0.3)
    error = await failure(provider, Answer(text="word " * 30, hang_after=8), limits=limits)
    assert isinstance(error, NetworkError)
    assert "0.3 seconds" in str(error)
    assert error.spend.tokens > 15


@each_protocol
async def test_answer_that_drips_without_end_is_bounded(provider):
    limits = ModelLimits(timeout_s=0.4, idle_timeout_s=5)
    error = await failure(provider, Answer(text="word " * 1_000, pace_s=0.02), limits=limits)
    assert isinstance(error, NetworkError)
    assert "0.4 seconds" in str(error)


@each_protocol
async def test_endless_repetition_is_cut_off(provider):
    sent = "Tea contains caffeine. " + "and so on " * 10_000
    with ModelServer(Answer(text=sent)) as server:
        reply = await model_at(server, provider).complete(PLAIN)
    assert reply.stop == "loop"
    assert reply.text.strip() == "Tea contains caffeine."
    assert 100 < reply.tokens_out < 2_000


@each_protocol
async def test_answer_cut_at_the_token_limit_says_so(provider):
    reply = await ask(provider, Answer(text='{"title": "half', stop="length"), FORMED)
    assert (reply.text, reply.stop) == ('{"title": "half', "length")


@each_protocol
async def test_empty_answer_is_an_empty_text(provider):
    reply = await ask(provider, Answer(text="", tokens_out=1))
    assert (reply.text, reply.stop) == ("", "stop")


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "ollama"])
@pytest.mark.parametrize("words", ["I cannot help with that.", ""])
async def test_refusal_is_told_apart(provider, words):
    reply = await ask(provider, Answer(text=words, stop="refusal"))
    assert (reply.text, reply.stop) == (words, "refusal")


@each_protocol
@pytest.mark.parametrize(
    "raw", [b"<html>Welcome to the hotel's network</html>", b"data: {not json\n\n", b"null\n", b""]
)
async def test_what_is_no_answer_is_an_error(provider, raw):
    assert isinstance(await failure(provider, Answer(raw=raw)), ModelError | NetworkError)


async def test_nonsense_after_a_good_beginning_keeps_what_was_used():
    good = b'data: {"id": "1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Tea is"}}]}\n\n'
    error = await failure("openai", Answer(raw=good + b'data: {"choices": [{"index": 0}]}\n\ndata: {broken\n\n'))
    assert type(error) is ModelError
    assert error.spend.tokens > 0


@pytest.mark.parametrize(
    ("provider", "event", "kind"),
    [
        ("openai", b'data: {"error": {"message": "boom", "type": "server_error", "code": null}}\n\n', ModelBusy),
        ("openrouter", b'data: {"error": {"message": "boom", "code": 402}, "choices": []}\n\n', CreditSpent),
        ("anthropic", b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n', ModelBusy),
        ("anthropic", b'event: error\ndata: {"type": "error", "error": {"type": "api_error"}}\n\n', ModelBusy),
        ("ollama", b'{"error": "boom"}\n', ModelBusy),
    ],
)
async def test_error_in_the_middle_of_a_stream_is_sorted(provider, event, kind):
    error = await failure(provider, Answer(raw=event))
    assert type(error) is kind
    assert "boom" not in str(error)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-5.4-mini"),
        ("anthropic", "claude-sonnet-5-5"),
        ("deepseek", "deepseek-flash"),
        ("gemini", "gemini-3.5-flash"),
        ("ollama", "qwen3:8b"),
        ("openrouter", "deepseek/deepseek-r1"),
    ],
)
async def test_model_that_thinks_has_room_for_it(provider, model):
    with ModelServer(Answer(text="fine")) as server:
        chat = model_at(server, provider, model=model)
        await chat.complete(PLAIN)
    assert _limit_of(server.requests[0]) == 300 + 4_000
    assert chat.estimate(PLAIN).tokens > 4_300
    assert server.requests[0].model == model


async def test_ollama_sets_the_window():
    with ModelServer(Answer(text="fine")) as server:
        await model_at(server, "ollama").complete(PLAIN)
    options = server.requests[0].body["options"]
    assert isinstance(options, dict)
    assert options["num_ctx"] == 9_000


async def test_anthropic_marks_at_most_four_places_for_its_cache():
    request = PLAIN.model_copy(update={"context": tuple(f"Block {number}." for number in range(6))})
    with ModelServer(Answer(text="fine")) as server:
        await model_at(server, "anthropic").complete(request)
    body: dict[str, Any] = server.requests[0].body
    assert json.dumps(body).count("cache_control") == 4
    assert "cache_control" in json.dumps(body["system"])
    blocks = body["messages"][0]["content"]
    assert [("cache_control" in block) for block in blocks] == [False] * 3 + [True] * 3 + [False]


async def test_unknown_price_costs_nothing_and_says_so():
    with ModelServer(Answer(text="fine")) as server:
        name = ModelName(PROVIDERS["openai"], "model-nobody-knows")
        model = connect(name, address="https://models.example.org/v1", key=KEY)
        assert model.price is None
        assert model.unpriced == ("openai:model-nobody-knows",)
        assert model.estimate(PLAIN).usd == 0
        local = connect(name, address=server.address_of("openai"), key=KEY)
        assert local.unpriced == ()
        assert (await local.complete(PLAIN)).usd == 0


def _key_of(asked: Asked) -> str:
    headers = asked.headers
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or headers["authorization"].removeprefix("Bearer ")


def _limit_of(asked: Asked) -> object:
    body = asked.body
    nested = [body.get("options"), body.get("generationConfig")]
    places = [body, *(place for place in nested if isinstance(place, dict))]
    names = ("max_tokens", "max_completion_tokens", "num_predict", "maxOutputTokens")
    return next(place[name] for place in places for name in names if name in place)


def _user_texts(asked: Asked) -> list[str]:
    body: dict[str, Any] = asked.body
    messages = body.get("messages") or body["contents"]
    (user,) = [message for message in messages if message["role"] == "user"]
    content = user.get("content") or user.get("parts")
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def _check_form(provider: str, asked: Asked) -> None:
    plain = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "scores": {"type": "array", "items": {"type": "number"}}},
        "required": ["title", "scores"],
        "additionalProperties": False,
    }
    schema = {"name": "answer", "strict": True, "schema": plain}
    by_dialect = {
        "openai": {"type": "json_schema", "json_schema": schema},
        "anthropic": {"format": {"type": "json_schema", "schema": plain}},
        "gemini": plain,
        "ollama": plain,
    }
    wanted = {"type": "json_object"} if provider in ("deepseek", "qwen") else by_dialect[asked.dialect]
    assert asked.form == wanted
    assert replace(asked, body={}).form is None
