"""Semantic Scholar's papers, after api.semanticscholar.org/api-docs/graph (paper relevance search)."""

from typing import Final

from deep_research.search.cleaning import web_address
from deep_research.search.engine import Found, Page, ServiceSearch, value_at, words_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import Json, JsonObject

_FIELDS: Final = "title,abstract,url,year,publicationDate,openAccessPdf,externalIds"


class SemanticScholarSearch(ServiceSearch):
    """Semantic Scholar: papers with their abstracts; without a key all callers share one narrow limit."""

    page_size = 100

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"x-api-key": key} if key else {}

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:
        """Return one page of papers."""
        first, last = (day.isoformat() if day else "" for day in (query.since, query.until))
        data = await self.service.get_json(
            "/graph/v1/paper/search",
            params={
                # A word with a hyphen finds nothing here.
                "query": words_of(query).replace("-", " "),
                "offset": number * size,
                "limit": size,
                "fields": _FIELDS,
                "publicationDateOrYear": f"{first}:{last}" if first or last else None,
            },
        )
        # Where nothing was found the list itself is missing.
        if value_at(data, "total") == 0 and value_at(data, "data") is None:
            return Page([], is_last=True)
        papers = self.items_at(data, "data")
        found = [
            Found(
                _address(paper),
                paper.get("title"),
                paper.get("abstract"),
                paper.get("publicationDate") or paper.get("year"),
            )
            for paper in papers
        ]
        return Page(found, is_last=value_at(data, "next") is None)


def _address(paper: JsonObject) -> Json:
    arxiv, doi = (value_at(paper, "externalIds", name) for name in ("ArXiv", "DOI"))
    places = (
        f"https://arxiv.org/abs/{arxiv}" if arxiv else "",
        value_at(paper, "openAccessPdf", "url"),
        f"https://doi.org/{doi}" if doi else "",
    )
    return next((place for place in places if web_address(place)), paper.get("url"))
