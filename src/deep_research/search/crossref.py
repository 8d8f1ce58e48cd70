"""Crossref's registry of publications, after api.crossref.org/swagger-ui and its page on the polite pool."""

import re
from typing import Final

from deep_research.search.engine import Found, Page, ServiceSearch, value_at, words_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import Json, JsonObject

# Formulas stand in MathML, headings such as "Abstract" in JATS.
_HEADING: Final = re.compile(r"<jats:title>.*?</jats:title>", re.DOTALL)
_FORMULA: Final = re.compile(r"</?mml:[^<>]*>")


class CrossrefSearch(ServiceSearch):
    """Crossref: publications by their DOI; the address of a contact takes the place of a key."""

    page_size = 100

    def headers(self, key: str) -> dict[str, str]:  # noqa: ARG002 - a contact is no secret and goes with the query
        """Return none."""
        return {}

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:
        """Return one page of publications."""
        dates = {"from-pub-date": query.since, "until-pub-date": query.until}
        data = await self.service.get_json(
            "/works",
            params={
                "query": words_of(query),
                "filter": ",".join(f"{name}:{day.isoformat()}" for name, day in dates.items() if day) or None,
                "rows": size,
                "offset": number * size,
                "select": "DOI,URL,title,abstract,published",
                "mailto": self.endpoint.key or None,
            },
        )
        works = self.items_at(data, "message", "items")
        found = [Found(work.get("URL"), _title(work), _abstract(work), _published(work)) for work in works]
        return Page(found, is_last=len(works) < size)


def _title(work: JsonObject) -> str:
    titles = work.get("title")
    first = titles[0] if isinstance(titles, list) and titles else ""
    return _FORMULA.sub("", first) if isinstance(first, str) else ""


def _abstract(work: JsonObject) -> str:
    abstract = work.get("abstract")
    return _FORMULA.sub("", _HEADING.sub(" ", abstract)) if isinstance(abstract, str) else ""


def _published(work: JsonObject) -> Json:
    parts = value_at(work, "published", "date-parts")
    first = parts[0] if isinstance(parts, list) and parts else None
    if not isinstance(first, list) or not all(isinstance(part, int) for part in first):
        return ""
    return "-".join(f"{part:02d}" for part in first if isinstance(part, int))


ENGINE: Final = CrossrefSearch
