"""Which passages answer a question: BM25 of its terms, phrases and clauses, then always a second hop from the best.

The index finds passages by the rarer terms and they are weighed here by all, because an index can neither weigh single
terms nor score by a common term that it was not asked to look for.
A second-hop passage holds what the question asks for and a followed passage does not, together with a name that the
followed one gives; most of all where the name is the title of its document. Tuned on two-hop questions; questions of
one hop keep their first passages.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations, islice, pairwise
from typing import NamedTuple

from deep_research.documents.corpus.documents import MAX_NAME_TERMS, text_of, unpacked
from deep_research.documents.corpus.index import IndexSession, WantedTerms
from deep_research.storage.database.port import Row
from deep_research.text.analyzer import CJK, analyze, content_terms

_MAX_QUERY_CHARS = 20_000
# More cost time and no longer change which passages come first.
_MAX_QUESTION_TERMS, _MAX_CLAUSES = 200, 8
# A shorter clause says too little by itself, so the next one is joined to it.
_MIN_CLAUSE_TERMS = 4
_CLAUSE_END = re.compile(
    r"[,;?!:()，；？！：、。（）\n]|\b(?:while|whereas|but|and|who|which|that)\b|而且|但是|以及|并且|同时",
    re.IGNORECASE,
)


class RankingQuery(NamedTuple):
    """Terms and phrases ("two terms") in their order, each once; no clauses where the question is a single one."""

    terms: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    clauses: tuple[frozenset[str], ...] = ()


def parse_question(query: str) -> RankingQuery:
    """Parse a query; one of stop words only is taken as it is."""
    query = query[:_MAX_QUERY_CHARS]
    clauses = [_ranking_query(clause) for clause in _clauses(query)[:_MAX_CLAUSES]]
    clause_terms = tuple(frozenset((*clause.terms, *clause.phrases)) for clause in clauses)
    return _ranking_query(query)._replace(clauses=clause_terms if len(clause_terms) > 1 else ())


def _ranking_query(text: str) -> RankingQuery:
    in_order, content = analyze(text), set(content_terms(text))
    if not content:
        return RankingQuery(tuple(dict.fromkeys(in_order))[:_MAX_QUESTION_TERMS])
    terms = tuple(term for term in dict.fromkeys(in_order) if term in content)[:_MAX_QUESTION_TERMS]
    phrases = [f"{one} {two}" for one, two in pairwise(in_order) if one in content and two in content]
    return RankingQuery(terms, tuple(dict.fromkeys(phrases))[:_MAX_QUESTION_TERMS])


def _clauses(query: str) -> list[str]:
    clauses: list[str] = []
    clause_terms, terms = "", set[str]()
    for piece in _CLAUSE_END.split(query):
        clause_terms = f"{clause_terms} {piece}"
        terms.update(content_terms(piece))
        if len(terms) >= _MIN_CLAUSE_TERMS:
            clauses.append(clause_terms)
            clause_terms, terms = "", set()
    if clauses and terms:
        clauses[-1] += clause_terms
    return clauses


_K1, _B = 1.2, 0.75
_PHRASE_WEIGHT = 0.3
# Terms are looked for rarest first until so many passages hold them: at 100,000 passages of natural word frequencies
# 40,000 cost .004 at most (all gold in the top 10; nDCG .001), 20,000 cost .008, and all terms take a fifth more time,
# at worst twice as much.
MAX_SCANNED = 40_000
_FEW_TERMS, _PAIRED_TERMS = 3, 4
# Of these the rarest are weighed.
_MAX_TERMS = 48
_MAX_EQUAL = 500
# The worth of a term that more than this share of the passages hold is not counted out to the end.
_COMMON_SHARE = 5


class PassageCandidate(NamedTuple):
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
    weight: dict[str, float]


class CandidatePool:
    """The candidates found so far for one question, by number."""

    def __init__(self, session: IndexSession, question: RankingQuery, max_scanned: int) -> None:
        self.session = session
        self._max_scanned = max_scanned
        state = session.required_row("folder_state")
        self._passages: int = state["passages"]
        self._average_terms = state["terms"] / max(1, self._passages)
        counted_to = max(MAX_SCANNED, self._passages // _COMMON_SHARE)
        counted = sorted((count, term) for term, count in session.counts(question.terms, counted_to).items())
        self._counts = {term: count for count, term in counted if count}
        self._rarity = self._rarities(question)
        self.candidates: dict[int, PassageCandidate] = {}

    def find(self, wanted: WantedTerms, limit: int) -> dict[int, float]:
        """Add the best passages for some terms, and return how the index scores them.

        Equal ones come together, as far as there is an end to them: a text may say one thing a hundred thousand times.
        """
        found: dict[int, float] = {}
        last = 0.0
        for number, score in self.session.best(wanted, limit + _MAX_EQUAL):
            if len(found) >= limit and score != last:
                break
            last = found[number] = score
        self._add(found.keys() - self.candidates.keys())
        return found

    def add_documents(self, numbers: Iterable[int]) -> None:
        """Add the first passage of each document that has none here."""
        here = {candidate.document for candidate in self.candidates.values()}
        first = self.session.rows("first_passages", documents=json.dumps(sorted(set(numbers) - here)))
        self._add(row["id"] for row in first)

    def _add(self, numbers: Iterable[int]) -> None:
        for row in self.session.rows("candidates", ids=json.dumps(sorted(numbers))):
            self.candidates[row["id"]] = self._candidate(row)

    def _candidate(self, row: Row) -> PassageCandidate:
        body, title = unpacked(row["terms"]), row["title_terms"]
        # A title counts three times. Terms stand two spaces apart, so that neighbours do not share one.
        text = f" {body}  |  {title}  |  {title}  |  {title} "
        length = body.count("  ") + title.count("  ") + 2
        norm = _K1 * (1 - _B + _B * length / self._average_terms)
        weight = {
            key: rarity * count * (_K1 + 1) / (count + norm)
            for key, (spelled, rarity) in self._rarity.items()
            if (count := text.count(spelled))
        }
        own = {name: row[name] for name in PassageCandidate._fields[:-2]}
        return PassageCandidate(**own, terms=f" {body} ", weight=weight)

    def _rarities(self, question: RankingQuery) -> Mapping[str, tuple[str, float]]:
        """Return the terms and phrases that are worth something: how they are spelled in a text, and their idf."""
        rare = list(self._counts.items())[:_MAX_TERMS]
        idf = {term: math.log(1 + (self._passages - count + 0.5) / (count + 0.5)) for term, count in rare}
        for phrase in question.phrases:
            one, two = phrase.split(" ")
            if one in idf and two in idf:
                # Counting a phrase costs more than its own rarity brings over that of its rarer term.
                idf[phrase] = _PHRASE_WEIGHT * max(idf[one], idf[two])
        return {key: (f" {key.replace(' ', '  ')} ", rarity) for key, rarity in idf.items()}

    def rarer_terms(self) -> WantedTerms | None:
        """Return what finds candidates: any rare term, or two common ones where rare ones are few."""
        if not self._counts:
            return None
        rare: list[str] = []
        spent = 0
        for term, count in list(self._counts.items())[:_MAX_TERMS]:
            spent += count
            if spent > self._max_scanned:
                break
            rare.append(term)
        common = tuple(self._counts)[len(rare) : len(rare) + _PAIRED_TERMS]
        pairs = tuple(combinations(common, 2)) if len(rare) < _FEW_TERMS else ()
        return WantedTerms(tuple(rare) if rare or pairs else common, pairs)


_CLAUSE_SHARE = 0.33
# How many passages of the first hop are followed, and how many stay in front whatever the second hop finds.
_FOLLOWED, _MAX_FIRST = 5, 5
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


class RankedPassage(NamedTuple):
    """A passage and its score; scores fall along a ranking and are at most 1."""

    passage: PassageCandidate
    score: float


def rank(session: IndexSession, query: str, limit: int, max_scanned: int = MAX_SCANNED) -> list[RankedPassage]:
    """Return the best passages first; equal scores by address and place."""
    question = parse_question(query)
    pool = CandidatePool(session, question, max_scanned)
    if wanted := pool.rarer_terms():
        pool.find(wanted, max(_CANDIDATES, limit))
    first = _first_hop(pool.candidates, question.clauses)
    ranked = _in_order(pool, first)
    leading = ranked[:_MAX_FIRST]
    if limit <= len(leading) or not leading:
        return leading[: max(0, limit)]
    second = _second_hop(pool, ranked[:_FOLLOWED], frozenset(question.terms))
    in_front = {one.passage.id for one in leading}
    rest = _in_order(
        pool,
        {
            number: second.get(number, 0.0) + _FIRST_HOP_SHARE * first.get(number, 0.0)
            for number in pool.candidates
            if number not in in_front
        },
    )[: limit - len(leading)]
    scale = leading[-1].score / rest[0].score if rest and rest[0].score else 1.0
    return leading + [RankedPassage(passage, score * scale) for passage, score in rest]


def _in_order(pool: CandidatePool, scores: Mapping[int, float]) -> list[RankedPassage]:
    ranked = [RankedPassage(pool.candidates[number], score) for number, score in scores.items()]
    return sorted(ranked, key=lambda one: (-one.score, one.passage.address, one.passage.start))


def _first_hop(candidates: Mapping[int, PassageCandidate], clauses: Iterable[frozenset[str]]) -> dict[int, float]:
    whole = _shares({number: sum(one.weight.values()) for number, one in candidates.items()})
    parts = [
        _shares(
            {n: sum(weight for key, weight in one.weight.items() if key in clause) for n, one in candidates.items()}
        )
        for clause in clauses
    ]
    if not parts:
        return whole
    best_part = {number: max(part[number] for part in parts) for number in candidates}
    return _shares({n: (1 - _CLAUSE_SHARE) * whole[n] + _CLAUSE_SHARE * best_part[n] for n in candidates})


def _second_hop(pool: CandidatePool, followed: list[RankedPassage], asked: frozenset[str]) -> dict[int, float]:
    best: dict[int, float] = {}
    for here, trust in followed:
        linked = _linked(pool, here)
        pool.add_documents(linked)
        titles = {term for name in linked.values() for term in name.split()}
        names = _names(pool, here, titles, asked)
        by_name = pool.find(WantedTerms(names), _NAMED_CANDIDATES) if names else {}
        scores = _shares(
            {
                number: _uncovered_weight(one, here) + _NAME_WEIGHT * by_name.get(number, 0.0)
                for number, one in pool.candidates.items()
                if number != here.id
            }
        )
        for number in _best_of_each(pool, scores, linked.keys()):
            scores[number] += _LINK_BONUS
        for number, score in scores.items():
            best[number] = max(best.get(number, 0.0), score * (1 + trust) / 2)
    return best


def _best_of_each(pool: CandidatePool, scores: Mapping[int, float], documents: Collection[int]) -> list[int]:
    """Return the best passage of each document."""
    within = {n: score for n, score in scores.items() if pool.candidates[n].document in documents}
    best = {one.passage.document: one.passage.id for one in reversed(_in_order(pool, within))}
    return list(best.values())


def _uncovered_weight(one: PassageCandidate, here: PassageCandidate) -> float:
    """Return what a passage is worth for the question's terms, less for those that the followed passage holds."""
    return sum(
        weight * (_COVERED_WEIGHT if term in here.weight else 1.0)
        for term, weight in one.weight.items()
        if " " not in term
    )


def _names(pool: CandidatePool, here: PassageCandidate, titles: set[str], asked: frozenset[str]) -> tuple[str, ...]:
    """Return the terms of a passage that lead on: of the titles it gives and of what else looks like a name in it."""
    text = f"{here.title}\n{text_of(pool.session, here.document, here.start, here.end)}"
    spans = "\n".join(match[0] for match in islice(_NAME.finditer(text), _MAX_SPANS))
    counts = pool.session.counts([*({*content_terms(spans), *titles} - asked)], _COMMON_NAME)
    # A name that no other passage holds leads nowhere.
    leading = sorted((count, term) for term, count in counts.items() if 1 < count < _COMMON_NAME)
    return tuple(term for _, term in leading[:_MAX_NAMES])


def _linked(pool: CandidatePool, here: PassageCandidate) -> dict[int, str]:
    """Return the other documents whose title a passage names, with the terms of the title."""
    terms = here.terms.split()
    keys = {"  ".join(terms[at : at + many]) for many in range(1, MAX_NAME_TERMS + 1) for at in range(len(terms))}
    rows = pool.session.rows("documents_by_name", keys=json.dumps(sorted(keys)))
    named = [row for row in rows if row["id"] != here.document and f" {row['name_terms']} " in here.terms]
    shared = Counter(row["name_terms"] for row in named)
    single = [name for name in shared if "  " not in name]
    counts = pool.session.counts(single, _COMMON_NAME)
    return {
        row["id"]: row["name_terms"]
        for row in named
        if shared[row["name_terms"]] <= _MAX_NAMESAKES and counts.get(row["name_terms"], 0) < _COMMON_NAME
    }


def _shares(scores: Mapping[int, float]) -> dict[int, float]:
    """Return scores as shares of the best one."""
    best = max(scores.values(), default=0.0) or 1.0
    return {number: score / best for number, score in scores.items()}
