"""A question → what to look for: its terms, the pairs that stand side by side, and its clauses."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from deep_research.text.analyzer import analyze, content_terms

_MAX_QUERY_CHARS = 20_000
# More cost time and no longer change which passages come first.
_MAX_TERMS, _MAX_CLAUSES = 200, 8
# A shorter clause says too little by itself, so the next one is joined to it.
_MIN_CLAUSE_TERMS = 4
_CLAUSE_END = re.compile(
    r"[,;?!:()，；？！：、。（）\n]|\b(?:while|whereas|but|and|who|which|that)\b|而且|但是|以及|并且|同时",
    re.IGNORECASE,
)


class Question(NamedTuple):
    """Terms and phrases ("two terms") in their order, each once; no clauses where the question is a single one."""

    terms: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    clauses: tuple[frozenset[str], ...] = ()


def parse_question(query: str) -> Question:
    """Take a query apart; one of stop words only is taken as it is."""
    query = query[:_MAX_QUERY_CHARS]
    clauses = [_looked_for(clause) for clause in _clauses(query)[:_MAX_CLAUSES]]
    held = tuple(frozenset((*clause.terms, *clause.phrases)) for clause in clauses)
    return _looked_for(query)._replace(clauses=held if len(held) > 1 else ())


def match_any(terms: Iterable[str]) -> str:
    """Return an FTS5 expression for passages with any of the terms; quoted, so that none is read as syntax."""
    return " OR ".join(map(_quoted, terms))


def match_all(terms: Iterable[str]) -> str:
    """Return an FTS5 expression for passages with all of the terms."""
    return f"({' AND '.join(map(_quoted, terms))})"


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _looked_for(text: str) -> Question:
    in_order, content = analyze(text), set(content_terms(text))
    if not content:
        return Question(tuple(dict.fromkeys(in_order))[:_MAX_TERMS])
    terms = tuple(term for term in dict.fromkeys(in_order) if term in content)[:_MAX_TERMS]
    phrases = [f"{one} {two}" for one, two in pairwise(in_order) if one in content and two in content]
    return Question(terms, tuple(dict.fromkeys(phrases))[:_MAX_TERMS])


def _clauses(query: str) -> list[str]:
    clauses: list[str] = []
    held, terms = "", set[str]()
    for piece in _CLAUSE_END.split(query):
        held = f"{held} {piece}"
        terms.update(content_terms(piece))
        if len(terms) >= _MIN_CLAUSE_TERMS:
            clauses.append(held)
            held, terms = "", set()
    if clauses and terms:
        clauses[-1] += held
    return clauses
