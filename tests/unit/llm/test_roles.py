"""Each request goes to the model of its role."""

import pytest

from deep_research.llm.port import ModelReply, ModelRequest
from deep_research.llm.roles import RoleModels
from deep_research.request import Spend


class _Named:
    def __init__(self, name: str, tokens: int) -> None:
        self.name = name
        self.unpriced = (name,)
        self._tokens = tokens

    def estimate(self, request: ModelRequest) -> Spend:
        return Spend(tokens=self._tokens)

    async def complete(self, request: ModelRequest, *, on_delta=None) -> ModelReply:
        return ModelReply(text=request.act, model=self.name, tokens_in=0, tokens_out=0, usd=0)


@pytest.mark.parametrize(("role", "name", "tokens"), [("thinking", "a:big", 9), ("task", "b:small", 1)])
async def test_role_chooses_the_model(role, name, tokens):
    models = RoleModels(thinking=_Named("a:big", 9), task=_Named("b:small", 1))
    request = ModelRequest(act="plan", role=role, prompt="?", max_tokens=1)
    assert (await models.complete(request)).model == name
    assert models.estimate(request).tokens == tokens
    assert models.name == "a:big + b:small"
    assert models.unpriced == ("a:big", "b:small")


def test_one_model_in_both_roles_is_named_once():
    model = _Named("a:big", 9)
    assert RoleModels(model, model).name == "a:big"
    assert RoleModels(model, model).unpriced == ("a:big",)


async def test_a_judge_of_its_own_judges_and_without_one_the_task_model_does():
    big, small, other = _Named("a:big", 9), _Named("b:small", 1), _Named("c:judge", 5)
    request = ModelRequest(act="judge", role="judge", prompt="?", max_tokens=1)
    assert (await RoleModels(big, small, other).complete(request)).model == "c:judge"
    assert (await RoleModels(big, small).complete(request)).model in ("a:big", "b:small")
    assert "c:judge" in RoleModels(big, small, other).name
