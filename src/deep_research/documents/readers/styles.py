"""What a page's own style rules and `style` attributes say about an element, as far as sight is concerned.

Simple selectors only: tags, classes, ids, attributes, and these under or inside one another. External sheets are never
fetched, so that a rule in them is not known here.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lxml.etree import _Element as Node

Declarations = dict[str, str]

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
# Brackets and quotes hold signs that end nothing; one that is never closed reaches to the end, as in browsers.
_TOKEN = re.compile(r"[^;\"'(]+|\([^)]*\)?|\"[^\"]*\"?|'[^']*'?|(;)")
_NAME = re.compile(r"[a-z-]+\Z")
_MAX_NAME_CHARS = 40
_SIGHT = re.compile(
    r"display|visibility|opacity|font|color|background|position|left|right|top|bottom|text-indent|margin|transform"
    r"|clip|height|width|overflow|filter",
    re.IGNORECASE,
)
# What a rule that takes something out of sight must hold; an escape may spell anything.
_MAY_HIDE = re.compile(
    r"\\|none|hidden|collapse|clip|opacity\s*[:(]\s*0?\.?0|scale|translate|font(?:-size)?\s*:\s*[01.]|-\s*\d{2}|\d{4}"
    r"|(?:height|width)\s*:\s*[01](?:\.0*)?(?:px|em|%|r)?\s*(?:[;!]|$)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"#(?P<id>[\w-]+)|\.(?P<class>[\w-]+)|\[(?P<attribute>[^\]]+)\]|(?P<tag>[a-zA-Z][\w-]*)|\*")
_ATTRIBUTE_NAME = re.compile(r"[\w-]+")
_COMBINATOR = re.compile(r"\s*(>)\s*|\s+")
_WIDTH = re.compile(r"(min|max)-width\s*:\s*(\d+(?:\.\d*)?|\.\d+)(px|r?em)")
# The page is judged as on a common screen, not as printed and not as on a telephone.
_SCREEN_PX = 1280.0
# Bounds for pages that are made to take long; real ones stay far below.
_MAX_RULES = 20_000
_MAX_RULES_ALIKE = 300
_MAX_NESTED_BLOCKS = 8
_MAX_STEPS = 30
# How often rules may be held against elements, in all: so many times, and more for each element and sign of the rules.
# Of 389 real pages none needs half of it.
_CHECKS, _CHECKS_PER_ELEMENT, _CHECKS_PER_SIGN = 5_000, 60, 3
# A look at an element with many classes costs more.
_CLASS_CHARS_PER_CHECK = 100


class Compound(NamedTuple):
    """One step of a selector, such as `div.note#first`; `is_child` binds it to the step before it."""

    tag: str
    id: str
    classes: frozenset[str]
    attributes: tuple[tuple[str, str | None], ...]
    is_child: bool

    def matches(self, element: Node) -> bool:
        """Return whether an element is of this kind."""
        return (
            (not self.tag or self.tag == element.tag)
            and (not self.id or self.id == element.get("id"))
            and (not self.classes or self.classes <= set((element.get("class") or "").split()))
            and all(name in element.attrib and value in (None, element.get(name)) for name, value in self.attributes)
        )


class StyleRule(NamedTuple):
    """A selector with what it declares; a higher rank wins."""

    steps: tuple[Compound, ...]
    declared: Declarations
    rank: tuple[int, int, int, int]


class StyleSheet:
    """The rules of a page's own `<style>` elements; those that need a class or id the page never uses are left out."""

    def __init__(self, css: str, *, used: frozenset[str], element_count: int) -> None:
        self._used = used
        self._checks_left = _CHECKS + _CHECKS_PER_ELEMENT * element_count + _CHECKS_PER_SIGN * len(css)
        self._has_left_out = False
        self._by_key: dict[str, list[StyleRule]] = {}
        self._hiding: dict[str, list[StyleRule]] = {}
        for order, (selector, body) in enumerate(_rules(_COMMENT.sub("", css))):
            if order >= _MAX_RULES:
                self._has_left_out = True
                break
            if _SIGHT.search(body) and (declared := declarations(body)):
                for single in selector.split(","):
                    self._add(single.strip(), declared, order, may_hide=bool(_MAY_HIDE.search(body)))

    @property
    def is_exhausted(self) -> bool:
        """Return whether there were too many rules to hold all of them against every element."""
        return self._has_left_out or self._checks_left <= 0

    def may_hide(self, element: Node) -> bool:
        """Return whether some rule might take an element out of sight; cheaper than asking for all that holds."""
        return bool(self._hiding) and any(
            self._applies(rule.steps, element) for key in _keys(element) for rule in self._hiding.get(key, ())
        )

    def of(self, element: Node) -> Declarations:
        """Return what holds for an element, its `style` attribute included."""
        filed = (rule for key in _keys(element) for rule in self._by_key.get(key, ()))
        rules = [rule for rule in filed if self._applies(rule.steps, element)]
        merged: Declarations = {}
        important: set[str] = set()
        inline = element.get("style")
        sheets = [rule.declared for rule in sorted(rules, key=lambda rule: rule.rank)]
        for declared in (*sheets, declarations(inline) if inline else {}):
            for name, value in declared.items():
                is_important = value.endswith("!important")
                if is_important or name not in important:
                    merged[name] = value.removesuffix("!important").rstrip()
                    if is_important:
                        important.add(name)
        return merged

    def _add(self, selector: str, declared: Declarations, order: int, *, may_hide: bool) -> None:
        steps = _steps(selector)
        if not steps or not all(
            step.classes <= self._used and (not step.id or step.id in self._used) for step in steps
        ):
            return
        ids = sum(bool(step.id) for step in steps)
        classes = sum(len(step.classes) + len(step.attributes) for step in steps)
        last = steps[-1]
        key = f"#{last.id}" if last.id else f".{min(last.classes)}" if last.classes else last.tag
        rule = StyleRule(steps, declared, (ids, classes, sum(bool(step.tag) for step in steps), order))
        for filed in (self._by_key, self._hiding) if may_hide else (self._by_key,):
            if len(alike := filed.setdefault(key, [])) < _MAX_RULES_ALIKE:
                alike.append(rule)
            else:
                self._has_left_out = True

    def _applies(self, steps: tuple[Compound, ...], element: Node) -> bool:
        """Return whether a selector meets an element: the last step here, the others above it."""
        if not self._meets(steps[-1], element):
            return False
        is_child = steps[-1].is_child
        ancestor = element.getparent()
        for step in reversed(steps[:-1]):
            while ancestor is not None and not self._meets(step, ancestor):
                if is_child:
                    return False
                ancestor = ancestor.getparent()
            if ancestor is None:
                return False
            is_child, ancestor = step.is_child, ancestor.getparent()
        return True

    def _meets(self, step: Compound, element: Node) -> bool:
        self._checks_left -= 1 + len(element.get("class") or "") // _CLASS_CHARS_PER_CHECK
        return self._checks_left > 0 and step.matches(element)


def _keys(element: Node) -> list[str]:
    """Return what the last step of a rule for this element can be filed under."""
    classes = dict.fromkeys((element.get("class") or "").split())
    keys = ["", str(element.tag), *(f".{name}" for name in classes)]
    return [*keys, f"#{element.get('id')}"] if element.get("id") else keys


def declarations(style: str) -> Declarations:
    """Return what a `style` attribute or the body of a rule declares, in lower case; the last of a name counts."""
    plain = _ESCAPE.sub(_unescaped, _COMMENT.sub("", style)) if "\\" in style or "/*" in style else style
    found: Declarations = {}
    for declaration in _split(plain.lower()):
        before, _, value = declaration.partition(":")
        # Browsers' own hacks put signs before a name.
        name, value = _NAME.search(before.rstrip()[-_MAX_NAME_CHARS:]), " ".join(value.split())
        if name and value:
            found[name[0]] = re.sub(r" ?! ?important", "!important", value)
    return found


def _split(style: str) -> Iterator[str]:
    """Yield what stands between the semicolons that are in no bracket and no quote."""
    start = 0
    for token in _TOKEN.finditer(style):
        if token[1]:
            yield style[start : token.start()]
            start = token.end()
    yield style[start:]


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else 0
    return chr(code) if 0 < code < 0x110000 else match[2] or ""


def _rules(css: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield selector and body of each rule that holds on a screen."""
    at = 0
    while (opening := css.find("{", at)) >= 0:
        prelude = css[at:opening].rpartition(";")[2].rpartition("}")[2].strip()
        if prelude.startswith("@"):
            end = _closing(css, opening)
            if depth < _MAX_NESTED_BLOCKS and _holds_on_screen(prelude.lower()):
                yield from _rules(css[opening + 1 : end], depth + 1)
        else:
            end = css.find("}", opening)
            end = len(css) if end < 0 else end
            yield prelude, css[opening + 1 : end]
        at = end + 1


def _closing(css: str, opening: int) -> int:
    """Return where the block that opens here ends."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(css, opening):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return len(css)


def _holds_on_screen(prelude: str) -> bool:
    return prelude.startswith(("@supports", "@layer")) or (
        prelude.startswith("@media") and any(map(_query_holds, prelude[6:].split(",")))
    )


def _query_holds(query: str) -> bool:
    """Judge one media query by its type and widths; one that asks for anything else is taken not to hold."""
    rest = re.sub(r"[\s()]|\band\b|\bonly\b|\bscreen\b|\ball\b", "", _WIDTH.sub("", query))
    widths = [(bound, float(number) * (1 if unit == "px" else 16)) for bound, number, unit in _WIDTH.findall(query)]
    return not rest and all(px <= _SCREEN_PX if bound == "min" else px >= _SCREEN_PX for bound, px in widths)


def _steps(selector: str) -> tuple[Compound, ...]:
    """Return the steps of a selector, or none where it is more than simple."""
    steps: list[Compound] = []
    at, is_child = 0, False
    while at < len(selector):
        ids, classes, attributes, tag, start = "", set[str](), list[tuple[str, str | None]](), "", at
        while part := _PARTS.match(selector, at):
            ids = part["id"] or ids
            tag = (part["tag"] or tag).lower()
            if part["class"]:
                classes.add(part["class"])
            if part["attribute"]:
                attribute = _attribute(part["attribute"])
                if attribute is None:
                    return ()
                attributes.append(attribute)
            at = part.end()
        steps.append(Compound(tag, ids, frozenset(classes), tuple(attributes), is_child))
        gap = _COMBINATOR.match(selector, at)
        if at == start or (at < len(selector) and gap is None) or len(steps) > _MAX_STEPS:
            return ()
        if gap is not None:
            at, is_child = gap.end(), bool(gap[1])
    return tuple(steps)


def _attribute(condition: str) -> tuple[str, str | None] | None:
    """Return the attribute that a selector asks for, and the value where it names one; None where it asks for more."""
    name, equals, value = (part.strip() for part in condition.partition("="))
    if value[:1] in ("'", '"') and value.endswith(value[0]):
        value = value[1:-1]
    if not _ATTRIBUTE_NAME.fullmatch(name) or "'" in value or '"' in value:
        return None
    return name.lower(), value if equals else None


def page_sheet(tree: Node) -> StyleSheet:
    """Return the sheet of a page's own rules."""
    own = (style for style in tree.iter("style") if _holds_on_screen(f"@media {style.get('media', 'all').lower()}"))
    css = "\n".join(style.xpath("string()") for style in own)
    used = {name for value in tree.xpath("//@class | //@id") for name in str(value).split()}
    return StyleSheet(css, used=frozenset(used), element_count=sum(1 for _ in tree.iter()))


def has_other_sheets(tree: Node) -> bool:
    """Return whether rules that are not known here shape the page too."""
    return any("stylesheet" in (link.get("rel") or "").lower() for link in tree.iter("link")) or any(
        "@import" in (style.text or "") for style in tree.iter("style")
    )
