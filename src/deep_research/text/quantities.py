"""Numbers with their units in English and Chinese text, brought to one scale: $1.2M = 1.2 million = 1,200,000.

Dates are no quantities, nor are numbers that name things (GLP-1, Figure 3, [12]).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from deep_research.text.dates import DateMention, find_dates
from deep_research.text.folding import to_simplified

SCALES = {
    "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mn": 1e6, "mm": 1e6, "billion": 1e9, "b": 1e9, "bn": 1e9,
    "trillion": 1e12, "tn": 1e12, "百": 1e2, "千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8,
    "十亿": 1e9, "百亿": 1e10, "千亿": 1e11, "万亿": 1e12,
}  # fmt: skip
# These letters are a scale only after a currency sign or as capitals: "5 m" is a length, "$5m" is money.
LOOSE_SCALES = frozenset({"k", "m", "mm", "b"})

CURRENCY_SIGNS = {
    "$": "USD", "US$": "USD", "USD": "USD", "€": "EUR", "EUR": "EUR", "£": "GBP", "GBP": "GBP", "¥": "CNY", "￥": "CNY",
    "RMB": "CNY", "CNY": "CNY", "JPY": "JPY", "HK$": "HKD", "NT$": "TWD", "₹": "INR", "人民币": "CNY",
}  # fmt: skip

UNITS = {
    "dollars": "USD", "dollar": "USD", "usd": "USD", "美元": "USD", "euros": "EUR", "euro": "EUR", "eur": "EUR",
    "欧元": "EUR", "gbp": "GBP", "英镑": "GBP", "yuan": "CNY", "rmb": "CNY", "cny": "CNY", "元": "CNY", "人民币": "CNY",
    "yen": "JPY", "日元": "JPY", "港元": "HKD", "新台币": "TWD", "%": "%", "percent": "%", "per cent": "%",
    "percentage points": "pp", "percentage point": "pp", "pp": "pp", "个百分点": "pp", "basis points": "bp",
    "bps": "bp", "times": "x", "x": "x", "×": "x", "fold": "x", "倍": "x", "kg": "kg", "kilograms": "kg", "公斤": "kg",
    "千克": "kg", "g": "g", "grams": "g", "克": "g", "mg": "mg", "毫克": "mg", "tons": "t", "tonnes": "t", "ton": "t",
    "tonne": "t", "吨": "t", "lb": "lb", "lbs": "lb", "pounds": "lb", "km": "km", "kilometers": "km",
    "kilometres": "km", "公里": "km", "千米": "km", "m": "m", "meters": "m", "metres": "m", "米": "m", "cm": "cm",
    "厘米": "cm", "mm": "mm", "毫米": "mm", "nm": "nm", "纳米": "nm", "miles": "mi", "hectares": "ha", "公顷": "ha",
    "kw": "kW", "mw": "MW", "gw": "GW", "tw": "TW", "kwh": "kWh", "mwh": "MWh", "gwh": "GWh", "twh": "TWh",
    "千瓦": "kW", "兆瓦": "MW", "吉瓦": "GW", "千瓦时": "kWh", "兆瓦时": "MWh", "吉瓦时": "GWh", "°c": "°C", "℃": "°C",
    "摄氏度": "°C", "°f": "°F",
    "seconds": "s", "second": "s", "秒": "s", "ms": "ms", "minutes": "min", "minute": "min", "分钟": "min",
    "hours": "h", "hour": "h", "小时": "h", "days": "day", "day": "day", "天": "day", "weeks": "week", "week": "week",
    "周": "week", "months": "month", "month": "month", "个月": "month", "years": "year", "year": "year", "年": "year",
    "gb": "GB", "mb": "MB", "tb": "TB", "people": "people", "人": "people", "名": "people", "employees": "people",
    "users": "people", "patients": "people", "家": "家", "例": "例", "个": "个", "台": "台", "辆": "辆", "套": "套",
    "项": "项", "件": "件", "次": "次", "户": "户",
}  # fmt: skip


__all__ = ["DateMention", "Quantity", "find_dates", "find_quantities"]

_PLAIN_SIGNS = str.maketrans("０１２３４５６７８９％．，＄～－−–—", "0123456789%.,$~----")
_NUMERALS = "零〇一二两三四五六七八九十百千万亿"
_COUNTED = re.compile(f"[0-9０-９{_NUMERALS}]")


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern of these words, longest first; a Latin word must end where it ends."""
    ends = {word: r"(?![A-Za-z])" if word.isascii() and word.isalpha() else "" for word in words}
    return "|".join(re.escape(word) + ends[word] for word in sorted(ends, key=len, reverse=True))


_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_QUANTITY = re.compile(
    r"(?<![A-Za-z0-9_.])(?<![A-Za-z)]-)(?<!\d,)"
    rf"(?P<sign>(?<![\w)])[-+])?(?P<currency>(?:{_any_of(CURRENCY_SIGNS)})\s?)?"
    rf"(?P<number>{_NUMBER})(?:(?P<range>\s?(?:-|~|至|到| to )\s?)[$€£¥]?(?P<upper>{_NUMBER}))?"
    rf"(?:[\s-]?(?P<scale>{_any_of(SCALES)}))?(?:[\s-]?(?P<unit>{_any_of(UNITS)}))?",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    rf"百分之(?P<share>[{_NUMERALS}]+|{_NUMBER})"
    rf"|(?<![第{_NUMERALS}\d])(?P<numeral>[{_NUMERALS}]+)"
    r"(?P<unit>倍|成(?![为立功本员长])|个百分点|美元|欧元|元|吨|人(?!工)|家(?!庭)|公里|小时|天(?!然))"
)
_NAMING = re.compile(
    r"(?:\b(?:fig(?:ure)?s?|tables?|sections?|chapters?|eqs?|equations?|no|nos|phase|step|page|pp?|vol|version|item|type"
    r"|grade|level|part|appendix|note|ref)\.?\s?|[第图表§#№v])$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a text at its full size, with its unit's one name ("" where it has none)."""

    value: float
    unit: str
    start: int
    end: int
    raw: str


def find_quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text in order; both ends of a range count, with the unit they share."""
    return list(_find_quantities(text))


# As with dates: the same sentences are looked at again and again.
@lru_cache(maxsize=2_048)
def _find_quantities(text: str) -> tuple[Quantity, ...]:
    if not _COUNTED.search(text):
        return ()
    plain = to_simplified(text).translate(_PLAIN_SIGNS)
    dated = {offset for mention in find_dates(text) for offset in range(mention.start, mention.end)}
    found: list[Quantity] = []
    for match in _QUANTITY.finditer(plain):
        if _names_a_thing(plain, match):
            continue
        if match.start("number") not in dated:
            found += _quantities_of(match, text)
        elif match.group("upper") and match.start("upper") not in dated:
            # "18 % in 2020 to 16 % in 2022": a date begins no range, and what follows "to" counts by itself.
            found += _quantities_of(match, text)[1:]
    found += [_chinese_quantity(match, text) for match in _CHINESE.finditer(plain) if _counts(match)]
    return tuple(sorted(found, key=lambda quantity: quantity.start))


def _names_a_thing(text: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    if match.group("currency"):
        return False
    if match.group("unit") == "G":  # a network generation, never grams
        return True
    after = text[end : end + 2]
    if after[:1].isascii() and (after[:1].isalnum() or after[:1] == "_"):
        return True
    if re.match(r"\.\d|-[A-Za-z]", after):
        return not match.group("unit") and not match.group("scale")
    if text[start - 1 : start] == "[" and after[:1] in ("]", ","):
        return True
    return bool(_NAMING.search(text, max(0, start - 12), start))


def _quantities_of(match: re.Match[str], text: str) -> list[Quantity]:
    currency, scale_word, unit_word = match.group("currency"), match.group("scale"), match.group("unit")
    end = match.end()
    factor = SCALES.get((scale_word or "").lower(), 1.0)
    unit = UNITS.get((unit_word or "").lower(), "")
    if scale_word and scale_word.lower() in LOOSE_SCALES and not currency and not scale_word.isupper():
        factor, unit = 1.0, unit or UNITS.get(scale_word.lower(), "")
        end = match.end("scale") if unit else match.end("upper" if match.group("upper") else "number")
    if currency:
        unit = CURRENCY_SIGNS[currency.strip().upper()]
    sign = -1.0 if match.group("sign") == "-" else 1.0
    lower = _value(match.group("number"), factor) * sign
    if not match.group("upper"):
        return [_quantity(lower, unit, match.start(), end, text)]
    middle = match.end("number")
    return [
        _quantity(lower, unit, match.start(), middle, text),
        _quantity(_value(match.group("upper"), factor), unit, match.end("range"), end, text),
    ]


def _value(number: str, factor: float) -> float:
    # Twelve digits hold any figure that prose states, and hide what 1.2 * 1e6 leaves behind the point.
    return float(f"{float(number.replace(',', '')) * factor:.12g}")


def _quantity(value: float, unit: str, start: int, end: int, text: str) -> Quantity:
    return Quantity(value=value, unit=unit, start=start, end=end, raw=text[start:end])


def _counts(match: re.Match[str]) -> bool:
    """Say whether Chinese numerals before a unit are a figure; "一家" and "一人" are only an article."""
    numeral, unit = match.group("numeral"), match.group("unit")
    return numeral is None or unit in ("倍", "成", "个百分点") or any(sign in numeral for sign in "十百千万亿")


def _chinese_quantity(match: re.Match[str], text: str) -> Quantity:
    share, unit = match.group("share"), match.group("unit")
    if share:
        value = chinese_number(share) if share[0] in _NUMERALS else _value(share, 1.0)
        return _quantity(value, "%", *match.span(), text)
    value = chinese_number(match.group("numeral"))
    if unit == "成":
        return _quantity(value * 10, "%", *match.span(), text)
    return _quantity(value, UNITS[unit], *match.span(), text)


def chinese_number(numeral: str) -> float:
    """Return the value of a number written in Chinese numerals, such as 三百二十万."""
    digits = {letter: value for value, letter in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
    total = myriads = section = digit = 0
    for letter in numeral:
        if letter in digits:
            digit = digits[letter]
        elif letter == "万":
            myriads = (section + digit or 1) * 10_000
            section = digit = 0
        elif letter == "亿":
            total += (myriads + section + digit or 1) * 100_000_000
            myriads = section = digit = 0
        else:
            section += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[letter]
            digit = 0
    return float(total + myriads + section + digit)
