"""Which passages answer a question: BM25 of its terms, phrases and clauses, then always a second hop from the best.

A second-hop passage holds what the question asks for and a followed passage does not, together with a name that the
followed one gives; most of all where the name is the title of its document. Tuned on two-hop questions; questions of
one hop keep their first passages.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from deep_research.corpus.candidates import MAX_LOOKED_AT, Candidate, Pool
from deep_research.corpus.documents import NAME_KEY_TERMS, text_of
from deep_research.corpus.index import Session
from deep_research.corpus.query import match_any, parse_question
from deep_research.text.analyzer import CJK, content_terms

_CLAUSE_SHARE = 0.33
# How many passages of the first hop are followed, and how many stay in front whatever the second hop finds.
_FOLLOWED, _KEPT = 5, 5
_COVERED_WEIGHT, _NAME_WEIGHT, _LINK_BONUS, _FIRST_HOP_SHARE = 0.4, 0.5, 0.5, 0.8
_CANDIDATES, _NAMED_CANDIDATES = 150, 30
# Names are capitalised, or in Chinese quoted or those of institutions; the rarest lead furthest, a common one nowhere.
_NAME = re.compile(
    r"[A-Z][\w'’\-]*(?:\s+(?:(?:of|the|de|and|&)\s+)?[A-Z][\w'’\-]*)*"
    r"|(?<=[《「『“〈])[^《「『“〈》」』”〉]{2,30}(?=[》」』”〉])"
    rf"|[{CJK}]{{2,8}}?(?:公司|集团|集團|大学|大學|学院|學院|研究院|研究所|银行|銀行|医院|醫院|协会|協會|委员会|委員會)"
)
_MAX_SPANS, _MAX_NAMES, _COMMON_NAME = 12, 10, 300
# A title that more documents share is no name.
_MAX_NAMESAKES = 3


class Ranked(NamedTuple):
    """A passage and its score; scores fall along a ranking and are at most 1."""

    passage: Candidate
    score: float


def rank(session: Session, query: str, limit: int, max_looked_at: int = MAX_LOOKED_AT) -> list[Ranked]:
    """Return the best passages first; equal scores by address and place."""
    question = parse_question(query)
    pool = Pool(session, question, max_looked_at)
    pool.find_by_question(max(_CANDIDATES, limit))
    first = _first_hop(pool.candidates, question.clauses)
    ranked = _in_order(pool, first)
    kept = ranked[:_KEPT]
    if limit <= len(kept) or not kept:
        return kept[: max(0, limit)]
    second = _second_hop(session, pool, ranked[:_FOLLOWED], frozenset(question.terms))
    in_front = {one.passage.id for one in kept}
    rest = _in_order(
        pool,
        {
            number: second.get(number, 0.0) + _FIRST_HOP_SHARE * first.get(number, 0.0)
            for number in pool.candidates
            if number not in in_front
        },
    )[: limit - len(kept)]
    scale = kept[-1].score / rest[0].score if rest and rest[0].score else 1.0
    return kept + [Ranked(passage, score * scale) for passage, score in rest]


def _in_order(pool: Pool, scores: Mapping[int, float]) -> list[Ranked]:
    ranked = [Ranked(pool.candidates[number], score) for number, score in scores.items()]
    return sorted(ranked, key=lambda one: (-one.score, one.passage.address, one.passage.start))


def _first_hop(candidates: Mapping[int, Candidate], clauses: Iterable[frozenset[str]]) -> dict[int, float]:
    whole = _shares({number: sum(one.worth.values()) for number, one in candidates.items()})
    parts = [
        _shares({n: sum(worth for key, worth in one.worth.items() if key in clause) for n, one in candidates.items()})
        for clause in clauses
    ]
    if not parts:
        return whole
    best_part = {number: max(part[number] for part in parts) for number in candidates}
    return _shares({n: (1 - _CLAUSE_SHARE) * whole[n] + _CLAUSE_SHARE * best_part[n] for n in candidates})


def _second_hop(session: Session, pool: Pool, followed: list[Ranked], asked: frozenset[str]) -> dict[int, float]:
    best: dict[int, float] = {}
    for here, trust in followed:
        linked = _linked(session, pool, here)
        pool.add_documents(linked)
        titles = {term for name in linked.values() for term in name.split()}
        names = _names(session, pool, here, titles, asked)
        by_name = pool.find(match_any(names), _NAMED_CANDIDATES) if names else {}
        scores = _shares(
            {
                number: _uncovered_worth(one, here) + _NAME_WEIGHT * by_name.get(number, 0.0)
                for number, one in pool.candidates.items()
                if number != here.id
            }
        )
        for number in _best_of_each(pool, scores, linked.keys()):
            scores[number] += _LINK_BONUS
        for number, score in scores.items():
            best[number] = max(best.get(number, 0.0), score * (1 + trust) / 2)
    return best


def _best_of_each(pool: Pool, scores: Mapping[int, float], documents: Collection[int]) -> list[int]:
    """Return the best passage of each document."""
    within = {n: score for n, score in scores.items() if pool.candidates[n].document in documents}
    best = {one.passage.document: one.passage.id for one in reversed(_in_order(pool, within))}
    return list(best.values())


def _uncovered_worth(one: Candidate, here: Candidate) -> float:
    """Return what a passage is worth for the question's terms, less for those that the followed passage holds."""
    return sum(
        worth * (_COVERED_WEIGHT if term in here.worth else 1.0) for term, worth in one.worth.items() if " " not in term
    )


def _names(session: Session, pool: Pool, here: Candidate, titles: set[str], asked: frozenset[str]) -> list[str]:
    """Return the terms of a passage that lead on: of the titles it gives and of what else looks like a name in it."""
    text = f"{here.title}\n{text_of(session, here.document, here.start, here.end)}"
    spans = "\n".join(match.group() for match in islice(_NAME.finditer(text), _MAX_SPANS))
    counted = sorted((pool.count(term, _COMMON_NAME), term) for term in {*content_terms(spans), *titles} - asked)
    # A name that no other passage holds leads nowhere.
    return [term for count, term in counted if 1 < count < _COMMON_NAME][:_MAX_NAMES]


def _linked(session: Session, pool: Pool, here: Candidate) -> dict[int, str]:
    """Return the other documents whose title a passage names, with the terms of the title."""
    terms = here.terms.split()
    keys = {"  ".join(terms[at : at + many]) for many in range(1, NAME_KEY_TERMS + 1) for at in range(len(terms))}
    rows = session.rows("documents_by_name", keys=json.dumps(sorted(keys))).fetchall()
    named = [row for row in rows if row["id"] != here.document and f" {row['name_terms']} " in here.terms]
    shared = Counter(row["name_terms"] for row in named)
    return {
        row["id"]: row["name_terms"]
        for row in named
        if shared[row["name_terms"]] <= _MAX_NAMESAKES
        and ("  " in row["name_terms"] or pool.count(row["name_terms"], _COMMON_NAME) < _COMMON_NAME)
    }


def _shares(scores: Mapping[int, float]) -> dict[int, float]:
    """Return scores as shares of the best one."""
    best = max(scores.values(), default=0.0) or 1.0
    return {number: score / best for number, score in scores.items()}
