"""A slip in a command is told from a question: only the first must not start a run."""

import pytest

from deep_research.cli.suggestions import command_meant

COMMANDS = {
    "ask": (),
    "runs": ("list", "show", "resume", "report", "plan"),
    "corpus": ("add", "list"),
    "sources": ("list", "test"),
    "cache": ("show", "clear"),
    "doctor": (),
}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["dcotor"], "doctor"),
        (["Doctor"], "doctor"),
        (["help"], "--help"),
        (["version"], "--version"),
        (["run", "list"], "runs list"),
        (["run", "list", "--json"], "runs list --json"),
        (["source", "lst"], "sources list"),
        (["rusn", "show", "58b988eb"], "runs show 58b988eb"),
        (["list"], "runs list"),
        (["resume", "58b988eb"], "runs resume 58b988eb"),
        (["run"], "runs"),
        (["aks", "What is it?", "--docs", "x"], "ask 'What is it?' --docs x"),
    ],
)
def test_a_slip_is_recognised(typed: list[str], meant: str) -> None:
    assert command_meant(typed, list(COMMANDS), COMMANDS.__getitem__) == meant


@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["--docs", "x"],
        ["run list"],
        ["source", "of", "the", "Nile"],
        ["Run", "times", "of", "sorting"],
        ["cache", "coherence", "protocols"],
        ["plan", "B", "drugs"],
        ["tasks", "of", "a", "mayor"],
        ["photosynthesis"],
        ["癌症"],
        ["海绵城市", "是什么"],
        ["列表"],
    ],
)
def test_a_question_is_left_alone(typed: list[str]) -> None:
    assert command_meant(typed, list(COMMANDS), COMMANDS.__getitem__) == ""
