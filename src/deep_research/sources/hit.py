"""What a search engine returns, and the merging of several engines' answers."""

from collections.abc import Iterable
from datetime import date
from typing import Literal

from deep_research.sources.address import canonical_address
from deep_research.value import Value

Priority = Literal["high", "medium", "low"]
# SPEC P5: what kind of source is looked for; `local` means the asker's own documents.
SearchKind = Literal["general", "academic", "news", "code", "patents", "local"]


class SearchQuery(Value):
    """One query with the goal it serves (SPEC P3), and filters, which an engine keeps to as far as it can.

    `language` is a code such as `en` or `zh-Hans`; `sites` are host names.
    """

    query: str
    goal: str = ""
    priority: Priority = "medium"
    kind: SearchKind = "general"
    language: str = ""
    since: date | None = None
    until: date | None = None
    sites: tuple[str, ...] = ()


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
