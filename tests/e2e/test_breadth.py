"""How wide a question is decides how far a run goes and how much it tells, where its user has not."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deep_research.llm.port import ModelRequest
from deep_research.pipeline.adapters import Adapters
from deep_research.reasoning.model.prompting import PromptOptions
from deep_research.reasoning.values import Brief
from deep_research.report.sources.hit import Hit
from deep_research.request import Budget, Depth, ResearchRequest
from deep_research.runner import update_request
from deep_research.settings import Settings
from deep_research.storage.store.port import RunRow
from deep_research.testing import MemoryFetcher, StaticSearch
from deep_research.value import JsonObject
from deep_research.wiring import build as build_real
from tests.e2e.deep_run import DeepRun, ask
from tests.e2e.deep_world import CHINESE, ENGLISH, DeepWorld, Script
from tests.e2e.harness import QUESTION, Lab, User
from tests.support.analyst import ScriptedAnalyst, answer_in_form
from tests.support.examples import few_documents
from tests.support.server import serving, settings_for
from tests.support.world import World, with_models

STANDARD, DEEP, QUICK = (Depth.named(name) for name in ("standard", "deep", "quick"))
OPEN: dict[str, Any] = {"depth": None, "length": None}


def judging(breadth: str) -> dict[str, Callable[[ModelRequest], str]]:
    """Return the answers of a model that finds every question so wide."""
    return {"assess": lambda request: json.dumps(json.loads(answer_in_form(request)) | {"breadth": breadth})}


def asked(folder: Path, breadth: str, script: Script = ENGLISH, *, pages: int = 24, **given: Any) -> DeepRun:
    """Run a question that a model finds so wide to its end, in a web of so many pages."""
    two = script.titles[:2]
    world = DeepWorld(script.only(*two), enough=1, answers=judging(breadth), pages=pages)
    window = PromptOptions(window=120_000)
    run = ask(folder, world, change=lambda own: with_models(own, world.analyst, options=window), **(OPEN | given))
    run.world = world
    return run


def brief_of(row: RunRow) -> Brief:
    return Brief.from_json((row.result or {})["brief"])


def length_asked_for(run: DeepRun) -> int:
    """Return how many words, or characters, the writer was told to write at most, over all chapters."""
    prompts = [request.text for request in run.world.analyst.requests if request.act == "draft" and not request.turns]
    found = [re.search(r"\d+ to (\d+) (?:words|characters)[^,]*, tables", prompt) for prompt in prompts]
    assert all(found)
    return sum(int(each[1]) for each in found if each)


@pytest.mark.parametrize(("script", "usual"), [(ENGLISH, 1_210), (CHINESE, 2_200)], ids=["en", "zh"])
def test_a_field_is_read_far_and_told_at_length(tmp_path: Path, script: Script, usual: int) -> None:
    run = asked(tmp_path, "field", script, pages=60)
    brief = brief_of(run.user.only_run())
    assert (brief.depth, brief.length) == (DEEP, "deep")
    assert len(run.begun("search")) > STANDARD.max_total_queries
    assert length_asked_for(run) > 1.5 * usual
    # It is written in chapters, each once, and the answer after them.
    acts = [request.act for request in run.world.analyst.requests if not request.turns]
    assert [acts.count(act) for act in ("outline", "draft", "answer")] == [1, 2, 1]
    assert all(f"\n## {title}\n" in run.report for title in run.world.script.titles)
    # The last one follows on what the other says.
    first, last = [request.text for request in run.world.analyst.requests if request.act == "draft"]
    assert ("<draft>\n" in first, "<draft>\n" in last) == (False, True)
    assert json.loads((run.folder / "clarify.json").read_text(encoding="utf-8"))["assessment"]["breadth"] == "field"
    assert run.check["passed"]


def test_one_fact_is_looked_for_as_ever_and_told_in_short(tmp_path: Path) -> None:
    run = asked(tmp_path, "fact")
    brief = brief_of(run.user.only_run())
    assert (brief.depth, brief.length) == (STANDARD, "short")
    assert length_asked_for(run) == 440
    assert len(run.begun("search")) <= STANDARD.max_total_queries + 2


@pytest.mark.parametrize("breadth", ["comparison", "", "very wide indeed"])
def test_most_questions_and_all_that_are_unclear_get_what_is_usual(tmp_path: Path, breadth: str) -> None:
    row = Lab(User(tmp_path), change=_judged(breadth)).ask()
    assert (brief_of(row).depth, brief_of(row).length) == (STANDARD, "standard")


@pytest.mark.parametrize(
    ("given", "depth", "length"),
    [
        ({"depth": STANDARD, "length": "standard"}, STANDARD, "standard"),
        ({"depth": STANDARD}, STANDARD, "deep"),
        ({"depth": QUICK}, QUICK, "standard"),
        ({"depth": DEEP, "length": "short"}, DEEP, "short"),
        ({"length": "short"}, DEEP, "short"),
    ],
)
def test_what_is_set_is_kept_however_wide_the_question(
    tmp_path: Path, given: dict[str, Any], depth: Depth, length: str
) -> None:
    row = Lab(User(tmp_path), change=_judged("field")).ask(**given)
    assert (brief_of(row).depth, brief_of(row).length) == (depth, length)


def test_deep_and_short_reads_far_and_tells_little(tmp_path: Path) -> None:
    run = asked(tmp_path, "comparison", depth=DEEP, length="short")
    assert len(run.begun("search")) > STANDARD.max_total_queries
    assert length_asked_for(run) == 440


def _judged(breadth: str, **changes: Any) -> Callable[[Adapters], Adapters]:
    analyst = ScriptedAnalyst(answers=judging(breadth))
    return lambda adapters: replace(with_models(adapters, analyst), **changes)


# Where a question stays what it is


@pytest.mark.parametrize(("breadth", "length"), [("field", "standard"), ("fact", "short")])
def test_a_small_folder_alone_is_no_field(tmp_path: Path, breadth: str, length: str) -> None:
    own = build_real(Settings(home=tmp_path / "home", docs=few_documents(), engines=("none",)))
    change = _judged(breadth, corpus=own.corpus, engines=own.engines, fetcher=own.fetcher)
    row = Lab(User(tmp_path), change=change).ask("What did the heat pumps cost?", docs=str(few_documents()))
    assert (brief_of(row).depth, brief_of(row).length) == (STANDARD, length)


def test_without_a_model_depth_is_as_set_and_the_report_keeps_its_length(tmp_path: Path) -> None:
    def by_rules(adapters: Adapters) -> Adapters:
        return replace(adapters, models=(), reasoner=None)

    for name, depth in (("open", None), ("deep", DEEP)):
        brief = brief_of(Lab(User(tmp_path / name), change=by_rules).ask(depth=depth))
        assert (brief.depth, brief.length) == (depth or STANDARD, "standard")


# What is shown before it begins


def test_a_deep_run_that_nobody_asked_for_is_shown_and_confirmed(tmp_path: Path) -> None:
    lab = Lab(User(tmp_path), World(pages=40), change=_judged("field"))
    row = lab.ask(interactive=True)
    assert row.pending is not None
    assert row.pending["kind"] == "plan-approval"
    shown, extent = str(row.pending["question"]), str(row.pending["extent"])
    assert extent in shown
    assert "Depth: deep. Length of the report: deep, up to 4,500 words. Time: about " in extent
    assert "at most 120 in all; rounds: at most 4; pages: at most 200." in extent
    assert lab.answer(row.id, "approve").status == "done"
    assert brief_of(lab.user.only_run()).depth == DEEP


def test_what_a_deep_run_takes_is_told_in_chinese(tmp_path: Path) -> None:
    row = Lab(User(tmp_path), change=_judged("field")).ask("这些项目花了多少钱，取得了什么成果？", interactive=True)
    assert "深度：deep。报告篇幅：deep，至多 8,100 字。时间：约 " in str((row.pending or {})["question"])


@pytest.mark.parametrize(("window", "words", "characters"), [(16_000, "2,400", "4,300"), (120_000, "4,500", "8,100")])
def test_what_is_shown_is_what_the_models_window_allows(
    tmp_path: Path, window: int, words: str, characters: str
) -> None:
    for script, told in ((ENGLISH, f"up to {words} words"), (CHINESE, f"至多 {characters} 字")):
        world = DeepWorld(script.only(*script.titles[:2]), answers=judging("field"))
        change = partial(_within, analyst=world.analyst, window=window)
        pending = Lab(User(tmp_path / told[:2]), change=change).ask(script.question, interactive=True).pending or {}
        assert told in str(pending["extent"])


def _within(adapters: Adapters, analyst: ScriptedAnalyst, window: int) -> Adapters:
    return with_models(adapters, analyst, options=PromptOptions(window=window))


@pytest.mark.parametrize(
    ("answer", "depth", "length"),
    [
        ("standard", STANDARD, "standard"),
        ("Depth: quick.", QUICK, "standard"),
        ("标准", STANDARD, "standard"),
        ("「標準」", STANDARD, "standard"),
        ("深度：深入", DEEP, "deep"),
    ],
)
def test_a_plan_is_followed_with_the_depth_that_one_answer_names(
    tmp_path: Path, answer: str, depth: Depth, length: str
) -> None:
    lab = Lab(User(tmp_path), World(pages=40), change=_judged("field"))
    row = lab.answer(lab.ask(interactive=True).id, answer)
    assert row.status == "done"
    assert (brief_of(row).depth, brief_of(row).length) == (depth, length)
    [plan] = [event.data for event in lab.user.events() if event.kind == "report-plan"]
    assert plan["queries"] == sum(depth.rounds())
    asked_first: Any = next(event.data["queries"] for event in lab.user.events() if event.kind == "serp-query")
    assert len(asked_first) <= depth.queries_first_iteration


def test_going_up_keeps_the_length_that_was_set_and_an_edited_plan_may_name_a_depth(tmp_path: Path) -> None:
    lab = Lab(User(tmp_path), World(pages=40), change=_judged("comparison"))
    row = lab.ask(confirm_plan=True, length="short")
    edited: JsonObject = {"research_title": "Piers", "sections": [{"title": "Costs"}], "depth": "deep"}
    row = lab.answer(row.id, edited)
    assert (brief_of(row).depth, brief_of(row).length) == (DEEP, "short")
    result: Any = row.result
    assert result["plan"]["research_title"] == "Piers"


@pytest.mark.parametrize(
    ("breadth", "given"),
    [
        ("field", {"interactive": True, "depth": DEEP}),
        ("field", {"interactive": True, "assume": True}),
        ("field", {}),
        ("comparison", {"interactive": True}),
    ],
    ids=["asked for", "not to be asked", "nobody there", "usual"],
)
def test_other_runs_begin_unasked(tmp_path: Path, breadth: str, given: dict[str, Any]) -> None:
    assert Lab(User(tmp_path), change=_judged(breadth)).ask(**given).status == "done"


# How many pages it reads


def test_a_run_reads_no_more_pages_than_its_depth_says_and_misses_none(tmp_path: Path) -> None:
    run = asked(tmp_path / "depth", "field", depth=DEEP.replace(max_pages=5))
    assert len(run.begun("fetch")) == 5
    assert "pages read" not in run.report
    assert not any(event.kind == "budget" for event in run.events)
    assert run.check["passed"]
    # A smaller budget is the user's own, and what it forbids is told.
    cut = asked(tmp_path / "budget", "field", budget=Budget(pages=5))
    assert len(cut.begun("fetch")) == 5
    assert any(event.kind == "budget" and event.data["kind"] == "pages" for event in cut.events)


# Other focuses, and the same question later


def test_a_corrected_question_is_judged_anew(tmp_path: Path) -> None:
    def assess(request: ModelRequest) -> str:
        breadth = "fact" if "the pier alone" in request.text else "field"
        return json.dumps(json.loads(answer_in_form(request)) | {"breadth": breadth})

    analyst = ScriptedAnalyst(answers={"assess": assess})
    lab = Lab(User(tmp_path), change=lambda adapters: with_models(adapters, analyst))
    row = lab.ask(interactive=True)
    row = lab.answer(row.id, "correct: the pier alone")
    assert "Depth: standard. Length of the report: short, up to 400 words." in str((row.pending or {})["question"])


@pytest.mark.parametrize("is_old", [False, True])
def test_an_update_goes_as_far_as_the_run_before_it(tmp_path: Path, is_old: bool) -> None:
    given: dict[str, Any] = {"depth": QUICK, "length": "short"} if is_old else {}
    lab = Lab(User(tmp_path), change=_judged("field"))
    row = lab.ask(**given)
    _, request = asyncio.run(update_request(row.id, lab.settings()))
    assert request.update is not None
    if is_old:
        # Briefs of earlier versions have no depth.
        brief = {name: value for name, value in request.update.brief.items() if name != "depth"}
        request = request.replace(update=request.update.replace(brief=brief))
    lab.change = _judged("comparison")
    updated = lab.ask(**{name: request[name] for name in ResearchRequest.model_fields})
    assert brief_of(updated).depth == (QUICK if is_old else DEEP)
    assert brief_of(updated).length == ("short" if is_old else "deep")


# What the shells ask for


def test_the_command_line_leaves_to_the_question_what_is_not_set(tmp_path: Path) -> None:
    cases: tuple[tuple[tuple[str, ...], dict[str, str], Depth | None, str | None], ...] = (
        ((), {}, None, None),
        (("--depth", "deep", "--length", "short"), {}, DEEP, "short"),
        (("--max-iterations", "2"), {}, STANDARD.replace(max_iterations=2), None),
        ((), {"DEEP_RESEARCH_MAX_PAGES": "9", "DEEP_RESEARCH_LENGTH": "deep"}, STANDARD.replace(max_pages=9), "deep"),
        (("--depth", "quick"), {"DEEP_RESEARCH_DEPTH": "deep"}, QUICK, None),
    )
    for number, (flags, env, depth, length) in enumerate(cases):
        user = User(tmp_path / str(number))
        begun = user.call("ask", QUESTION, "--confirm-plan", "--wiring", "worlds:quick", *flags, **env)
        assert begun.returncode == 2, begun.stderr
        request = user.only_run().request
        assert (request.depth, request.length) == (depth, length)


def test_a_length_that_is_none_is_refused_with_the_choices(tmp_path: Path) -> None:
    refused = User(tmp_path).call("ask", QUESTION, "--length", "endless", "--wiring", "worlds:quick")
    assert refused.returncode == 64
    assert "'short', 'standard', 'long' or 'deep'" in refused.stderr


def test_the_page_leaves_both_to_the_question_and_shows_with_the_plan_how_far_it_goes(tmp_path: Path) -> None:
    with serving(settings_for(tmp_path)) as client:
        form = client.http.get("/").text
        assert form.count('<option value="" selected>Automatic</option>') == 2
        assert '<option value="deep">Very long</option>' in form
        assert (
            '<option value="" selected>自动</option>' in client.http.get("/", headers={"accept-language": "zh-CN"}).text
        )
        run = client.wait(client.ask(confirm_plan=True)["id"])["id"]
        assert "Queries: 8 in the first round, at most 20 in all" in client.http.get(f"/runs/{run}").text
        page = client.http.get(f"/runs/{run}", headers={"accept-language": "zh-CN"}).text
        assert "或以其他深度开始：" in page
        assert [name for name in ("quick", "standard", "deep") if f'name="do" value="{name}"' in page] == [
            "quick",
            "deep",
        ]
        plan = client.http.get(f"/api/runs/{run}/plan").json()["plan"]
        fields = {"research_title": "Heat", "section_title": plan["sections"][0]["title"], "section_description": ""}
        headers = {"origin": client.address, "sec-fetch-site": "same-origin"}
        sent = client.http.post(
            f"/runs/{run}/plan", data={**fields, "section_queries": "", "do": "quick"}, headers=headers
        )
        assert sent.status_code == 303
        assert client.wait(run)["status"] == "done"
        followed = client.http.get(f"/api/runs/{run}/plan").json()["plan"]
        assert followed["research_title"] == "Heat"
        queries = client.http.get(f"/api/runs/{run}/progress").json()["queries"]
        assert len(queries) <= QUICK.max_total_queries
        # The interface takes the depth beside the plan.
        other = client.wait(client.ask(confirm_plan=True)["id"])["id"]
        edit = {"research_title": "Heat", "sections": [{"title": "Costs"}], "depth": "endless"}
        assert client.http.put(f"/api/runs/{other}/plan", json=edit).status_code == 422
        assert client.http.put(f"/api/runs/{other}/plan", json={**edit, "depth": "quick"}).status_code == 200
        assert client.wait(other)["status"] == "done"
    with serving(settings_for(tmp_path, depth="quick")) as client:
        assert '<option value="quick" selected>Quick</option>' in client.http.get("/").text


# What rules look for by themselves


def named_world(language: str) -> Callable[[Adapters], Adapters]:
    """Return a world without a model whose pages share two names, of which passages hold neither."""
    texts, hits = {}, []
    for n in range(1, 61):
        address = f"https://harbour{n}.example/report"
        title, told, more = (
            (
                f"港口报告{n}",
                f"港口项目{n}的费用在{1950 + n}年达到{13 + 7 * n}亿元。",
                "参见 PEP 517 和 PortSecurityPolicy。",
            )
            if language == "zh"
            else (
                f"Harbour report {n}",
                f"The costs of harbour project {n} came to {13 + 7 * n} million euros in {1950 + n}.",
                "See PEP 517, PortSecurityPolicy?",
            )
        )
        texts[address] = f"{title}\n\n{told}\n\n{more}\n"
        hits.append(Hit(address=address, title=title, snippet=told, engine="static"))

    def change(adapters: Adapters) -> Adapters:
        return replace(
            adapters,
            models=(),
            reasoner=None,
            engines=(StaticSearch(hits, hits_a_query=10),),
            fetcher=MemoryFetcher(texts),
            cache=None,
        )

    return change


@pytest.mark.parametrize(
    ("language", "question"),
    [("en", "What did the harbour projects cost?"), ("zh", "港口项目花了多少钱？")],
)
def test_by_rules_deep_reads_wider_and_asks_for_shared_names_and_keeps_its_length(
    tmp_path: Path, language: str, question: str
) -> None:
    read = []
    for depth in (STANDARD, DEEP):
        user = User(tmp_path / str(depth.max_pages))
        folder = Path(Lab(user, change=named_world(language)).ask(question, depth=depth).folder)
        entries = {
            entry["name"]: entry
            for entry in map(json.loads, (folder / "map.json").read_text(encoding="utf-8").splitlines())
        }
        assert {"PEP 517", "PortSecurityPolicy"} <= entries.keys()
        assert all(entry["queries"] or entry["status"] == "found" for entry in entries.values())
        assert {name for name, entry in entries.items() if name in entry["queries"]} >= {
            "PEP 517",
            "PortSecurityPolicy",
        }
        assert sum(event.kind == "search-task" for event in user.events()) <= depth.max_total_queries
        read.append(sum(event.kind == "source" for event in user.events()))
        told = map(json.loads, (folder / "paragraphs.jsonl").read_text(encoding="utf-8").splitlines())
        assert 0 < sum(len(each["sentences"]) for each in told) <= brief_of(user.only_run()).evidence_limit
        assert brief_of(user.only_run()).length == "standard"
    assert read[1] > read[0]
