"""What somebody asks for over a network, and what a server or the question decides."""

import pytest

from deep_research.request import Depth
from deep_research.server.openai.requests import MODELS
from deep_research.service.runs.new_run import NewRun, request_for
from deep_research.settings import Settings

QUESTION = "What did the plant cost?"


@pytest.mark.parametrize(
    ("own", "given", "depth", "length"),
    [
        ({}, {}, None, None),
        ({}, {"depth": "quick"}, "quick", None),
        ({}, {"length": "deep"}, None, "deep"),
        ({"depth": "quick", "length": "long"}, {}, "quick", "long"),
        ({"depth": "quick"}, {"depth": "deep", "length": "short"}, "deep", "short"),
    ],
)
def test_what_neither_asker_nor_server_has_set_is_left_to_the_question(own, given, depth, length):
    settings = Settings(engines=("none",), provider="none", **own)
    _, request = request_for(NewRun(question=QUESTION, **given), settings)
    assert (request.depth, request.length) == (depth and Depth.named(depth), length)


@pytest.mark.parametrize("model", MODELS)
def test_the_name_of_a_model_sets_the_depth_and_leaves_the_length(model):
    new = NewRun.model_validate({"question": QUESTION, "depth": MODELS[model]})
    _, request = request_for(new, Settings(engines=("none",), provider="none"))
    named = model.removeprefix("deep-research").removeprefix("-")
    assert (request.depth, request.length) == (Depth.named(named) if named else None, None)
