"""Links in a text: where they lead, their words, and the line in which they stand. Nothing is followed."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from deep_research.documents.readers.pictures import base_of, whole_address
from deep_research.documents.readers.port import one_line
from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.document import DocumentLink
from deep_research.text.analyzer import CJK
from deep_research.text.cleaning import BLANKS_BEFORE_STOP

if TYPE_CHECKING:
    from lxml.etree import _Element as Node

_MAX_LINKS, _MAX_LOOKED_AT = 300, 3_000
_MAX_NEAR_CHARS, _CHARS_BEFORE = 200, 120
_MAX_ADDRESS_CHARS, _MAX_SEARCHED_CHARS = 2_000, 1_000_000
_HEADINGS = "h1 h2 h3 h4 h5 h6".split()
_LINES = (*_HEADINGS, *"p li dt dd tr pre blockquote figcaption div section article body".split())
# Brackets in pairs; Chinese belongs to an address behind a sign that parts it, elsewhere the sentence goes on.
_SIGN = rf"(?:[^\s<>\"'|\\()\[\]…，。；：、！？（）「」【】《》“”{CJK}]|(?<=[/=_(])[{CJK}]+)"
_SIGNS = rf"(?:{_SIGN}|\({_SIGN}*\))+(?<![.,;:!?*])"
_WRITTEN = re.compile(
    rf"\[(?P<words>[^\[\]]{{1,300}})\]\(<?(?P<target>{_SIGNS})"
    rf"|(?P<page>https?://{_SIGNS})|(?P<doi>\b10\.\d{{4,9}}/{_SIGNS})|arXiv:\s?(?P<arxiv>\d{{4}}\.\d{{4,5}})",
    re.IGNORECASE,
)
_AT = {"doi": "https://doi.org/", "arxiv": "https://arxiv.org/abs/"}


def links_of(page: "Node", name: str, canonical: str) -> tuple[DocumentLink, ...]:
    """Return the links of a page's main part; `name` is its address, `canonical` the one that it calls its own."""
    return listed_links(_anchors(page), base_of(page, name) or name, name, canonical)


def _anchors(page: "Node") -> Iterator[DocumentLink]:
    """Yield the links of a page; one that fills its line has the heading above with it, and one in a list its term."""
    heading = term = ""
    lines: dict[Node, tuple[str, int]] = {}
    for each in page.iter("a", "dt", *_HEADINGS):
        words, link = _words(each), str(each.get("href") or "")
        above = {above.tag for above in each.iterancestors()}
        if each.tag == "dt":
            term = words.rstrip(" :：")
        elif each.tag in _HEADINGS:
            heading = words
        elif words and link and not (link.startswith("#") or above & {"nav", "footer"}):
            line = next(each.iterancestors(*_LINES), page)
            text, seen = lines.get(line) or (_words(line), 0)
            at = max(text.find(words, seen), 0)
            lines[line] = text, at + len(words)
            near = line_around(text, at)
            if label := term if "dd" in above else heading if near == words else "":
                near = f"{label}: {near}"
            yield DocumentLink(address=link, text=words, near=near)


def written_links(text: str, known: Iterable[DocumentLink] = ()) -> Iterator[DocumentLink]:
    """Yield the addresses, DOIs, numbers of arXiv and links of Markdown in a text that begin no `known` address."""
    addresses = [link.address for link in known]
    for match in islice(_WRITTEN.finditer(text, 0, _MAX_SEARCHED_CHARS), _MAX_LOOKED_AT):
        kind = str(match.lastgroup)
        address = _AT.get(kind, "") + match[kind]
        if not any(each.startswith(address) for each in addresses):
            yield DocumentLink(address=address, text=match["words"] or match[0], near=line_around(text, match.start()))


def line_around(text: str, at: int) -> str:
    """Return the line of a text in which something stands, of a long one what is around it."""
    before = text[max(0, at - _MAX_NEAR_CHARS) : at].rpartition("\n")[2]
    line = before + text[at : at + _MAX_NEAR_CHARS].partition("\n")[0]
    cut = max(0, min(len(before) - _CHARS_BEFORE, len(line) - _MAX_NEAR_CHARS))
    return one_line(line[cut : cut + _MAX_NEAR_CHARS])


def listed_links(found: Iterable[DocumentLink], base: str = "", *own: str) -> tuple[DocumentLink, ...]:
    """Return links to pages of the web, each address once, with the most that stands near it; none to its `own`."""
    left_out = set(map(canonical_address, own))
    links: dict[str, DocumentLink] = {}
    for link in islice(found, _MAX_LOOKED_AT):
        whole, near = whole_address(one_line(link.address), base), one_line(link.near)[:_MAX_NEAR_CHARS]
        known = canonical_address(whole)
        is_page = whole.startswith(("http://", "https://")) and len(whole) <= _MAX_ADDRESS_CHARS
        if is_page and known not in left_out and (known in links or len(links) < _MAX_LINKS):
            first = links.get(known) or DocumentLink(address=whole, text=one_line(link.text)[:_MAX_NEAR_CHARS])
            links[known] = first.replace(near=max(first.near, near, key=len))
    return tuple(links.values())


def _words(node: "Node") -> str:
    return BLANKS_BEFORE_STOP.sub("", one_line(" ".join(map(str, node.itertext()))))
