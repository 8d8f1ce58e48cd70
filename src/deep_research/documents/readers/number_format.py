"""Numbers, dates and truth values of a sheet as a person sees them: `0.08` under the format `0%` is `8%`."""

import math
import operator
import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

# Quoted text, an escaped character, a space as wide as a character, a bracket (colour, condition, currency), any sign.
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|([_*]).|\[([^\]]*)\]|(.)', re.DOTALL)
_CURRENCY = re.compile(r"\$([^-]*)(?:-[0-9A-Fa-f]+)?")
_CONDITION = re.compile(r"(<=|>=|<>|=|<|>)(-?\d+(?:\.\d+)?)")
_COMPARE = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne
}  # fmt: skip
_DIGIT, _GAP = "0#?", "\0"
# From the first place for a digit, or the point before it, to the last and the commas behind it.
_PLACES = re.compile(r"\.?[0#?](?:.*[0#?])?,*", re.DOTALL)
_MAX_DECIMALS = 30
# Excel's own limit.
_MAX_FORMAT_CHARS = 255
# A cell shows eleven digits of a number without a format, which also hides what binary fractions leave behind.
_GENERAL_DIGITS = 11
_MAX_FORMATTED = 1e15
_DAY_ZERO, _DAYS_TO_YEAR_9999 = datetime(1899, 12, 30), 2_958_465  # noqa: DTZ001 - a sheet's dates have no zone


class _FormatSection(NamedTuple):
    """One of the forms of a format: its signs, the same with a gap for each that is no code, and when it holds."""

    text: str = ""
    gapped: str = ""
    condition: tuple[str, float] | None = None

    @property
    def codes(self) -> str:
        return self.gapped.replace(_GAP, "")


def shown(value: object, number_format: str = "General") -> str:
    """Return what a cell with this value and format shows, dates in ISO form; nothing for an empty cell."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return _number(value, number_format or "General")
    if isinstance(value, datetime | date | time | timedelta):
        return _moment(value, number_format or "General")
    return str(value)


def is_date_format(number_format: str) -> bool:
    """Return whether a format shows a date or time; with places for digits, as in `$0.0M`, it shows a number."""
    codes = re.sub(r"s+\.0+", "s", _sections(number_format)[0].codes.lower())
    return bool(re.search(r"[ymdhs]", codes)) and not any(sign in codes for sign in _DIGIT)


@lru_cache(maxsize=256)
def _sections(number_format: str) -> list[_FormatSection]:
    sections = [_FormatSection()]
    for quoted, escaped, _, bracket, sign in _TOKEN.findall(number_format[:_MAX_FORMAT_CHARS]):
        if sign == ";":
            sections.append(_FormatSection())
            continue
        currency, limit = _CURRENCY.fullmatch(bracket), _CONDITION.fullmatch(bracket)
        code = sign or (bracket if re.fullmatch(r"h+|m+|s+", bracket, re.IGNORECASE) else "")
        literal = currency[1] if currency else quoted or escaped
        text, gapped, condition = sections[-1]
        condition = (limit[1], float(limit[2])) if limit else condition
        sections[-1] = _FormatSection(text + code + literal, gapped + code + _GAP * len(literal), condition)
    return sections


def _number(value: float, number_format: str) -> str:
    if is_date_format(number_format) and 0 <= value < _DAYS_TO_YEAR_9999:
        return _moment(_DAY_ZERO + timedelta(days=value), number_format)
    if number_format == "General" or abs(value) >= _MAX_FORMATTED:
        return _general(value)
    section, has_own_sign = _section_for(value, _sections(number_format))
    codes = section.codes
    if "General" in codes or "@" in codes or "/" in codes:
        return _general(value)
    places = _PLACES.search(section.gapped)
    if places is None:
        return section.text
    pattern = places[0].replace(_GAP, "")
    size = abs(Decimal(repr(value))).scaleb(2 * codes.count("%"))
    body = f"{size:.{_decimals(pattern)[0]}E}" if "E" in pattern else _grouped(size, pattern)
    before, after = section.text[: places.start()], section.text[places.end() :]
    minus = "-" if value < 0 and not has_own_sign and re.search(r"[1-9]", body) else ""
    text = (minus + before + body + after).strip()
    # Accountants' brackets read like a remark once they stand in a sentence.
    return f"-{text[1:-1]}" if value < 0 and text.startswith("(") and text.endswith(")") else text


def _section_for(value: float, sections: list[_FormatSection]) -> tuple[_FormatSection, bool]:
    """Return the form for a value, and whether it says itself that the value is negative."""
    if any(section.condition for section in sections):
        fits = (s for s in sections if s.condition is None or _COMPARE[s.condition[0]](value, s.condition[1]))
        return next(fits, sections[-1]), False
    if value < 0 and len(sections) > 1:
        return sections[1], True
    return (sections[2] if value == 0 and len(sections) > 2 else sections[0]), False


def _decimals(pattern: str) -> tuple[int, int]:
    """Return how many digits behind the point are shown, and how many of them even if they are zero."""
    behind = pattern.partition("E")[0].partition(".")[2]
    return min(sum(sign in _DIGIT for sign in behind), _MAX_DECIMALS), min(behind.count("0"), _MAX_DECIMALS)


def _grouped(size: Decimal, pattern: str) -> str:
    whole, _, behind = pattern.partition(".")
    # A comma after the last digit on either side of the point stands for three digits that are not shown.
    commas = sum(len(part) - len(part.rstrip(",")) for part in (whole, behind))
    shown_digits, needed = _decimals(pattern)
    size = size.scaleb(-3 * commas).quantize(Decimal(1).scaleb(-shown_digits), ROUND_HALF_UP)
    text = f"{size:,f}" if "," in whole.rstrip(",") else f"{size:f}"
    integer, _, fraction = text.partition(".")
    fraction = fraction[:needed] + fraction[needed:].rstrip("0")
    integer = integer.zfill(whole.count("0")) if "0" in whole or integer != "0" else ""
    return integer + ("." + fraction if fraction else "") or "0"


def _general(value: float) -> str:
    if isinstance(value, int) or (value.is_integer() and abs(value) < _MAX_FORMATTED):
        return str(int(value))
    return f"{value:.{_GENERAL_DIGITS}g}"


def _moment(value: datetime | date | time | timedelta, number_format: str) -> str:
    codes = _sections(number_format)[0].codes.lower()
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02d}" + (f":{seconds:02d}" if seconds or "s" in codes else "")
    clock = f"{value:%H:%M:%S}".removesuffix(":00") if isinstance(value, datetime | time) else ""
    has_day, has_clock = "d" in codes, "h" in codes or "s" in codes
    if isinstance(value, time) or (has_clock and not has_day and "y" not in codes):
        return clock
    is_whole = has_day or not is_date_format(number_format)
    day = f"{value:%Y-%m-%d}" if is_whole else f"{value:%Y-%m}" if "m" in codes else f"{value:%Y}"
    # Programs that know no plain dates write midnight.
    return f"{day} {clock}" if (has_clock or (is_whole and not has_day)) and clock not in ("", "00:00") else day
