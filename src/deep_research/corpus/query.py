"""A question → the terms to look for: what carries its subject, without what nearly every passage holds."""

from collections.abc import Iterable, Mapping

from deep_research.text.analyzer import analyze, content_terms

# More terms cost time and no longer change which passages come first.
_MAX_TERMS = 48
# A term in more than this share of many passages hardly tells them apart, but makes all of them be scored; on 5,150
# passages leaving such terms out changed no figure (all gold in the top 10), at a share of .2 it lost .01.
_COMMON_SHARE, _MANY_PASSAGES = 0.33, 5_000
_ENOUGH_RARE_TERMS = 3
_MAX_QUERY_CHARS = 20_000


def query_terms(query: str) -> list[str]:
    """Return the different terms of a query; one of stop words only is taken as it is."""
    query = query[:_MAX_QUERY_CHARS]
    return sorted(set(content_terms(query) or analyze(query)))


def rarest(frequencies: Mapping[str, int], passages: int) -> list[str]:
    """Return the terms worth looking for, rarest first, by the number of passages that hold each."""
    present = sorted((count, term) for term, count in frequencies.items() if count)
    rare = [term for count, term in present if passages < _MANY_PASSAGES or count <= _COMMON_SHARE * passages]
    chosen = rare if len(rare) >= _ENOUGH_RARE_TERMS else [term for _, term in present][:_ENOUGH_RARE_TERMS]
    return chosen[:_MAX_TERMS]


def match_expression(terms: Iterable[str]) -> str:
    """Return an FTS5 expression for passages with any of the terms; quoted, so that none is read as syntax."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
