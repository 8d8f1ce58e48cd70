"""From what a tool answers to results: objects that hold an address, links in text. Knows no server's own format."""

import re
from collections.abc import Iterable, Iterator, Sequence

from deep_research.value import Json, JsonObject, json_of
from deep_research.web.search.cleaning import web_address
from deep_research.web.search.engine import SearchResult

# The names under which tools give address, title, text and date of a result.
_ADDRESS = ("url", "link", "href", "uri", "address", "page_url")
_TITLE = ("title", "name", "headline")
_TEXT = ("snippet", "description", "summary", "abstract", "text", "content", "highlights")
_DATE = ("published", "published_date", "publishedDate", "published_at", "publishedAt", "date", "page_age")
_MAX_DEPTH = 8

_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)")
_BARE = re.compile(r"https?://[^\s<>\"'`\[\]{}|（），。；、》」]+")
_MARKS = re.compile(r"^\s*(?:#+|[-*•]|\d{1,3}[.)、])\s+")
_LABEL = re.compile(
    r"^\W*(?:title|name|url|link|address|snippet|description|summary|abstract|text|content|标题|標題|链接|連結|摘要|内容|內容)"
    r"\W*[:：]\W*(?=\S|$)",
    re.IGNORECASE,
)


def results_in_reply(data: Json, texts: Sequence[str]) -> list[SearchResult] | None:
    """Return the results of an answer, its data before its texts; None where it has words but no address.

    Words without an address may be an apology or an error; only an empty list says that nothing was found.
    """
    parsed = [_parsed(text) for text in texts]
    found = list(_objects(data)) or list(_objects(parsed))
    found = found or [link for text in texts for piece in _pieces(text) if (link := _linked(piece))]
    has_words = any(isinstance(value, str) and value.strip() for value in _nested([data, *texts]))
    return None if not found and has_words and [] not in _nested([data, *parsed]) else found


def _parsed(text: str) -> Json:
    try:
        return json_of(text)
    except ValueError:
        return None


def _objects(data: Json, depth: int = 0) -> Iterator[SearchResult]:
    """Yield every object that holds an address, in order."""
    if isinstance(data, dict) and web_address(address := _first(data, _ADDRESS)):
        yield SearchResult(address, *(_first(data, names) for names in (_TITLE, _TEXT, _DATE)))
    elif depth < _MAX_DEPTH:
        for item in _items(data):
            yield from _objects(item, depth + 1)


def _items(data: Json) -> Iterable[Json]:
    return data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()


def _nested(data: Json) -> Iterator[Json]:
    """Yield data and everything in it."""
    yield data
    for item in _items(data):
        yield from _nested(item)


def _first(data: JsonObject, names: tuple[str, ...]) -> Json:
    return next((value for name in names if isinstance(value := data.get(name), str) and value), "")


def _pieces(text: str) -> Iterator[list[str]]:
    """Yield the lines that belong to one link: they end at an empty line, or where the next link begins."""
    piece: list[str] = []
    for line in [*text.splitlines(), ""]:
        if piece and (not line.strip() or (_BARE.search(line) and any(_BARE.search(known) for known in piece))):
            yield piece
            piece = []
        if line.strip():
            piece.append(line)


def _linked(lines: list[str]) -> SearchResult | None:
    whole = "\n".join(lines)
    link, bare = _LINK.search(whole), _BARE.search(whole)
    if bare is None:
        return None
    address = link.group(2) if link else _without_stop(bare.group())
    texts = [text for line in lines if (text := _plain(line))]
    title = link.group(1) if link else (texts.pop(0) if texts else "")
    return SearchResult(address, title, " ".join(texts))


def _without_stop(address: str) -> str:
    """Return an address without what ends the sentence or the brackets that it stands in."""
    address = address.rstrip(".,;:!?*")
    is_open = address.endswith(")") and address.count(")") > address.count("(")
    return _without_stop(address[:-1]) if is_open else address


def _plain(line: str) -> str:
    """Return a line without its links, marks and labels."""
    without = _BARE.sub("", _LINK.sub("", line))
    return _LABEL.sub("", _MARKS.sub("", without)).strip(" \t:：-–—|()<>*`")
