"""Pages that could be read next: hits of queries, and what pages that were read link to. Looks at names and places in
lists alone, opens nothing.
"""

import re
from collections.abc import Iterable, Sequence
from math import fsum, log1p
from urllib.parse import urlsplit

from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.document import Document
from deep_research.report.sources.hit import EARLIER, Hit
from deep_research.value import Value

# The same offset as between engines; a link from one more page is worth less than a place among the first of a list.
# Two deep questions over a small web, 120 queries and 200 pages: of the pages that an expert's report cites 115 of 120
# and 59 of 78 were read; with links at 1.0 111 and 53, without links 113 and 62.
_RANK_OFFSET, _LINK_WEIGHT = 2, 0.3
# "/zh-cn/docs/", "/de/about/": a page that is there in several languages is read once.
_LANGUAGE = re.compile(
    r"(?<=[^/]/)(?:en|zh|de|fr|es|it|ja|ko|pt|ru|pl|nl|tr|id|vi|hi)(?:[-_][a-z]{2,4})?/", re.IGNORECASE
)
# What links to a page in passing is no engine: nobody asked it for anything.
LINKED = "link"
# A page whose links are a list of everything says nothing about any of them.
_MAX_LINKS = 150


class UnreadPage(Value):
    """A page that could be read: its place in the lists of queries, and the read documents that link to it."""

    hit: Hit
    ranks: tuple[int, ...] = ()
    linked_from: tuple[str, ...] = ()

    @property
    def worth(self) -> float:
        """Return how much speaks for reading it."""
        return fsum(1 / (_RANK_OFFSET + rank) for rank in self.ranks) + _LINK_WEIGHT * log1p(len(self.linked_from))


Pool = dict[str, UnreadPage]


def pool_of(candidates: Iterable[UnreadPage]) -> Pool:
    """Return candidates by their addresses."""
    return {canonical_address(each.hit.address): each for each in candidates}


def add_hits(pool: Pool, hits: Sequence[Hit]) -> None:
    """Add what a query found, in its order."""
    for rank, hit in enumerate(hits):
        known = pool.get(address := canonical_address(hit.address))
        # What an engine says of a page is more than what a link does.
        best = known.hit if known and known.hit.engine != LINKED else hit
        pool[address] = (known or UnreadPage(hit=hit)).replace(hit=best, ranks=(*(known.ranks if known else ()), rank))


def add_links(pool: Pool, document: Document) -> None:
    """Add what a document that was read links to."""
    if len(document.links) > _MAX_LINKS:
        return
    # A bare host is where a product or an office introduces itself.
    for link in (link for link in document.links if urlsplit(link.address).path.strip("/")):
        hit = Hit(address=link.address, title=link.text, snippet=link.near, engine=LINKED)
        known = pool.get(address := canonical_address(link.address)) or UnreadPage(hit=hit)
        pool[address] = known.replace(linked_from=tuple(dict.fromkeys((*known.linked_from, document.id))))


def to_read(
    pool: Pool, searched: Sequence[Sequence[Hit]], *, seen: Iterable[str], picked: Sequence[str], count: int
) -> list[str]:
    """Return the addresses to read, best first, with others to take the place of what cannot be had.

    What somebody picked comes first; half of the rest is what single queries found best, so that each of them is
    served, and then what is worth most. Of a page in several languages the one that names none is read.
    """
    read, versions = {*seen}, dict[str, list[str]]()
    for address, each in pool.items():
        alone = address if each.hit.engine == EARLIER else _LANGUAGE.sub("", address, count=1)
        versions.setdefault(alone, []).append(address)
    unread: dict[str, UnreadPage] = {}
    version: dict[str, str] = {}
    for original, own in versions.items():
        if read.isdisjoint(own):
            best = max(own, key=lambda address: (address == original, pool[address].worth))
            unread[best] = pool[best]
            version |= dict.fromkeys(own, best)
    chosen = dict.fromkeys(version[address] for address in map(canonical_address, picked) if address in version)
    chosen |= dict.fromkeys(address for address, each in unread.items() if each.hit.engine == EARLIER)
    half = len(chosen) + (count - len(chosen) + 1) // 2
    for hits in searched:
        found = (version.get(canonical_address(hit.address), "") for hit in hits)
        first = next((address for address in found if address and address not in chosen), "")
        if first and len(chosen) < half:
            chosen[first] = None
    ranked = sorted(unread, key=lambda address: (-unread[address].worth, address))
    return [*(chosen | dict.fromkeys(ranked))]


def in_batches(hits: Sequence[Hit], *, count: int, size: int, tries: int) -> list[tuple[int, list[Hit]]]:
    """Return what each reader gets: how many pages it is to read, and its hits, those in reserve last."""
    wanted = min(count, len(hits))
    readers = -(-wanted // size)
    picked, reserve = hits[:wanted], hits[wanted : wanted * tries]
    return [(len(picked[at::readers]), [*picked[at::readers], *reserve[at::readers]]) for at in range(readers)]
