"""Sentences in languages that the rules do not read, with their figures and dates as English writes them."""

import re
from collections.abc import Sequence
from functools import cache

from deep_research.text.messages.language import LANGUAGES, UNKNOWN, locale_of

_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d.,])|\d+(?:[.,'’\u00a0\u202f]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:\D\d{3})+")
_PER_CENT = re.compile(
    r"(?i)(?<=\d)\s?(?:prozent|pour[ -]cent|por ?ciento|por cento|per cento|procent\w*|prosent\w*|процент\w*)"
)
# "am 21. November" is a day, and no end of a sentence.
_ORDINAL = re.compile(r"(?<=\d)\.(?=\s+[^\W\d_])")
_CAPITAL = re.compile(r"\b[A-ZÀ-Þ](?=[a-zß-ÿ]+\b)")


def in_english_form(text: str, language: str, quotes: Sequence[str]) -> str:
    """Return a text with figures, months and per cent as in English; figures that stand in the quotes are left alone.

    Words lose their capitals: where every noun has one, and names are translated, a capital makes no name.
    """
    if language in LANGUAGES:
        return text
    quoted = " ".join(quotes)
    text = _NUMBER.sub(lambda match: match[0] if match[0] in quoted else _in_digits(match[0], language), text)
    text = _PER_CENT.sub("%", _ORDINAL.sub("", text))
    text = _CAPITAL.sub(lambda match: match[0].lower(), text)
    for name, english in _months(language).items():
        text = re.sub(rf"(?<=\d )(?:de )?{re.escape(name)}(?= |$)(?: de(?= \d))?", english, text)
    return text


def _in_digits(number: str, language: str) -> str:
    decimal = "." if language == UNKNOWN else str(locale_of(language).number_symbols["latn"]["decimal"])
    if _GROUPED.fullmatch(number) and decimal not in number:
        return re.sub(r"\D", ",", number)
    whole, _, rest = number.partition(decimal)
    return re.sub(r"\D", "", whole) + (f".{rest}" if rest else "")


@cache
def _months(language: str) -> dict[str, str]:
    if language == UNKNOWN:
        return {}
    own, english = (locale_of(tag).months["format"]["wide"] for tag in (language, "en"))
    return {str(own[number]).lower(): str(english[number]) for number in english}
