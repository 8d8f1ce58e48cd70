"""Web pages: articles by trafilatura, the main part of all others by structure. Hidden text is dropped."""

import logging
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

import trafilatura
from lxml import etree, html
from lxml.etree import _Element as Node

from deep_research.documents.readers.encoding import decode
from deep_research.documents.readers.hidden import drop_hidden
from deep_research.documents.readers.links import links_of
from deep_research.documents.readers.main_text import take_main_part, weight_of
from deep_research.documents.readers.page_facts import page_facts
from deep_research.documents.readers.pictures import pictures_of
from deep_research.documents.readers.port import HIDDEN_LEFT, MAX_ELEMENTS, BlockText, Reading, one_line
from deep_research.errors import SourceError
from deep_research.report.sources.head import written_in
from deep_research.text.script import detect_language

WHOLE_TAKEN = "no main text was found; the whole page was taken"
TOO_LARGE = "the page is too large to tell its main text; the whole page was taken"
MUCH_LEFT_OUT = "the main text is a small part of a long page; the rest was left out"

# Without a handler of its own, the package's remarks about a poor page would land on the user's terminal.
for _logger in ("trafilatura", "htmldate", "courlan"):
    logging.getLogger(_logger).addHandler(logging.NullHandler())

_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_BLOCKS = frozenset(
    """p div section article main header footer aside nav blockquote figcaption dd dt address form fieldset center
    details summary body table td th""".split()
)
_MARK = re.compile(r"^(?:#{1,6} | *- )")
_WHOLE = frozenset("h1 h2 h3 h4 h5 h6 tr pre".split())
_IN_LAYOUT = "table ul ol pre blockquote h1 h2 h3 h4".split()
_BREAKING = frozenset("lb br p item li div cell".split())
# Pages under this length are fragments and notes, on which a boilerplate remover guesses.
_MIN_WEIGHT, _MIN_SHARE = 250, 0.25
_SHORT_PAGE = 3_000
# What an article may leave out of the main part: prose that is little beside it, or little of all that is left out.
_MIN_PROSE_LEFT, _MIN_PROSE_IN_REST = 0.35, 0.42
_PARAGRAPH, _OPENING_CHARS, _MAX_COMPARED = 100, 60, 300_000
_SENTENCE_ENDS = tuple('.!?…"”。！？')
_LONG_PAGE, _SMALL_SHARE = 10_000, 0.15
_UNSCRIPTED_CHARS, _MIN_TIMES_SHOWN = 600, 3
_NO_TEXT = frozenset("script style link noscript iframe template".split())
# A date is looked for in its marked places alone: the first day named somewhere in the text is seldom that of the text,
# and slow to find.
_DATE_SEARCH = {"original_date": True, "extensive_search": False}
# Versions and timestamps in examples look like days: "2.6.12" was read as 2 June 2012.
_TRIPLE = re.compile(r"(?<!\d)(\d{1,4})[-./](\d{1,2})[-./](\d{1,4})(?!\d)")


def read(raw: bytes, name: str) -> Reading:
    """Return the main text of a page with its headings, title, author and date."""
    tree = parse_page(raw, name)
    facts = page_facts(tree)
    tree, is_hidden_left = _without_hidden(tree, raw, name)
    extent = extent_of(tree)
    # Guessing from the page is needed only where its head leaves something out.
    guesses = extent != "too large" and not (facts.title and facts.author and facts.published)
    article = BlockText()
    metadata: dict[str, Any] = {}
    if facts.declared == "article" and extent != "too large":
        article, metadata = _read_article(tree, guesses=guesses, is_large=extent == "large")
    if guesses and not metadata:
        metadata = trafilatura.extract_metadata(tree, date_config=_DATE_SEARCH, extensive=False).as_dict()
    # Before the main part is taken out of the page.
    shown_title = tree.findtext(".//title")
    main, blocks, warnings = (tree, _visible(tree), (TOO_LARGE,)) if extent == "too large" else _choose(article, tree)
    text = blocks.text()
    if not text.strip():
        raise SourceError(f"{name!r} holds no visible text; save the page after it has loaded, or export it as PDF.")
    language = detect_language(text)
    author, day = written_in(text)
    return Reading(
        text=text,
        title=facts.title or one_line(metadata.get("title") or shown_title or ""),
        author=facts.author or author or metadata.get("author") or "",
        published=facts.published or day or _day_beside(text, metadata),
        canonical=facts.canonical,
        # The text tells more than its frame, which is often a template's; only other languages are taken as declared.
        language=language if language != "other" else facts.language or language,
        places=blocks.places(),
        pictures=pictures_of(main, name),
        links=links_of(main, name, facts.canonical),
        warnings=(*warnings, HIDDEN_LEFT) if is_hidden_left else warnings,
    )


def _day_beside(text: str, metadata: dict[str, Any]) -> str:
    """Return the day that was guessed for a page, unless it is made of numbers that stand in its text."""
    day = (metadata.get("date") or "")[:10]
    numbers = (sorted(int(number) % 100 for number in found) for found in _TRIPLE.findall(text))
    return "" if day and sorted(int(number) % 100 for number in day.split("-")) in numbers else day


def _read_article(tree: Node, *, guesses: bool, is_large: bool) -> tuple[BlockText, dict[str, Any]]:
    """Return the article on a page, without the comments below it, and what the page tells about it."""
    article = BlockText()
    found = trafilatura.bare_extraction(
        tree,
        fast=is_large,
        favor_precision=True,
        include_comments=False,
        include_tables=True,
        with_metadata=guesses,
        date_extraction_params=_DATE_SEARCH,
    )
    if found is None or isinstance(found, dict):
        return article, {}
    if found.body is not None:
        _walk_main(found.body, article)
    return article, found.as_dict()


def _choose(article: BlockText, tree: Node) -> tuple[Node, BlockText, tuple[str, ...]]:
    """Return the article, the main part of the page where that is none, or the whole page; and what to warn of.

    Before it comes the element that holds it.
    """
    whole = _visible(tree)
    part = take_main_part(tree)
    main = _visible(part.element)
    chosen = article if _is_article(article.text(), main.text(), part.posts) else main
    weight, whole_weight = weight_of(chosen.text()), weight_of(whole.text())
    is_short = whole_weight <= _SHORT_PAGE
    needed = max(_MIN_WEIGHT, _MIN_SHARE * whole_weight) if is_short else 0
    if weight < whole_weight and (weight == 0 or weight < needed):
        return tree, whole, () if is_short else (WHOLE_TAKEN,)
    is_small_part = whole_weight > _LONG_PAGE and weight < _SMALL_SHARE * whole_weight
    return part.element, chosen, (MUCH_LEFT_OUT,) if is_small_part else ()


def _is_article(article: str, main: str, posts: Sequence[Node]) -> bool:
    """Return whether an article is the main text: what it leaves out of the main part are scraps, or comments on it."""
    if not article or len(main) <= (1 + _MIN_PROSE_LEFT) * len(article):
        return bool(article)
    # Longer pages are judged by their beginning, as each paragraph is looked for in the whole article.
    article, main = article[:_MAX_COMPARED], main[:_MAX_COMPARED]
    comments = " ".join(map(_content, posts))[:_MAX_COMPARED]
    if max(article.split("\n\n"), key=len)[:_OPENING_CHARS] in comments:
        # It is one of the posts itself.
        comments = ""
    prose = [(block, weight_of(block)) for block in main.split("\n\n") if block.endswith(_SENTENCE_ENDS)]
    left_weight = sum(
        weight
        for block, weight in prose
        if weight >= _PARAGRAPH
        and not _MARK.match(block)
        and all(block[:_OPENING_CHARS] not in text for text in (article, comments))
    )
    rest_weight = weight_of(main) - weight_of(article) - weight_of(comments)
    return left_weight < max(_MIN_PROSE_LEFT * weight_of(article), _MIN_PROSE_IN_REST * rest_weight)


def _without_hidden(tree: Node, raw: bytes, name: str) -> tuple[Node, bool]:
    """Return a page without what it hides; one that scripts would fill, as browsers without scripts show it.

    And whether hidden text may be left in it.
    """
    is_hidden_left = drop_hidden(tree)
    shown = _letters(tree, _UNSCRIPTED_CHARS)
    if shown >= _UNSCRIPTED_CHARS:
        return tree, is_hidden_left
    bare = parse_page(raw, name)
    for element in list(bare.iter("noscript")):
        element.tag = "div"
    if not shown:
        _open_wrappers(bare)
    is_left_in_bare = drop_hidden(bare)
    min_chars = max(_UNSCRIPTED_CHARS, _MIN_TIMES_SHOWN * shown)
    return (bare, is_left_in_bare) if _letters(bare, min_chars) >= min_chars else (tree, is_hidden_left)


def _letters(element: Node, enough: int) -> int:
    """Count the letters of what stands in an element, until there are enough; a page's head is not shown."""
    count = 0
    body = element.find("body")
    for part in (element if body is None else body).itertext():
        count += len(part.strip())
        if count >= enough:
            break
    return count


def _open_wrappers(tree: Node) -> None:
    """Let nothing hide the elements that hold all of a page: scripts show them once it has loaded."""
    element = tree.find("body")
    while element is not None and not (element.text or "").strip():
        for name in ("style", "class", "id", "hidden", "aria-hidden"):
            element.attrib.pop(name, None)
        children = (child for child in element.iterchildren(etree.Element) if child.tag not in _NO_TEXT)
        filled = [child for child in children if _letters(child, 1)]
        element = filled[0] if len(filled) == 1 else None


class ShownElement(NamedTuple):
    """What a page shows, block by block, and a few things about it, for who must judge what kind of page it is."""

    title: str
    headings: tuple[str, ...]
    blocks: tuple[str, ...]
    unscripted: str
    has_password: bool


def shown_page(raw: bytes, name: str) -> ShownElement:
    """Return what a page shows beside its menus and margins; `unscripted` is what browsers without scripts see."""
    tree = parse_page(raw, name)
    title = one_line(tree.findtext(".//title") or "")
    unscripted = one_line(" ".join(map(_content, tree.iter("noscript"))))
    has_password = bool(tree.xpath("//input[@type='password']"))
    tree, _ = _without_hidden(tree, raw, name)
    for margin in tree.xpath("//nav | //footer | //aside | //select"):
        margin.drop_tree()
    headings = tuple(map(_content, tree.xpath("(//h1 | //h2)[position() <= 4]")))
    lines = tuple(_MARK.sub("", line) for line in _visible(tree).text().splitlines() if line)
    return ShownElement(title, headings, lines, unscripted, has_password)


def add_visible(source: str, blocks: BlockText, name: str) -> bool:
    """Add all that a piece of HTML shows, such as the body of a message or the chapter of a book.

    Return whether hidden text may be left in it.
    """
    tree = _parse(source, name)
    is_hidden_left = drop_hidden(tree)
    _add_visible(tree, blocks)
    return is_hidden_left


def parse_page(raw: bytes, name: str) -> Node:
    """Return the tree of a page in whatever encoding it is."""
    declared = _DECLARED.search(raw[:4096])
    return _parse(decode(raw, name, declared=declared[1].decode("ascii") if declared else "")[0], name)


def _parse(source: str, name: str) -> Node:
    try:
        tree = html.document_fromstring(_XML_DECLARATION.sub("", source))
    except (etree.LxmlError, ValueError) as exc:
        raise SourceError(f"{name!r} cannot be parsed as a web page; open it in a browser and save it again.") from exc
    # Docutils writes as an aside what a text warns of or adds: why a proposal was rejected stands there.
    for aside in list(tree.iter("aside")):
        if "admonition" in aside.get("class", "").split():
            aside.tag = "div"
    # A raised number is kept apart from the figure before it: 10<sup>6</sup> is not 106, nor a note's number a digit.
    for raised in tree.iter("sup"):
        neighbour = raised.getprevious()
        before = (raised.getparent().text if neighbour is None else neighbour.tail) or ""
        number = "".join(islice(map(str, raised.itertext()), 2)).lstrip("-−–+")
        if before[-1:].isdecimal() and number[:1].isdecimal():
            raised.text = f"^{raised.text or ''}"
    return tree


def _walk_main(body: Node, blocks: BlockText) -> None:
    """Put trafilatura's own elements (head, p, list, table, quote, code) into blocks."""
    for element in body:
        tag = element.tag
        if tag == "head":
            blocks.heading(_content(element), int((element.get("rend") or "h2")[-1]))
        elif tag == "list":
            _add_list(element, blocks, 0)
            blocks.end_block()
        elif tag == "table":
            for at, row in enumerate(element.iter("row")):
                cells = [_content(cell) for cell in row.iter("cell")]
                if at == 0 and len(cells) > 1 and not any(cells[1:]):
                    # Trafilatura makes a row of a table's caption.
                    blocks.paragraph(cells[0])
                else:
                    blocks.row(cells)
            blocks.end_block()
        elif tag == "code":
            blocks.verbatim(element.xpath("string()"))
        elif tag == "quote" and len(element):
            blocks.paragraph(element.text or "")
            _walk_main(element, blocks)
        else:
            blocks.paragraph(_content(element))
        blocks.paragraph(element.tail or "")


def _add_list(element: Node, blocks: BlockText, depth: int) -> None:
    for item in element.iterchildren("item"):
        nested = list(item.iterchildren("list"))
        if not nested:
            blocks.item(_content(item), depth)
            continue
        blocks.item((item.text or "") + "".join(_content(c) + (c.tail or "") for c in item if c.tag != "list"), depth)
        for inner in nested:
            _add_list(inner, blocks, depth + 1)


def _content(element: Node) -> str:
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


def _visible(tree: Node) -> BlockText:
    blocks = BlockText()
    _add_visible(tree, blocks)
    return blocks


def _add_visible(tree: Node, blocks: BlockText) -> None:
    """Add everything a page shows, without telling main text from the rest."""
    pending: list[str] = []

    def flush(as_item: bool = False) -> None:
        text = "".join(pending)
        pending.clear()
        blocks.item(text) if as_item else blocks.paragraph(text)

    skip: Node | None = None
    for event, node in etree.iterwalk(tree, events=("start", "end")):
        if skip is not None:
            if event == "end" and node is skip:
                skip = None
                pending.append(node.tail or "")
            continue
        tag = node.tag
        if event == "start":
            if (tag in _WHOLE and not _is_layout(node)) or tag == "head":
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


def _is_layout(node: Node) -> bool:
    """Return whether a row only arranges the page: its cells hold blocks of their own."""
    return node.tag == "tr" and any(
        next(cell.iter(*_IN_LAYOUT), None) is not None or len(list(islice(cell.iter("p"), 2))) == 2
        for cell in node.iterchildren("td", "th")
    )


def _add_whole(node: Node, blocks: BlockText) -> None:
    if node.tag == "tr":
        blocks.row(map(_content, node.iterchildren("td", "th")))
    elif node.tag == "pre":
        blocks.verbatim(node.xpath("string()"))
    elif node.tag != "head":
        blocks.heading(_content(node), int(str(node.tag)[1]))


Extent = Literal["common", "large", "too large"]

# Of 389 real pages the largest has 6,210 elements.
_MAX_COMMON_ELEMENTS = 8_000
_MAX_FILLED_CELLS = 200_000
_MAX_ROW_CELLS = 2_000
# Browsers take no wider spans, nor does trafilatura.
_MAX_SPAN = 1_000
# Python refuses to read numbers of thousands of digits.
_MAX_SPAN_DIGITS = 1_000


def extent_of(tree: Node) -> Extent:
    """Judge a page by its elements, and by the cells its tables have once they are filled up."""
    count = rows = widest = covered = 0
    for count, element in enumerate(tree.iter()):
        if count > MAX_ELEMENTS:
            return "too large"
        if element.tag == "tr":
            rows += 1
            spans = [(_span(cell, "colspan"), _span(cell, "rowspan")) for cell in element.iterchildren("td", "th")]
            widest = max(widest, sum(columns for columns, _ in spans))
            covered += sum(columns * lines for columns, lines in spans)
            if len(spans) > _MAX_ROW_CELLS:
                return "too large"
    if covered + rows * min(widest, _MAX_SPAN) > _MAX_FILLED_CELLS:
        return "too large"
    return "large" if count > _MAX_COMMON_ELEMENTS else "common"


def _span(cell: Node, name: str) -> int:
    stated = cell.get(name) or ""
    if len(stated) > _MAX_SPAN_DIGITS:
        return _MAX_FILLED_CELLS + 1
    return max(1, min(int(stated), _MAX_SPAN)) if stated.isdecimal() else 1
