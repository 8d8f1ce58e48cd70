"""The page that every HTML export is: one file with its style and script, which may load nothing from anywhere."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from deep_research.export.markup import Html, tag
from deep_research.messages.words import Words

# Words of the links in the bar to parts of a page that are not in sight on a small screen, by the ids of the parts.
_LINKS = {"contents": "export.contents", "sources": "html.sources_short"}


def page(title: str, *body: Html, words: Words, parts: Sequence[str] = ()) -> bytes:
    """Return a whole page with a bar above it; `body` is what stands below, with a `main` of the id `main` in it.

    `parts` are those of the ids `contents` and `sources` that the body has beside it; the bar links to them.
    The policy names our own style and script by their hashes: nothing else runs, and only pictures in the page show.
    """
    style = "".join(map(_packaged, ("tokens.css", "page.css", "reading.css")))
    script = "".join(map(_packaged, ("page.js", "reading.js")))
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="Deep Research"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    content = tag(
        "body",
        tag("a", words("html.skip"), class_="skip", href="#main"),
        _bar(parts, words),
        *body,
        Html(f"<script>{script}</script>"),
    )
    return f"<!doctype html>\n{tag('html', head, content, lang=words.language)}\n".encode()


def _bar(parts: Sequence[str], words: Words) -> Html:
    """Return the bar above a page; its links are shown where what they lead to is not in sight already."""
    return tag(
        "header",
        tag("a", "Deep Research", class_="brand", href="#main"),
        *(tag("a", words(_LINKS[part]), class_=f"to-{part}", href=f"#{part}") for part in parts),
        tag("button", words("html.theme"), type="button", id="theme", hidden=True),
        class_="bar",
    )


def contents_list(entries: list[tuple[str, str]], words: Words) -> Html:
    """Return the table of contents of a page: ids and titles of its sections."""
    links = (tag("li", tag("a", tag("span", title), href=f"#{id_}", dir="auto")) for id_, title in entries)
    return tag(
        "nav",
        tag("p", words("export.contents"), class_="overline"),
        tag("a", words("html.close"), class_="close", href="#main"),
        tag("ol", *links),
        id="contents",
        aria_label=words("export.contents"),
    )


def scrolling(table: Html, name: str) -> Html:
    """Return a table in a box of its own, which scrolls where the table is too large, also by keyboard."""
    return tag("div", table, class_="table", tabindex="0", role="region", aria_label=name or None)


def heads(names: Sequence[str], numeric: Sequence[bool]) -> Html:
    """Return the row that names the columns; what stands over figures ends where they do."""
    cells = zip(names, numeric, strict=True)
    return tag(
        "tr", *(tag("th", name, scope="col", class_="number" if own else None, dir="auto") for name, own in cells)
    )


def _packaged(name: str) -> str:
    return files("deep_research.export").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
