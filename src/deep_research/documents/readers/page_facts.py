"""What a page says about itself in its head: title, author, date, its own address, language. None of it is text."""

import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from itertools import islice
from typing import Literal
from urllib.parse import urlsplit

from lxml.etree import _Element as Node

from deep_research.documents.readers.port import one_line
from deep_research.value import Value

_ARTICLES = "Article Posting Report ScholarlyArticle WebPage Book Dataset TechArticle".split()
_DATE_NAMES = """
    article:published_time citation_publication_date citation_date citation_online_date datepublished date pubdate
    publishdate publish-date publish_date dc.date dc.date.issued dcterms.issued dcterms.created sailthru.date
    parsely-pub-date og:published_time og:article:published_time
""".split()
_AUTHOR_NAMES = "author citation_author article:author dc.creator parsely-author byl".split()
_TITLE_NAMES = ("citation_title", "og:title", "twitter:title")
_TYPE = re.compile(r'"@type"\s*:\s*\[?\s*"(\w+)"')
# Technical articles are documentation: code and tables, which are no article's.
_ARTICLE_TYPES = re.compile(r"(?!Tech)\w*(?:Article|BlogPosting)|Report")
_THREAD_TYPES = frozenset({"DiscussionForumPosting", "QAPage"})
_DATE = re.compile(r"((?:19|20)\d\d)[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?")
# Programs that make pages of Markdown leave some of it here.
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_MAX_AUTHORS = 6
_MAX_NODES = 500

_Metas = dict[str, list[str]]


class PageFacts(Value):
    """What stands in a page's head; an empty text where it says nothing."""

    title: str = ""
    author: str = ""
    published: str = ""
    canonical: str = ""
    language: str = ""
    # What the page says it is.
    declared: Literal["article", "thread", ""] = ""


def page_facts(tree: Node) -> PageFacts:
    """Return what a page declares, article data before meta elements; call it before scripts are dropped."""
    metas = _metas(tree)
    scripts = [script.text or "" for script in tree.iter("script") if "ld+json" in (script.get("type") or "")]
    article = next(_articles(scripts), {})
    authors = (_LINK.sub(r"\1", name) for key in _AUTHOR_NAMES for name in metas.get(key, ()))
    named = [name for name in authors if "://" not in name]
    dates = (_text(article.get("datePublished")), *(value for key in _DATE_NAMES for value in metas.get(key, ())))
    titles = (_text(article.get("headline")), *(value for key in _TITLE_NAMES for value in metas.get(key, ())))
    return PageFacts(
        title=next(filter(None, titles), ""),
        author=", ".join(_names(article.get("author")) or list(dict.fromkeys(named))[:_MAX_AUTHORS]),
        published=next(filter(None, map(iso_date, dates)), "") or iso_date(_marked_time(tree)),
        canonical=_canonical(tree, metas),
        language=_primary_language(tree, metas),
        declared=_declared(tree, metas, scripts),
    )


def iso_date(text: str) -> str:
    """Return the day (or month) a text names as ISO, or nothing where there is none such."""
    found = _DATE.search(text)
    if found is None:
        return ""
    try:
        whole = date(int(found[1]), int(found[2]), int(found[3] or 1)).isoformat()
    except ValueError:
        return ""
    return whole if found[3] else whole[:7]


def _metas(tree: Node) -> _Metas:
    found: _Metas = {}
    for meta in tree.iter("meta"):
        names = (meta.get(key) for key in ("property", "name", "itemprop", "http-equiv"))
        name, content = next(filter(None, names), ""), _text(meta.get("content"))
        if name and content:
            found.setdefault(name.lower(), []).append(content)
    return found


def _articles(scripts: list[str]) -> Iterator[dict[str, object]]:
    """Yield what the page's linked data calls an article, the kinds of articles before plain pages."""
    nodes = (node for script in scripts for node in _nodes(script))
    kinds = [(node, str(node.get("@type"))) for node in islice(nodes, _MAX_NODES)]
    for wanted in _ARTICLES:
        yield from (node for node, kind in kinds if wanted in kind)


def _nodes(script: str) -> Iterator[dict[str, object]]:
    try:
        data = json.loads(script, strict=False)
    except (ValueError, RecursionError):
        return
    waiting = deque([data])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, list):
            waiting.extend(node[:_MAX_NODES])
        elif isinstance(node, dict):
            yield node
            waiting.extend(value for key, value in node.items() if key in ("@graph", "mainEntity", "mainEntityOfPage"))


def _names(author: object) -> list[str]:
    """Return the names in an author's data: a text, an object with a name, or a list of these."""
    several = author if isinstance(author, list) else [author]
    names = [_text(one.get("name") if isinstance(one, dict) else one) for one in several[:_MAX_AUTHORS]]
    return [name for name in dict.fromkeys(names) if name and "://" not in name]


def _text(value: object) -> str:
    return one_line(value) if isinstance(value, str) else ""


def _marked_time(tree: Node) -> str:
    """Return the time an element is marked with as the page's date of publication."""
    for element in tree.iter("time", "span", "abbr"):
        if "datepublished" in (element.get("itemprop") or "").lower() or "pubdate" in element.attrib:
            return str(element.get("datetime") or element.get("content") or element.get("title") or element.text or "")
    return ""


def _canonical(tree: Node, metas: _Metas) -> str:
    """Return the address a page calls its own, if it is a whole one."""
    links = (str(link.get("href")) for link in tree.iter("link") if "canonical" in (link.get("rel") or "").lower())
    for address in map(str.strip, (*links, *metas.get("og:url", ()))):
        with suppress(ValueError):
            parts = urlsplit(address)
            if parts.scheme in ("http", "https") and parts.hostname:
                return address
    return ""


def _primary_language(tree: Node, metas: _Metas) -> str:
    """Return the language a page declares, without its region: `de` for `de-AT`."""
    declared = str(tree.get("lang") or next(iter(metas.get("content-language", [])), ""))
    primary = declared.replace("_", "-").partition("-")[0].strip().lower()
    return primary if primary.isalpha() and 2 <= len(primary) <= 3 else ""


def _declared(tree: Node, metas: _Metas, scripts: list[str]) -> Literal["article", "thread", ""]:
    """Return what the page's linked data or marked elements call it; a list marks many articles, an article one."""
    linked = {kind for script in scripts for kind in _TYPE.findall(script)}
    marked = [str(element.get("itemtype")).rpartition("/")[2] for element in tree.xpath("//*[@itemtype]")]
    if not _THREAD_TYPES.isdisjoint((*linked, *marked)):
        return "thread"
    is_article = (
        sum(map(bool, map(_ARTICLE_TYPES.fullmatch, marked))) == 1
        or any(map(_ARTICLE_TYPES.fullmatch, linked))
        or "article" in metas.get("og:type", ())
        or "article:published_time" in metas
    )
    return "article" if is_article else ""
