"""SIGKILL at five points of a deep run: it ends with the same report, and nothing is paid for twice."""

import signal
from pathlib import Path

import pytest

from tests.e2e.deep_world import CHINESE, ENGLISH, POINTS
from tests.e2e.harness import User, assert_emitted_once, keys_but_status

pytestmark = pytest.mark.long

ASK = ("--depth", "deep", "--wiring", "deep_world:build", "--assume")


QUESTIONS = {"en": ENGLISH.question, "zh": CHINESE.question}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, User]:
    users = {}
    for language, question in QUESTIONS.items():
        users[language] = User(tmp_path_factory.mktemp(language), env={"TEST_LANGUAGE": language})
        ended = users[language].call("ask", question, *ASK)
        assert ended.returncode == 0, ended.stderr
    return users


@pytest.mark.parametrize(("point", "language"), [*zip(POINTS, ("zh", "en", "en", "zh", "en"), strict=True)])
def test_a_run_that_is_killed_ends_like_any_other(
    tmp_path: Path, undisturbed: dict[str, User], point: str, language: str
) -> None:
    user, other = User(tmp_path, env={"TEST_LANGUAGE": language}), undisturbed[language]
    killed = user.run("ask", QUESTIONS[language], *ASK, TEST_KILL=point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    told, begun = user.events(), len(user.begun())
    paid = sum(row.state == "done" for row in user.calls())
    _assert_amid(user, point)

    resumed = user.run("runs", "resume", user.only_run().id)
    assert resumed.returncode == 0, resumed.stderr
    assert len(user.begun()) - begun == len(other.begun()) - paid, "a finished call was made again"
    assert _body(user) == _body(other)
    events = user.events()
    assert_emitted_once(events)
    assert events[: len(told)] == told
    assert keys_but_status(events) == keys_but_status(other.events())


def _body(user: User) -> str:
    """Return the report without the line that names the run and its beginning."""
    body, mark, _ = user.report().rpartition("\n---\n")
    assert mark
    return body


def _assert_amid(user: User, point: str) -> None:
    """What was under way is what the point is named after; of searches and pages several were."""
    begun = [(row.kind, row.scope) for row in user.calls() if row.state == "started"]
    kind, part, least = {
        "searching": ("search", "/round/1/task/", 2),
        "reading": ("fetch", "fetch/", 2),
        "judging": ("llm", "/reflect", 1),
        "drafting": ("llm", "draft", 1),
        "checking": ("llm", "verify", 1),
    }[point]
    assert len(begun) >= least
    assert all(name == kind and part in scope for name, scope in begun if name != "query"), begun
