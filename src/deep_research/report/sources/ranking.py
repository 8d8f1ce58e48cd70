"""From the answers of several engines to one list: what to read first. Looks at hits alone, opens nothing."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from math import exp2, fsum
from typing import NamedTuple

from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.dating import days_of, may_be_within
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.report.sources.source_quality import SourceQuality, host_of, source_quality_of
from deep_research.text.analyzer import analyze, content_terms
from deep_research.value import Value

# The engine that searches the user's own documents.
LOCAL = "local"

# The usual 60 is meant for lists of a thousand and lets the tenth of ten count nearly as much as the first. Three
# uneven BM25 engines and one that answers at random, 250 questions: gold in the first five .66 against .57
# (HotpotQA, English) and .92 against .88 (CMRC, Chinese).
_RANK_OFFSET = 3
# What a hit with hardly any of the query's words still counts. By the same measurement; without any regard to words
# .61 and .89. Engines that search by meaning find pages that word it differently, so it is not zero.
_MIN_RELEVANCE = 0.2
# A primary source passes one place at the top of a list and two behind it, and a weak one falls as far: no more,
# because a host says where something stands, not whether it answers the question.
_QUALITY_FACTOR: dict[SourceQuality, float] = {"primary": 1.3, "ordinary": 1.0, "weak": 0.75}
# What is of today gains less than the first place over what is old or undated: most questions are not about today ...
_FRESH, _FRESH_DAYS = 0.15, 730.0
# ... but news are: of today, the fifth of a list stands before the first from last year.
_NEWS_FRESH, _NEWS_FRESH_DAYS = 1.5, 14.0

# Shorter headlines ("Annual report", "Introduction to heat pumps") are given to many texts.
_TITLE_WORDS = 6
# Shorter snippets say too little to tell that two are the same; longer ones differ by a site's name or a cut end.
_TEXT_WORDS = 12
_COPIED = 0.9
_SITE_NAME = re.compile(r"\s+[|–—-]\s+[^|–—-]{1,40}$|_[^_]{1,20}$")


class Ranked(Value):
    """The answer of one engine, best first."""

    engine: str
    hits: tuple[Hit, ...]


def fuse(rankings: Sequence[Ranked], *, query: SearchQuery, today: date) -> list[Hit]:
    """Return every address once, best first; dated hits outside the query's time are left out.

    Hits that share no word with the query stand behind those that do, and copies of a text behind everything else.
    """
    hits = {
        address: hit
        for address, hit in _by_address(rankings).items()
        # Each of the user's own files that is left out is listed in the report; they are opened for that.
        if hit.engine == LOCAL or may_be_within(hit.published, query.since, query.until)
    }
    votes = _votes(rankings, hits)
    wanted = frozenset(content_terms(query.query))
    ranked = []
    for address, hit in hits.items():
        share = _share(wanted, hit)
        factor = (_MIN_RELEVANCE + (1 - _MIN_RELEVANCE) * share) * _QUALITY_FACTOR[source_quality_of(address)]
        ranked.append((share == 0, -votes[address] * factor * _freshness(hit, query, today), address))
    ordered = _files_in_their_order([hits[address] for *_, address in sorted(ranked)], rankings)
    copies = _copies(ordered)
    return [hit for hit in ordered if hit not in copies] + copies


def _files_in_their_order(ordered: Sequence[Hit], rankings: Iterable[Ranked]) -> list[Hit]:
    """Return the hits with the user's own files at the same places, but as their search ranks them: it read them."""
    files = [canonical_address(hit.address) for ranking in rankings if ranking.engine == LOCAL for hit in ranking.hits]
    by_rank = iter(
        sorted(
            (hit for hit in ordered if hit.engine == LOCAL), key=lambda hit: files.index(canonical_address(hit.address))
        )
    )
    return [next(by_rank) if hit.engine == LOCAL else hit for hit in ordered]


def _by_address(rankings: Iterable[Ranked]) -> dict[str, Hit]:
    """Return the hit that tells most about each address: a dated one first, then the one with the longest snippet.

    What any engine delivered of the page goes with it, the longest first.
    """
    telling = defaultdict(list)
    for ranking in rankings:
        for hit in ranking.hits:
            telling[canonical_address(hit.address)].append(hit)
    return {address: _most_telling(hits) for address, hits in telling.items()}


def _most_telling(hits: Sequence[Hit]) -> Hit:
    def key(hit: Hit) -> tuple[object, ...]:
        return (not hit.published, -len(hit.snippet), *hit.model_dump(exclude={"delivered"}).values())

    delivered = [hit.delivered for hit in hits if hit.delivered]
    most = max(delivered, key=lambda one: (len(one.text), one.engine), default=None)
    return min(hits, key=key).replace(delivered=most)


def _votes(rankings: Iterable[Ranked], hits: Mapping[str, Hit]) -> dict[str, float]:
    """Return the reciprocal ranks of each address, added up over the engines that found it.

    Several engines can agree on a page of the web, never on a file of the user's: so the best file has as many votes
    as the best page, the second as many as the second, and neither side pushes out the other.
    """
    web, own = (_reciprocal_ranks(rankings, hits, is_own=is_own) for is_own in (False, True))
    best = sorted(web.values(), reverse=True)
    files = sorted(own, key=lambda address: (-own[address], address))
    return web | own | dict(zip(files, best, strict=False))


def _reciprocal_ranks(rankings: Iterable[Ranked], hits: Mapping[str, Hit], *, is_own: bool) -> dict[str, float]:
    ranks = defaultdict(list)
    for ranking in rankings:
        if (ranking.engine == LOCAL) != is_own:
            continue
        addresses = dict.fromkeys(canonical_address(hit.address) for hit in ranking.hits)
        for rank, address in enumerate(addresses, 1):
            if address in hits:
                ranks[address].append(1 / (_RANK_OFFSET + rank))
    # Added up exactly, so that the order in which engines are given changes nothing.
    return {address: fsum(parts) for address, parts in ranks.items()}


def _share(wanted: frozenset[str], hit: Hit) -> float:
    """Return the share of the query's terms that title and snippet hold."""
    return len(wanted.intersection(analyze(f"{hit.title}\n{hit.snippet}"))) / len(wanted) if wanted else 1.0


def _freshness(hit: Hit, query: SearchQuery, today: date) -> float:
    days = days_of(hit.published)
    if not days:
        return 1.0
    most, half_life = (_NEWS_FRESH, _NEWS_FRESH_DAYS) if query.kind == "news" else (_FRESH, _FRESH_DAYS)
    return 1 + most * exp2(-max(0, (today - days[1]).days) / half_life)


class _Wording(NamedTuple):
    """What a hit says, for telling copies."""

    host: str
    title: tuple[str, ...]
    terms: frozenset[str]

    def is_copy_of(self, other: "_Wording") -> bool:
        """Return whether two hosts show one text: the same long headline, or nearly all the same words and figures."""
        if self.host == other.host:
            return False
        if self.title == other.title and _words(self.title) >= _TITLE_WORDS:
            return True
        less, more = (self.terms, other.terms) if len(self.terms) <= len(other.terms) else (other.terms, self.terms)
        if len(less & more) < _COPIED * len(less) or _words(less) < _TEXT_WORDS:
            return False
        return not any(term[0].isdigit() for term in less - more)


def _copies(ordered: Sequence[Hit]) -> list[Hit]:
    """Return the hits of the web that repeat one before them."""
    originals: list[_Wording] = []
    copies = []
    for hit in ordered:
        if not (host := host_of(hit.address)):
            continue
        title = tuple(analyze(_SITE_NAME.sub("", hit.title)))
        wording = _Wording(host, title, frozenset((*title, *analyze(hit.snippet))))
        if any(wording.is_copy_of(original) for original in originals):
            copies.append(hit)
        else:
            originals.append(wording)
    return copies


def _words(terms: Iterable[str]) -> float:
    """Return how many words terms make; a Chinese one has two characters, and its bigrams overlap."""
    return sum(1.0 if term.isascii() else 0.5 for term in terms)
