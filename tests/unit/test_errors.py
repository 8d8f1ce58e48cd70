"""The error tree: exit codes, categories, and what a user reads."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep_research import errors
from deep_research.cli.options import EXIT_NOT_VERIFIED
from deep_research.cli.runs.research import EXIT_NOT_SEARCHED
from deep_research.errors import (
    BudgetExceeded,
    CallFailed,
    DeepResearchError,
    ErrorCategory,
    ErrorClassifier,
    ModelError,
    NetworkError,
    SourceError,
    StopRun,
    error_named,
)


def _tree(kind: type[DeepResearchError]) -> Iterator[type[DeepResearchError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)


ALL = list(_tree(DeepResearchError))
EXIT_CODES = {
    "UsageError": 64,
    "ConfigurationError": 64,
    "NotFound": 64,
    "UnknownRun": 64,
    "WrongState": 64,
    "NewerStore": 64,
    "ModelRefused": 64,
    "CreditSpent": 64,
    "InputError": 65,
    "TooLarge": 65,
    "SignInFailed": 64,
    "TooManyTries": 75,
    "LimitReached": 75,
    "ClarificationFailed": 1,
    "AnswerNeeded": 2,
    "RunInterrupted": 130,
    "RunCancelled": 130,
    "RunHeld": 75,
    "RunTaken": 75,
    "StoreLocked": 75,
    "CannotWrite": 73,
}


def test_exit_codes_are_the_documented_ones():
    assert {kind.__name__: kind.exit_code for kind in ALL} == {
        kind.__name__: EXIT_CODES.get(kind.__name__, 70) for kind in ALL
    }


def test_tree_at_the_top_of_the_module_names_every_error():
    named = set(re.findall(r"\w+", errors.__doc__ or ""))
    assert {kind.__name__ for kind in ALL} <= named


def test_error_without_detail_reads_as_its_docstring():
    assert [str(kind()) for kind in ALL] == [(kind.__doc__ or "").splitlines()[0] for kind in ALL]
    assert {str(kind("the disk is full")) for kind in ALL} == {"the disk is full"}


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (NetworkError(), ErrorCategory.NETWORK),
        (ConnectionResetError(), ErrorCategory.NETWORK),
        (TimeoutError(), ErrorCategory.NETWORK),
        (ModelError(), ErrorCategory.LLM),
        (SourceError(), ErrorCategory.BUSINESS),
        (ValueError(), ErrorCategory.BUSINESS),
        (BudgetExceeded(), ErrorCategory.RESOURCE_LIMIT),
        (MemoryError(), ErrorCategory.RESOURCE_LIMIT),
    ],
)
def test_errors_are_sorted_into_four_categories(error, category):
    assert ErrorClassifier.classify(error) is category


def test_only_network_and_model_errors_are_worth_another_try():
    assert [category for category in ErrorCategory if category.is_retryable] == ["NETWORK", "LLM"]


def test_nothing_that_stops_a_run_is_tried_again():
    assert [kind for kind in _tree(StopRun) if ErrorClassifier.classify(kind()).is_retryable] == []


def test_recorded_failure_comes_back_as_the_error_it_was():
    kinds = list(_tree(CallFailed))
    recorded = [error_named(kind.__name__, "detail") for kind in kinds]
    assert [type(error) for error in recorded] == kinds
    assert {str(error) for error in recorded} == {"detail"}


def test_unknown_recorded_failure_comes_back_as_a_failed_call():
    assert type(error_named("SomethingOld", "detail")) is CallFailed


def test_the_page_of_the_command_line_names_every_exit_code() -> None:
    text = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    named = re.search(r"^Exit codes: (.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    assert named
    told = {int(entry.split()[0]) for entry in named[1].split("·")}
    assert told == {0, EXIT_NOT_VERIFIED, EXIT_NOT_SEARCHED, *(kind.exit_code for kind in _tree(DeepResearchError))}
