"""PubMed's articles through the E-utilities, after www.ncbi.nlm.nih.gov/books/NBK25499."""

from datetime import date

from deep_research.value import JsonObject, value_at
from deep_research.web.net.headers import mail_of
from deep_research.web.search.engine import Page, PageQuery, SearchResult, ServiceSearch

_MAX_AUTHORS = 3


class PubMedSearch(ServiceSearch):
    """PubMed: one call finds the numbers of articles, a second says what they are."""

    page_size = 50
    key_header = ""
    first_day = date(1800, 1, 1)
    last_day = date(2999, 12, 31)

    async def page(self, query: PageQuery) -> Page:
        words, language = query.words, query.language_in_english
        first, _, last = self.days(query, "{:%Y/%m/%d} {:%Y/%m/%d}").partition(" ")
        found = await self.service.get_json(
            "/entrez/eutils/esearch.fcgi",
            params={
                **self._who(),
                "term": f"({words}) AND {language}[la]" if language else words,
                "retstart": query.offset,
                "retmax": query.size,
                "sort": "relevance",
                "datetype": "pdat" if first else None,
                "mindate": first or None,
                "maxdate": last or None,
            },
        )
        ids = value_at(found, "esearchresult", "idlist")
        if not isinstance(ids, list):
            raise self.wrong_form()
        # The numbers become part of an address.
        numbers = [one for one in ids if isinstance(one, str) and one.isascii() and one.isdigit()]
        if len(numbers) != len(ids):
            raise self.wrong_form()
        if not numbers:
            return Page([], is_last=True)
        summaries = await self.service.get_json(
            "/entrez/eutils/esummary.fcgi", params={**self._who(), "id": ",".join(numbers)}
        )
        if not isinstance(value_at(summaries, "result", "uids"), list):
            raise self.wrong_form()
        articles = [(one, value_at(summaries, "result", one)) for one in numbers]
        # An article that is gone has an error in its place.
        results = [_found(one, what) for one, what in articles if isinstance(what, dict) and "error" not in what]
        return Page(results, is_last=len(numbers) < query.size)

    def _who(self) -> dict[str, str | None]:
        return {
            "db": "pubmed",
            "retmode": "json",
            "tool": "deep-research",
            "email": mail_of(self.endpoint.contact) or None,
            "api_key": self.endpoint.key or None,
        }


def _found(number: str, article: JsonObject) -> SearchResult:
    address = f"https://pubmed.ncbi.nlm.nih.gov/{number}/"
    return SearchResult(address, article.get("title"), _journal_of(article), article.get("sortpubdate"))


def _journal_of(article: JsonObject) -> str:
    """Return journal and authors: a summary holds no abstract."""
    authors = article.get("authors")
    listed = authors if isinstance(authors, list) else []
    names = [name for author in listed if isinstance(name := value_at(author, "name"), str)]
    authors_text = ", ".join(names[:_MAX_AUTHORS]) + (" et al." if len(names) > _MAX_AUTHORS else "")
    return ". ".join(part for part in (article.get("fulljournalname"), authors_text) if isinstance(part, str) and part)
