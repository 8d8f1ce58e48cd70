"""What a search engine is asked, and what it returns."""

from datetime import date
from typing import Literal

from deep_research.request import SearchKind
from deep_research.value import JsonObject, Value

Priority = Literal["high", "medium", "low"]
# What a search service may give of a page beside its address: the abstract of a paper, or the text of the page.
DeliveredKind = Literal["abstract", "text"]
# Stands for an engine where an earlier run found a page.
EARLIER = "earlier"


class SearchQuery(Value):
    """One query with the goal it serves, and filters, which an engine keeps to as far as it can.

    `section` is the title of the section that it is for, where there are several; `language` is a code such as `en` or
    `zh-Hans`; `sites` are host names; `engines` are the specialist sources that
    a reasoner chose for it, none where rules are to choose.
    """

    query: str
    goal: str = ""
    section: str = ""
    priority: Priority = "medium"
    kind: SearchKind = "general"
    language: str = ""
    since: date | None = None
    until: date | None = None
    sites: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()

    @property
    def as_asked(self) -> JsonObject:
        """What an engine is asked; why somebody wants to know does not change the answer."""
        return self.model_dump(mode="json", exclude={"goal", "section", "priority", "engines"})


class Delivered(Value):
    """What an engine gave of a page."""

    kind: DeliveredKind
    engine: str
    text: str = ""


class Hit(Value):
    """One result of one engine; what it `delivered` of the page is read where the page itself cannot be."""

    address: str
    title: str
    snippet: str = ""
    engine: str = ""
    published: str = ""
    delivered: Delivered | None = None
