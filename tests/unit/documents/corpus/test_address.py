"""Addresses of files: readable, storable, reversible, one for each file."""

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.documents.corpus.address import address_of, path_of
from deep_research.report.sources.address import canonical_address

names = st.binary(min_size=1, max_size=12).filter(lambda raw: b"\0" not in raw).map(os.fsdecode)


@pytest.mark.parametrize(
    "path", ["a.md", "年报 2025/第一季度（终稿）.pdf", "it's (a) [draft] #2?.md", "café/naïve+x&y=z.txt", "a:b/c.md"]
)
def test_readable_names_stay_as_they_are(path):
    assert address_of(path) == path
    assert path_of(path) == path


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("two\nlines.md", "two%0Alines.md"),
        ("100%.md", "100%25.md"),
        (os.fsdecode(b"gb\xc4\xea.txt"), "gb%C4%EA.txt"),
        (" lead/and trail .md ", "%20lead/and trail .md%20"),
        ("http:/a.md", "http%3A/a.md"),
        ("\u202egpj.md", "%E2%80%AEgpj.md"),
        ("\x1b[31mred.md", "%1B[31mred.md"),
        ("\u3000全角.md", "%E3%80%80全角.md"),
    ],
)
def test_what_cannot_be_shown_or_kept_is_escaped(path, address):
    assert address_of(path) == address
    assert path_of(address) == path


@given(st.lists(names, min_size=1, max_size=3).map("/".join))
def test_every_name_comes_back_and_has_one_storable_spelling(path):
    address = address_of(path)
    assert path_of(address) == path
    assert canonical_address(address) == address
    assert address.encode().decode() == address
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in address)


@pytest.mark.parametrize("address", ["50%", "%zz.md", "a%0", "nul%00.md", "half \ud800.md"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ValueError):
        path_of(address)
