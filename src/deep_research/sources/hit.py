"""What a search engine returns, and the merging of several engines' answers."""

from collections.abc import Iterable
from typing import Literal

from deep_research.sources.address import canonical_address
from deep_research.value import Value

Priority = Literal["high", "medium", "low"]


class SearchQuery(Value):
    """One query with the goal it serves (SPEC P3)."""

    query: str
    goal: str = ""
    priority: Priority = "medium"


class Hit(Value):
    """One result of one engine."""

    address: str
    title: str
    snippet: str = ""
    engine: str = ""
    published: str = ""


def merge_hits(answers: Iterable[Iterable[Hit]]) -> list[Hit]:
    """Merge engines' answers rank by rank, keeping the first hit of each canonical address (SPEC H6)."""
    ranked = [list(answer) for answer in answers]
    seen: set[str] = set()
    merged: list[Hit] = []
    for rank in range(max((len(answer) for answer in ranked), default=0)):
        for answer in ranked:
            if rank >= len(answer):
                continue
            address = canonical_address(answer[rank].address)
            if address not in seen:
                seen.add(address)
                merged.append(answer[rank])
    return merged
