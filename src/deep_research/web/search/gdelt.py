"""GDELT's list of the world's news, after blog.gdeltproject.org/gdelt-doc-2-0-api-debuts."""

import json

from deep_research.errors import SourceBusy, SourceError
from deep_research.value import Json
from deep_research.web.search.engine import OnePageSearch, PageQuery, SearchResult, subject_words

# Errors come as a sentence with status 200; this is how the one begins that time heals.
_TOO_OFTEN = "Please limit requests"
# Every word must stand in an article.
_MAX_WORDS = 6
_MIN_CHARS = 3


class GdeltSearch(OnePageSearch):
    """GDELT: news of the last years by headline; no pages, and no more than one question in five seconds."""

    page_size = 100

    async def results(self, query: PageQuery) -> list[SearchResult]:
        text = await self.service.get_text(
            "/api/v2/doc/doc",
            params={
                "query": _asked(query),
                "mode": "artlist",
                "format": "json",
                "maxrecords": query.size,
                "sort": "hybridrel",
                "startdatetime": f"{query.since:%Y%m%d}000000" if query.since else None,
                "enddatetime": f"{query.until:%Y%m%d}235959" if query.until else None,
            },
        )
        if text.startswith(_TOO_OFTEN):
            raise SourceBusy(f"{self.endpoint.title} limits its callers.", retry_after_s=5.0)
        try:
            # Headlines are passed on with the control characters of their pages.
            data: Json = json.loads(text, strict=False)
        except ValueError as exc:
            raise SourceError(f"{self.endpoint.title} did not answer in JSON.") from exc
        # Where nothing was found the list itself is missing.
        articles = [] if data == {} else self.items_at(data, "articles")
        return [SearchResult(item.get("url"), item.get("title"), "", _day(item.get("seendate"))) for item in articles]


def _asked(query: PageQuery) -> str:
    words = subject_words(query)
    # A word that is too short spoils the whole question; Chinese words are short by nature.
    fitting = [word for word in words if len(word) >= _MIN_CHARS or not word.isascii()] or words
    parts = [word if word.isalnum() else f'"{word}"' for word in fitting[:_MAX_WORDS]]
    sites = " OR ".join(f"domainis:{site}" for site in query.sites)
    language = query.language_in_english
    parts += [f"sourcelang:{language}" if language else "", f"({sites})" if len(query.sites) > 1 else sites]
    return " ".join(filter(None, parts))


def _day(seen: Json) -> str:
    return f"{seen[:4]}-{seen[4:6]}-{seen[6:8]}" if isinstance(seen, str) and seen[:8].isdigit() else ""
