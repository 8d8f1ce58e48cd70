"""What all engines behind a service share: pages until there is enough, a time limit over them, results cleaned.

An engine says only how one page is asked for and where its results stand.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from importlib import import_module
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

from deep_research.errors import CallFailed, ConfigurationError, SourceError, TimedOut
from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.dating import may_be_within
from deep_research.report.sources.hit import Delivered, DeliveredKind, Hit, SearchQuery
from deep_research.text.analyzer import content_terms
from deep_research.value import Json, JsonObject, value_at
from deep_research.web.net.headers import PROJECT_ADDRESS
from deep_research.web.net.service import Service, Setup
from deep_research.web.search.cleaning import MAX_DELIVERED_CHARS, delivered_text, iso_date, plain_text, web_address
from deep_research.web.search.rate_limiter import MAX_QUEUE_S
from deep_research.web.search.registry import EngineSpec
from deep_research.web.search.throttle import Throttle

# Tavily and Brave take no longer queries, and no engine finds more with more words.
_MAX_QUERY_CHARS = 400
_LANGUAGES = {"en": "english", "zh": "chinese"}
_WORD = re.compile(r"[^\W_]+(?:[-'’.+#][^\W_]+)*")


@dataclass(frozen=True)
class Endpoint:
    """An engine at an address, with what is needed to reach it; `model` is for those that ask a model to search.

    `contact` is the address that the service may write to, `setup` what errors name as settings to correct. All
    searches go through `throttle`, where every page but the first waits for a slot of its own.
    """

    name: str
    title: str
    address: str
    timeout_s: float
    key: str = field(default="", repr=False)
    model: str = ""
    contact: str = PROJECT_ADDRESS
    setup: Setup = Setup()
    today: Callable[[], date] = lambda: datetime.now(UTC).date()
    throttle: Throttle | None = None


class PageQuery(SearchQuery):
    """A query for one page of results; the first has the number 0, and all pages of a search have one size."""

    number: int = 0
    size: int

    @property
    def offset(self) -> int:
        """Return how many results come before the page."""
        return self.number * self.size

    @property
    def words(self) -> str:
        """Return the words on one line, as long as services take them."""
        return " ".join(self.query.split())[:_MAX_QUERY_CHARS].rstrip()

    @property
    def language_in_english(self) -> str:
        """Return the English name of the language, "" where we know none."""
        return _LANGUAGES.get(self.language.partition("-")[0], "")

    @property
    def words_with_sites(self) -> str:
        """Return the words with the sites as operators, for services that have no field for them."""
        sites = " OR ".join(f"site:{site}" for site in self.sites)
        return f"{self.words} ({sites})" if len(self.sites) > 1 else f"{self.words} {sites}".rstrip()


class SearchResult(NamedTuple):
    """One result as the service spells it, cleaned later; `text` is what it gives of the page itself."""

    address: Json
    title: Json
    snippet: Json = ""
    published: Json = ""
    text: Json = ""


class Page(NamedTuple):
    """One page of results; `is_last` says that asking for another is of no use: else it is so after a page not full."""

    found: Sequence[SearchResult]
    is_last: bool | None = None


class PagedSearch(ABC):
    """A search engine behind a service, which gives its results page by page."""

    # The most results that are asked for at once, and the most pages.
    page_size: ClassVar[int] = 10
    max_pages: ClassVar[int] = 3
    service_type: ClassVar[type[Service]] = Service
    # The header that carries the key, none where the key goes with the query; and headers that every call has.
    key_header: ClassVar[str] = "Authorization"
    fixed_headers: ClassVar[tuple[tuple[str, str], ...]] = ()
    # Whether results come with an abstract, which is their snippet, or with the text of the page.
    delivers: ClassVar[DeliveredKind | None] = None
    # Before the first page of the web, for a time that has only an end; and today, for one that has only a beginning.
    first_day: ClassVar[date] = date(1990, 1, 1)
    last_day: ClassVar[date | None] = None

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        # With the wait for its slot.
        self.timeout_s = endpoint.timeout_s + (MAX_QUEUE_S if endpoint.throttle else 0.0)
        self.service = self.service_type(
            endpoint.title,
            endpoint.address,
            timeout_s=endpoint.timeout_s,
            headers=self.headers(endpoint.key),
            contact=endpoint.contact,
            setup=endpoint.setup,
        )

    async def close(self) -> None:
        """Close its connections."""
        await self.service.aclose()

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that go with every call, with the key."""
        headers = dict(self.fixed_headers)
        if key and self.key_header:
            headers[self.key_header] = f"Bearer {key}" if self.key_header == "Authorization" else key
        return headers

    @abstractmethod
    def pages(self, query: PageQuery) -> AsyncGenerator[Page]:
        """Yield page after page, beginning with the first, as long as more are asked for."""

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return the best hits first, or raise what the last try raised; `SourceBusy` where it is not asked at all."""
        throttle = self.endpoint.throttle
        if throttle is None:
            return await self.search_once(query, limit)
        return await throttle.call(lambda: self.search_once(query, limit), timeout_s=self.endpoint.timeout_s)

    async def search_once(self, query: SearchQuery, limit: int) -> list[Hit]:
        """Return the hits of one try; a page that fails ends the list, and raises where it was the first."""
        hits: dict[str, Hit] = {}
        try:
            async with asyncio.timeout(self.endpoint.timeout_s):
                await self._collect(query, limit, hits)
        except TimeoutError as exc:
            if not hits:
                raise TimedOut(f"{self.endpoint.title} did not answer within {self.endpoint.timeout_s:g} s.") from exc
        except CallFailed:
            if not hits:
                raise
        return list(hits.values())[:limit]

    async def _collect(self, query: SearchQuery, limit: int, hits: dict[str, Hit]) -> None:
        first = PageQuery(**dict(query), size=min(limit, self.page_size))
        async with aclosing(self.pages(first)) as pages:
            async for page in pages:
                known = len(hits)
                for hit in self._cleaned(page.found):
                    hits.setdefault(canonical_address(hit.address), hit)
                is_last = len(page.found) < first.size if page.is_last is None else page.is_last
                if is_last or len(hits) == known or len(hits) >= limit:
                    return
                if self.endpoint.throttle is not None:
                    await self.endpoint.throttle.acquire()

    def _cleaned(self, found: Sequence[SearchResult]) -> Iterator[Hit]:
        if found and not any(isinstance(result.address, str) for result in found):
            raise self.wrong_form()
        for result in found:
            if address := web_address(result.address):
                yield Hit(
                    address=address,
                    title=plain_text(result.title) or address,
                    snippet=plain_text(result.snippet),
                    engine=self.name,
                    published=iso_date(result.published),
                    delivered=self._delivered(result),
                )

    def _delivered(self, result: SearchResult) -> Delivered | None:
        is_abstract = self.delivers == "abstract"
        text = plain_text(result.snippet, max_chars=MAX_DELIVERED_CHARS) if is_abstract else delivered_text(result.text)
        return Delivered(kind=self.delivers, engine=self.name, text=text) if self.delivers and text else None

    def days(self, query: SearchQuery, form: str) -> str:
        """Return first and last day of a query's time, for services that want both, in a form such as "{} to {}".

        "" where the query has no limits.
        """
        if query.since is None and query.until is None:
            return ""
        return form.format(query.since or self.first_day, query.until or self.last_day or self.endpoint.today())

    def wrong_form(self) -> SourceError:
        """Return the error for an answer that is not what this service gives."""
        return SourceError(f"{self.endpoint.title} answered in a form that is not its own.")

    def items_at(self, data: Json, *path: str, is_optional: bool = False) -> list[JsonObject]:
        """Return the objects listed at a path of an answer; raise `SourceError` where there is no such list.

        One that `is_optional` may be missing, which is as if it were empty.
        """
        listed = value_at(data, *path)
        if listed is None and is_optional:
            return []
        if not isinstance(listed, list):
            raise self.wrong_form()
        items = [item for item in listed if isinstance(item, dict)]
        if len(items) != len(listed):
            raise self.wrong_form()
        return items


class ServiceSearch(PagedSearch):
    """A search engine whose pages have numbers, as most have."""

    @abstractmethod
    async def page(self, query: PageQuery) -> Page:
        """Return one page of results."""

    async def pages(self, query: PageQuery) -> AsyncGenerator[Page]:
        """Yield page after page by its number."""
        for number in range(self.max_pages):
            yield await self.page(query.replace(number=number))


class OnePageSearch(PagedSearch):
    """A search engine that gives all its results at once."""

    max_pages = 1

    @abstractmethod
    async def results(self, query: PageQuery) -> list[SearchResult]:
        """Return the results of a query."""

    async def pages(self, query: PageQuery) -> AsyncGenerator[Page]:
        """Yield the one page that there is."""
        yield Page(await self.results(query), is_last=True)


def results_in(items: Sequence[Json], *names: str) -> list[SearchResult]:
    """Return the results in the objects of an answer; the names are those of address, title, snippet, date and text."""
    return [SearchResult(*(value_at(item, name) for name in names)) for item in items]


def is_short(count: int, size: int) -> bool:
    """Return whether a page is so short that there is no other; services leave single results out of full pages too."""
    return 2 * count < size


def first_address(*values: Json) -> Json:
    """Return the first that is a web address, else the last."""
    return next(filter(web_address, values), values[-1])


def connect(
    spec: EngineSpec,
    *,
    address: str = "",
    key: str = "",
    timeout_s: float = 20.0,
    model: str = "",
    contact: str = PROJECT_ADDRESS,
    throttle: Throttle | None = None,
) -> PagedSearch:
    """Return an engine, at its own address where none is given; raise `ConfigurationError` for what is missing.

    Loads the engine's module, and calls no service.
    """
    address = address or spec.default_address
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"{spec.title} needs an address such as https://search.example.org; set {spec.address_setting}."
        )
    module, _, adapter = spec.adapter.partition(":")
    engine: PagedSearch = getattr(import_module(f"{__package__}.{module}"), adapter)(
        Endpoint(
            spec.name,
            spec.title,
            address,
            timeout_s,
            key=key,
            model=model or spec.model,
            contact=contact,
            # Without a key there is none to check.
            setup=Setup(spec.key_variable if key else "", spec.model_setting, spec.address_setting),
            throttle=throttle,
        )
    )
    return engine


def subject_words(query: PageQuery) -> list[str]:
    """Return the words of a query in order and each once, without stop words unless there are no others."""
    words = list(dict.fromkeys(_WORD.findall(query.words)))
    return [word for word in words if content_terms(word)] or words


def is_timely(query: PageQuery, found: SearchResult) -> bool:
    """Return whether a result may be of the query's time, for lists that cannot be searched."""
    return may_be_within(iso_date(found.published), query.since, query.until)


def shared_terms(query: PageQuery, text: str) -> float:
    """Return the share of a query's terms that a text holds, for lists that cannot be searched."""
    wanted = set(content_terms(query.query))
    return len(wanted.intersection(content_terms(text))) / len(wanted) if wanted else 0.0
