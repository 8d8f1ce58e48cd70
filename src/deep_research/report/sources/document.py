"""A document: the text that was read from one snapshot, known by its content."""

import hashlib
from typing import Literal

from deep_research.report.sources.hit import Delivered
from deep_research.value import Value, digest

PlaceKind = Literal["page", "heading", "line", "slide", "cells", "message"]


class Place(Value):
    """Where a stretch of a document's text stands in the original: a page, a heading, a line."""

    kind: PlaceKind
    label: str
    start: int
    end: int


class DocumentPicture(Value):
    """A picture in a source: its address as seen from there, and what stands below it or for it. It was not loaded."""

    address: str
    caption: str


class DocumentLink(Value):
    """A link in a document to a page of the web: its words, and those of the line in which it stands."""

    address: str
    text: str
    near: str = ""


class Document(Value):
    """The text of one source; the same text at two addresses is one document.

    Of a page that could not be read, it may be an abstract or a text that a search engine `delivered`.
    """

    id: str
    snapshot: str
    title: str
    text: str
    media_type: str
    extractor: str
    language: str = ""
    author: str = ""
    published: str = ""
    places: tuple[Place, ...] = ()
    warnings: tuple[str, ...] = ()
    pictures: tuple[DocumentPicture, ...] = ()
    links: tuple[DocumentLink, ...] = ()
    delivered: Delivered | None = None


def snapshot_id(raw: bytes) -> str:
    """Return the id of raw bytes."""
    return hashlib.sha256(raw).hexdigest()


def text_id(extractor: str, text: str) -> str:
    """Return the id of a text as one extractor (name and version) read it."""
    return digest(extractor, text)
