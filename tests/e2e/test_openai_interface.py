"""The official OpenAI client against a real server: it asks, is asked back, follows up, and is told what goes wrong."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai import AsyncOpenAI, OpenAI

from deep_research.server.openai import replies
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import words_in
from tests.support.accounts import Operator
from tests.support.gated_model import GatedModel
from tests.support.server import QUESTION, VAGUE, Client, all_documents, serving, settings_for
from tests.support.waiting import HANG_S, wait_until

CHINESE = "哈尔登湾的热泵改造花了多少钱？"
MODEL = "deep-research"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(all_documents(tmp_path_factory.mktemp("openai"))) as started:
        yield started


@pytest.fixture(scope="module")
def api(client: Client) -> Iterator[OpenAI]:
    with api_of(client) as opened:
        yield opened


def api_of(client: Client) -> OpenAI:
    return OpenAI(base_url=f"{client.address}/v1", api_key="none", max_retries=0, timeout=HANG_S)


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def runs(client: Client) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = client.http.get("/api/runs?limit=100").json()["runs"]
    return shown


def run_in(text: str) -> str:
    """Return the run that the last line of an answer names."""
    return re.findall(r"[0-9a-f]{32}", text.strip().splitlines()[-1])[0]


def check_citations(text: str, citations: list[tuple[int, int, str, str]], question: str) -> None:
    """Each citation covers a marker in the body, and names the source that the references list under its number."""
    references = words_in(report_language(question, None))("report.references")
    body, _, listed = text.rpartition(f"\n## {references}\n")
    titles = dict(re.findall(r"^\[(\d+)\] (.+?) - ", listed, re.MULTILINE))
    assert [text[start:end] for start, end, _, _ in citations] == re.findall(r"\[\d+\]", body)
    for start, end, title, url in citations:
        listed_as, _, byline = titles[text[start + 1 : end - 1]].partition(title)
        # Who wrote it, and when, may stand behind its title.
        assert listed_as == ""
        assert re.fullmatch(r"(?: \([^()]+\))?", byline)
        assert url.startswith("http")


def test_models_are_listed_and_others_refused(api: OpenAI) -> None:
    assert [model.id for model in api.models.list()] == [MODEL, "deep-research-quick", "deep-research-deep"]
    assert api.models.retrieve("deep-research-deep").object == "model"
    with pytest.raises(openai.NotFoundError) as refused:
        api.chat.completions.create(model="gpt-5", messages=[user(QUESTION)])
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")


def test_a_chat_is_answered_with_a_report(client: Client, api: OpenAI) -> None:
    answer = api.chat.completions.create(model=MODEL, messages=[user(QUESTION)])
    message = answer.choices[0].message
    assert answer.choices[0].finish_reason == "stop"
    assert message.content
    assert message.content.startswith("# ")
    assert client.run(run_in(message.content))["status"] == "done"
    cited = [note.url_citation for note in message.annotations or []]
    assert cited
    spans = [(each.start_index, each.end_index, each.title, each.url) for each in cited]
    check_citations(message.content, spans, QUESTION)
    assert all(each.url.startswith(client.address) for each in cited), "these sources are files"
    assert client.http.get(cited[0].url).json()["title"] == cited[0].title


def test_a_streamed_chat_tells_progress_then_the_report(api: OpenAI) -> None:
    stream = api.chat.completions.create(
        model=MODEL, messages=[user(CHINESE)], stream=True, stream_options={"include_usage": True}
    )
    order, reasoning, text, usage = [], "", "", []
    notes: list[dict[str, Any]] = []
    for chunk in stream:
        if chunk.usage:
            usage.append(chunk.usage)
            assert chunk.choices == []
            continue
        delta = chunk.choices[0].delta.model_dump()
        reasoning += delta.get("reasoning_content") or ""
        text += delta.get("content") or ""
        notes += delta.get("annotations") or []
        order.append("text" if delta.get("content") else "reasoning" if delta.get("reasoning_content") else "other")
    assert order.index("text") > max(at for at, kind in enumerate(order) if kind == "reasoning")
    words = words_in(report_language(CHINESE, None))
    for stage in ("plan", "harvest", "write"):
        assert words(f"stage.{stage}") in reasoning
    assert "? " in reasoning, "queries"
    assert "+ " in reasoning, "sources"
    assert len(usage) == 1
    spans = [note["url_citation"] for note in notes]
    check_citations(text, [(s["start_index"], s["end_index"], s["title"], s["url"]) for s in spans], CHINESE)


@pytest.mark.parametrize(("question", "options"), [(VAGUE, "documents"), ("它怎麼樣？那個計畫", "資料")])
def test_a_question_that_comes_back_is_answered_by_the_next_message(
    client: Client, api: OpenAI, question: str, options: str
) -> None:
    before = len(runs(client))
    chat = [user(question)]
    asked = api.chat.completions.create(model=MODEL, messages=chat).choices[0].message.content or ""
    assert "1. " in asked
    assert options in asked
    with pytest.raises(openai.BadRequestError, match="9"):
        api.chat.completions.create(model=MODEL, messages=[*chat, assistant(asked), user("9")])
    chat += [assistant(asked), user("1")]
    report = api.chat.completions.create(model=MODEL, messages=chat).choices[0].message.content or ""
    assert report.startswith("# ")
    assert run_in(report) == run_in(asked)
    # A client that lost the connection sends the same again, and gets the same.
    assert api.chat.completions.create(model=MODEL, messages=chat).choices[0].message.content == report
    assert len(runs(client)) == before + 1
    with pytest.raises(openai.BadRequestError, match="answered"):
        api.chat.completions.create(model=MODEL, messages=[*chat[:-1], user("3")])


def test_a_message_after_a_report_follows_it_up(client: Client, api: OpenAI) -> None:
    first = api.chat.completions.create(model=MODEL, messages=[user(QUESTION)]).choices[0].message.content or ""
    chat = [user(QUESTION), assistant(first), user("And what did the pipes cost?")]
    second = api.chat.completions.create(model=MODEL, messages=chat).choices[0].message.content or ""
    assert client.run(run_in(second))["follow"] == run_in(first)
    assert client.run(run_in(second))["question"] == "And what did the pipes cost?"


def test_a_conversation_that_names_an_unknown_run_is_just_a_conversation(client: Client, api: OpenAI) -> None:
    chat = [user("Hello"), assistant(f"Something\n\nRun {'0' * 32}, question 1"), user(QUESTION)]
    report = api.chat.completions.create(model=MODEL, messages=chat).choices[0].message.content or ""
    assert client.run(run_in(report))["question"] == QUESTION


def test_what_was_said_before_is_context_and_instructions_are_not(api: OpenAI) -> None:
    instructions: Any = {"role": "system", "content": "You are a Helpful Assistant of Acme Corporation."}
    said = [user("你好"), assistant("青岚市的海绵城市改造是一个大项目。"), user("它花了多少钱？")]
    report = api.chat.completions.create(model=MODEL, messages=[instructions, *said]).choices[0].message.content or ""
    assert "青岚市" in report.splitlines()[0]
    alone = api.chat.completions.create(model=MODEL, messages=[instructions, user(VAGUE)]).choices[0].message.content
    assert "1. " in (alone or "")
    assert "Acme" not in (alone or "")


def test_a_response_is_answered_and_read_again(client: Client, api: OpenAI) -> None:
    response = api.responses.create(model="deep-research-quick", input=QUESTION, metadata={"for": "a test"})
    assert (response.status, response.error, response.metadata) == ("completed", None, {"for": "a test"})
    reasoning, message = response.output
    assert reasoning.type == "reasoning"
    assert any("plant cost" in part.text for part in reasoning.summary)
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    cited = [note for note in part.annotations if note.type == "url_citation"]
    check_citations(part.text, [(n.start_index, n.end_index, n.title, n.url) for n in cited], QUESTION)
    again = api.responses.retrieve(response.id)
    assert again.output_text == response.output_text
    assert again.model == "deep-research-quick"


def test_a_streamed_response_keeps_to_the_protocol(api: OpenAI) -> None:
    with api.responses.stream(model=MODEL, input=CHINESE) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds: list[str] = [event.type for event in events]
    assert kinds[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert kinds.count("response.output_item.added") == kinds.count("response.output_item.done") == 2
    reasoning = final.output[0]
    assert reasoning.type == "reasoning"
    for part in ("part.added", "text.done", "part.done"):
        assert kinds.count(f"response.reasoning_summary_{part}") == len(reasoning.summary)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == final.output_text
    added = [event.annotation for event in events if event.type == "response.output_text.annotation.added"]
    cited = [note for note in added if note is not None and note.type == "url_citation"]
    check_citations(text, [(n.start_index, n.end_index, n.title, n.url) for n in cited], CHINESE)
    # Whoever lost the connection comes back to any event of it.
    later = list(api.responses.retrieve(final.id, stream=True, starting_after=10))
    assert [event.model_dump() for event in later if event.type == "response.output_text.delta"] == [
        event.model_dump(exclude={"snapshot"}) for event in events if event.type == "response.output_text.delta"
    ]
    assert later[0].sequence_number == 11


@pytest.mark.long
def test_responses_name_the_one_before(client: Client, api: OpenAI) -> None:
    asked = api.responses.create(model=MODEL, input=VAGUE)
    assert asked.status == "completed"
    report = api.responses.create(model=MODEL, input="2", previous_response_id=asked.id)
    assert report.output_text.startswith("# ")
    assert api.responses.retrieve(asked.id).output_text == asked.output_text
    more = api.responses.create(model=MODEL, input="What did the pipes cost?", previous_response_id=report.id)
    assert client.run(run_in(more.output_text))["follow"] == run_in(report.output_text)
    with pytest.raises(openai.NotFoundError):
        api.responses.create(model=MODEL, input="1", previous_response_id=f"resp_{'0' * 32}_0")
    with pytest.raises(openai.NotFoundError):
        api.responses.retrieve(f"resp_{run_in(report.output_text)}_7")


async def test_the_async_client_asks_both_ways(client: Client) -> None:
    async with AsyncOpenAI(base_url=f"{client.address}/v1", api_key="none", max_retries=0) as api:
        chat, response = await asyncio.gather(
            api.chat.completions.create(model=MODEL, messages=[user(QUESTION)], stream=True),
            api.responses.create(model=MODEL, input=CHINESE),
        )
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in chat])
    assert text.startswith("# ")
    assert response.status == "completed"


def test_options_of_a_run_can_be_named_but_no_path_model_or_command(client: Client, api: OpenAI) -> None:
    given = {"language": "zh-Hans", "tags": ["api"], "assume": True}
    answer = api.chat.completions.create(model=MODEL, messages=[user(VAGUE)], extra_body={"deep_research": given})
    text = answer.choices[0].message.content or ""
    assert "参考" in text
    assert client.run(run_in(text))["tags"] == ["api"]
    for name, value in {"docs": "/etc", "provider": "openai:gpt-5", "wiring": "os:system", "home": "/tmp"}.items():
        with pytest.raises(openai.BadRequestError) as refused:
            api.responses.create(model=MODEL, input=QUESTION, extra_body={"deep_research": {name: value}})
        assert refused.value.param == name


IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
FUNCTION = [{"type": "function", "function": {"name": "f", "parameters": {}}}]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("chat/completions", {"messages": [IMAGE]}),
        ("chat/completions", {"messages": [user(QUESTION)], "tools": FUNCTION}),
        ("chat/completions", {"messages": [user(QUESTION)], "n": 2}),
        ("chat/completions", {"messages": [user(QUESTION)], "response_format": {"type": "json_object"}}),
        ("chat/completions", {"messages": []}),
        ("chat/completions", {"messages": [user("")]}),
        ("chat/completions", {"messages": [user("\ud800\x00")]}),
        ("chat/completions", {"messages": [assistant("Hello")]}),
        ("chat/completions", {"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}, user("x")]}),
        ("chat/completions", {"messages": [{"role": 7, "content": {}}]}),
        ("chat/completions", {"messages": "Hello"}),
        ("chat/completions", {"messages": [user("long " * 2_000_000)]}),
        ("chat/completions", {"messages": [user(QUESTION)], "stream_options": 7}),
        ("responses", {"input": []}),
        ("responses", {"input": 7}),
        ("responses", {"input": "long " * 2_000_000}),
        ("responses", {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}),
        ("responses", {"input": [{"type": "function_call_output", "call_id": "1", "output": "x"}]}),
        ("responses", {"input": QUESTION, "tools": [{"type": "web_search_preview"}]}),
        ("responses", {"input": QUESTION, "text": {"format": {"type": "json_schema"}}}),
        ("responses", {"input": QUESTION, "text": {"format": 7}}),
        ("responses", {"input": QUESTION, "conversation": "conv_1"}),
        ("responses", {"input": QUESTION, "previous_response_id": "resp_../../etc"}),
        ("responses", {"input": QUESTION, "deep_research": {"question": 7, "budget": {"usd": -1}}}),
        ("embeddings", {"input": "x"}),
    ],
)
def test_what_is_not_served_is_refused_in_plain_words(client: Client, path: str, body: dict[str, Any]) -> None:
    before = len(runs(client))
    content = json.dumps({"model": MODEL, **body})
    refused = client.http.post(f"/v1/{path}", content=content, headers={"content-type": "application/json"})
    assert refused.status_code in (400, 404, 413), refused.text
    error = refused.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert len(error["message"]) < 1_000
    assert len(runs(client)) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system", "tool", 1]), "content": JSON}),
    max_size=3,
)


@given(
    chat=st.fixed_dictionaries({"messages": MESSAGES | JSON}, optional={"tools": JSON, "n": JSON, "stream": JSON}),
    response=st.fixed_dictionaries(
        {"input": MESSAGES | JSON}, optional={"previous_response_id": JSON, "text": JSON, "deep_research": JSON}
    ),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_body_breaks_the_server(client: Client, chat: dict[str, Any], response: dict[str, Any]) -> None:
    for path, body in (("chat/completions", chat), ("responses", response | {"background": True})):
        content = json.dumps({"model": MODEL, **body}).encode("utf-8", "replace")
        answer = client.http.post(f"/v1/{path}", content=content, headers={"content-type": "application/json"})
        assert answer.status_code < 500, answer.text


@pytest.fixture
def gated(tmp_path: Any) -> Iterator[tuple[Client, GatedModel]]:
    with GatedModel() as model, serving(settings_for(tmp_path, **model.settings)) as client:
        yield client, model
        model.gate.set()


@pytest.mark.long
def test_the_same_request_sent_again_joins_the_run_under_way(gated: tuple[Client, GatedModel]) -> None:
    client, model = gated
    answers: list[str] = []

    def ask() -> None:
        with api_of(client) as api:
            answer = api.chat.completions.create(model=MODEL, messages=[user(QUESTION)])
            answers.append(answer.choices[0].message.content or "")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: client.readers() == len(threads))
    model.gate.set()
    for thread in threads:
        thread.join(HANG_S)
    assert len(set(answers)) == 1
    assert len(answers) == 3
    assert len(runs(client)) == 1


def test_a_client_that_hangs_up_loses_nothing(gated: tuple[Client, GatedModel]) -> None:
    client, model = gated
    with (
        api_of(client) as api,
        api.chat.completions.create(model=MODEL, messages=[user(QUESTION)], stream=True) as stream,
    ):
        next(iter(stream))
    assert model.is_asked.wait(HANG_S)
    model.gate.set()
    assert client.wait(runs(client)[0]["id"])["status"] == "done"


def test_a_response_in_the_background_is_read_later(gated: tuple[Client, GatedModel]) -> None:
    client, model = gated
    with api_of(client) as api:
        waiting = api.responses.create(model=MODEL, input=QUESTION, background=True)
        assert waiting.status in ("queued", "in_progress")
        assert waiting.background
        assert model.is_asked.wait(HANG_S)
        assert api.responses.retrieve(waiting.id).status == "in_progress"
        with pytest.raises(openai.ConflictError):
            api.responses.create(model=MODEL, input="More", previous_response_id=waiting.id)
        model.gate.set()
        kinds = [event.type for event in api.responses.retrieve(waiting.id, stream=True)]
        assert kinds[-1] == "response.completed"
        done = api.responses.retrieve(waiting.id)
        assert done.status == "completed"
        assert done.usage
        assert done.usage.total_tokens == done.usage.input_tokens + done.usage.output_tokens > 0
        assert done.usage.output_tokens == 20 * len(model.requests), "what the scripted model says it used"


@pytest.mark.long
def test_a_run_that_is_cancelled_ends_its_streams_with_an_error(gated: tuple[Client, GatedModel]) -> None:
    client, model = gated
    with api_of(client) as api:
        stream = api.chat.completions.create(model=MODEL, messages=[user(QUESTION)], stream=True)
        first = next(iter(stream))
        assert model.is_asked.wait(HANG_S)
        response = first.id.replace("chatcmpl-", "resp_")
        events = iter(api.responses.retrieve(response, stream=True))
        assert next(events).type == "response.created"
        assert api.responses.cancel(response).status == "cancelled"
        with pytest.raises(openai.APIError, match="cancelled"):
            list(stream)
        last = list(events)[-1]
        assert last.type == "response.failed"
        assert last.response.status == "cancelled"


def test_a_silent_run_keeps_its_connection_alive(
    gated: tuple[Client, GatedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, model = gated
    monkeypatch.setattr(replies, "HEARTBEAT_S", 0.05)
    body = {"model": MODEL, "messages": [user(QUESTION)], "stream": True}
    with client.http.stream("POST", "/v1/chat/completions", json=body) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        for line in lines:
            if line.startswith(": "):
                break
            assert line == "" or line.startswith("data: ")
        model.gate.set()
        assert "data: [DONE]" in list(lines)


def test_accounts_are_kept_apart(tmp_path: Any) -> None:
    operator = Operator(tmp_path)
    operator.users("add", "ada")
    operator.users("add", "bea", "--runs-a-day", "1")
    with serving(settings_for(tmp_path)) as client:
        with api_of(client) as nobody, pytest.raises(openai.AuthenticationError) as refused:
            nobody.models.list()
        assert refused.value.code == "invalid_api_key"
        ada, bea = (api_of(client).copy(api_key=operator.token(name)) for name in ("ada", "bea"))
        with ada, bea:
            asked = ada.responses.create(model=MODEL, input=VAGUE)
            with pytest.raises(openai.NotFoundError):
                bea.responses.retrieve(asked.id)
            with pytest.raises(openai.NotFoundError):
                bea.responses.create(model=MODEL, input="1", previous_response_id=asked.id)
            chat = [user(VAGUE), assistant(asked.output_text), user(QUESTION)]
            other = bea.chat.completions.create(model=MODEL, messages=chat).choices[0].message.content or ""
            assert run_in(other) != run_in(asked.output_text)
            assert ada.responses.create(model=MODEL, input="1", previous_response_id=asked.id).status == "completed"
            with pytest.raises(openai.RateLimitError) as limited:
                bea.responses.create(model=MODEL, input=QUESTION)
            assert limited.value.code == "rate_limit_exceeded"
