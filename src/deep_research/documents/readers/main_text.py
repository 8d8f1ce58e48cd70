"""The main part of a page that is no article: margins are taken out, and of a thread's posts the panels about authors.

Judged by what is common to pages: elements with a meaning, usual names of classes, headings of what stands beside a
text, and posts that repeat. No site is known by name. `python -m evals.wcxb --ablate` shows what each rule gains.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from lxml import etree
from lxml.etree import _Element as Node

from deep_research.documents.readers.port import one_line
from deep_research.text.folding import to_simplified

_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_MARGINS = frozenset("nav aside menu dialog select option textarea input label".split())
_CONTENT = frozenset({"main", "article", "section", "li"})
_POST_TAGS = "article div dl li section table tbody tr".split()
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MARGIN_NAMES = frozenset(
    """nav navigation navbar menu footer sidebar breadcrumb breadcrumbs toc pagination toolbar buttons cookie consent
    modal login newsletter share social related recommended recommendations reviews signature sr""".split()
)
# Headings of what stands beside a text, in lower case and simplified characters.
_BESIDE = re.compile(
    r"""related\b.*|similar\ .+
    |(?:recommended|suggested)\ (?:for|by|products?|articles?|reading|posts?|items?|topics?|threads?|videos?|stories
        |content|pages|links|resources)\b.*
    |.*\b(?:may|might|'ll)\ (?:also\ )?(?:like|love|enjoy|be\ interested).*
    |.*\balso\ (?:bought|viewed|liked?|read|purchased)\b.*
    |frequently\ bought.*|(?:your\ )?recently\ viewed.*
    |more\ (?:from|like|topics|stories|articles|news|posts|threads|products|reading|to\ explore)\b.*
    |(?:read|up|what\ to\ read)\ next|keep\ reading
    |(?:leave|write|post|add)\ (?:a|your)\ (?:comment|reply|review).*
    |join\ (?:the|our)\ (?:conversation|discussion|community).*
    |create\ an\ account.*|(?:log|sign)\ ?(?:in|up)\b.*|quick\ reply|reply\ to\ .*
    |share(?:\ this.*)?|follow\ us.*|stay\ (?:in\ touch|connected|up\ to\ date|informed).*
    |subscribe.*|.*\bnewsletter\b.*
    |(?:相关|相似|类似|推荐|热门|更多)(?:的)?(?:文章|阅读|新闻|资讯|主题|帖子|话题|问题|内容|产品|商品|视频|链接|推荐|讨论)
    |猜你喜欢|(?:你|您)(?:可能|也许)(?:还|也)?(?:喜欢|感兴趣).*|(?:看|买)了(?:又|还)(?:看|买).*|大家(?:都|还)在(?:看|搜|买)
    |延伸阅读|推荐阅读|为(?:你|您)推荐|最近浏览.*|下一篇|上一篇
    |(?:发表|写|提交|快速)(?:评论|回复|回帖|点评)|登录.*|注册.*|分享(?:到|至)?.*|关注我们|订阅.*""",
    re.VERBOSE,
)
_DATE = re.compile(
    r"""\b(?:19|20)\d\d\b|\b\d+\s?(?:m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|mos?|months?|y|yrs?|years?)\b
    |\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?\ \d|\b(?:today|yesterday)\b
    |\d+\s*(?:秒|分钟|分鐘|小时|小時|天|周|週|个月|個月|年)前|\d+月\d+日|[昨今前]天|刚刚|剛剛""",
    re.VERBOSE | re.IGNORECASE,
)
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
# Lengths count a Chinese character as two and a half letters; most are shares of the page's own length.
_HAN_WEIGHT = 2.5
_MAX_MARGIN_SHARE = 0.5
_MAX_BESIDE_SHARE = 0.4
_MIN_MAIN_SHARE = 0.2
_MAX_HEADING = 60
_MAX_EMPTY_BEFORE = 20
_MIN_BUTTON_TEXT = 30
_MIN_POSTS, _MIN_POSTS_SHARE = 3, 0.4
_MIN_POST, _MIN_MEDIAN_POST = 40, 80
_MIN_DATED, _MAX_LINKED = 0.8, 0.4
# Each is looked through whole; a real page has a few that are large enough.
_MAX_GROUPS = 20
_MIN_BODY_SHARE = 0.5
_MAX_PANEL_LINE = 70

_Weights = dict[Node, float]


class MainPart(NamedTuple):
    """The element that holds the main text, and those in it that are posts: of a thread, or comments on an article."""

    element: Node
    posts: tuple[Node, ...]


def take_main_part(tree: Node) -> MainPart:
    """Take the margins out of a page without hidden text and return what is left; the tree is changed."""
    found = tree.find("body")
    body = tree if found is None else found
    elements = list(body.iter(etree.Element))
    weights = _weigh(elements)
    whole = weights[body]
    for element in elements[1:]:
        if element not in weights:
            continue
        for find_margin in MARGIN_RULES:
            if (margin := find_margin(element, weights, whole)) is not None:
                _drop(margin, weights)
                break
    main = _main_element(body, weights)
    main.tail = None
    posts = _posts(main, weights)
    for post in posts:
        _shorten_panels(post, weights)
    return MainPart(main, tuple(posts))


def weight_of(text: str | None) -> float:
    """Return how much a text is, in letters."""
    stripped = text.strip() if text else ""
    return len(stripped) if stripped.isascii() else len(stripped) + (_HAN_WEIGHT - 1) * len(_HAN.findall(stripped))


def _weigh(elements: list[Node]) -> _Weights:
    """Return the weight of the text in each element; `elements` are in document order, the outermost first."""
    weights = {element: weight_of(element.text) for element in elements}
    for element in reversed(elements[1:]):
        weights[element.getparent()] += weights[element] + weight_of(element.tail)
    return weights


def _drop(element: Node, weights: _Weights) -> None:
    weight = weights[element]
    for above in element.iterancestors():
        if above in weights:
            weights[above] -= weight
    for inner in element.iter(etree.Element):
        weights.pop(inner, None)
    element.drop_tree()


def _by_element(element: Node, weights: _Weights, whole: float) -> Node | None:
    """Find menus, margins and controls by their element; a button that asks or tells something is kept."""
    tag = element.tag
    if tag in ("header", "footer"):
        # Inside a part of the text they are the part's own: an article's title, a comment's author and date.
        is_margin = not any(a.tag in _CONTENT or a.get("role") == "main" for a in element.iterancestors())
    elif tag == "button" or element.get("role") == "button":
        is_margin = weights[element] < _MIN_BUTTON_TEXT and not _asks_or_heads(element)
    else:
        is_margin = tag in _MARGINS
    return element if is_margin and weights[element] < _MAX_MARGIN_SHARE * whole else None


def _asks_or_heads(button: Node) -> bool:
    text = one_line(button.xpath("string()"))
    return text.endswith(("?", "？")) or any(above.tag in _HEADINGS for above in button.iterancestors())


def _by_name(element: Node, weights: _Weights, whole: float) -> Node | None:
    """Find what its class or id calls a margin."""
    names = f"{element.get('class', '')} {element.get('id', '')}"
    if names == " " or element.tag in ("main", "article"):
        return None
    is_margin = not _MARGIN_NAMES.isdisjoint(part.lower() for part in _NAME_PARTS.findall(names))
    return element if is_margin and weights[element] < _MAX_MARGIN_SHARE * whole else None


def _by_heading(element: Node, weights: _Weights, whole: float) -> Node | None:
    """Find a section by a heading that offers something beside the text: the largest that begins with the heading."""
    if element.tag not in _HEADINGS or element.tag == "h1" or not 0 < weights[element] <= _MAX_HEADING:
        return None
    heading = one_line(element.xpath("string()")).replace("’", "'")
    if not _BESIDE.fullmatch(to_simplified(heading).lower().strip(" :：…!！.")):
        return None
    section = element
    while (above := section.getparent()) in weights and above.tag not in ("body", "main", "article"):
        if weights[above] >= _MAX_BESIDE_SHARE * whole or not _is_first_text(section, above, weights):
            break
        section = above
    return section


def _is_first_text(element: Node, parent: Node, weights: _Weights) -> bool:
    for count, before in enumerate(element.itersiblings(preceding=True)):
        if count == _MAX_EMPTY_BEFORE or weights.get(before, 0) or weight_of(before.tail):
            return False
    return not weight_of(parent.text)


MARGIN_RULES: tuple[Callable[[Node, _Weights, float], Node | None], ...] = (
    _by_element,
    _by_name,
    _by_heading,
)


def _main_element(body: Node, weights: _Weights) -> Node:
    """Return what the page marks as its main part, if it marks one and that is no mere corner of it."""
    marked = [element for element in weights if element.tag == "main" or element.get("role") == "main"]
    if len(marked) == 1 and weights[marked[0]] >= _MIN_MAIN_SHARE * weights[body]:
        return marked[0]
    return body


def _posts(main: Node, weights: _Weights) -> list[Node]:
    """Return the posts of a thread: most of the page in elements of one make side by side, each with a date."""
    min_weight = _MIN_POSTS_SHARE * weights[main]
    groups: list[list[Node]] = []
    for parent in main.iter(etree.Element):
        if weights[parent] < min_weight:
            continue
        alike = defaultdict(list)
        for child in parent.iterchildren(*_POST_TAGS):
            if weights[child] >= _MIN_POST:
                alike[child.tag, child.get("class", "").partition(" ")[0]].append(child)
        groups += [group for group in alike.values() if _is_large(group, weights, min_weight)]
    largest_first = sorted(groups, key=len, reverse=True)[:_MAX_GROUPS]
    return next((group for group in largest_first if _is_thread(group, weights)), [])


def _is_large(group: list[Node], weights: _Weights, min_weight: float) -> bool:
    sizes = [weights[post] for post in group]
    return len(sizes) >= _MIN_POSTS and sum(sizes) >= min_weight and median(sizes) >= _MIN_MEDIAN_POST


def _is_thread(group: list[Node], weights: _Weights) -> bool:
    linked = sum(weights[link] for post in group for link in post.iter("a"))
    return linked < _MAX_LINKED * sum(weights[post] for post in group) and sum(
        map(_is_dated, group)
    ) >= _MIN_DATED * len(group)


def _is_dated(post: Node) -> bool:
    return next(post.iter("time"), None) is not None or _DATE.search(" ".join(map(str, post.itertext()))) is not None


def _shorten_panels(post: Node, weights: _Weights) -> None:
    """Leave only the first line of what stands around a post's body in short lines: its author, its date."""
    body = post
    while children := [child for child in body.iterchildren(etree.Element) if weights[child]]:
        heaviest = max(children, key=weights.__getitem__)
        if weights[heaviest] < _MIN_BODY_SHARE * weights[body]:
            return
        for panel in children:
            if panel is not heaviest and all(weight_of(str(part)) < _MAX_PANEL_LINE for part in panel.itertext()):
                _keep_first_line(panel)
        body = heaviest


def _keep_first_line(panel: Node) -> None:
    elements = panel.iter(etree.Element)
    filled = [one for one in elements if weight_of(one.text) or any(weight_of(child.tail) for child in one)]
    for element in filled[1:]:
        element.text = None
        for child in element:
            child.tail = " "
