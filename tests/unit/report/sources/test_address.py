"""One spelling for each address."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deep_research.report.sources.address import canonical_address


@pytest.mark.parametrize(
    ("address", "canonical"),
    [
        ("HTTPS://Example.ORG", "https://example.org/"),
        ("https://example.org:443/a/", "https://example.org/a"),
        ("http://example.org:8080/a", "http://example.org:8080/a"),
        ("https://example.org/a#part", "https://example.org/a"),
        ("https://example.org/a?b=2&a=1", "https://example.org/a?a=1&b=2"),
        ("https://example.org/a?utm_source=x&id=7&fbclid=y", "https://example.org/a?id=7"),
        ("https://example.org/研究", "https://example.org/%E7%A0%94%E7%A9%B6"),
        ("  https://example.org/a  ", "https://example.org/a"),
        ("https://[::1]:8080/a", "https://[::1]:8080/a"),
    ],
)
def test_spellings_of_one_page_become_one(address, canonical):
    assert canonical_address(address) == canonical


def test_escaped_and_plain_characters_are_one_page():
    assert canonical_address("https://example.org/%E7%A0%94") == canonical_address("https://example.org/研")


@pytest.mark.parametrize(
    "address", ["file:///a/b.pdf", "notes/a.md", "https://example.org:port/", "https://[broken", "doi:10.1/abc", ""]
)
def test_other_addresses_stay_as_given(address):
    assert canonical_address(address) == address


def test_pages_that_differ_stay_apart():
    paths = ["a", "A", "a?id=1", "a/b", "a%2Fb", "a%252Fb"]
    assert len({canonical_address(f"https://example.org/{path}") for path in paths}) == len(paths)
    assert canonical_address("http://example.org/a") != canonical_address("https://example.org/a")


@given(st.text(alphabet="ab/?&=#%25é研:. ", max_size=30).map("https://example.org/".__add__))
@example("https://example.org/a%2525")
def test_canonical_address_is_its_own_canonical_address(address):
    once = canonical_address(address)
    assert canonical_address(once) == once
