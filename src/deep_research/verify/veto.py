"""The verdict that code gives a written sentence before a judge may look.

It only ever refuses; a sentence that passes here is as undecided as before.
"""

from collections.abc import Sequence
from functools import lru_cache

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Verdict
from deep_research.text.number_words import spelled_numbers
from deep_research.text.quantities import digits_in
from deep_research.verify.localized import in_english_form
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
    if objection is None:
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
    language: str = "en",
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
