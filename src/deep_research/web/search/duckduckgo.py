"""DuckDuckGo without a key, through the pages it offers to browsers without scripts: html.duckduckgo.com/html/.

They are not documented; the forms and class names are those that the pages carry.
"""

from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lxml import etree, html

from deep_research.errors import ChallengeShown
from deep_research.web.search.engine import Page, PagedSearch, PageQuery, SearchResult

_REGIONS = {"zh-Hans": "cn-zh", "zh-Hant": "tw-tzh"}
_HAS_CLASS = "contains(concat(' ', normalize-space(@class), ' '), ' {} ')"
_LINK = f".//a[{_HAS_CLASS.format('result__a')}]"
_RESULTS = f"//div[{_HAS_CLASS.format('result')} and not({_HAS_CLASS.format('result--ad')}) and {_LINK}]"
_NOTHING = f"//*[{_HAS_CLASS.format('no-results')} or {_HAS_CLASS.format('result--no-result')}]"
_CHALLENGE = "//*[contains(@class, 'anomaly-modal') or @id='challenge-form']"


class DuckDuckGoSearch(PagedSearch):
    """DuckDuckGo: each page holds the form that asks for the next."""

    def headers(self, key: str) -> dict[str, str]:  # noqa: ARG002 - there is no key
        """Return what a browser would say about the page that holds the form."""
        return {"Referer": f"{self.endpoint.address.rstrip('/')}/", "Accept": "text/html"}

    async def pages(self, query: PageQuery) -> AsyncGenerator[Page]:
        """Yield page after page, each asked for with the form of the one before."""
        form = {
            "q": query.words_with_sites,
            "b": "",
            "kl": _REGIONS.get(query.language, "wt-wt"),
            "df": self.days(query, "{}..{}"),
        }
        for _ in range(self.max_pages):
            page = self._parsed(await self.service.post_form("/html/", form=form))
            found = [_result(element) for element in page.xpath(_RESULTS)]
            if not found and not page.xpath(_NOTHING):
                raise self.wrong_form()
            form = _next_form(page, after=int(form.get("s", "0")))
            yield Page(found, is_last=not form)

    def _parsed(self, text: str) -> Any:  # lxml ships no types
        try:
            page = html.document_fromstring(text.encode(), parser=html.HTMLParser(encoding="utf-8"))
        except etree.ParserError as exc:
            raise self.wrong_form() from exc
        if page.xpath(_CHALLENGE):
            raise ChallengeShown(f"{self.endpoint.title} asks for a proof that a person is searching.")
        return page


def _result(element: Any) -> SearchResult:
    link = element.xpath(_LINK)[0]
    snippet = element.xpath(f"string(.//*[{_HAS_CLASS.format('result__snippet')}])")
    dates = element.xpath(f".//*[{_HAS_CLASS.format('result__extras__url')}]/span")
    published = " ".join(span.text_content() for span in dates)
    return SearchResult(_target(link.get("href", "")), link.text_content(), snippet, published)


def _target(link: str) -> str:
    """Return the address behind a link of DuckDuckGo's own."""
    try:
        wrapped = parse_qs(urlsplit(link).query).get("uddg")
    except ValueError:
        return ""
    return wrapped[0] if wrapped else link


def _next_form(page: Any, *, after: int) -> dict[str, str]:
    """Return the hidden fields of the form that leads on, nothing on the last page; the other form leads back."""
    forms = (
        {field.get("name", ""): field.get("value", "") for field in form.xpath(".//input[@type='hidden']")}
        for form in page.xpath("//form[.//input[@name='s']]")
    )
    return next((form for form in forms if (start := form.get("s", "")).isdecimal() and int(start) > after), {})
