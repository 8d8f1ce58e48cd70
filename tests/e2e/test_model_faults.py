"""Whole runs over a real server with a provider's wire format, and everything that can go wrong there.

Each fault ends in a correct report or in a clear, classified error, with everything that was paid for kept.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import User, assert_explained
from tests.support.analyst import act_of, answer_over_the_wire
from tests.support.model_dialects import Answer, Asked
from tests.support.model_server import ModelServer
from tests.support.world import LONGER

QUESTION = "What did the harbour retrofit of Halden cost, and what did it achieve?"
PAGES = {
    "costs.md": "# Costs\n\nThe harbour retrofit of Halden cost €146.2 million in total by the end of 2025. "
    "The budget of the harbour retrofit was €118.0 million when the council approved it in 2021.\n",
    "results.txt": "The harbour retrofit of Halden cut emissions by 61 per cent between 2020 and 2025. "
    "Residents near the harbour made 14 noise complaints in 2025, after 96 complaints in 2024.\n",
}
FRENCH = "La rénovation du port a coûté beaucoup d'argent à la ville selon les habitants du quartier [E1]."


@pytest.fixture
def user(tmp_path: Path) -> User:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in PAGES.items():
        (docs / name).write_text(text, encoding="utf-8")
    return User(tmp_path / "user")


def _lengthen(user: User) -> None:
    """Make the documents so long that the model is asked what matters of them."""
    for name, text in PAGES.items():
        (user.folder.parent / "docs" / name).write_text(f"{text}{LONGER}\n", encoding="utf-8")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answer_over_the_wire) as server:
        yield server


def _ask(user: User, server: ModelServer, *arguments: str, provider: str = "openai-compatible:test", **extra: str):
    settings = {
        "DEEP_RESEARCH_OPENAI_COMPATIBLE_ADDRESS": server.address_of("openai-compatible"),
        "DEEP_RESEARCH_MODEL_TRIES": "2",
        "DEEP_RESEARCH_QUERIES_FIRST_ITERATION": "3",
        "DEEP_RESEARCH_MAX_ITERATIONS": "1",
        **extra,
    }
    docs = str(user.folder.parent / "docs")
    return user.call("ask", QUESTION, "--docs", docs, "-p", provider, *arguments, **settings)


def _faulty(act: str, fault: Answer, *, times: int = 1_000) -> Callable[[Asked], Answer]:
    left = times

    def script(asked: Asked) -> Answer:
        nonlocal left
        if act_of(asked.text) == act and left:
            left -= 1
            return fault
        return answer_over_the_wire(asked)

    return script


def _stats(user: User) -> dict[str, dict[str, object]]:
    stats: dict[str, dict[str, object]] = json.loads((Path(user.only_run().folder) / "stats.json").read_text())
    return stats


def test_a_run_with_a_model_writes_a_verified_report(user: User, server: ModelServer) -> None:
    _lengthen(user)
    ended = _ask(user, server)
    assert ended.returncode == 0, ended.stderr
    assert "As reported, The harbour retrofit of Halden cost €146.2 million" in ended.stdout
    assert "€118.0 million" in ended.stdout
    assert {act_of(asked.text) for asked in server.requests} >= {"assess", "plan", "extract", "draft", "judge", "edit"}
    assert _stats(user)["model"]["calls"] == len(server.requests)


FAULTS: dict[str, tuple[str, Answer]] = {
    "500 at the draft": ("draft", Answer(status=500)),
    "529 at the draft": ("draft", Answer(status=529)),
    "429 without Retry-After": ("extract", Answer(status=429)),
    "429 with Retry-After": ("draft", Answer(status=429, headers={"retry-after": "0"})),
    "cut in mid-stream": ("draft", Answer(text="The harbour retrofit of Halden cost much. " * 9, cut_after=6)),
    "hang before the first word": ("draft", Answer(text="x", hang_after=0)),
    "hang in mid-answer": ("extract", Answer(text='{"passages": [1, 2, 3]}', hang_after=2)),
    "cut at the token limit": ("extract", Answer(text='{"passages": ["The', stop="length")),
    "cut at the token limit in prose": ("draft", Answer(text="The harbour retrofit of Halden", stop="length")),
    "an empty answer": ("draft", Answer(text="")),
    "wrong types": ("judge", Answer(text='{"sentences": {"a": 1}, "verdicts": 5}')),
    "ten thousand repeated tokens": ("draft", Answer(text="harbour " * 10_000, piece_chars=400)),
    "a refusal": ("draft", Answer(text="I can't help with that.", stop="refusal")),
    "another language": ("draft", Answer(text=FRENCH)),
    "an HTML page in place of an answer": ("extract", Answer(raw=b"<html><body>Bad gateway</body></html>")),
    "garbage at the judge": ("judge", Answer(text="Certainly!")),
    "garbage at the end": ("edit", Answer(text="[]")),
}


@pytest.mark.parametrize(("act", "fault"), FAULTS.values(), ids=FAULTS)
def test_a_fault_at_a_step_ends_in_a_correct_report_that_says_so(
    user: User, server: ModelServer, act: str, fault: Answer
) -> None:
    server.script = _faulty(act, fault)
    if act == "extract":
        _lengthen(user)
    hasty = {"DEEP_RESEARCH_MODEL_TIMEOUT_S": "3", "DEEP_RESEARCH_MODEL_IDLE_TIMEOUT_S": "1"}
    ended = _ask(user, server, **(hasty if fault.hang_after is not None else {}))
    assert ended.returncode == 0, ended.stderr
    report = user.report()
    for figure in ("€146.2 million", "€118.0 million", "61 per cent"):
        assert figure in report
    assert "stood in" in report
    assert "harbour harbour harbour" not in report
    assert "La rénovation" not in report
    folder = Path(user.only_run().folder)
    assert json.loads((folder / "verify.json").read_text())["passed"]


def test_half_an_answer_is_used_as_far_as_it_goes(user: User, server: ModelServer) -> None:
    half = Answer(text='{"passages": [1, 2], "sections": [1, 2], "relevance": [9', stop="length")
    server.script = _faulty("extract", half)
    _lengthen(user)
    ended = _ask(user, server)
    assert ended.returncode == 0, ended.stderr
    assert "stood in" not in user.report()
    assert "€146.2 million" in user.report()


@pytest.mark.parametrize("status", [500, 429])
def test_a_fault_that_passes_leaves_no_trace_in_the_report(user: User, server: ModelServer, status: int) -> None:
    server.script = _faulty("plan", Answer(status=status, headers={"retry-after": "0"}), times=1)
    ended = _ask(user, server)
    assert ended.returncode == 0, ended.stderr
    assert "stood in" not in user.report()


@pytest.mark.parametrize(
    ("fault", "mend"),
    [
        (Answer(status=401), "DEEP_RESEARCH_OPENAI_COMPATIBLE_API_KEY"),
        (Answer(status=429, raw=b'{"error": {"type": "insufficient_quota", "code": "insufficient_quota"}}'), "quota"),
        (Answer(status=400, raw=b'{"error": {"code": "model_not_found", "param": "model"}}'), "thinking_model"),
    ],
    ids=["key", "quota", "model"],
)
def test_a_refused_call_stops_with_what_to_mend_and_goes_on_after_it(
    user: User, server: ModelServer, fault: Answer, mend: str
) -> None:
    server.script = _faulty("draft", fault)
    said = assert_explained(_ask(user, server), 64)
    assert "openai-compatible" in said
    assert mend in said
    refused = [asked.text for asked in server.requests if act_of(asked.text) == "draft"]
    assert len(refused) == len(set(refused)), "nothing is asked again"
    assert f"deep-research runs retry {user.only_run().id[:8]}" in said
    before = [asked.text for asked in server.requests if act_of(asked.text) != "draft"]
    server.script = answer_over_the_wire
    server.requests.clear()
    ended = user.call(
        "runs",
        "retry",
        user.only_run().id[:8],
        DEEP_RESEARCH_OPENAI_COMPATIBLE_ADDRESS=server.address_of("openai-compatible"),
    )
    assert ended.returncode == 0, ended.stderr
    assert not set(before) & {asked.text for asked in server.requests}


ACTS = ("assess", "plan", "extract", "draft", "judge", "edit")


def _dying(server: ModelServer, act: str) -> Callable[[Asked], Answer]:
    """Return a script that answers until an act is asked for, and then lets the server die."""

    def script(asked: Asked) -> Answer:
        if act_of(asked.text) == act:
            server.die()
        return answer_over_the_wire(asked)

    return script


@pytest.mark.parametrize("act", ACTS)
def test_a_server_that_dies_at_any_act_leaves_a_report_by_rules(user: User, server: ModelServer, act: str) -> None:
    server.script = _dying(server, act)
    if act == "extract":
        _lengthen(user)
    ended = _ask(user, server, DEEP_RESEARCH_MODEL_TRIES="1")
    assert ended.returncode == 0, ended.stderr
    report = user.report()
    for figure in ("€146.2 million", "€118.0 million", "61 per cent"):
        assert figure in report
    assert report.count("The model did not answer; rules without a model stood in for ") == 1
    assert "stood in" not in report.replace("rules without a model stood in for", ""), "said in one line"
    assert json.loads((Path(user.only_run().folder) / "verify.json").read_text())["passed"]
    if act == "edit":
        assert "As reported, The harbour retrofit of Halden cost €146.2 million" in report, "the paid draft stands"


def test_a_run_by_rules_in_a_dead_models_place_is_written_by_it_when_it_is_back(user: User) -> None:
    with ModelServer(answer_over_the_wire) as server:
        server.script = _dying(server, "edit")
        _ask(user, server, DEEP_RESEARCH_MODEL_TRIES="1")
    before = {asked.text for asked in server.requests if act_of(asked.text) != "edit"}
    with ModelServer(answer_over_the_wire) as back:
        address = back.address_of("openai-compatible")
        run = user.only_run().id[:8]
        ended = user.call("runs", "retry", run, DEEP_RESEARCH_OPENAI_COMPATIBLE_ADDRESS=address)
    assert ended.returncode == 0, ended.stderr
    assert "stood in" not in user.report()
    assert [act_of(asked.text) for asked in back.requests] == ["edit"]
    assert not before & {asked.text for asked in back.requests}


@pytest.mark.parametrize(
    ("question", "line"),
    [
        (QUESTION, "The model did not answer; rules without a model stood in for "),
        ("青岚市的海港改造花了多少钱，效果如何？", "模型没有回答，已改用不依赖模型的规则完成"),
        ("青嵐市的海港改造花了多少錢，效果如何？", "模型沒有回答，已改用不依賴模型的規則完成"),
    ],
)
def test_a_dead_server_is_named_and_rules_research(user: User, question: str, line: str) -> None:
    (user.folder.parent / "docs" / "zh.txt").write_text("青岚市的海港改造总共花费了48.6亿元。\n", encoding="utf-8")
    with ModelServer(answer_over_the_wire) as server:
        pass
    ended = _ask(user, server, "-q", question, DEEP_RESEARCH_MODEL_TRIES="1")
    assert ended.returncode == 0, ended.stderr
    assert line in user.report()
    place = server.address_of("openai-compatible").removeprefix("http://").partition("/")[0]
    assert f"at {place} failed: is the server running?" in ended.stderr
    assert "openai_compatible_address" in ended.stderr


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("青岚市的海港改造花了多少钱，效果如何？", ("openai-compatible:test 拒绝", "保留已有的结果")),
        ("青嵐市的海港改造花了多少錢，效果如何？", ("openai-compatible:test 拒絕", "保留已有的結果")),
    ],
)
def test_what_went_wrong_is_said_in_the_language_of_the_question(
    user: User, server: ModelServer, question: str, words: tuple[str, ...]
) -> None:
    server.script = lambda _: Answer(status=401)
    said = assert_explained(_ask(user, server, "-q", question), 64)
    assert all(word in said for word in words), said


def test_a_fallback_without_a_key_is_left_out_and_said_once(user: User, server: ModelServer) -> None:
    ended = _ask(user, server, DEEP_RESEARCH_FALLBACK_MODELS="openai:gpt-5")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("OPENAI_API_KEY") == 1, ended.stderr
    assert user.only_run().request.models == ("openai-compatible:test",) * 2


def test_the_next_provider_of_the_chain_takes_over(user: User, server: ModelServer) -> None:
    script = answer_over_the_wire
    server.script = lambda asked: Answer(status=529) if asked.dialect == "openai" else script(asked)
    ended = _ask(
        user,
        server,
        DEEP_RESEARCH_FALLBACK_MODELS="ollama:qwen3:8b",
        DEEP_RESEARCH_OLLAMA_ADDRESS=server.address_of("ollama"),
        DEEP_RESEARCH_MODEL_TRIES="1",
    )
    assert ended.returncode == 0, ended.stderr
    assert "stood in" not in user.report()
    assert list(_stats(user)["model"]["calls_by_model"]) == ["ollama:qwen3:8b"]  # type: ignore[call-overload]  # a mapping


def _ask_auto(user: User, server: ModelServer, *arguments: str, provider: str = "auto"):
    """Ask with the keys of two providers set, and no word about which to use."""
    keys = {f"{name.upper()}_API_KEY": "test-key" for name in ("openai", "anthropic")}
    places = {f"DEEP_RESEARCH_{name.upper()}_ADDRESS": server.address_of(name) for name in ("openai", "anthropic")}
    return _ask(user, server, *arguments, provider=provider, **keys, **places, DEEP_RESEARCH_MODEL_TRIES="1")


NO_QUOTA = Answer(status=429, raw=b'{"error": {"type": "insufficient_quota", "code": "insufficient_quota"}}')


def _failing_first(server: ModelServer, fault: Answer) -> None:
    server.script = lambda asked: fault if asked.dialect == "openai" else answer_over_the_wire(asked)


@pytest.mark.parametrize("fault", [Answer(status=529), NO_QUOTA], ids=["busy for good", "no quota"])
def test_a_second_provider_whose_key_is_set_takes_over_and_is_named(
    user: User, server: ModelServer, fault: Answer
) -> None:
    _failing_first(server, fault)
    ended = _ask_auto(user, server)
    assert ended.returncode == 0, ended.stderr
    assert "As reported, The harbour retrofit of Halden cost €146.2 million" in user.report()
    assert "stood in" not in user.report()
    used = list(_stats(user)["model"]["calls_by_model"])  # type: ignore[call-overload]  # a mapping
    assert [name.partition(":")[0] for name in used] == ["anthropic"] * 2, "its own models for both roles"
    for name in used:
        assert f"{name} answered in its place" in user.report()
        assert any(event.kind == "error" and name in str(event.data["message"]) for event in user.events())


def test_a_wrong_key_of_the_first_provider_is_reported_and_bills_no_second(user: User, server: ModelServer) -> None:
    _failing_first(server, Answer(status=401))
    said = assert_explained(_ask_auto(user, server), 64)
    assert "OPENAI_API_KEY" in said
    assert {asked.dialect for asked in server.requests} == {"openai"}


def test_who_names_a_provider_gets_no_other(user: User, server: ModelServer) -> None:
    _failing_first(server, Answer(status=529))
    ended = _ask_auto(user, server, provider="openai")
    assert ended.returncode == 0, ended.stderr
    assert {asked.dialect for asked in server.requests} == {"openai"}
    assert "rules without a model stood in" in user.report()


def test_the_budget_is_the_runs_whichever_provider_answers(user: User, server: ModelServer) -> None:
    _failing_first(server, Answer(status=529))
    ended = _ask_auto(user, server, "--budget-tokens", "9000")
    assert ended.returncode == 0, ended.stderr
    assert 0 < _stats(user)["spent"]["tokens"] <= 9000  # type: ignore[operator]  # a number
    assert "9000" in user.report().partition("## About this report\n")[2]


def test_the_plan_is_shown_while_it_is_written(user: User, server: ModelServer) -> None:
    tries = iter(range(9))

    def script(asked: Asked) -> Answer:
        if act_of(asked.text) != "plan":
            return answer_over_the_wire(asked)
        # The connection is cut after two titles; the second try is answered whole.
        begun = '{"title": "Halden", "sections": ["Costs", "Noise", "Traf'
        cut = Answer(text=f"{begun} and so on", cut_after=len(begun), piece_chars=1)
        return answer_over_the_wire(asked) if next(tries) else cut

    server.script = script
    ended = _ask(user, server)
    assert ended.returncode == 0, ended.stderr
    shown = [str(event.data["text"]) for event in user.events() if event.key.startswith("message:plan:")]
    assert shown == ["Costs", "Noise", "Results", "Criticism"], "each title as soon as it is written, and once"
    events = [event.kind for event in user.events()]
    assert events.index("message") < events.index("report-plan")
    lines = ended.stderr.splitlines()
    assert lines.index("  · Noise") < lines.index("  · Results")


@pytest.mark.parametrize(
    "question", ["青岚市的海港改造花了多少钱，效果如何？", "青嵐市的海港改造花了多少錢，效果如何？"]
)
def test_chinese_is_written_in_the_script_of_the_question(user: User, server: ModelServer, question: str) -> None:
    (user.folder.parent / "docs" / "zh.txt").write_text(
        "青岚市的海港改造总共花费了48.6亿元，比预算高出12%。改造之后，海港的排放量在2025年下降了61%。\n",
        encoding="utf-8",
    )
    server.script = answer_over_the_wire
    settings = {"DEEP_RESEARCH_OPENAI_COMPATIBLE_ADDRESS": server.address_of("openai-compatible")}
    docs = str(user.folder.parent / "docs")
    ended = user.call("ask", question, "--docs", docs, "-p", "openai-compatible:test", **settings)
    assert ended.returncode == 0, ended.stderr
    assert ("資料顯示，" if "錢" in question else "资料显示，") in ended.stdout
    assert "48.6" in ended.stdout
