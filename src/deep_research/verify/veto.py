"""The verdict that code gives a written sentence before a judge may look.

It only ever refuses; a sentence that passes here is as undecided as before.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Verdict
from deep_research.text.messages.language import LANGUAGES, UNKNOWN, locale_of
from deep_research.text.number_words import spelled_numbers
from deep_research.text.quantities import digits_in
from deep_research.verify.names import unknown_name
from deep_research.verify.nearest import CheckedSource, nearest
from deep_research.verify.objection import MAX_COUNTED, ClaimToCheck, is_supported_day, objection_against
from deep_research.verify.particulars import dates_of, days_in


def veto(
    sentence: Sentence,
    passages: Sequence[Evidence],
    *,
    titles: Sequence[str] = (),
    asked: str = "",
    known: Sequence[str] = (),
    language: str = "en",
    is_judged: bool = False,
) -> Verdict | None:
    """Return why the passages cannot carry the sentence, or None if code knows no reason.

    Where it `is_judged` later, what can be worked out from the passages' figures may pass.

    Dates and names may also stand in the titles of the passages' documents, or beside the passages: "the annual report
    of 2024" says whose figures they are; and those that the user asked about are never foreign. Figures of `known`,
    what documents are called or what was computed before, may be repeated; a conclusion may hold the question's too.
    """
    if not passages:
        return Verdict(kind="not_found", reason="uncited")
    is_own = sentence.kind == "conclusion"
    text = in_english_form(sentence.text, language, [*(passage.quote for passage in passages), asked])
    claim = ClaimToCheck(
        text=text,
        known=(*titles, asked),
        titles=tuple(titles),
        allowed_figures=(*known, *([asked] if is_own else [])),
        is_own=is_own,
        is_exact=True,
        is_judged=is_judged,
    )
    sources = [_source(passage.id, passage.quote) for passage in passages]
    near = nearest(text, sources)
    objection = objection_against(claim, near, sources)
    if not objection:
        return None
    reason = f"{objection.kind}: {objection.detail}".removesuffix(": ")
    if not objection.is_contrary:
        return Verdict(kind="not_found", reason=reason)
    passage = next(each for each in passages if each.id == near[0].source.address)
    start, end = (passage.start + offset for offset in near[0].span)
    return Verdict(kind="contradicted", reason=reason, evidence=passage.id, start=start, end=end)


# A paragraph's sentences cite the same few passages.
@lru_cache(maxsize=256)
def _source(id_: str, quote: str) -> CheckedSource:
    return CheckedSource(address=id_, title="", text=quote)


def veto_row(
    cells: Sequence[tuple[str, str]],
    passages: Sequence[Evidence],
    *,
    titles: Sequence[str] = (),
    asked: str = "",
    is_own: bool = False,
    language: str,
) -> Verdict | None:
    """Return why the passages cannot carry a row that somebody wrote: a value holds digits or a name that they do not.

    Its labels are the writer's own words, and may hold the unit of the figures below. A row `is_own` if it concludes.
    """
    texts = [*(passage.quote for passage in passages), *titles, asked]
    numbers = {number for text in texts for number in (*digits_in(text).values(), *spelled_numbers(text))}
    days = days_in(texts)
    for _, written in cells:
        bare = value = in_english_form(written, language, texts)
        for date in dates_of(value):
            if not is_supported_day(date.iso, days, is_own=is_own):
                return Verdict(kind="not_found", reason=f"date: {date.raw}")
            bare = bare.replace(date.raw, " ")
        for digits, number in digits_in(bare).items():
            # What the report proposes itself may be counted: "months 4 to 6".
            if number not in numbers and not (is_own and number <= MAX_COUNTED):
                return Verdict(kind="not_found", reason=f"number: {digits}")
        if name := unknown_name(value, " ".join(texts)):
            return Verdict(kind="not_found", reason=f"name: {name}")
    return None


# Sentences in languages that the rules do not read, with their figures and dates as English writes them.
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
