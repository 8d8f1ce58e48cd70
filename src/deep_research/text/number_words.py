"""Quantities in words, English and Chinese: number words, fractions, multiples, dozens; each with all it is equal to.

"One of the", "a third party", "the second half", 一些 and 十分 are none, nor is a capital word inside a sentence, which
is a name.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from deep_research.text.dates import find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.quantities import UNITS, Quantity, Values, chinese_number

Match = re.Match[str]
# What a quantity may count by beside a unit: per cent, times as much, an order of magnitude ("dozens"), or a share that
# it is at least ("most").
SHARE, TIMES, ORDER, MOST = "%", "x", "order", "most"


def _numbered(words: str, start: int, step: int = 1) -> dict[str, float]:
    return {word: float(step * value) for value, word in enumerate(words.split(), start=start)}


def _any_of(words: Mapping[str, object]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_ONES = _numbered(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen", 1,
) | _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 2, 10)  # fmt: skip
_SCALES = {"dozen": 12, "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_PARTS = _numbered("half third quarter fifth sixth seventh eighth ninth tenth", 2)
_MULTIPLES = {"doubl": 2, "tripl": 3, "quadrupl": 4}
# Words that hold a number without stating it: a passage with one of them does not lack that number.
_IMPLIED = _numbered("first second third fourth fifth sixth seventh eighth ninth tenth", 1) | {
    **dict.fromkeys(("both", "pair", "couple", "double"), 2),
    "triple": 3,
    "decade": 10,
}
_WORD, _SCALE, _PART = _any_of(_ONES | _SCALES), _any_of(_SCALES), _any_of(_PARTS)
_FEW = rf"(?:{_any_of(_ONES)}|\d{{1,3}})"
_NUMBER = rf"(?:{_WORD})(?:(?:[\s-]|(?<=hundred)\sand\s|(?<=thousand)\sand\s)(?:{_WORD}))*"
_UNIT = _any_of({word: word for word in UNITS if word.isascii() and len(word) > 2})
_NO_SIDE = "(?<!first )(?<!second )(?<!latter )(?<!other )(?<!last )(?<!final )(?<!ern )(?<!-)"
# "Twice the budget" is no count of two.
_OF_IT = r"(?=\s(?:the|as|that|its|their|what|his|her|an?)\b)"
_PLAIN = (
    rf"(?<!\d[\s-])(?<!\d)\b(?P<article>an?\s(?={_SCALE}))?(?P<number>{_NUMBER})(?P<and_half>\sand\sa\shalf)?"
    rf"(?:\s(?P<scale>{_SCALE}))?(?:[\s-](?P<unit>{_UNIT}))?\b(?!-(?:first|second|third|[a-z]+th)\b)(?P<of_it>{_OF_IT})?"
)
_MOST = r"(?<!the\s)(?<!at\s)\bmost\s(?:of\b|people\b|women\b|men\b|children\b|[a-z]+(?<!ou)(?<!s)s\b)"
_PARTED = " ".join(_PARTS)
_ABOUT = r"(?:by|nearly|about|almost|over|than|roughly|around)"
_NUMERALS = "零〇一二两三四五六七八九十百千万亿"
_DIGIT = "一二两三四五六七八九"
_NO_ORDINAL = rf"(?<![第数几{_NUMERALS}\d])"
_COUNTED = " ".join(_DIGIT + "十")
# What Chinese counts with; 年 and 月 of a date, 年代, 世纪 and 年级 count nothing.
_PERIOD = r"个月|周(?!边|围|年)|天(?!然)|年(?![代级])|小时|分钟"
_MEASURE = r"(?:[个名位次项条座台辆所只件种套户例岁元吨根间部届头艘份处]|人(?!工)|家(?!庭)|公里)"


def _number(text: str) -> float:
    """Return the value of English number words: "two hundred and five", "twenty-one million"."""
    total = part = 0.0
    for word in re.findall(_WORD, text.lower()):
        if word in _ONES:
            part += _ONES[word]
        elif word in ("hundred", "dozen"):
            part = (part or 1) * _SCALES[word]
        else:
            total, part = total + (part or 1) * _SCALES[word], 0.0
    return total + part


def _share(top: float, of: float) -> Values:
    return ((100 * top / of, SHARE), (top / of, TIMES), (top / of, "")) if 0 < top < of else ()


def _multiple(times: float) -> Values:
    return (times, TIMES), (100 * (times - 1), SHARE), (100 * times, SHARE)


def _figure(text: str) -> float:
    if text.isdigit():
        return float(text)
    return _number(text) if text.isascii() else chinese_number(text)


def _ratio(match: Match) -> Values:
    return _share(_figure(match["top"]), _figure(match["of"]))


def _part(match: Match) -> Values:
    words = match.groupdict()
    part = words["part"] or words.get("parts") or ""
    return _share(_figure(words["top"]) or 1, _PARTS[part.lower()])


def _plain(match: Match) -> Values:
    begins_with_scale = match["number"].lower().startswith(tuple(_SCALES))
    if begins_with_scale and not match["article"]:  # 5 million, several hundred
        return ()
    value = _number(match["number"]) + (0.5 if match["and_half"] else 0)
    value *= _SCALES.get((match["scale"] or "").lower(), 1)
    unit = UNITS.get((match["unit"] or "").lower(), "")
    if value == 1 and unit in ("", "day"):  # an article or a pronoun; "one day" is some day
        return ()
    return ((value, unit), (value, "")) if unit == TIMES and match["of_it"] is None else ((value, unit),)


def _order(match: Match) -> Values:
    before = {"tens": 10.0, "hundreds": 100.0}.get((match.groupdict().get("of") or "").lower(), 1.0)
    scale = _SCALES[match["order"].lower()]
    return (((10 if scale == 12 else scale) * before, ORDER),)


def _chinese(match: Match) -> Values:
    value = chinese_number(match["numeral"])
    is_vague = re.search(f"[{_DIGIT}]{{2}}", match["numeral"])  # 六七个
    unit = UNITS[match["unit"]] if match.groupdict().get("unit") else ""
    return () if is_vague or (value == 1 and unit in ("", "day")) else ((value, unit),)


def _chinese_times(match: Match) -> Values:
    # 增加两倍 is three times as much, 增加到两倍 is twice, and many a writer means the other.
    more = chinese_number(match["more"])
    return ((more + 1, TIMES), (more, TIMES), (100 * more, SHARE))


def _chinese_order(match: Match) -> Values:
    value = 1.0
    for letter in match["order"]:
        value *= chinese_number(letter)
    return ((value, ORDER),)


# An earlier rule takes its words from the later ones. Before each, what a text in lower case must hold one of; behind
# it, what its words are, or how they are read.
_RULES: tuple[tuple[list[str], re.Pattern[str], Values | Callable[[Match], Values]], ...] = tuple(
    (hints.split(), re.compile(pattern, re.IGNORECASE), reading)
    for hints, pattern, reading in (
        # One in three, 2 out of 5; but not three in 12 months.
        (
            "in of",
            rf"\b(?P<top>{_FEW})\s(?:in|out\sof)\s(?:every\s)?(?P<of>{_FEW})\b(?![,.]?\d|[\s-](?:{_UNIT}|{_SCALE})\b)",
            _ratio,
        ),
        ("half", rf"\bhalf\san?\s(?P<scale>{_SCALE})\b", lambda match: ((_SCALES[match["scale"].lower()] / 2, ""),)),
        # Two-thirds, two fifths, a third of, nearly a third; but not a third party, two quarters.
        (
            _PARTED,
            rf"\b(?P<top>{_FEW})(?:-(?P<part>{_PART})s?|\s(?P<parts>{_PART})s(?<!quarters))\b",
            _part,
        ),
        (_PARTED, rf"\b(?P<top>an?|one|three)\s(?P<part>{_PART})s?\s(?:of|more|less|fewer|higher|lower|as)\b", _part),
        (_PARTED, rf"\b{_ABOUT}\s(?P<top>an?|one)\s(?P<part>{_PART})\b(?!\s(?!to\b|in\b|from\b)[a-z])", _part),
        # Half of, by half, halved; but not the second half of, half-life.
        ("half", rf"{_NO_SIDE}\bhalf\s(?:of|the|its|their|all|as|those|these)\b", _share(1, 2)),
        ("half halv", rf"\b(?:{_ABOUT}|in)\shalf\b(?![\s-][a-z])|\bhalv(?:ed|ing)\b", _share(1, 2)),
        # Doubled, double the, twice, threefold; but not the doubles, a double room.
        (
            " ".join(_MULTIPLES),
            rf"\b(?P<times>{_any_of(_MULTIPLES)})(?:ed|ing|e\s(?:the|that|its|their))\b",
            lambda match: _multiple(_MULTIPLES[match["times"].lower()]),
        ),
        ("twice", rf"\btwice\b{_OF_IT}", _multiple(2)),
        ("twice", r"\btwice\b", (*_multiple(2), (2, ""))),
        # Half a year, a year and a half, for a year.
        ("year 年", r"\bhalf\sa\syear\b|(?<!上)(?<!下)(?<!前)(?<!后)半年", ((6, "month"),)),
        ("year 年", r"\ba\syear\sand\sa\shalf\b|一年半", ((18, "month"),)),
        (
            "for in",
            r"\b(?:for|within|lasted|took)\san?\s(?P<unit>year|month|week|day|hour)\b",
            lambda match: ((1, UNITS[match["unit"].lower()]),),
        ),
        # Scores of people, a handful of; most residents, the majority of, nearly all; but not the most expensive.
        ("scores of", r"\bscores\sof\s(?!the\b|\d)", ((20, ORDER),)),
        ("handful", r"\bhandful\b", ((2, ORDER),)),
        (
            "all every each 全 所有 绝大",
            r"\b(?:nearly|almost|virtually|practically)\s(?:all|every|each)\b|几乎(?:所有|全部|全体)|绝大(?:多数|部分)",
            ((80, MOST),),
        ),
        (
            "most majority 多数 大部分 大半",
            rf"{_MOST}|\bmajority\b|大多数|(?<![绝大])多数|(?<!绝)大部分|大半",
            ((50, MOST),),
        ),
        ("fold", rf"\b(?P<times>{_any_of(_ONES)})-?fold\b", lambda match: _multiple(_ONES[match["times"].lower()])),
        # Dozens, hundreds of thousands, several hundred.
        (
            " ".join(f"{scale}s" for scale in _SCALES),
            rf"\b(?:(?P<of>tens|hundreds)\sof\s)?(?P<order>{_SCALE})s\b",
            _order,
        ),
        ("several many few", rf"\b(?:several|many|few)\s(?P<order>{_SCALE})\b", _order),
        # Seven, a dozen, twenty-one million, two and a half years; but not the twenty-first, 5 million.
        (" ".join(_ONES | _SCALES), _PLAIN, _plain),
        (
            "分之",
            rf"(?<![{_NUMERALS}\d])(?P<of>[{_NUMERALS}]+|\d+)分之(?P<top>[{_NUMERALS}]+|\d+)",
            lambda match: () if match["of"] == "百" else _ratio(match),
        ),
        ("半", r"一半|半数|过半|减半", _share(1, 2)),
        ("翻 倍", r"翻了?一?番|翻了?一?倍|倍增", _multiple(2)),
        ("翻", r"翻了?两番", _multiple(4)),
        ("倍", rf"(?:增加|增长|增|提高|上升|扩大|多|高)[了到至出]*(?P<more>[{_NUMERALS}]+)倍", _chinese_times),
        # 数十, 几百万, 上千; but not 人数十分.
        ("数 几 上 成", r"(?<![人次总分指参系函多少户件])[数几上成](?P<order>[十百千万亿]+)(?!分)", _chinese_order),
        # 三个, 二十多年, 一百零五, 十二万; but not 第三个, 一个, 三明治, 十分, 万一.
        (
            _COUNTED,
            rf"{_NO_ORDINAL}(?P<numeral>[{_DIGIT}十][{_NUMERALS}]*)[多余]?(?=(?P<unit>{_PERIOD})|{_MEASURE})",
            _chinese,
        ),
        (
            "百 千 万 亿",
            rf"{_NO_ORDINAL}(?P<numeral>[{_DIGIT}][{_NUMERALS}]*[百千万亿][{_NUMERALS}]*|十[{_DIGIT}]?[万亿])",
            _chinese,
        ),
    )
)
_IN_A_SENTENCE = re.compile(r"[\w,，、]\s*$")
_SPELLED = re.compile(rf"\b{_NUMBER}\b|[{_NUMERALS}]+", re.IGNORECASE)
_IMPLYING = re.compile(rf"\b(?:{_any_of(_IMPLIED)})\b", re.IGNORECASE)
_LOOSE_SHARE = re.compile(
    rf"\b(?P<top>{_any_of(_ONES)}|\d+)\s(?:out\s)?of\s(?:the\s|every\s|all\s|its\s|their\s)?(?P<of>{_any_of(_ONES)}|\d+)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=2_048)
def find_worded(text: str) -> tuple[Quantity, ...]:
    """Return the quantities that a text states in words, in order."""
    plain = to_simplified(text)
    for date in find_dates(text):
        plain = plain[: date.start] + "," * (date.end - date.start) + plain[date.end :]
    found: list[Quantity] = []
    taken: set[int] = set()
    lowered = plain.lower()
    for hints, pattern, reading in _RULES:
        for match in pattern.finditer(plain) if any(hint in lowered for hint in hints) else ():
            span = range(*match.span())
            if not taken.isdisjoint(span) or _is_name(plain, span.start):
                continue
            if values := reading if isinstance(reading, tuple) else reading(match):
                (value, unit), *others = values
                words = text[span.start : span.stop]
                found.append(Quantity(value, unit, span.start, span.stop, words, tuple(others)))
                taken.update(span)
    return tuple(sorted(found, key=lambda quantity: quantity.start))


@lru_cache(maxsize=2_048)
def spelled_numbers(text: str) -> frozenset[float]:
    """Return every number that words of a text spell, whether it counts something or not."""
    return frozenset(_figure(match[0].lower()) for match in _SPELLED.finditer(to_simplified(text)))


def implied_numbers(text: str) -> set[float]:
    """Return the numbers that words of a text hold without spelling them, as "both" holds 2 and "third" 3."""
    return {_IMPLIED[match[0].lower()] for match in _IMPLYING.finditer(text)}


@lru_cache(maxsize=2_048)
def implied_shares(text: str) -> tuple[float, ...]:
    """Return, in per cent, the shares that a text gives by two numbers: "5 of the 20"."""
    return tuple(values[0][0] for match in _LOOSE_SHARE.finditer(text) if (values := _ratio(match)))


def _is_name(text: str, start: int) -> bool:
    return text[start].isupper() and _IN_A_SENTENCE.search(text, max(0, start - 3), start) is not None
