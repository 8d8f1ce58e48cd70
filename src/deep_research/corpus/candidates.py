"""Passages that may answer a question, each with the worth (BM25) of the question's terms and phrases it holds.

FTS5 finds them by the rarer terms and they are weighed here by all, because FTS5 can neither weigh single terms nor
score by a common term that it was not asked to look for.
"""

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from deep_research.corpus.documents import unpacked
from deep_research.corpus.index import Session
from deep_research.corpus.query import Question, match_all, match_any

_K1, _B = 1.2, 0.75
_PHRASE_WEIGHT = 0.3
# Terms are looked for rarest first until so many passages hold them: at 100,000 passages of natural word frequencies
# 40,000 cost .004 at most (all gold in the top 10; nDCG .001), 20,000 cost .008, and all terms take a fifth more time,
# at worst twice as much.
MAX_LOOKED_AT = 40_000
_FEW_TERMS, _PAIRED_TERMS = 3, 4
_MAX_TERMS = 48
_MAX_EQUAL = 500
# The worth of a term that more than this share of the passages hold is not counted out to the end.
_COMMON_SHARE = 5


class Candidate(NamedTuple):
    """A passage: where it stands, its terms, and what each wanted term or phrase in it is worth."""

    id: int
    document: int
    address: str
    title: str
    author: str
    language: str
    published: str
    start: int
    end: int
    terms: str
    worth: dict[str, float]


class Pool:
    """The candidates found so far for one question, by number."""

    def __init__(self, session: Session, question: Question, max_looked_at: int) -> None:
        self._session = session
        self._max_looked_at = max_looked_at
        row = session.one("folder_size")
        self._passages = row["passages"] if row else 0
        self._average_terms = row["terms"] / max(1, row["passages"]) if row else 0.0
        counted_to = max(MAX_LOOKED_AT, self._passages // _COMMON_SHARE)
        counted = sorted((self.count(term, counted_to), term) for term in question.terms)
        self._counts = {term: count for count, term in counted if count}
        self._rarity = self._rarities(question)
        self.candidates: dict[int, Candidate] = {}

    def count(self, term: str, limit: int) -> int:
        """Return how many passages hold a term, counted no further than the limit."""
        row = self._session.one("count_up_to", match=match_any([term]), limit=limit)
        return row["passages"] if row else 0

    def find_by_question(self, limit: int) -> None:
        """Add the passages that hold the question's rarer terms most densely."""
        looked_for = self._looked_for()
        if looked_for:
            self.find(looked_for, limit)

    def find(self, match: str, limit: int) -> dict[int, float]:
        """Add the best passages for an FTS5 expression, and return what it scores them.

        Equal ones come together, as far as there is an end to them: a text may say one thing a hundred thousand times.
        """
        found: dict[int, float] = {}
        last = 0.0
        for row in self._session.rows("best", match=match):
            if len(found) >= limit and (row["cost"] != last or len(found) >= limit + _MAX_EQUAL):
                break
            last = row["cost"]
            found[row["id"]] = -last
        self._add("candidates", found.keys() - self.candidates.keys())
        return found

    def add_documents(self, numbers: Iterable[int]) -> None:
        """Add the first passage of each document that has none here."""
        here = {candidate.document for candidate in self.candidates.values()}
        self._add("first_passages", set(numbers) - here)

    def _add(self, query: str, numbers: Iterable[int]) -> None:
        for row in self._session.rows(query, ids=json.dumps(sorted(numbers))):
            self.candidates[row["id"]] = self._candidate(row)

    def _candidate(self, row: sqlite3.Row) -> Candidate:
        body, title = unpacked(row["terms"]), row["title_terms"]
        # A title counts three times. Terms stand two spaces apart, so that neighbours do not share one.
        text = f" {body}  |  {title}  |  {title}  |  {title} "
        length = body.count("  ") + title.count("  ") + 2
        norm = _K1 * (1 - _B + _B * length / self._average_terms)
        worth = {}
        for key, (spelled, rarity) in self._rarity.items():
            count = text.count(spelled)
            if count:
                worth[key] = rarity * count * (_K1 + 1) / (count + norm)
        return Candidate(*row[:-2], f" {body} ", worth)  # type: ignore[call-arg]  # the query gives the other nine

    def _rarities(self, question: Question) -> Mapping[str, tuple[str, float]]:
        """Return the terms and phrases that are worth something: how they are spelled in a text, and their idf."""
        rare = list(self._counts.items())[:_MAX_TERMS]
        idf = {term: math.log(1 + (self._passages - count + 0.5) / (count + 0.5)) for term, count in rare}
        for phrase in question.phrases:
            one, two = phrase.split(" ")
            if one in idf and two in idf:
                # Counting a phrase costs more than its own rarity brings over that of its rarer term.
                idf[phrase] = _PHRASE_WEIGHT * max(idf[one], idf[two])
        return {key: (f" {key.replace(' ', '  ')} ", rarity) for key, rarity in idf.items()}

    def _looked_for(self) -> str:
        """Return the expression that finds candidates: any rare term, or two common ones where rare ones are few."""
        rare: list[str] = []
        spent = 0
        for term, count in list(self._counts.items())[:_MAX_TERMS]:
            spent += count
            if spent > self._max_looked_at:
                break
            rare.append(term)
        common = list(self._counts)[len(rare) : len(rare) + _PAIRED_TERMS]
        wanted = [match_any(rare)] if rare else []
        if len(rare) < _FEW_TERMS:
            wanted += [match_all(pair) for pair in combinations(common, 2)]
        return " OR ".join(wanted) or match_any(common)
