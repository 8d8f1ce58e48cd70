"""What may be cut from a sentence without changing what it says: a closed list, short on purpose.

Cut may be a leading connective, and brackets that hold only citations, cross-references or an abbreviation of the
words before them. "(in mice)", "(US)" and "(Germany, 2020)" restrict a claim, and what merely looks like them stays.
"""

import re
from typing import NamedTuple

from deep_research.text.folding import fold_typography, to_simplified

# "For example", "first" or "otherwise" are missing: without them a case, an order or a condition is lost.
_ENGLISH_CONNECTIVES = (
    "however moreover furthermore additionally besides also therefore thus hence consequently accordingly nevertheless "
    "nonetheless still indeed similarly likewise conversely finally lastly secondly thirdly"
).split()
_ENGLISH_PHRASES = (
    "in addition", "as a result", "as a consequence", "in contrast", "by contrast", "on the other hand",
    "on the contrary", "in fact", "in short", "in summary", "in conclusion", "to sum up", "in other words",
)  # fmt: skip
_CHINESE_CONNECTIVES = (
    "然而 但是 但 不过 此外 另外 因此 因而 所以 于是 同时 与此同时 而且 并且 况且 再者 其次 最后 总之 综上 综上所述 "
    "事实上 实际上 相比之下 除此之外 尽管如此 即便如此 由此可见"
).split()
_CONNECTIVES = "|".join((*_ENGLISH_CONNECTIVES, *_ENGLISH_PHRASES, *_CHINESE_CONNECTIVES)).replace(" ", r"\s+")
_CONNECTIVE = re.compile(rf"\s*(?:{_CONNECTIVES})\s*,\s*", re.IGNORECASE)
# Before any folding: most sentences hold nothing to cut, and that is quickly seen.
_LEADS = re.compile(rf"\s*(?:{_CONNECTIVES})\s*[^\w\s]", re.IGNORECASE)
_OPENS = re.compile("[(\\[（［﹙﹝⁽₍︵﹇❨❲⟮]")

_BRACKETS = re.compile(r"\(([^()\[\]]{1,160})\)|\[([^()\[\]]{1,160})\]")
_NOTE_NUMBER = re.compile(r"\d{1,3}")
_NOTE_NUMBERS = re.compile(r"\d{1,3}(?:\s?[,-]\s?\d{1,3})+")
# "4 [3, 5]" and "95% CI [3, 5]" are intervals, not notes; after a year they are notes.
_INTERVAL = re.compile(r"\bCI\b|\bIQR\b|interval|range|median|mean|区间|中位|均值|范围", re.IGNORECASE)
_ENDS_IN_FIGURE = re.compile(
    r"(?:(?<!\b(?:19|20)\d)\d|%|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"|[零一二两三四五六七八九十百千万亿])\s*$",
    re.IGNORECASE,
)

_YEARS = r"(?:19|20)\d\d[a-z]?(?:,\s?(?:19|20)\d\d[a-z]?)*"
_PAGES = r"pp?\.\s?\d+(?:-\d+)?"
_SURNAME = r"(?:(?:van|von|de|der|den|la|le|di|da|del)\s)*[A-Z][\w'-]+"
_CITATION = re.compile(
    rf"{_SURNAME}\set\sal\.?(?:,?\s(?:{_YEARS}|in press))?(?:,\s{_PAGES})?"
    rf"|{_SURNAME}(?:\s(?:and|&)\s{_SURNAME})?,?\s{_YEARS},\s{_PAGES}"
    rf"|(?:see|see also|cf\.)\s{_SURNAME}(?:\s(?:and|&)\s{_SURNAME}|\set\sal\.?)?,?\s{_YEARS}"
    r"|[\u4e00-\u9fff]{1,4}等人,\s?(?:19|20)\d\d年?"
)
_ITEM = r"(?:[A-Z]?\d{1,3}(?:[.-]\d{1,3})*[a-z]?|[IVX]{2,5}|[A-Z])"
# A dash right between two figures belongs to the item: it must not match in two ways.
_BETWEEN = r"(?:,\s?|\s-\s?|-\s|-(?=[A-Z])|(?<=[A-Z])-(?![A-Z])|,?\s(?:and|to)\s)"
_SHOWN = r"(?:fig(?:ure)?s?|tables?|charts?|eqs?|equations?)"
_OTHER_PARTS = r"(?:sections?|sec|chapters?|ch|appendi(?:x|ces)|annex(?:es)?|box(?:es)?|notes?|pages?|pp?|part)"
_CROSS_REFERENCE = re.compile(
    rf"(?:(?:see|see also|cf\.)\s)?{_SHOWN}\.?\s?{_ITEM}(?:{_BETWEEN}{_ITEM})*"
    rf"|(?:see|see also|cf\.)\s{_OTHER_PARTS}\.?\s?{_ITEM}(?:{_BETWEEN}{_ITEM})*"
    rf"|see\s(?:above|below|overleaf)|{_PAGES}"
    r"|(?:见|参见|详见|如)?[图表]\s?[\d一二三四五六七八九十]+(?:[-.]\d+)?(?:所示)?"
    r"|(?:见|参见|详见)\s?(?:上文|下文|前文|后文|附[录件表图]\s?[\dA-Z一二三四五六七八九十]*"
    r"|第[\d一二三四五六七八九十]+[章节页部分条]{1,2})",
    re.IGNORECASE,
)
_SHORT_NAME = re.compile(
    r"(?:以下)?(?:统一)?简称\s?:?\s?[^,;。]{1,20}"
    r"|(?:hereinafter|hereafter)\s(?:the\s)?(?:\"[^\"]{1,40}\"|[A-Z][\w-]*(?:\s[A-Z][\w-]*){0,3})"
)
_ABBREVIATION = re.compile(r"([A-Z][A-Z&-]{0,8}[A-Z])s?")
_WORDS_BEFORE = re.compile(r"[A-Za-z' -]*\s$")
_SMALL_WORDS = frozenset("of and the for in on to de".split())
# Where a place and two common words share their initials ("unit sales (US)"), only a name may be abbreviated.
_REGIONS = frozenset("USA UAE PRC ROK EEA GCC".split())


class Cut(NamedTuple):
    """A stretch of a sentence that may be cut, by character offsets."""

    start: int
    end: int
    is_connective: bool = False


def possible_cuts(sentence: str) -> list[Cut]:
    """Return the stretches of a sentence that may each be cut, in order."""
    if not _OPENS.search(sentence) and not _LEADS.match(to_simplified(sentence)):
        return []
    folded = fold_typography(sentence)
    plain = folded.text
    cuts = []
    lead = _CONNECTIVE.match(to_simplified(plain))
    if lead and lead.end() < len(plain):
        cuts.append(Cut(*folded.original_span(0, lead.end()), is_connective=True))
    for match in _BRACKETS.finditer(plain):
        in_round, in_square = match.groups()
        before = plain[: match.start()]
        if _is_note(in_square, before) if in_square else _says_nothing_new(in_round, before):
            cuts.append(Cut(*folded.original_span(*match.span())))
    return cuts


def _is_note(content: str, before: str) -> bool:
    is_list = _NOTE_NUMBERS.fullmatch(content) and not _ENDS_IN_FIGURE.search(before) and not _INTERVAL.search(before)
    return bool(_NOTE_NUMBER.fullmatch(content) or is_list)


def _says_nothing_new(content: str, before: str) -> bool:
    if _SHORT_NAME.fullmatch(to_simplified(content)):
        return True
    if short := _ABBREVIATION.fullmatch(content):
        return _abbreviates(short[1], before)
    parts = [part.strip() for part in content.split(";")]
    return all(_CITATION.fullmatch(part) or _CROSS_REFERENCE.fullmatch(to_simplified(part)) for part in parts)


def _abbreviates(short: str, before: str) -> bool:
    """Return whether the letters are the initials of the words right before them."""
    letters = [letter for letter in short if letter.isalpha()]
    stretch = _WORDS_BEFORE.search(before, max(0, len(before) - 160))
    named = stretch[0].replace("'s", "").replace("-", " ").split() if stretch else []
    used = []
    while letters and named:
        word = named.pop()
        if word[0].upper() == letters[-1]:
            letters.pop()
            used.append(word)
        elif word.lower() not in _SMALL_WORDS or not used:
            return False
    must_be_name = len(used) < 3 or short in _REGIONS
    return not letters and (not must_be_name or all(word[0].isupper() for word in used))
