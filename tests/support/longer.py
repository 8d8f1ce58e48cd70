"""What `make test` leaves to `make test-long`: the cases beyond the first, where the first takes every step."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_of(cases: Iterable[Any]) -> list[Any]:
    """Return the cases of a test, marked `long` but for the first."""
    first, *others = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*first), *(pytest.param(*case, marks=pytest.mark.long) for case in others)]
