"""A report as one HTML file that needs nothing beside it."""

from pathlib import Path

from deep_research.export.article import in_parts
from deep_research.export.contents import Contents
from deep_research.export.markup import tag
from deep_research.export.page import contents_list, page
from deep_research.messages.words import words_in


def to_html(contents: Contents, target: Path | None) -> bytes:  # noqa: ARG001 - the page needs no file beside it
    """Return the report as a page."""
    report, words = in_parts(contents), words_in(contents.edition.language)
    main = tag("main", report.article, id="main")
    body = tag("div", contents_list(report.entries, words), main, report.sources, class_="columns")
    return page(contents.edition.report.title, body, report.card, words=words, parts=("contents", "sources"))
