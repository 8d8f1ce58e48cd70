"""Semantic Scholar's papers, after api.semanticscholar.org/api-docs/graph (paper relevance search)."""

from deep_research.value import Json, JsonObject, value_at
from deep_research.web.search.engine import Page, PageQuery, SearchResult, ServiceSearch, first_address

_FIELDS = "title,abstract,url,year,publicationDate,openAccessPdf,externalIds"


class SemanticScholarSearch(ServiceSearch):
    """Semantic Scholar: papers with their abstracts; without a key all callers share one narrow limit."""

    delivers = "abstract"
    page_size = 100
    key_header = "x-api-key"

    async def page(self, query: PageQuery) -> Page:
        dates = f"{query.since or ''}:{query.until or ''}"
        data = await self.service.get_json(
            "/graph/v1/paper/search",
            params={
                # A word with a hyphen finds nothing here.
                "query": query.words.replace("-", " "),
                "offset": query.offset,
                "limit": query.size,
                "fields": _FIELDS,
                "publicationDateOrYear": None if dates == ":" else dates,
            },
        )
        # Where nothing was found the list itself is missing.
        if value_at(data, "total") == 0 and value_at(data, "data") is None:
            return Page([], is_last=True)
        papers = self.items_at(data, "data")
        found = [
            SearchResult(
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
    return first_address(
        f"https://arxiv.org/abs/{arxiv}" if arxiv else "",
        value_at(paper, "openAccessPdf", "url"),
        f"https://doi.org/{doi}" if doi else "",
        paper.get("url"),
    )
