"""SIGKILL while one section is judged and another searched for, or amid the text: nothing is paid for twice."""

import signal
from pathlib import Path

import pytest

from tests.e2e.deep_world import CHINESE, ENGLISH
from tests.e2e.harness import User, assert_emitted_once, keys_but_status

pytestmark = pytest.mark.long

ASK = ("--depth", "deep", "--wiring", "deep_world:build", "--assume")


QUESTIONS = {"en": ENGLISH.question, "zh": CHINESE.question}


@pytest.mark.parametrize(("language", "point"), [("en", "judging"), ("zh", "drafting")])
def test_a_run_killed_amid_text_and_search_ends_like_any_other(tmp_path: Path, language: str, point: str) -> None:
    question = QUESTIONS[language]
    undisturbed = User(tmp_path / "undisturbed", env={"TEST_LANGUAGE": language})
    ended = undisturbed.call("ask", question, *ASK)
    assert ended.returncode == 0, ended.stderr

    user = User(tmp_path / "killed", env={"TEST_LANGUAGE": language})
    killed = user.run("ask", question, *ASK, TEST_KILL=point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    told, begun = user.events(), len(user.begun())
    paid = sum(row.state == "done" for row in user.calls())
    _assert_amid(user, point)

    resumed = user.run("runs", "resume", user.only_run().id)
    assert resumed.returncode == 0, resumed.stderr
    assert len(user.begun()) - begun == len(undisturbed.begun()) - paid, "a finished call was made again"
    assert _body(user) == _body(undisturbed)
    events = user.events()
    assert_emitted_once(events)
    assert events[: len(told)] == told
    assert keys_but_status(events) == keys_but_status(undisturbed.events())


def _body(user: User) -> str:
    """Return the report without the line that names the run and its beginning."""
    body, mark, _ = user.report().rpartition("\n---\n")
    assert mark
    return body


def _assert_amid(user: User, point: str) -> None:
    """One call was under way: a section's judgement while another was searched for, or the report."""
    begun = [row.scope for row in user.calls() if row.kind == "llm" and row.state == "started"]
    assert len(begun) >= 1
    assert all(("/reflect" in scope) == (point == "judging") for scope in begun), begun
    searches = [row.scope for row in user.calls() if row.kind == "search" and row.scope.startswith("section/2/")]
    assert searches, "the other section had not begun"
