"""Crossref's registry of publications, after api.crossref.org/swagger-ui and its page on the polite pool."""

import re

from deep_research.value import Json, JsonObject, value_at
from deep_research.web.net.headers import mail_of
from deep_research.web.search.engine import Page, PageQuery, SearchResult, ServiceSearch

# "Abstract", "Aim", "Methods".
_HEADING = re.compile(r"<jats:title>.*?</jats:title>", re.DOTALL)


class CrossrefSearch(ServiceSearch):
    """Crossref: publications by their DOI; who gives a mail address is served quicker."""

    delivers = "abstract"
    page_size = 100

    async def page(self, query: PageQuery) -> Page:
        dates = {"from-pub-date": query.since, "until-pub-date": query.until}
        data = await self.service.get_json(
            "/works",
            params={
                "query": query.words,
                "filter": ",".join(f"{name}:{day.isoformat()}" for name, day in dates.items() if day) or None,
                "rows": query.size,
                "offset": query.offset,
                "select": "DOI,URL,title,abstract,published",
                "mailto": mail_of(self.endpoint.contact) or None,
            },
        )
        return Page(
            [
                SearchResult(work.get("URL"), _first(work.get("title")), _abstract(work), _published(work))
                for work in self.items_at(data, "message", "items")
            ]
        )


def _first(value: Json) -> Json:
    return value[0] if isinstance(value, list) and value else None


def _abstract(work: JsonObject) -> str:
    abstract = work.get("abstract")
    return _HEADING.sub(" ", abstract) if isinstance(abstract, str) else ""


def _published(work: JsonObject) -> str:
    """Return year, month and day as far as they are given; a quarter of all works have no day."""
    parts = _first(value_at(work, "published", "date-parts"))
    return "-".join(f"{part:02d}" for part in parts if isinstance(part, int)) if isinstance(parts, list) else ""
