"""What a question asks for: the kind of answer, its parts, what to leave out, and what an answer must name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, cast

from deep_research.reasoning.rules.lexicon import load_table
from deep_research.reasoning.rules.question.kinds import kind_of
from deep_research.reasoning.rules.question.material import topic_part
from deep_research.reasoning.rules.question.phrases import chinese_pieces, phrases, question_words
from deep_research.reasoning.values import (
    QUESTION_KINDS,
    Brief,
    Draft,
    Findings,
    QuestionAnalysis,
    QuestionKind,
    Strings,
)
from deep_research.request import Language
from deep_research.text.analyzer import CJK_CHARACTER, content_terms
from deep_research.text.bounds import bounded_periods
from deep_research.text.dates import find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import words_in
from deep_research.text.sentences import split_sentences
from deep_research.text.stop_words import ENGLISH

# "…, and when …?" asks a second thing; two Chinese questions are parted by a comma.
_NEXT_PART = re.compile(
    r"[,;]?\s(?:and|but)\s(?=(?:(?:by|during|at|in|from|on|to|for|with|since) )?"
    r"(?:what|which|who|whom|when|where|why|how|is|are|was|were|did|does|do|has|have|should|can)\b)"
    r"|(?<=[?？])\s?|[,，；;]",
    re.IGNORECASE,
)
_EXCLUDED = re.compile(
    r"\b(?:leav(?:e|ing) out|without|except(?: for)?|excluding|ignor(?:e|ing)|not counting|apart from|other than"
    r"|don['’]?t (?:mention|include|need)|skip(?:ping)?)\s(?P<en>[^.?!;,]{2,80})"
    r"|\b(?:know|have) (?P<en2>[^.?!;,]{2,60})[,;]? (?:so |and )?(?:you can |please )?(?:leave|skip) (?:it|them|that)\b"
    r"|(?:不要|不必|无需|不用|别)(?:提|包括|包含|谈|写|列)(?P<zh>[^。？！；，]{1,30})"
    r"|(?P<zh3>[^。？！；，?]{2,20}?)(?:先|就|暂时?)?(?:不用|不必|不需要?|无需)(?:列|写|提|讲|管)"
    r"|(?:除了?|撇开|不含|不包括|排除)(?P<zh2>[^。？！；，]{1,30}?)(?:之外|以外|外|，|。|$)",
    re.IGNORECASE,
)
_WORD = r"[A-Z][A-Za-zÀ-ÿ\d&.-]*[A-Za-zÀ-ÿ\d]|[A-Z]\d[\w-]*"
_NAME = re.compile(
    r"[\"“‘「『《](?P<quoted>[^\"”’」』》]{2,60})[\"”’」』》]"
    rf"|(?<![A-Za-z])(?P<latin>(?:{_WORD})(?: (?:(?:of|the|de|van|von|&) )*(?:{_WORD}|\d+[A-Za-z]?(?![\d年月])))*)"
)
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "prof"})
_MAX_KEYWORDS = 6
# An open question of so few terms has one subject.
_FEW_TERMS = 8
# A longer question asks for more than one thing, however it is put.
_MANY_TERMS = 16
_POINTS_BACK, _FEW_OWN_TERMS = re.compile(r"(?i)\b(?:that|this|it|they|these|those)\b|[这那這它]"), 2
_CODE = re.compile(r"\d|[A-Z].*[A-Z]")
_MONTH_NAME = re.compile(
    r"(?:Jan|Febr|Ma|Apr|June|July|Aug|Sept|Octo|Novem|Decem)(?:uary|rch|y|il|ust|ember|ber)?(?: \d{4})?|\d+"
)
# "stage 2", "phase three", "Room 14", "第三期", "二期", "3号楼".
_ORDINAL = re.compile(
    r"\b(?P<en>(?:stage|phase|lot|part|round|step|level|floor|room|hall|building|batch|line|unit|route|zone|site|plot|"
    r"section|volume|week|quarter|no|number|version|grade|class|type|group|pump|station|boat|order|shipment)"
    r"\.?\s(?:[A-Z]{0,3}-?\d[\w-]*|[IVX]{1,4}|[A-Z]|one|two|three|four|five|six)"
    rf"|(?P<any>(?!(?:{'|'.join(ENGLISH)}|least|last|next|past)\b|{_MONTH_NAME.pattern})[a-z]{{3,}} \d{{1,3}}))\b"
    r"|(?P<zh>第?[一二三四五六七八九十\d]{1,3}(?:期|号|阶段|季度|楼|组|班|轮|车间|区|级|茬|等))",
    re.IGNORECASE,
)
# What follows the number of a thing; "took 12 days" numbers nothing.
_NOTHING_COUNTED = re.compile(r" (?:of|in|on|at|by|for|from|and|was|is|has)\b|[?,.;]|$")
_DIGITS = dict(
    zip(
        "one two three four five six i ii iii iv v vi 一 二 三 四 五 六 七 八 九".split(),
        "123456123456123456789",
        strict=True,
    )
)
_ASKS_FOR = {
    what: re.compile(pattern, re.IGNORECASE)
    for what, pattern in {
        "money": r"\bhow much (?:did|does|do|was|were|is|are|will|would|money|has|have)\b"
        r"(?!.*\b(?:weigh|lift|hold|carry|produce|generate|consume|use|grow|shrink|rise|fall|tonnes|tons|litres|liters|water|energy|time)\b)"
        r"|\b(?:costs?|price|fee|budget|paid|spend|spent|salary|charge|rent|amount of money|worth)\b"
        r"|\b(?:hourly|daily|day|nightly|room|freight|postal) rate\b"
        r"|多少(?:钱|元|费|英镑|美元|欧元|经费)|费用|花了(?!.{0,6}(?:时间|小时|久|天|年|个月|水|电))|预算|(?<!评)价(?![值比])|成本|租金|金额|经费"
        r"|(?:时薪|小时|每天|每晚).{0,2}费率",
        # A rate may be a share, a price, a frequency or a speed.
        "rate": r"\b(?:exchange|heart|pulse|flow|frame|sampling|data|bit|refresh|discharge|death|birth|breathing)"
        r" rates?\b|\bat what rate\b|[汇匯心速功频费流码税]率|[速频]度|效率|分辨率",
        "share": r"\bwhat (?:share|percentage|proportion|fraction)\b|\brate\b|百分之几|比例|占比|率",
        "duration": r"\bhow long\b|\bhow much time\b|多久|多少?长?时间|几(?:天|年|个月|小时|分钟)",
        "count": r"\bhow (?:many|much)\b|\bnumber of\b|多少|几(?:个|名|人|台|家|次|件|户|亩|箱)|数量",
        "date": r"\bwhen\b|\b(?:which|what) (?:date|day|year|month|time)\b|何时|什么时候|哪一?个?[天年月日]|几[月号点]",
        "organisation": r"\b(?:which|what) (?:firm|company|supplier|contractor|bank|agency|university)\b|哪一?家",
        "person": r"\bwho(?:m|se)?\b|谁|哪位|何人|什么人",
        "place": r"\bwhere\b|\bwhich (?:town|city|place|room)\b|哪里|何处|在哪|什么地方",
    }.items()
}


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (kind, re.compile("|".join(f"(?:{pattern})" for pattern in chain(*spellings.values()))))
        for kind, spellings in load_table("question_kinds").items()
    ]


def analyze_question(question: str) -> QuestionAnalysis:
    """Return what a question asks for, by its own words."""
    left_out = (next(filter(None, match.groups())) for match in _EXCLUDED.finditer(question))
    excluded = tuple(" ".join(text.split()) for text in left_out)
    asking = _EXCLUDED.sub(" ", question)
    parts = _parts(asking)
    kinds = [_kind(part) for part in parts] or [_kind(asking)]
    asks_for = sort_asked_for(parts[0] if parts else asking)
    kind = "advice" if "advice" in kinds else kinds[0]
    # A few words for a search engine that name a quantity ask for it.
    if kind == "open" and asks_for and len(question.split()) <= _MAX_KEYWORDS:
        kind = "fact"
    return QuestionAnalysis(
        kind=kind, parts=parts, excluded=excluded, asks_for=asks_for, **_anchors(" ".join(parts) or asking)
    )


def checked_analysis(read: Mapping[str, Any], question: str, *, asked: str) -> QuestionAnalysis:
    """Return what somebody else took a question to ask for, field by field as far as it can be true.

    Parts, exclusions and anchors must stand in what the user wrote; what does not is as our own reading has it.
    """
    own, known = analyze_question(question), set(content_terms(asked))
    standing = {
        key: tuple(text for text in read[key] if set(content_terms(text) or [text]) <= known)
        for key in ("parts", "excluded", "anchors")
    }
    anchors = standing["anchors"]
    found = _anchors("; ".join(anchors))
    names = tuple(text for text in anchors if not (find_dates(text) or _ORDINAL.search(text) or text.isdigit()))
    return QuestionAnalysis(
        kind=read["kind"] if read["kind"] in QUESTION_KINDS else own.kind,
        # A question without one of its parts is another one.
        parts=standing["parts"] if len(standing["parts"]) == len(read["parts"]) > 0 else own.parts,
        excluded=standing["excluded"] or own.excluded,
        names=names or own.names,
        periods=found["periods"] or own.periods,
        ordinals=found["ordinals"] or own.ordinals,
        asks_for=read["asks_for"] if read["asks_for"] in _ASKS_FOR else own.asks_for,
    )


def part_analysis(part: str, before: QuestionAnalysis) -> QuestionAnalysis:
    """Return what one part of a question asks for; anchors that it does not name itself are those named before it."""
    own = {key: found for key, found in _anchors(part).items() if found}
    return before.replace(**own, asks_for=sort_asked_for(part))


def _anchors(text: str) -> dict[str, Strings]:
    """Return names, periods and numbered things; a month without a year is a period of any year ("????-06").

    What lies before or after a period need not name it.
    """
    dates = [iso for name, iso in bounded_periods(to_simplified(text), are_years=True) if name not in ("lt", "gt")]
    return {
        "names": tuple(dict.fromkeys(_names(text))),
        "periods": tuple(dict.fromkeys(dates)),
        "ordinals": tuple(
            dict.fromkeys(
                match.group()
                for match in _ORDINAL.finditer(text)
                if not match["any"] or _NOTHING_COUNTED.match(text, match.end())
            )
        ),
    }


def outline_of_answer(language: Language) -> Strings:
    """Return the one section that a report has beside its answer, where a few sentences or rows can answer."""
    return (words_in(language)("report.findings"),)


def has_short_outline(brief: Brief, titles: Iterable[str]) -> bool:
    """Return whether a report with these sections is an answer and what supports it."""
    return not brief.has_own_focus and tuple(titles) == outline_of_answer(brief.language)


def is_short_answer(report: Findings | Draft) -> bool:
    """Return whether a report, or what it will be written from, has this outline."""
    return has_short_outline(report.brief, report.plan.titles)


def is_answered_first(brief: Brief) -> bool:
    """Return whether a few sentences or rows can answer; advice, open topics and own focuses need more."""
    is_wide = brief.has_own_focus or brief.analysis.kind in ("advice", "open") or is_broad(brief)
    return not is_wide and _size(brief) <= _MANY_TERMS


def is_broad(brief: Brief) -> bool:
    """Return whether a question asks for all sides of its subject, or has no subject but the documents."""
    is_whole = topic_part(brief.question) != brief.question or not _has_subject(brief.question)
    return is_whole or any(_likeliest(part) == "broad" for part in brief.analysis.parts)


def has_one_subject(brief: Brief) -> bool:
    """Return whether a report needs no sections: nothing but one thing is asked for, or advice."""
    is_small = brief.analysis.kind != "open" or _size(brief) <= _FEW_TERMS
    return brief.analysis.kind == "advice" or (is_small and not brief.has_own_focus and not is_broad(brief))


def is_topic(brief: Brief) -> bool:
    """Return whether a question names one subject and nothing to be asked of it."""
    return brief.analysis.kind == "open" and has_one_subject(brief)


def _size(brief: Brief) -> float:
    terms = set(content_terms(brief.analysis.asking or brief.question))
    # Two Chinese characters overlap with the next two.
    return sum(1.0 if term.isascii() else 0.5 for term in terms)


def _has_subject(question: str) -> bool:
    """Return whether a question holds more than the words that questions are asked with."""
    pieces = (question[start:end] for start, end in chinese_pieces(question))
    return bool(phrases(question)) or any(len(CJK_CHARACTER.findall(piece)) > 1 for piece in pieces)


def asking_part(question: str) -> str:
    """Return the first part of a question that asks for something, without what is to be left out."""
    asking = _EXCLUDED.sub(" ", question)
    return next(iter(_parts(asking)), asking)


def cues_of(part: str) -> Strings:
    """Return the kinds whose patterns a text holds, in their order."""
    simple = to_simplified(part).lower().strip()
    return tuple(kind for kind, pattern in _patterns() if pattern.search(simple))


def _likeliest(part: str) -> str:
    """Return the kind that is learned; what asks for effects or results by a pattern of its own wants all sides."""
    cues = cues_of(part)
    found = "broad" if cues[:1] == ("broad",) else kind_of(part, cues)
    # Nobody is advised who does not ask for it.
    return "fact" if found == "advice" and not cues and len(content_terms(part)) <= _FEW_TERMS else found


def _kind(part: str) -> QuestionKind:
    found = _likeliest(part)
    return "open" if found == "broad" else cast(QuestionKind, found)


def sort_asked_for(part: str) -> str:
    """Return what sort of thing a question asks for, "" where it does not say."""
    simple = to_simplified(part)
    return next((what for what, pattern in _ASKS_FOR.items() if pattern.search(simple)), "")


def ordinals_in(text: str) -> list[tuple[str, str]]:
    """Return the numbered things of a text, each as what it is and its number in digits: "Stage two" is a stage 2."""
    found = []
    for match in _ORDINAL.finditer(to_simplified(text)):
        words = match.group().lower()
        if match["en"]:
            noun, _, number = words.replace(".", "").partition(" ")
        else:
            plain = words.removeprefix("第")
            number = plain.rstrip("期号批阶段季度楼组班轮车间区级茬等")
            noun = plain[len(number) :]
        found.append((noun, _DIGITS.get(number, number)))
    return found


def _parts(question: str) -> Strings:
    """Return the questions that a text asks, each with the clauses before it that ask nothing."""
    sentences = [question[start:end].strip() for start, end in split_sentences(question)] or [question]
    asking = [text for text in sentences if text.endswith(("?", "？"))]
    if not asking:
        asking = [text for text in sentences if cues_of(text)][-1:]
    parts = []
    for text in asking:
        at = sentences.index(text)
        # "Is that allowed?" asks about what was told before.
        is_about_told = at and _POINTS_BACK.search(text) and len(content_terms(text)) <= _FEW_OWN_TERMS
        held = f"{sentences[at - 1]} " if is_about_told else ""
        for piece, gap in _pieces(text):
            held += piece
            if cues_of(piece) and held.strip():
                parts.append(held.strip())
                held = ""
            else:
                held += gap
        if held.strip() and parts:
            parts[-1] += f", {held.strip()}"
    return tuple(parts)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the clauses of a question, each with what stands between it and the next."""
    start = 0
    for match in _NEXT_PART.finditer(text):
        yield text[start : match.start()], match.group()
        start = match.end()
    yield text[start:], ""


def _names(question: str) -> Iterator[str]:
    """Yield what is quoted or written with a capital; the first word of a sentence only where more shows a name."""
    starts = {span.start for span in split_sentences(question)}
    for match in _NAME.finditer(question):
        name = match["quoted"] or match.group()
        first, _, rest = name.partition(" ")
        if first.lower().rstrip(".") in _TITLES:
            name = rest
        elif match.start() in starts and not match["quoted"]:
            name = rest if first.lower() in question_words() or not rest else name
            name = name or (first if _CODE.search(first) else "")
        if name and not _MONTH_NAME.fullmatch(name):
            yield name
