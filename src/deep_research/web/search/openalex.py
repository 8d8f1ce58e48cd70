"""OpenAlex's catalogue of scholarly works, after developers.openalex.org/api-reference/works.

Pages have numbers, for cursors are only for those who send a key.
"""

from deep_research.value import Json, JsonObject, value_at
from deep_research.web.net.headers import mail_of
from deep_research.web.net.service import LimitedService
from deep_research.web.search.engine import Page, PageQuery, SearchResult, ServiceSearch, first_address

_FIELDS = "id,doi,title,publication_date,abstract_inverted_index,best_oa_location,primary_location"
# An index of positions could claim a text of any length.
_MAX_WORDS = 1_000


class OpenAlexSearch(ServiceSearch):
    """OpenAlex: works with their abstracts, at an open place where there is one."""

    delivers = "abstract"
    page_size = 100
    service_type = LimitedService
    key_header = ""

    async def page(self, query: PageQuery) -> Page:
        filters = {
            "from_publication_date": query.since,
            "to_publication_date": query.until,
            "language": query.language.partition("-")[0],
        }
        data = await self.service.get_json(
            "/works",
            params={
                "search": query.words,
                "filter": ",".join(f"{name}:{value}" for name, value in filters.items() if value) or None,
                "per_page": query.size,
                "page": query.number + 1,
                "select": _FIELDS,
                "api_key": self.endpoint.key or None,
                "mailto": mail_of(self.endpoint.contact) or None,
            },
        )
        return Page(
            [
                SearchResult(_address(work), work.get("title"), _abstract(work), work.get("publication_date"))
                for work in self.items_at(data, "results")
            ]
        )


def _address(work: JsonObject) -> Json:
    return first_address(
        value_at(work, "best_oa_location", "pdf_url"),
        value_at(work, "best_oa_location", "landing_page_url"),
        work.get("doi"),
        value_at(work, "primary_location", "landing_page_url"),
        work.get("id"),
    )


def _abstract(work: JsonObject) -> str:
    """Return the text of an abstract, which is given as the places of each of its words."""
    index = work.get("abstract_inverted_index")
    if not isinstance(index, dict):
        return ""
    words = sorted(
        (position, word)
        for word, positions in index.items()
        if isinstance(positions, list)
        for position in positions[:_MAX_WORDS]
        if isinstance(position, int)
    )
    return " ".join(word for _, word in words[:_MAX_WORDS])
