"""A run in which every search failed says that first, and its exit code says it too."""

import json
from pathlib import Path

import pytest

from deep_research.text.messages.words import words_in
from tests.e2e.harness import User
from tests.support.longer import first_of
from tests.support.search_server import Answer, SearchServer

QUESTIONS = {
    "en": "What did the harbour retrofit of Halden cost, and what did it achieve?",
    "zh-Hans": "青岚市的海港改造花了多少钱，效果如何？",
    "zh-Hant": "青嵐市的海港改造花了多少錢，效果如何？",
}
ENGINES = ("searxng", "wikipedia", "crossref")


def _ask(user: User, language: str, address: str, *arguments: str):
    services = {f"DEEP_RESEARCH_{name.upper()}_ADDRESS": f"{address}/{name}" for name in ENGINES}
    return user.call(
        "ask",
        QUESTIONS[language],
        "-p",
        "none",
        "--clarify",
        "off",
        *arguments,
        **services,
        DEEP_RESEARCH_ENGINES=",".join(ENGINES),
        DEEP_RESEARCH_MAX_ITERATIONS="1",
    )


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path / "user")


@pytest.mark.parametrize("language", first_of(QUESTIONS))
@pytest.mark.parametrize("is_down", [False, True], ids=["every engine fails", "nobody listens"])
def test_a_run_in_which_every_search_failed_says_so_first_and_exits_69(
    user: User, language: str, is_down: bool
) -> None:
    with SearchServer(Answer({}, status=500)) as server:
        if not is_down:
            ended = _ask(user, language, server.address)
    if is_down:
        ended = _ask(user, language, server.address)
    assert ended.returncode == 69, ended.stderr
    say = words_in(language)
    title, label, lost, *_ = filter(None, ended.stdout.splitlines())
    assert title.startswith("# ")
    assert label == f"**{say('report.notice')}**"
    assert lost.startswith("- " + say("search.unanswered", engines="\0").partition("\0")[0])
    assert say("nothing.report") not in ended.stdout, "nobody knows whether there is something to be found"
    assert user.only_run().status == "done"
    tasks = [event.data for event in user.events() if event.kind == "search-task"]
    assert tasks
    assert all(data["status"] == "failed" and data["error"] for data in tasks)
    steps = [event.data for event in user.events() if event.kind == "progress" and event.data["step"] == "harvest"]
    failed = [data for data in steps if data["status"] == "failed"]
    assert len(failed) == len(tasks)
    assert all(data["data"]["reason"] for data in failed)  # type: ignore[call-overload, index]  # a mapping
    assert json.loads((Path(user.only_run().folder) / "verify.json").read_text())["passed"]


def test_a_run_with_a_folder_has_been_searched(user: User, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "costs.md").write_text("The harbour retrofit of Halden cost €146.2 million in 2025.\n", encoding="utf-8")
    with SearchServer(Answer({}, status=500)) as server:
        ended = _ask(user, "en", server.address, "--docs", str(docs))
    assert ended.returncode == 0, ended.stderr
    assert "€146.2 million" in ended.stdout
    assert words_in("en")("search.unanswered", engines="").partition("(")[0] not in ended.stdout


def test_engines_that_answer_with_nothing_have_been_searched(user: User) -> None:
    with SearchServer(Answer({"results": [], "query": {"search": []}, "message": {"items": []}})) as server:
        ended = _ask(user, "en", server.address)
    assert ended.returncode == 0, ended.stderr
    assert words_in("en")("nothing.report") in ended.stdout


def test_a_run_tried_again_when_the_sources_are_back_is_done(user: User) -> None:
    with SearchServer(Answer({}, status=500)) as server:
        assert _ask(user, "en", server.address).returncode == 69
        empty = Answer({"results": [], "query": {"search": []}, "message": {"items": []}})
        server.script = lambda _: empty
        services = {f"DEEP_RESEARCH_{name.upper()}_ADDRESS": f"{server.address}/{name}" for name in ENGINES}
        # In a process of its own: this one still leaves the failing services alone.
        ended = user.run("runs", "retry", user.only_run().id[:8], **services)
    assert ended.returncode == 0, ended.stderr
