"""E-books: the chapters in the order they are read, with their headings, and what the book says about itself."""

import io
import posixpath
import zipfile
from urllib.parse import unquote

from lxml import etree

from deep_research.documents.readers.archive import DAMAGE, checked_names
from deep_research.documents.readers.encoding import decode
from deep_research.documents.readers.html import add_visible
from deep_research.documents.readers.messages import iso_day
from deep_research.documents.readers.port import HIDDEN_LEFT, MAX_PAGES, BlockText, Reading, one_line
from deep_research.errors import SourceError

_PAGES = ("application/xhtml+xml", "text/html")
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"


def read(raw: bytes, name: str) -> Reading:
    """Return a book's text with its headings as places."""
    entries = checked_names(raw, name)
    blocks = BlockText()
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if _ENCRYPTION in entries and _locks_pages(_parse(archive.read(_ENCRYPTION))):
                raise SourceError(f"{name!r} is protected against copying; use a copy without protection.")
            package_path = str(_parse(archive.read(_CONTAINER)).xpath("//*[local-name()='rootfile']/@full-path")[0])
            package = _parse(archive.read(package_path))
            named = _pages(package, posixpath.dirname(package_path))
            pages = list(dict.fromkeys(named))
            chapters = (decode(archive.read(page), name)[0] for page in pages[:MAX_PAGES] if page in entries)
            hidden_left = [add_visible(chapter, blocks, name) for chapter in chapters]
    except (*DAMAGE, etree.LxmlError) as exc:
        raise SourceError(f"{name!r} is damaged: the parts of the book cannot be read; download it again.") from exc
    missing = sum(page not in entries for page in pages)
    warnings = [f"{missing} of {len(pages)} chapters are missing from the file"] if missing else []
    if len(pages) < len(named):
        warnings.append(f"{len(named) - len(pages)} chapters are named again in the book's order and were read once")
    if any(hidden_left):
        warnings.append(HIDDEN_LEFT)
    if len(pages) > MAX_PAGES:
        warnings.append(f"only the first {MAX_PAGES} of {len(pages)} chapters were read")
    return Reading(
        text=blocks.text(),
        title=_stated(package, "title"),
        author=_stated(package, "creator"),
        published=iso_day(_stated(package, "date")),
        places=blocks.places(),
        warnings=tuple(warnings),
    )


def _parse(raw: bytes) -> etree._Element:
    return etree.fromstring(raw, etree.XMLParser(resolve_entities=False, no_network=True))


def _pages(package: etree._Element, folder: str) -> list[str]:
    """Return the paths of the chapters in reading order."""
    items = {item.get("id"): item for item in package.xpath("//*[local-name()='manifest']/*[local-name()='item']")}
    order = package.xpath("//*[local-name()='spine']/*[local-name()='itemref']/@idref")
    pages = [items[idref] for idref in order if idref in items and items[idref].get("media-type") in _PAGES]
    return [posixpath.normpath(posixpath.join(folder, unquote(page.get("href") or ""))) for page in pages]


def _stated(package: etree._Element, field: str) -> str:
    found = package.xpath(f"//*[local-name()='metadata']/*[local-name()='{field}']/text()")
    return one_line(str(found[0])) if found else ""


def _locks_pages(encryption: etree._Element) -> bool:
    """Return whether the text itself is encrypted; fonts often are, which locks nobody out."""
    paths = encryption.xpath("//*[local-name()='CipherReference']/@URI")
    return any(str(path).lower().endswith((".xhtml", ".html", ".htm", ".xml")) for path in paths)
