"""Spoiled files of every format: each is read or refused, within ten CPU seconds and a gigabyte.

A failure names the seed and the number: `python -m tests.support.fuzz_readers --seed 1 --first 17 --count 1` tries it
again.
"""

import pytest

from deep_research.documents.readers.registry import FORMATS
from tests.support.fuzz_readers import faults, run
from tests.support.hostile_files import KINDS

EACH_PAIR_ONCE = len(FORMATS) * len(KINDS)


@pytest.mark.long
def test_spoiled_files_are_read_or_refused():
    outcomes = run(seed=1, first=0, count=2 * EACH_PAIR_ONCE)
    assert {(one.format, one.kind) for one in outcomes} == {(name, kind) for name in FORMATS for kind in KINDS}
    assert not faults(1, outcomes)
    # What is only ever refused tries nothing beyond the first look at a file.
    assert {one.format for one in outcomes if one.is_read} == FORMATS.keys()


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 44 * EACH_PAIR_ONCE, 4 * EACH_PAIR_ONCE))
def test_thousands_of_spoiled_files_are_read_or_refused(first: int):
    assert not faults(2, run(seed=2, first=first, count=4 * EACH_PAIR_ONCE))
