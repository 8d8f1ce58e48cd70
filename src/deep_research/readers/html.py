"""Web pages: the main text by trafilatura, the whole visible text where it finds too little. Hidden text is dropped."""

import logging
import re
from pathlib import PurePath
from typing import NamedTuple

import trafilatura
from lxml import etree, html

from deep_research.errors import SourceError
from deep_research.readers.blocks import BlockText, one_line
from deep_research.readers.encoding import decode
from deep_research.readers.hidden import drop_hidden
from deep_research.readers.page_facts import page_facts
from deep_research.readers.port import Reading
from deep_research.readers.versions import extractor_of
from deep_research.text.script import detect_language

EXTRACTOR = extractor_of("html")

# Without a handler of its own, the package's remarks about a poor page would land on the user's terminal.
for _logger in ("trafilatura", "htmldate", "courlan"):
    logging.getLogger(_logger).addHandler(logging.NullHandler())

_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_BLOCKS = frozenset(
    """p div section article main header footer aside nav blockquote figcaption dd dt address form fieldset center
    details summary body table""".split()
)
_MARK = re.compile(r"^(?:#{1,6} | *- )")
_WHOLE = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "tr", "pre"})
_BREAKING = frozenset({"lb", "br", "p", "item", "li", "div", "cell"})
# Pages under this length are fragments and notes, on which a boilerplate remover guesses.
_MIN_CHARS, _MIN_SHARE = 250, 0.25
_SHORT_PAGE_CHARS = 3_000


def read(raw: bytes, name: str) -> Reading:
    """Return the main text of a page with its headings, title, author and date."""
    tree = parse_page(raw, name)
    facts = page_facts(tree)
    drop_hidden(tree)
    whole = BlockText()
    _add_visible(tree, whole)
    found = trafilatura.bare_extraction(
        tree,
        favor_precision=True,
        include_comments=False,
        include_tables=True,
        # Guessing from the page is needed only where its head leaves something out; a date is looked for in its marked
        # places alone: the first day named somewhere in the text is seldom that of the text, and slow to find.
        with_metadata=not (facts.title and facts.author and facts.published),
        date_extraction_params={"original_date": True, "extensive_search": False},
    )
    blocks = whole
    if found is not None and not isinstance(found, dict) and found.body is not None:
        main = BlockText()
        _walk_main(found.body, main)
        if not _is_too_little(len(main.text()), len(whole.text())):
            blocks = main
    text = blocks.text()
    if not text.strip():
        raise SourceError(f"{name!r} holds no visible text; save the page after it has loaded, or export it as PDF.")
    metadata = {} if found is None else found if isinstance(found, dict) else found.as_dict()
    language = detect_language(text)
    return Reading(
        text=text,
        title=facts.title or one_line(metadata.get("title") or tree.findtext(".//title") or "") or PurePath(name).stem,
        author=facts.author or metadata.get("author") or "",
        published=facts.published or (metadata.get("date") or "")[:10],
        canonical=facts.canonical,
        # The text tells more than its frame, which is often a template's; only other languages are taken as declared.
        language=language if language != "other" else facts.language or language,
        places=blocks.places(),
        extractor=EXTRACTOR,
        warnings=("no main text was found; the whole page was taken",)
        if blocks is whole and len(text) > _SHORT_PAGE_CHARS
        else (),
    )


class Shown(NamedTuple):
    """What a page shows, block by block, and a few things about it, for who must judge what kind of page it is."""

    title: str
    headings: tuple[str, ...]
    blocks: tuple[str, ...]
    unscripted: str
    has_password: bool


def shown_page(raw: bytes, name: str) -> Shown:
    """Return what a page shows beside its menus and margins; `unscripted` is what browsers without scripts see."""
    tree = parse_page(raw, name)
    title = one_line(tree.findtext(".//title") or "")
    unscripted = one_line(" ".join(_content(element) for element in tree.iter("noscript")))
    has_password = bool(tree.xpath("//input[@type='password']"))
    drop_hidden(tree)
    for margin in tree.xpath("//nav | //footer | //aside | //select"):
        margin.drop_tree()
    headings = tuple(_content(heading) for heading in tree.xpath("(//h1 | //h2)[position() <= 4]"))
    blocks = BlockText()
    _add_visible(tree, blocks)
    lines = tuple(_MARK.sub("", line) for line in blocks.text().splitlines() if line)
    return Shown(title, headings, lines, unscripted, has_password)


def add_visible(source: str, blocks: BlockText, name: str) -> None:
    """Add all that a piece of HTML shows, such as the body of a message or the chapter of a book."""
    tree = _parse(source, name)
    drop_hidden(tree)
    _add_visible(tree, blocks)


def parse_page(raw: bytes, name: str) -> html.HtmlElement:
    """Return the tree of a page in whatever encoding it is."""
    declared = _DECLARED.search(raw[:4096])
    source, _ = decode(raw, name, declared=declared.group(1).decode("ascii") if declared else "")
    return _parse(source, name)


def _parse(source: str, name: str) -> html.HtmlElement:
    try:
        tree = html.document_fromstring(_XML_DECLARATION.sub("", source))
    except (etree.LxmlError, ValueError) as exc:
        raise SourceError(f"{name!r} cannot be parsed as a web page; open it in a browser and save it again.") from exc
    return tree


def _is_too_little(main_chars: int, whole_chars: int) -> bool:
    if whole_chars <= main_chars:
        return False
    is_short_page = whole_chars <= _SHORT_PAGE_CHARS
    return main_chars == 0 or (is_short_page and (main_chars < _MIN_CHARS or main_chars < _MIN_SHARE * whole_chars))


def _walk_main(body: etree._Element, blocks: BlockText) -> None:
    """Put trafilatura's own elements (head, p, list, table, quote, code) into blocks."""
    for element in body:
        tag = element.tag
        if tag == "head":
            blocks.heading(_content(element), int((element.get("rend") or "h2")[-1]))
        elif tag == "list":
            _add_list(element, blocks, 0)
            blocks.end_block()
        elif tag == "table":
            for row in element.iter("row"):
                blocks.row(_content(cell) for cell in row.iter("cell"))
            blocks.end_block()
        elif tag == "code":
            blocks.verbatim("".join(str(part) for part in element.itertext()))
        elif tag == "quote" and len(element):
            blocks.paragraph(element.text or "")
            _walk_main(element, blocks)
        else:
            blocks.paragraph(_content(element))
        if element.tail and element.tail.strip():
            blocks.paragraph(element.tail)


def _add_list(element: etree._Element, blocks: BlockText, depth: int) -> None:
    for item in element.iterchildren("item"):
        nested = list(item.iterchildren("list"))
        if not nested:
            blocks.item(_content(item), depth)
            continue
        blocks.item((item.text or "") + "".join(_content(c) + (c.tail or "") for c in item if c.tag != "list"), depth)
        for inner in nested:
            _add_list(inner, blocks, depth + 1)


def _content(element: etree._Element) -> str:
    """Return the text inside an element; a child that breaks the line separates words although it holds none."""
    parts = []
    for event, node in etree.iterwalk(element, events=("start", "end")):
        if node.tag in _BREAKING and node is not element:
            parts.append(" ")
        if event == "start" and isinstance(node.tag, str):
            parts.append(node.text or "")
        elif event == "end" and node is not element:
            parts.append(node.tail or "")
    return one_line("".join(parts))


def _add_visible(tree: html.HtmlElement, blocks: BlockText) -> None:
    """Add everything a page shows, without telling main text from the rest."""
    pending: list[str] = []

    def flush(as_item: bool = False) -> None:
        text = "".join(pending)
        pending.clear()
        blocks.item(text) if as_item else blocks.paragraph(text)

    skip: etree._Element | None = None
    for event, node in etree.iterwalk(tree, events=("start", "end")):
        if skip is not None:
            if event == "end" and node is skip:
                skip = None
                pending.append(node.tail or "")
            continue
        tag = node.tag
        if event == "start":
            if tag in _WHOLE or tag == "head":
                flush()
                _add_whole(node, blocks)
                skip = node
                continue
            if tag in _BLOCKS or tag == "li":
                flush()
            elif tag == "br":
                pending.append(" ")
            pending.append(node.text or "" if isinstance(tag, str) else "")
        else:
            if tag in _BLOCKS or tag == "li":
                flush(as_item=tag == "li")
            pending.append(node.tail or "")
    flush()


def _add_whole(node: etree._Element, blocks: BlockText) -> None:
    if node.tag == "tr":
        blocks.row(_content(cell) for cell in node.iterchildren("td", "th"))
    elif node.tag == "pre":
        blocks.verbatim("".join(str(part) for part in node.itertext()))
    elif node.tag != "head":
        blocks.heading(_content(node), int(str(node.tag)[1]))
