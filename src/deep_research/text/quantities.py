"""Numbers with their units in English and Chinese text, brought to one scale: $1.2M = 1.2 million = 1,200,000.

Dates are no quantities, nor are numbers that name things (GLP-1, Figure 3, [12]).
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from deep_research.text.dates import find_dates
from deep_research.text.folding import to_simplified

Match = re.Match[str]


def _spellings(names: Mapping[str, str]) -> dict[str, str]:
    return {spelling: name for name, spellings in names.items() for spelling in spellings.split(", ")}


_SIZES = _spellings({
    "1e2": "百", "1e3": "thousand, k, 千", "1e4": "万", "1e5": "十万", "1e6": "million, m, mn, mm, 百万", "1e7": "千万",
    "1e8": "亿", "1e9": "billion, b, bn, 十亿", "1e10": "百亿", "1e11": "千亿", "1e12": "trillion, tn, 万亿",
})  # fmt: skip
SCALES = {spelling: float(size) for spelling, size in _SIZES.items()}
# These letters are a scale only after a currency sign or as capitals: "5 m" is a length, "$5m" is money.
LOOSE_SCALES = frozenset({"k", "m", "mm", "b"})

# The one name of each currency and unit, and how it is spelled.
CURRENCY_SIGNS = _spellings({
    "USD": "$, US$, USD", "EUR": "€, EUR", "GBP": "£, GBP", "CNY": "¥, ￥, RMB, CNY, 人民币", "JPY": "JPY",
    "HKD": "HK$", "TWD": "NT$", "INR": "₹",
})  # fmt: skip

UNITS = _spellings({
    "USD": "dollars, dollar, usd, 美元", "EUR": "euros, euro, eur, 欧元", "GBP": "gbp, 英镑",
    "CNY": "yuan, rmb, cny, 元, 圆, 人民币", "JPY": "yen, 日元, 日圆", "HKD": "港元", "TWD": "新台币",
    "%": "%, percent, per cent", "pp": "percentage points, percentage point, pp, 个百分点", "bp": "basis points, bps",
    "x": "times, x, ×, fold, 倍", "kg": "kg, kilograms, 公斤, 千克", "g": "g, grams, 克", "mg": "mg, 毫克",
    "t": "t, tons, ton, tonnes, 吨, 公吨", "lb": "lb, lbs, pounds, pound", "斤": "斤, 市斤", "台斤": "台斤",
    "km": "km, kilometers, kilometres, 公里, 千米", "m": "m, meters, metres, 米", "cm": "cm, 厘米", "mm": "mm, 毫米",
    "nm": "nm, 纳米", "mi": "miles", "ha": "hectares, 公顷", "亩": "亩",
    "m²": "m², m2, square metres, square meters, 平方米", "m³": "m³, m3, cubic metres, cubic meters, 立方米",
    "km²": "km², km2, square kilometres, square kilometers, 平方公里", "L": "l, litres, liters, 升, 公升",
    "ml": "ml, 毫升", "kW": "kw, kilowatts, 千瓦", "MW": "mw, megawatts, 兆瓦", "GW": "gw, gigawatts, 吉瓦", "TW": "tw",
    "kWh": "kwh, kilowatt-hours, 千瓦时", "MWh": "mwh, megawatt-hours, 兆瓦时", "GWh": "gwh, gigawatt-hours, 吉瓦时",
    "TWh": "twh", "°C": "°c, ℃, 摄氏度, degrees celsius", "°F": "°f, 华氏度, degrees fahrenheit",
    "s": "seconds, second, 秒", "ms": "ms", "min": "min, minutes, minute, 分钟", "h": "h, hours, hour, 小时",
    "day": "days, day, 天", "week": "weeks, week, 周", "month": "months, month, 个月", "year": "years, year, 年",
    "GB": "gb", "MB": "mb", "TB": "tb", "people": "people, 人, 名, employees, users, patients", "家": "家",
    "例": "例", "个": "个", "台": "台", "辆": "辆", "套": "套", "项": "项", "件": "件", "次": "次", "户": "户",
})  # fmt: skip
# "A 6.2-kilometre path" and "6.2 kilometres".
UNITS |= {
    word.removesuffix("s"): name
    for word, name in UNITS.items()
    if word.isascii() and len(word) > 5 and not word.endswith(("patients", "celsius"))
}


_PLAIN_SIGNS = str.maketrans("０１２３４５６７８９％．，＄～－−–—", "0123456789%.,$~----")
_NUMERALS = "零〇一二两三四五六七八九十百千万亿"
_COUNTED = re.compile(f"[0-9０-９{_NUMERALS}]")


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern of these words, longest first; a Latin word must end where it ends."""
    ends = {word: r"(?![A-Za-z²³])" if word.isascii() and word.isalpha() else "" for word in words}
    return "|".join(re.escape(word) + ends[word] for word in sorted(ends, key=len, reverse=True))


_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_QUANTITY = re.compile(
    r"(?<![A-Za-z0-9_.])(?<![A-Za-z)]-)(?<!\d,)"
    rf"(?P<sign>(?<![\w)])[-+])?(?P<currency>(?:{_any_of(CURRENCY_SIGNS)})\s?)?"
    rf"(?P<number>{_NUMBER})(?:(?P<range>\s?(?:-|~|至|到| to )\s?)[$€£¥]?(?P<upper>{_NUMBER}))?"
    rf"(?:[\s-]?(?P<scale>{_any_of(SCALES)}))?(?:[\s-]?(?P<unit>{_any_of(UNITS)}))?",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    rf"百分之(?P<share>[{_NUMERALS}]+(?:点[{_NUMERALS}]+)?|{_NUMBER})"
    rf"|(?<![第{_NUMERALS}\d])(?P<numeral>[{_NUMERALS}]+(?:点[{_NUMERALS}]+)?)"
    r"(?P<unit>倍|成(?![为立功本员长])|个百分点|美元|欧元|元|吨|斤|人(?!工)|家(?!庭)|公里|小时|天(?!然))"
    # 一成六 is 16 per cent.
    r"(?:(?<=成)(?P<more>[一二三四五六七八九半]))?"
)
_NAMING = re.compile(
    r"(?:\b(?:fig(?:ure)?s?|tables?|sections?|chapters?|eqs?|equations?|no|nos|phase|step|page|pp?|vol|version|item|type"
    r"|grade|level|part|appendix|note|ref)\.?\s?|[第图表§#№v])$",
    re.IGNORECASE,
)


# Beside these, pounds are money.
_MONEY = re.compile(
    r"(?i)£|sterling|\b(?:costs?|pa(?:y|id|ys|yment)|prices?|budget|fees?|rent|wages?|salar(?:y|ies)|spen[dt]|earn\w*"
    r"|sold for|worth|fund\w*|grants?|debts?|loans?|tax\w*|revenue|profits?|turnover|invest\w*|donat\w*|fined?)\b"
)
# Units of one kind, each in the least of them; what Chinese only counts by is none: 52项 and 52个项目.
_BASES: dict[str, tuple[str, float]] = {
    unit: (sizes.split()[0], float(size))
    for sizes in (
        "mg 1 g 1e3 lb 453592.37 斤 5e5 台斤 6e5 kg 1e6 t 1e9", "mm 1 cm 10 m 1e3 km 1e6", "kW 1 MW 1e3 GW 1e6 TW 1e9",
        "kWh 1 MWh 1e3 GWh 1e6 TWh 1e9", "ms 1 s 1e3 min 6e4 h 3.6e6 day 8.64e7 week 6.048e8", "month 1 year 12",
        "MB 1 GB 1e3 TB 1e6", "ml 1 L 1e3", "m² 1 亩 666.667 ha 1e4 km² 1e6",
    )
    for unit, size in zip(sizes.split()[::2], sizes.split()[1::2], strict=True)
} | dict.fromkeys("家例个台辆套项件次户", ("", 1.0))  # fmt: skip


Values = tuple[tuple[float, str], ...]


class Quantity(NamedTuple):
    """A number of a text at its full size, with its unit's one name ("" where it has none).

    One in words may also be others: "doubled" is 2 times, and 100 % more.
    """

    value: float
    unit: str
    start: int
    end: int
    raw: str
    also: Values = ()

    @property
    def values(self) -> Values:
        """Return all that it is with their units, the plainest first."""
        return (self.value, self.unit), *self.also

    @property
    def shown(self) -> float | None:
        """Return the number that its first digits show, whatever its scale; None for one that is all in words."""
        return next(iter(digits_in(self.raw).values()), None)

    @property
    def in_base_unit(self) -> tuple[float, str]:
        """Return the value and unit by which it compares with others: 1.5 km and 1,500 m are one."""
        return in_base_unit(self.value, self.unit)


def digits_in(text: str) -> dict[str, float]:
    """Return the numbers that a text has in digits, whatever their scales, by how they are written."""
    return {digits: float(digits.replace(",", "")) for digits in _DIGITS.findall(text)}


def in_base_unit(value: float, unit: str) -> tuple[float, str]:
    """Return a value in the least unit of its kind, and that unit."""
    base, size = _BASES.get(unit, (unit, 1.0))
    return float(f"{value * size:.12g}"), base


# As with dates: the same sentences are looked at again and again.
@lru_cache(maxsize=2_048)
def find_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text in order; both ends of a range count, with the unit they share."""
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
        elif match["upper"] and match.start("upper") not in dated:
            # "18 % in 2020 to 16 % in 2022": a date begins no range, and what follows "to" counts by itself.
            found += _quantities_of(match, text)[1:]
    found += [_chinese_quantity(match, text) for match in _CHINESE.finditer(plain) if _counts(match)]
    return tuple(sorted(found, key=lambda quantity: quantity.start))


def _names_a_thing(text: str, match: Match) -> bool:
    start, end = match.span()
    if match["currency"]:
        return False
    if match["unit"] in ("G", "T", "H"):  # a network generation, never grams
        return True
    after = text[end : end + 2]
    if after[:1].isascii() and (after[:1].isalnum() or after[:1] == "_"):
        return True
    if re.match(r"\.\d|-[A-Za-z]", after):
        return not match["unit"] and not match["scale"]
    if text[start - 1 : start] == "[" and after[:1] in ("]", ","):
        return True
    return bool(_NAMING.search(text, max(0, start - 12), start))


def _quantities_of(match: Match, text: str) -> list[Quantity]:
    currency, scale_word, unit_word = match["currency"], match["scale"], match["unit"]
    end = match.end()
    factor = SCALES.get((scale_word or "").lower(), 1.0)
    unit = UNITS.get((unit_word or "").lower(), "")
    if scale_word and scale_word.lower() in LOOSE_SCALES and not currency and not scale_word.isupper():
        factor, unit = 1.0, unit or UNITS.get(scale_word.lower(), "")
        end = match.end("scale") if unit else match.end("upper" if match["upper"] else "number")
    if unit == "斤" and to_simplified(text) != text:
        unit = "台斤"
    if unit_word in ("pounds", "pound") and (factor >= SCALES["million"] or _MONEY.search(text)):
        unit = "GBP"
    if currency:
        unit = CURRENCY_SIGNS[currency.strip().upper()]
    sign = -1.0 if match["sign"] == "-" else 1.0
    lower = _value(match["number"], factor) * sign
    if not match["upper"]:
        return [_quantity(lower, unit, match.start(), end, text)]
    return [
        _quantity(lower, unit, match.start(), match.end("number"), text),
        _quantity(_value(match["upper"], factor), unit, match.end("range"), end, text),
    ]


def _value(number: str, factor: float) -> float:
    # Twelve digits hold any figure that prose states, and hide what 1.2 * 1e6 leaves behind the point.
    return float(f"{float(number.replace(',', '')) * factor:.12g}")


def _quantity(value: float, unit: str, start: int, end: int, text: str) -> Quantity:
    return Quantity(value, unit, start, end, text[start:end])


def _counts(match: Match) -> bool:
    """Return whether Chinese numerals before a unit are a figure; "一家" and "一人" are only an article."""
    numeral, unit = match["numeral"], match["unit"]
    return numeral is None or unit in ("倍", "成", "个百分点") or any(sign in numeral for sign in "十百千万亿点")


def _chinese_quantity(match: Match, text: str) -> Quantity:
    share, unit = match["share"], match["unit"]
    if share and share[0] not in _NUMERALS:
        value = _value(share, 1.0)
    else:
        more = chinese_number((match["more"] or "〇").replace("半", "五"))
        value = chinese_number(share or match["numeral"]) * (10 if unit == "成" else 1) + more
    return _quantity(value, "%" if share or unit == "成" else UNITS[unit], *match.span(), text)


def chinese_number(numeral: str) -> float:
    """Return the value of a number written in Chinese numerals, such as 三百二十万 or 三点二."""
    digits = {letter: value for value, letter in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
    total = myriads = section = digit = 0
    whole, _, decimals = numeral.partition("点")
    for letter in whole:
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
    return float(f"{total + myriads + section + digit}.{''.join(str(digits[letter]) for letter in decimals)}")
