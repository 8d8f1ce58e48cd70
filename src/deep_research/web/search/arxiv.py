"""arXiv's papers, after info.arxiv.org/help/api/user-manual.html."""

import re

from lxml import etree

from deep_research.web.search.engine import Page, PageQuery, SearchResult, ServiceSearch, subject_words
from deep_research.web.search.feed import ATOM, feed_root

_ID = re.compile(
    r"(?<![\w.])(?:\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}|[a-z-]{2,12}(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?(?![\w.]\w)", re.ASCII
)
_VERSION = re.compile(r"v\d+$")
_PAPER = re.compile(r"https?://arxiv\.org/abs/(.+)")
_ERROR = "arxiv.org/api/errors"
# More words than these are seldom all in one abstract; ranking by relevance then sorts what holds any of them.
_MAX_ALL = 5


class ArxivSearch(ServiceSearch):
    """arXiv: papers about the words of a query, or the paper whose number stands in it."""

    delivers = "abstract"
    page_size = 50

    async def page(self, query: PageQuery) -> Page:
        ids = _ID.findall(query.query)
        words = subject_words(query)
        asked = (" AND " if len(words) <= _MAX_ALL else " OR ").join(f'all:"{word}"' for word in words)
        if days := self.days(query, "submittedDate:[{:%Y%m%d}0000 TO {:%Y%m%d}2359]"):
            asked = f"({asked}) AND {days}"
        text = await self.service.get_text(
            "/api/query",
            params={
                "id_list": ",".join(ids) or None,
                "search_query": None if ids else asked,
                "start": query.offset,
                "max_results": query.size,
                "sortBy": "relevance",
                "sortOrder": "descending",
            },
        )
        root = feed_root(text, f"{ATOM}feed")
        if root is None:
            raise self.wrong_form()
        entries = root.findall(f"{ATOM}entry")
        # An error comes as an entry, with status 200.
        if any(_ERROR in entry.findtext(f"{ATOM}id", "") for entry in entries):
            raise self.wrong_form()
        return Page([_found(entry) for entry in entries], is_last=True if ids else None)


def _found(entry: etree._Element) -> SearchResult:
    name = _PAPER.fullmatch(entry.findtext(f"{ATOM}id", "").strip())
    # Without its version a paper has the same address for every engine that knows it.
    address = f"https://arxiv.org/abs/{_VERSION.sub('', name.group(1))}" if name else ""
    return SearchResult(address, *(entry.findtext(f"{ATOM}{tag}") for tag in ("title", "summary", "published")))
