"""A seal is the same wherever and whenever it is made, and another for anything else."""

import pytest

from deep_research.storage.database.checksums import checksum_of


def test_a_seal_does_not_hang_on_the_version_or_the_process():
    # Stores of users carry these: a change here would make all of them damaged.
    assert checksum_of("run", 1, 2.5, None, "研究", b"\x00\xff", 2**40) == -5796102628355769291
    text = bytes.fromhex("72756e").decode()
    assert checksum_of(text) == checksum_of("run"), "it is the content that counts, not how it lies in memory"


@pytest.mark.parametrize("other", [("1",), (1.0,), (None,), (b"1",), (1, None), (2,)])
def test_kinds_and_lengths_are_told_apart(other):
    assert checksum_of(*other) != checksum_of(1)
