"""`JoinedCorpus`: two folders that are searched together, such as somebody's own files and those of a server.

Addresses in the second folder begin with `SHARED`, so that files of one name stay apart.
"""

import asyncio
import math
from collections.abc import Collection, Sequence
from typing import TypeVar

from deep_research.documents.corpus.port import Corpus, Listed, OnProgress, PassageHit, Remark, Skipped, Survey
from deep_research.text.analyzer import content_terms

Addressed = TypeVar("Addressed", PassageHit, Remark, Skipped)
SHARED = "shared/"
# So many of the best passages show how much of a query a folder answers.
_WEIGHED = 3


class JoinedCorpus:
    """Two corpora as one."""

    def __init__(self, first: Corpus, second: Corpus) -> None:
        self._both = (first, second)

    async def refresh(self, on_progress: OnProgress | None = None) -> Survey:
        one, two = [await corpus.refresh(on_progress) for corpus in self._both]
        return Survey(
            files=one.files + two.files,
            indexed=one.indexed + two.indexed,
            read_now=one.read_now + two.read_now,
            removed=one.removed + two.removed,
            skipped=(*one.skipped, *_prefixed(two.skipped)),
            remarks=(*one.remarks, *_prefixed(two.remarks)),
        )

    async def search(self, query: str, *, limit: int) -> list[PassageHit]:
        """Return the best passages of both; a folder that holds less of the query's rarer terms counts less."""
        terms = list(dict.fromkeys(content_terms(query)))
        total, counts = await self.frequencies(terms)
        weights = {term: math.log(1 + total / (1 + counts[term])) for term in terms}
        one, two = [await corpus.search(query, limit=limit) for corpus in self._both]
        found: list[PassageHit] = []
        for hits in (one, _prefixed(two)):
            share = max((_covered_share(hit, weights) for hit in hits[:_WEIGHED]), default=0.0)
            found += [hit.replace(score=hit.score * share) for hit in hits]
        return sorted(found, key=lambda hit: (-hit.score, hit.address, hit.start))[:limit]

    async def contents(self) -> list[Listed]:
        return [listed for corpus in self._both for listed in await corpus.contents()]

    async def passages(self, address: str) -> list[PassageHit]:
        first, second = self._both
        if not address.startswith(SHARED):
            return await first.passages(address)
        return _prefixed(await second.passages(address.removeprefix(SHARED)))

    async def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        one, two = [await corpus.frequencies(terms) for corpus in self._both]
        return one[0] + two[0], {term: one[1].get(term, 0) + two[1].get(term, 0) for term in terms}

    async def spelled_like(self, term: str) -> str:
        first, second = self._both
        return await first.spelled_like(term) or await second.spelled_like(term)

    async def close(self) -> None:
        await asyncio.gather(*(corpus.close() for corpus in self._both))


def _prefixed(found: Collection[Addressed]) -> list[Addressed]:
    return [one.replace(address=f"{SHARED}{one.address}") for one in found]


def _covered_share(hit: PassageHit, weights: dict[str, float]) -> float:
    terms = {*content_terms(f"{hit.title} {hit.text}")}
    whole = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in terms) / whole if whole else 1.0
