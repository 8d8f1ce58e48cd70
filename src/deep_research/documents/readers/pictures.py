"""Pictures in a text: where they lie and what stands below them. Nothing is loaded; signs and counters are left out."""

import posixpath
import re
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from deep_research.documents.readers.port import one_line
from deep_research.report.sources.document import DocumentPicture

if TYPE_CHECKING:
    from lxml.etree import _Element as Node

_MAX_PICTURES = 30
_MAX_CAPTION_CHARS, _MAX_ADDRESS_CHARS = 300, 2_000
# A smaller one is an icon, or counts readers.
_MIN_SIDE = 64
_SIGN = re.compile(
    r"(?i)(?:^|[^a-z])(?:icons?|logos?|avatars?|sprites?|pixels?|badges?|emojis?|spacers?|favicons?|track(?:er|ing)?|beacons?)(?![a-z])"
)
# A file's name says nothing of what is shown.
_FILE_NAME = re.compile(r"(?i)^screen\s?shot|\.(?:png|jpe?g|gif|svg|webp)$")
_SIZE = re.compile(r"\s*(\d{1,5})(?:px)?\s*")
# Pages that load pictures late keep their addresses here.
_ADDRESSES = ("data-src", "data-original", "data-lazy-src", "src")


def pictures_of(page: "Node", name: str) -> tuple[DocumentPicture, ...]:
    """Return the pictures of a page's main part that say what they show; `name` is the address of the page."""
    found = ((_address(image), _caption(image)) for image in page.iter("img") if not _is_sign(image))
    return listed_pictures(found, name, base=base_of(page, name))


def base_of(page: "Node", name: str) -> str:
    """Return the address from which a page says its links are to be seen, "" where it says none."""
    base = next((str(each.get("href")) for each in page.getroottree().iter("base") if each.get("href")), "")
    return urljoin(name, base) if base else ""


def listed_pictures(found: Iterable[tuple[str, str]], name: str, *, base: str = "") -> tuple[DocumentPicture, ...]:
    """Return pictures by their links, each once; those without words or in the page itself are left out."""
    pictures: dict[str, DocumentPicture] = {}
    for link, words in found:
        whole, caption = whole_address(link.strip(), base or name), one_line(words)[:_MAX_CAPTION_CHARS]
        if whole and caption and not _FILE_NAME.search(caption) and len(whole) <= _MAX_ADDRESS_CHARS:
            pictures.setdefault(whole, DocumentPicture(address=whole if base else link.strip(), caption=caption))
    return tuple(islice(pictures.values(), _MAX_PICTURES))


def _address(image: "Node") -> str:
    """Return the address of a picture; a place holder is written into the page itself."""
    links = [str(image.get(name)) for name in _ADDRESSES if image.get(name)]
    links += [part.split()[0] for part in str(image.get("srcset") or "").split(",") if part.split()]
    return next((link for link in links if not link.startswith("data:")), "")


def _caption(image: "Node") -> str:
    """Return what stands below a picture, else the words that stand for it."""
    figure = next(image.iterancestors("figure"), None)
    below = next(figure.iter("figcaption"), None) if figure is not None else None
    caption = " ".join(map(str, below.itertext())) if below is not None else ""
    return caption if caption.strip() else str(image.get("alt") or "")


def _is_sign(image: "Node") -> bool:
    sides = [_SIZE.fullmatch(str(image.get(side) or "")) for side in ("width", "height")]
    named = " ".join(str(image.get(name) or "") for name in ("class", "id", "src", "alt"))
    is_small = any(side and int(side[1]) < _MIN_SIDE for side in sides)
    return is_small or image.get("role") == "presentation" or bool(_SIGN.search(named))


def whole_address(link: str, name: str) -> str:
    """Return an address of the web, or for a file of the user's own the path from the folder; else ""."""
    try:
        whole, parts = urljoin(name, link), urlsplit(link)
        host = urlsplit(whole).hostname if whole.startswith(("http://", "https://")) else None
    except ValueError:
        return ""
    if host or not link or parts.scheme or parts.netloc:
        return whole if host and link else ""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
    return "" if path.startswith(("/", "..")) else path
