"""Whole runs with a model's reasoner: garbage, refusal, budgets, windows, and what is told on the way."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from deep_research.errors import ConfigurationError, ModelBusy, ModelRefused
from deep_research.events import LiveText
from deep_research.llm.port import ModelReply, ModelRequest, OnDelta
from deep_research.pipeline.adapters import Adapters
from deep_research.reasoning.model.prompting import PromptOptions
from deep_research.request import Budget, ResearchRequest
from deep_research.testing import FakeClock
from tests.e2e.harness import QUESTION, Lab, User, assert_emitted_once
from tests.support.analyst import ScriptedAnalyst, answer_in_form, sources_of
from tests.support.longer import first_of
from tests.support.world import with_long_pages, with_models

GARBAGE = ("", "asdf qwer", '{"unexpected": true}', "<think>hmm", "我不知道")


def _lab(user: User, analyst: ScriptedAnalyst, options: PromptOptions | None = None) -> Lab:
    return Lab(user, change=lambda adapters: with_models(adapters, analyst, options=options))


def _long_lab(user: User, analyst: ScriptedAnalyst) -> Lab:
    """Return a lab in which a model is asked what matters of a page."""
    return Lab(user, change=lambda adapters: with_models(with_long_pages(adapters), analyst))


def _without_cache(analyst: ScriptedAnalyst, adapters: Adapters) -> Adapters:
    return replace(with_models(adapters, analyst), cache=None)


def _without_model(adapters: Adapters) -> Adapters:
    return replace(with_long_pages(adapters), models=(), reasoner=None)


def _body(user: User) -> str:
    return re.split(r"^## (?:About this report|References)", user.report(), flags=re.MULTILINE)[0]


def _stats(user: User) -> dict[str, dict[str, object]]:
    stats: dict[str, dict[str, object]] = json.loads((Path(user.only_run().folder) / "stats.json").read_text())
    return stats


def test_a_model_that_answers_garbage_ends_in_the_report_that_rules_write(tmp_path: Path) -> None:
    plain, garbled = User(tmp_path / "plain"), User(tmp_path / "garbled")
    assert Lab(plain, change=_without_model).ask().status == "done"
    number = iter(range(10_000))
    answers = dict.fromkeys(_acts(), lambda _: GARBAGE[next(number) % len(GARBAGE)])
    analyst = ScriptedAnalyst(answers=answers)
    row = _long_lab(garbled, analyst).ask()
    assert row.status == "done"
    assert row.result is not None
    assert row.result["is_verified"]
    assert _body(garbled) == _body(plain)
    assert "rules without a model stood in" in garbled.report()
    # Every act is given up after three failures in a row of two answers each, and that is said once.
    asked = Counter(request.act for request in analyst.requests)
    assert all(count <= 6 + 2 * 8 for count in asked.values()), asked
    switched = [event for event in garbled.events() if event.key.startswith("error:strikes/")]
    assert len(switched) == len({event.key for event in switched})
    assert_emitted_once(garbled.events())


def test_clauses_that_a_self_judging_model_adds_are_never_reported(tmp_path: Path) -> None:
    clauses = (
        "after scores of people died",
        "in the majority of homes",
        "at twice the budget",
        "which shocked observers",
    )
    given: list[str] = []

    def draft(request: ModelRequest) -> str:
        def adorn(match: re.Match[str]) -> str:
            given.append(clauses[len(given) % len(clauses)])
            return f", {given[-1]}. ["

        return re.sub(r"\. \[", adorn, answer_in_form(request))

    user, analyst = User(tmp_path), ScriptedAnalyst(answers={"draft": draft})
    assert _lab(user, analyst).ask().status == "done"
    assert len(given) > len(clauses)
    assert not [clause for clause in clauses if clause in _body(user)]


def test_no_figure_that_a_careless_model_invents_is_reported(tmp_path: Path) -> None:
    """It repeats marks, agrees with everything, and changes one figure in ten, to one that its passages nearly give."""
    invented: list[str] = []
    seen = count(9)

    def draft(request: ModelRequest) -> str:
        def careless(match: re.Match[str]) -> str:
            if next(seen) % 10:
                return match[0]
            invented.append(f"{2 * int(match[0]) + 1}")
            return invented[-1]

        told = re.sub(r"(?<=to )\d+(?= million)|(?<=for )\d+(?= years)", careless, answer_in_form(request))
        return re.sub(r"(\[E\d+\])", r"\1\1", told)

    def judge(request: ModelRequest) -> str:
        numbers = [int(number) for number in re.findall(r"^(\d+) \(", request.prompt, re.MULTILINE)]
        span = next(iter(sources_of(request).values()))
        answer = {"sentences": numbers, "verdicts": ["supported"] * len(numbers), "spans": [span] * len(numbers)}
        return json.dumps(answer)

    user, analyst = User(tmp_path), ScriptedAnalyst(answers={"draft": draft, "judge": judge})
    assert _lab(user, analyst).ask().status == "done"
    assert invented
    body = _body(user)
    assert not [figure for figure in invented if re.search(rf"\b{figure} (?:million|years)", body)]


def _acts() -> list[str]:
    from tests.support.analyst import _ANSWERS

    return list(_ANSWERS)


def test_a_standard_run_has_no_two_identical_prompts_and_counts_what_they_share(tmp_path: Path) -> None:
    user, analyst = User(tmp_path), ScriptedAnalyst()
    assert _lab(user, analyst).ask().status == "done"
    prompts = [request.text for request in analyst.requests]
    assert len(prompts) == len(set(prompts))
    use = _stats(user)["model"]
    assert use["calls"] == len(prompts)
    assert 0 < float(str(use["prefix_share"])) <= float(str(use["cacheable_share"])) < 1
    assert sum(use["calls_by_act"].values()) == len(prompts)  # type: ignore[attr-defined]  # a mapping


def test_each_section_of_the_text_tells_its_verdicts(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert _lab(user, ScriptedAnalyst()).ask().status == "done"
    told = [str(event.data["section"]) for event in user.events() if event.kind == "verdict"]
    assert {"abstract", "Costs", "Results"} <= {*told}, told


def test_without_a_stable_prefix_fewer_prompts_begin_alike(tmp_path: Path) -> None:
    shares = []
    for name, options in (("stable", PromptOptions()), ("loose", PromptOptions(stable_prefix=False))):
        user = User(tmp_path / name)
        _lab(user, ScriptedAnalyst(), options).ask()
        shares.append(float(str(_stats(user)["model"]["cacheable_share"])))
    assert shares[0] > shares[1]


def test_two_runs_of_the_same_question_share_nothing(tmp_path: Path) -> None:
    first, second = ScriptedAnalyst(), ScriptedAnalyst()
    user = User(tmp_path)
    for analyst in (first, second):
        Lab(user, change=partial(_without_cache, analyst)).ask()
    assert [request.text for request in first.requests[:2]] == [request.text for request in second.requests[:2]]
    assert Counter(request.act for request in first.requests) == Counter(request.act for request in second.requests)


def test_a_plan_is_used_again_for_a_while_and_nothing_else_of_a_model(tmp_path: Path) -> None:
    first, second = ScriptedAnalyst(), ScriptedAnalyst()
    user = User(tmp_path)
    _lab(user, first).ask()
    _lab(user, second).ask()
    asked = [Counter(request.act for request in analyst.requests) for analyst in (first, second)]
    assert asked[0]["plan"] == 1
    assert asked[0] - asked[1] == Counter({"plan": 1})
    garbled = ScriptedAnalyst(answers={"plan": lambda _: "no plan at all"})
    another = Lab(user, change=lambda adapters: with_models(adapters, garbled))
    for _ in range(2):
        another.ask("How long did the projects take, and who paid for them?")
    # What rules drew up in the model's place was not kept: it is asked again.
    assert sum(request.act == "plan" for request in garbled.requests) == 4


def test_what_did_not_fit_the_window_is_said_in_the_report(tmp_path: Path) -> None:
    user, analyst = User(tmp_path), ScriptedAnalyst()
    row = _lab(user, analyst, PromptOptions(window=6_400)).ask()
    assert row.status == "done"
    assert any(request.left_out for request in analyst.requests)
    assert "did not fit the model's window" in user.report()


class _Failing(ScriptedAnalyst):
    """Fails an act as told."""

    def __init__(self, act: str, failure: Callable[[], Exception]) -> None:
        super().__init__()
        self._act, self._failure = act, failure

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        if request.act == self._act:
            self.requests.append(request)
            raise self._failure()
        return await super().complete(request, on_delta=on_delta)


@pytest.mark.long
@pytest.mark.parametrize("act", first_of(["judge", "assess", "extract", "draft", "edit"]))
def test_a_refused_key_stops_the_run_and_keeps_what_was_paid(tmp_path: Path, act: str) -> None:
    user = User(tmp_path)
    failing = _Failing(act, lambda: ModelRefused("The key of openai is not accepted; check OPENAI_API_KEY."))
    with pytest.raises(ModelRefused, match="OPENAI_API_KEY"):
        _long_lab(user, failing).ask()
    row = user.only_run()
    assert (row.status, row.error and row.error["name"]) == ("failed", "ModelRefused")
    mended = ScriptedAnalyst()
    assert _long_lab(user, mended).resume(row.id, retry=True).status == "done"
    paid_before = {request.text for request in failing.requests if request.act != act}
    assert paid_before.isdisjoint(request.text for request in mended.requests)


def test_a_busy_model_is_passed_over_for_the_next_in_the_chain(tmp_path: Path) -> None:
    user = User(tmp_path)
    busy, other = _Failing("plan", lambda: ModelBusy("overloaded")), ScriptedAnalyst(name="scripted:other")

    def change(adapters: Adapters) -> Adapters:
        return replace(with_models(adapters, busy, other), model_tries=2, clock=FakeClock())

    assert Lab(user, change=change).ask().status == "done"
    assert [request.act for request in other.requests] == ["plan"]
    assert sum(request.act == "plan" for request in busy.requests) == 2
    assert set(_stats(user)["model"]["calls_by_model"]) == {"scripted:analyst", "scripted:other"}  # type: ignore[call-overload]  # a mapping


def test_a_money_budget_without_a_price_is_refused_with_the_reason(tmp_path: Path) -> None:
    analyst = ScriptedAnalyst(unpriced=("openrouter:some/model",))
    with pytest.raises(ConfigurationError, match=r"openrouter:some/model.*prices"):
        _lab(User(tmp_path), analyst).ask(budget=Budget(usd=1.0))
    assert analyst.requests == []


def test_a_budget_that_ends_in_the_middle_still_ends_in_a_report(tmp_path: Path) -> None:
    user, analyst = User(tmp_path), ScriptedAnalyst(usd_a_token=0.00001)
    row = _lab(user, analyst).ask(budget=Budget(usd=0.15))
    assert row.status == "done"
    spent = _stats(user)["spent"]
    assert 0 < float(str(spent["usd"])) <= 0.15
    assert "The money budget of $0.15 was reached" in user.report()


def test_text_is_heard_while_it_comes_and_its_end_is_kept(tmp_path: Path) -> None:
    user, heard = User(tmp_path), []

    def listen(live: LiveText) -> None:
        heard.append(live)
        if len(heard) > 3:
            raise RuntimeError("a listener that breaks costs nothing")

    processor = _lab(user, ScriptedAnalyst()).processor()
    row = asyncio.run(processor.process(ResearchRequest(question=QUESTION), on_live=listen))
    assert row.status == "done"
    assert [live.act for live in heard[:2]] == ["assess", "plan"]
    texts = [event for event in user.events() if event.kind == "message"]
    drafts = [event.data["text"] for event in texts if not event.key.startswith("message:plan:")]
    assert drafts
    assert len(texts) - len(drafts) == 3, "the titles of the plan"
    assert all(isinstance(text, str) and "[E" in text for text in drafts)
