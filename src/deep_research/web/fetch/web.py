"""`WebFetcher`: pages of the public web, asked for politely, tried again where that helps, and never a wall.

Connections are the guarded client's business; what this adds is manners, patience and judgement.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from urllib.parse import urlsplit

from deep_research.documents.readers.encoding import in_utf8
from deep_research.documents.readers.registry import FORMATS
from deep_research.documents.readers.sniff import sniff
from deep_research.errors import NetworkError, SourceBusy, SourceError, SourceGone
from deep_research.text.in_thread import in_thread
from deep_research.web.fetch.chromium import ChromiumRenderer
from deep_research.web.fetch.page_kinds import DESCRIPTIONS, PageKind, kind_of_page, kind_of_text
from deep_research.web.fetch.politeness import Politeness, RobotsCache
from deep_research.web.fetch.port import Fetched, Validators
from deep_research.web.net.client import GuardedClient, Response
from deep_research.web.net.headers import retry_after_s

_ARXIV_ABSTRACT = re.compile(r"/abs/((?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)/?")
_GITHUB_FILE = re.compile(r"/([\w.-]+)/([\w.-]+)/(?:blob|raw)/(.+)")
_GITHUB_REPOSITORY = re.compile(r"/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
# First parts of paths that are GitHub's own and no owner's.
_GITHUB_OWN = frozenset(
    """about apps codespaces collections contact customer-stories enterprise events explore features issues login
    marketplace new notifications organizations orgs pricing pulls readme search security settings site sponsors topics
    trending users""".split()
)
_READMES = ("README.md", "README.rst", "readme.md")
_RETRIES = 2
_MAX_WAIT_S = 10.0
_FIRST_WAIT_S = 0.5
_BUSY = frozenset({408, 425, 500, 502, 504, 520, 521, 522, 523, 524})
_NOT_CHANGED = 304
_STATUSES: dict[int, PageKind] = {
    401: "login wall",
    402: "paywall",
    403: "access denied",
    404: "not found",
    410: "not found",
    451: "region block",
}
_ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.9,text/markdown;q=0.9,*/*;q=0.5"
# Cookies are for whoever is at the browser; they are neither sent nor kept.
_DROPPED_HEADERS = frozenset({"set-cookie", "set-cookie2"})


def text_addresses(address: str) -> tuple[str, ...]:
    """Return the addresses to try for a page's text, the best first and the page itself last."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return (address,)
    rule = _RULES.get(parts.hostname or "")
    return (*(rule(parts.path) if rule and not parts.query else ()), address)


def _arxiv(path: str) -> tuple[str, ...]:
    """An abstract leads to the paper: in HTML, which newer papers have, else as PDF."""
    paper = _ARXIV_ABSTRACT.fullmatch(path)
    return (f"https://arxiv.org/html/{paper[1]}", f"https://arxiv.org/pdf/{paper[1]}") if paper else ()


def _github(path: str) -> tuple[str, ...]:
    """A file leads to its plain text, a repository to its README."""
    raw = "https://raw.githubusercontent.com"
    if found := _GITHUB_FILE.fullmatch(path):
        return (f"{raw}/{found[1]}/{found[2]}/{found[3]}",)
    found = _GITHUB_REPOSITORY.fullmatch(path)
    if found is None or found[1].lower() in _GITHUB_OWN:
        return ()
    return tuple(f"{raw}/{found[1]}/{found[2]}/HEAD/{name}" for name in _READMES)


_RULES = {
    **dict.fromkeys(("arxiv.org", "www.arxiv.org", "export.arxiv.org"), _arxiv),
    **dict.fromkeys(("github.com", "www.github.com"), _github),
}


class WebFetcher:
    """Gets pages by http and https through a guarded client."""

    def __init__(
        self,
        client: GuardedClient,
        *,
        timeout_s: float = 60.0,
        honours_robots: bool = True,
        politeness: Politeness | None = None,
        renderer: ChromiumRenderer | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.timeout_s = timeout_s
        self._client = client
        self._check_robots = RobotsCache(client).check if honours_robots else None
        self._politeness = politeness or Politeness()
        self._renderer = renderer
        self._sleep = sleep

    async def fetch(self, address: str, *, known: Validators | None = None) -> Fetched:
        """Return the page, or one with status 304 where it is as `known`; raise for what is no page to read."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._first_usable(address, known or Validators())
        except TimeoutError as exc:
            raise NetworkError(f"{address} took longer than {self.timeout_s:g} s.") from exc

    async def _first_usable(self, address: str, known: Validators) -> Fetched:
        *better, plain = text_addresses(address)
        for candidate in better:
            try:
                return await self._page(candidate, known)
            except SourceBusy:
                raise
            except SourceError:
                continue
        return await self._page(plain, known)

    async def _page(self, address: str, known: Validators) -> Fetched:
        delay_s = await self._check_robots(address) if self._check_robots else 0.0
        async with self._politeness.slot(_host(address), delay_s=delay_s):
            response = await self._ask(address, known)
        if response.status == _NOT_CHANGED and known != Validators():
            return _fetched(response, "", b"")
        _check_status(response)
        media_type, kind = await in_thread(_judge, response)
        raw = response.body
        if kind == "empty shell" and self._renderer is not None:
            raw, media_type = await self._renderer.render(response.address), "text/html; charset=utf-8"
            kind = await in_thread(kind_of_page, raw, name=response.address)
        if kind != "article":
            raise SourceError(f"{response.address} shows {DESCRIPTIONS[kind]}.")
        return _fetched(response, media_type, raw)

    async def _ask(self, address: str, known: Validators) -> Response:
        """Ask, and ask again where the host was busy or the line broke; wait as long as it says, within reason."""
        asked = {"Accept": _ACCEPT, "If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
        headers = {name: value for name, value in asked.items() if value}
        attempt = 0
        while True:
            try:
                response = await self._client.fetch(address, headers=headers, before_hop=self._check_robots)
                if response.status in _BUSY:
                    wait_s = retry_after_s(response.headers)
                    raise SourceBusy(f"{_host(address)} answered with status {response.status}.", retry_after_s=wait_s)
                return response
            except (NetworkError, SourceBusy) as exc:
                asked_s = exc.retry_after_s if isinstance(exc, SourceBusy) else None
                wait_s = _FIRST_WAIT_S * 2**attempt if asked_s is None else asked_s
                if attempt == _RETRIES or wait_s > _MAX_WAIT_S:
                    raise
            await self._sleep(wait_s)
            attempt += 1


def _host(address: str) -> str:
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return address


def _check_status(response: Response) -> None:
    status = response.status
    if kind := _STATUSES.get(status):
        error = SourceGone if kind == "not found" else SourceError
        raise error(f"{response.address} shows {DESCRIPTIONS[kind]} (status {status}).")
    if not 200 <= status < 300:
        raise SourceError(f"{response.address} answered with status {status}.")
    if not response.body.strip():
        raise SourceError(f"{response.address} is empty.")


def _judge(response: Response) -> tuple[str, PageKind]:
    """Return the type of an answer, by what it holds rather than by what it says, and what kind of page it is."""
    declared = response.headers.get("content-type", "")
    named = declared.partition(";")[0].strip().lower()
    found = sniff(response.body, response.address)
    if found != "text" and found not in FORMATS:
        raise SourceError(f"{response.address} is {found}, which cannot be read.")
    body = in_utf8(response.body, declared)
    is_html = named in FORMATS["html"].media_types
    if found == "html" or (found == "text" and is_html):
        return declared if is_html else "text/html", kind_of_page(body, name=response.address)
    if found != "text":
        return FORMATS[found].media_types[0], "article"
    is_text = any(named in each.media_types for each in FORMATS.values() if each.is_text)
    return declared if is_text else "text/plain", kind_of_text(body)


def _fetched(response: Response, media_type: str, raw: bytes) -> Fetched:
    headers = response.headers
    return Fetched(
        address=response.address,
        media_type=media_type,
        raw=raw,
        status=response.status,
        headers={name: value for name, value in headers.items() if name not in _DROPPED_HEADERS},
        fetched_at=datetime.now(UTC).isoformat(timespec="seconds"),
        validators=Validators(etag=headers.get("etag", ""), last_modified=headers.get("last-modified", "")),
    )
