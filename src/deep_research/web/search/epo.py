"""Patents of all offices through Open Patent Services, after its reference guide (developers.epo.org, version 3.2).

A key is `client_id:secret`. A hit points at Google Patents, whose pages hold the full text.
"""

import base64
from collections.abc import AsyncGenerator
from datetime import date

import httpx2

from deep_research.errors import ConfigurationError
from deep_research.value import Json, json_of, value_at
from deep_research.web.net.service import LimitedService
from deep_research.web.search.engine import Endpoint, Page, PagedSearch, PageQuery, SearchResult, subject_words

# What stands in the answer, with status 404, where no patent fits.
_NOTHING = "SERVER.EntityNotFound"
_MAX_WORDS = 10


class _PatentService(LimitedService):
    def _check(self, response: httpx2.Response) -> None:
        # Only the body distinguishes an empty result from a wrong address.
        if response.status_code != 404:
            super()._check(response)


class EpoSearch(PagedSearch):
    """The European Patent Office: patents whose title or abstract holds all words."""

    delivers = "abstract"
    page_size = 100
    service_type = _PatentService
    first_day = date(1782, 1, 1)
    last_day = date(2999, 12, 31)

    def __init__(self, endpoint: Endpoint) -> None:
        if not all(endpoint.key.partition(":")[::2]):
            raise ConfigurationError(f"The key of {endpoint.title} has the form client_id:secret.")
        super().__init__(endpoint)

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that ask for a token."""
        return {"Authorization": f"Basic {base64.b64encode(key.encode()).decode()}"}

    async def pages(self, query: PageQuery) -> AsyncGenerator[Page]:
        """Yield page after page of patents, all with one token, which lives for twenty minutes."""
        headers = {"Authorization": f"Bearer {await self._token()}", "Accept": "application/json"}
        words = " ".join(subject_words(query)[:_MAX_WORDS])
        asked = f'ta all "{words}"' + self.days(query, ' and pd within "{:%Y%m%d} {:%Y%m%d}"')
        for end in range(query.size, query.size * self.max_pages + 1, query.size):
            text = await self.service.get_text(
                "/rest-services/published-data/search/biblio",
                params={"q": asked, "Range": f"{end - query.size + 1}-{end}"},
                headers=headers,
            )
            found = [] if f"<code>{_NOTHING}</code>" in text else [_found(patent) for patent in self._patents(text)]
            yield Page(found)

    async def _token(self) -> str:
        text = await self.service.post_form("/auth/accesstoken", form={"grant_type": "client_credentials"})
        token = value_at(self._data(text), "access_token")
        if not isinstance(token, str):
            raise self.wrong_form()
        return token

    def _patents(self, text: str) -> list[Json]:
        result = value_at(self._data(text), "ops:world-patent-data", "ops:biblio-search", "ops:search-result")
        groups = _listed(value_at(result, "exchange-documents"))
        patents = [patent for group in groups for patent in _listed(value_at(group, "exchange-document"))]
        if not patents:
            raise self.wrong_form()
        return patents

    def _data(self, text: str) -> Json:
        try:
            return json_of(text)
        except ValueError as exc:
            raise self.wrong_form() from exc


def _found(patent: Json) -> SearchResult:
    country, number, kind = (value_at(patent, f"@{name}") for name in ("country", "doc-number", "kind"))
    # American applications are given without the zero that follows the year.
    if country == "US" and isinstance(number, str) and len(number) == 10:
        number = f"{number[:4]}0{number[4:]}"
    address = f"https://patents.google.com/patent/{country}{number}{kind}/en" if country and number and kind else ""
    ids = _listed(value_at(patent, "bibliographic-data", "publication-reference", "document-id"))
    day = next((text for one in ids if isinstance(text := value_at(one, "date", "$"), str)), "")
    title = _english(value_at(patent, "bibliographic-data", "invention-title"))
    texts = _listed(value_at(_english(value_at(patent, "abstract")), "p"))
    abstract = " ".join(words for text in texts if isinstance(words := value_at(text, "$"), str))
    return SearchResult(address, value_at(title, "$"), abstract, f"{day[:4]}-{day[4:6]}-{day[6:]}" if day else "")


def _english(value: Json) -> Json:
    """Return the English version, else the one that comes first."""
    versions = _listed(value)
    return next((one for one in versions if value_at(one, "@lang") == "en"), versions[0] if versions else None)


def _listed(value: Json) -> list[Json]:
    """Return a list; the service gives a single thing without one."""
    return value if isinstance(value, list) else [] if value is None else [value]
