"""The error tree: exit codes, categories, and what a user reads."""

import re
from collections.abc import Iterator

import pytest

from deep_research import errors
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
    "UnknownRun": 64,
    "NewerStore": 64,
    "ModelRefused": 64,
    "InputError": 65,
    "ClarificationFailed": 1,
    "AnswerNeeded": 2,
    "RunInterrupted": 130,
    "RunCancelled": 130,
    "RunHeld": 75,
    "RunTaken": 75,
    "StoreLocked": 75,
    "CannotWrite": 73,
}


@pytest.mark.parametrize("kind", ALL)
def test_exit_code_is_the_documented_one(kind):
    assert kind.exit_code == EXIT_CODES.get(kind.__name__, 70)


@pytest.mark.parametrize("kind", ALL)
def test_tree_at_the_top_of_the_module_names_every_error(kind):
    assert re.search(rf"\b{kind.__name__}\b", errors.__doc__ or "")


@pytest.mark.parametrize("kind", ALL)
def test_error_without_detail_reads_as_its_docstring(kind):
    assert str(kind()) == kind.__doc__.splitlines()[0]
    assert str(kind("the disk is full")) == "the disk is full"


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


@pytest.mark.parametrize("kind", list(_tree(StopRun)))
def test_nothing_that_stops_a_run_is_tried_again(kind):
    assert not ErrorClassifier.classify(kind()).is_retryable


@pytest.mark.parametrize("kind", list(_tree(CallFailed)))
def test_recorded_failure_comes_back_as_the_error_it_was(kind):
    error = error_named(kind.__name__, "detail")
    assert type(error) is kind
    assert str(error) == "detail"


def test_unknown_recorded_failure_comes_back_as_a_failed_call():
    assert type(error_named("SomethingOld", "detail")) is CallFailed
