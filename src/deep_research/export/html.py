"""A report as one HTML file that needs nothing beside it, with its style and script in it."""

from base64 import b64encode
from hashlib import sha256

from deep_research.export.article import in_parts
from deep_research.export.contents import Contents
from deep_research.export.markup import element, packaged, rendered
from deep_research.text.messages.words import words_in


def to_html(contents: Contents) -> bytes:
    """Return the report as a page.

    The policy names our own style and script by their hashes: nothing else runs, and only pictures in the page show.
    """
    report, words = in_parts(contents), words_in(contents.edition.language)
    style = packaged("tokens.css", "page.css", "reading.css")
    script = packaged("page.js", "reading.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return rendered(
        "page.html",
        title=contents.edition.report.title,
        report=report,
        contents_list=element("contents_list", report.entries, words),
        words=words,
        policy=policy,
        style=style,
        script=script,
    ).encode()


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
