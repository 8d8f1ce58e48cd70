"""A real model behind an OpenAI-compatible address, where one is named with DR_TEST_MODEL_URL."""

import json
import os

import pytest

from deep_research.llm.chat import ModelLimits, connect
from deep_research.llm.port import Delta, ModelRequest
from deep_research.llm.registry import PROVIDERS, ModelName
from deep_research.value import JsonObject

ADDRESS = os.environ.get("DR_TEST_MODEL_URL", "")
NAME = os.environ.get("DR_TEST_MODEL_NAME", "default")
KEY = os.environ.get("DR_TEST_MODEL_KEY", "")

pytestmark = [
    pytest.mark.skipif(not ADDRESS, reason="DR_TEST_MODEL_URL names no model to talk to"),
    pytest.mark.timeout(400),
]


@pytest.fixture
def model():
    limits = ModelLimits(timeout_s=180, idle_timeout_s=60)
    return connect(ModelName(PROVIDERS["openai-compatible"], NAME), address=ADDRESS, key=KEY, limits=limits)


async def test_real_model_answers_in_words(model):
    deltas: list[Delta] = []
    request = ModelRequest(
        act="plan", role="task", system="Answer in one short sentence.", prompt="What is tea?", max_tokens=400
    )
    reply = await model.complete(request, on_delta=deltas.append)
    assert "tea" in reply.text.lower()
    assert "<think>" not in reply.text
    assert reply.text == "".join(delta.text for delta in deltas if delta.kind == "text")
    assert 0 < reply.tokens_in <= model.estimate(request).tokens
    assert reply.tokens_out > 0


async def test_real_model_answers_in_a_form(model):
    schema: JsonObject = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
    prompt = '法国的首都是哪里？ Answer with a JSON object only: {"capital": "…"}'
    request = ModelRequest(act="plan", role="task", prompt=prompt, max_tokens=400, answer_schema=schema)
    reply = await model.complete(request)
    start, end = reply.text.index("{"), reply.text.rindex("}") + 1
    capital = json.loads(reply.text[start:end])["capital"]
    assert any(name in capital.lower() for name in ("paris", "巴黎"))
