"""What rules have against a statement and the sources it cites: a figure, sum, date or name that is not theirs, or the
contrary of what they say. What they do not know is no objection.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import combinations, permutations
from typing import Literal

from deep_research.evidence.passage import Evidence
from deep_research.text.analyzer import CJK, content_terms, stem
from deep_research.text.folding import to_simplified
from deep_research.text.quantities import Quantity
from deep_research.verify.calculation import objection_to
from deep_research.verify.cited_markdown import Statement
from deep_research.verify.nearest import ALIKE, NEAR, RELATED, SAME, TURNED, Near, Source, terms_of
from deep_research.verify.opposition import has_side, is_substituted
from deep_research.verify.particulars import (
    HEDGE,
    NEGATION_WORD,
    dates_of,
    figures_of,
    spell_negations,
    split_figures,
    without_negations,
)
from deep_research.verify.quote import tokens_of
from deep_research.verify.veto import days_told, figure_objection, has_other, holds_worded, is_told_day, unknown_name

ObjectionKind = Literal["number", "sum", "date", "name", "negation"]
Objection = tuple[ObjectionKind, str] | None
_TURN_WORDS = 4
# "Nearly a third" may be 31 per cent, and "less than a fifth" 16.
_ABOUT = 0.25
# A table counts so few things itself.
_COUNTED = 12
_EQUATION = re.compile(r"[\d(][\d.,\s()%€$£¥+\-−–*/×÷]*[+\-−–*/×÷][\d.,\s()%€$£¥+\-−–*/×÷]*[=＝]\s*[€$£¥]?\d[\d.,]*")
_ROUGHLY = re.compile(rf"{HEDGE.pattern}|\b(?:over|under|less|more|fewer|close to)\b|不到|不足|逾|多", re.IGNORECASE)
_LATIN = "A-Za-z\u00c0-\u024f'’&-"
_NAME = re.compile(rf"(?<![.!?:;。“\"‘(]\s)(?<!^)(?<![\w-])[A-Z][{_LATIN}]*[a-z][{_LATIN}]*(?:\s+[A-Z][{_LATIN}]+)*")
_BESIDE_CJK = re.compile(rf"(?<=[{CJK}])(?=[A-Za-z])")
_AFTER_BRACKET = re.compile(r"[)）]\s+(?=[A-Z])")
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖"
    "贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤常温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟"
    "殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤阳"
)
_TITLES = "市长|主任|局长|院长|教授|工程师|总工|经理|董事长|总裁|书记|部长|处长|博士|先生|女士|组长|馆长|校长|主席|记者"
_KINDS = "公司|集团|银行|大学|学院|医院|研究院|研究所|设计院|委员会|市|县|区|镇|村|省|湖|河|江|港|厂|桥"
# A person beside a title, and what ends in a word for its kind, with the letter before it.
_CHINESE_NAME = re.compile(
    rf"(?:{_TITLES})(?P<after>[{_SURNAMES}][{CJK}])"
    rf"|(?P<before>[{_SURNAMES}][{CJK}]{{1,2}})(?={_TITLES})"
    rf"|(?P<kind>(?![年月日的本全该各等和与在为个两是从到及])[{CJK}](?:{_KINDS}))"
)
# What stands between is part of the name.
_KIND_AHEAD = re.compile(rf"(?:(?![和与及的在是为由])[\u3400-\u9fff]){{0,4}}?(?:{_KINDS})")


def _evidence(texts: Iterable[str]) -> list[Evidence]:
    return [Evidence(id="", document="", start=0, end=0, quote=text, finding="", section="") for text in texts]


def objection_against(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> Objection:
    """Return what the cited sources cannot carry of a statement, or None if rules know nothing against it."""
    checks = (
        _equation(statement, cited),
        figure_against(statement, near, cited),
        _worded(statement, near, cited),
        _date(statement, near, cited),
        _name(statement, near, cited),
        _contradiction(statement, near),
    )
    return next(filter(None, checks), None)


def _equation(statement: Statement, cited: Sequence[Source]) -> Objection:
    text = statement.text
    for match in _EQUATION.finditer(text):
        objection = objection_to(match[0], text, quotes=[text, *(source.text for source in cited)])
        if objection.startswith("result"):
            return "sum", objection.removeprefix("result: ")
    return None


def figure_against(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> Objection:
    """Return a figure that the cited sources neither hold nor give by rounding or computing."""
    # What an equation says was computed; its result, told beside it, is as good.
    text = _EQUATION.sub(" ", statement.text)
    results = _evidence(match[0] for match in _EQUATION.finditer(statement.text))
    figures = split_figures(text)[0]
    texts = [*(source.text for source in cited), *(source.about for source in cited)]
    days = days_told(text, texts)
    around, whole = [*_evidence(each.around for each in near), *results], _evidence(texts)
    best = near[0] if near else None
    for figure in figures:
        is_count = statement.kind == "row" and figure.raw.isdigit() and figure.value <= _COUNTED
        if is_count or figure.start in days or not figure_objection(figure, around) or _is_rounding(figure, around):
            continue
        # An equation may leave scales and units out.
        if _is_rounding(figure._replace(value=_digits(figure.raw), unit=""), results):
            continue
        others = [other for other in figures if other is not figure]
        if figure.unit == "%" and not re.search(r"\d", figure.raw) and _is_about(figure.value, text, near):
            continue
        if _is_computed(figure, others, statement.before, near):
            continue
        is_known = not figure_objection(figure, whole) or _is_rounding(figure, whole)
        if is_known and not (best and best.is_same_subject and _rivals(figure, others, best)):
            continue
        is_sum = len([other for other in others if other.unit == figure.unit or figure.unit == "%"]) > 1
        return "sum" if is_sum else "number", figure.raw.strip()
    return None


def _rivals(figure: Quantity, others: Sequence[Quantity], near: Near) -> bool:
    """Return whether a sentence holds another figure of the unit, which the statement does not tell."""
    told = {other.value for other in others}
    held = figures_of(near.text)
    # The numbers of a row may have their unit in the header.
    has_unit = any(each.unit == figure.unit for each in held)
    units = ("", figure.unit) if near.is_row and not has_unit else (figure.unit,)
    return any(each.unit in units and each.value not in told for each in held)


def _is_rounding(figure: Quantity, passages: Sequence[Evidence]) -> bool:
    """Return whether a passage holds a figure that is this one once it is rounded to the digits that are shown."""
    held = (each for passage in passages for each in figures_of(passage.quote))
    return any(
        _rounds_to(abs(each.value), figure)
        for each in held
        if each.unit == figure.unit or not each.unit or not figure.unit
    )


def _digits(raw: str) -> float:
    return float("".join(sign for sign in raw if sign.isdigit() or sign == ".").strip(".") or 0)


def _rounds_to(value: float, figure: Quantity) -> bool:
    digits = re.search(r"\d[\d,]*(?:\.\d+)?", figure.raw)
    if digits is None or not figure.value:
        return False
    shown = digits[0].replace(",", "")
    scale = abs(figure.value) / float(shown)
    whole, _, decimals = shown.partition(".")
    zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
    steps = (scale * 10.0**power for power in range(-len(decimals), zeros + 1))
    # What is rounded keeps its order: "100" is not 64 rounded.
    return any(abs(value - abs(figure.value)) <= 0.5001 * step for step in steps if step <= 0.1 * abs(figure.value))


def _is_computed(figure: Quantity, others: Sequence[Quantity], before: str, near: Sequence[Near]) -> bool:
    """Return whether a figure is the sum, difference, share or ratio of those beside it.

    A statement with fewer than two others computes with those before it, or with those of a sentence near it.
    """
    pools = [others]
    if len([other for other in others if other.unit == figure.unit]) < 2:
        pools += [[*others, *figures_of(text)] for text in (before, " ".join(each.text for each in near))]
    for pool in pools:
        values = list(dict.fromkeys(abs(other.value) for other in pool if other.unit != "%"))[:12]
        results = [sum(values)] if len(values) > 2 else []
        if figure.unit == "%":
            shares = [abs(other.value) for other in pool if other.unit == "%"][:12]
            results = [100 * a / b for a, b in permutations(values, 2) if b]
            results += [100 * abs(a - b) / b for a, b in permutations(values, 2) if b]
            results += [sum(shares), 100 - sum(shares), *(abs(a - b) for a, b in combinations(shares, 2))]
        elif figure.unit in ("pp", "x", ""):
            shares = [abs(other.value) for other in pool][:12]
            results += [a / b for a, b in permutations(values, 2) if b]
            results += [abs(a - b) for a, b in combinations(shares, 2)] + [a + b for a, b in combinations(shares, 2)]
        else:
            results += [abs(a - b) for a, b in combinations(values, 2)] + [a + b for a, b in combinations(values, 2)]
        if any(_rounds_to(result, figure) for result in results):
            return True
    return False


def _worded(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> Objection:
    text = statement.text
    best = near[0] if near else None
    for worded in split_figures(text)[1]:
        is_held = any(holds_worded(source.text, worded) for source in cited)
        is_held |= worded.values[0][1] == "%" and _is_about(worded.values[0][0], text, near)
        if not is_held and best and best.share >= NEAR and has_other(best.text, worded.values[0]):
            return "number", worded.raw
    return None


def _is_about(share: float, text: str, near: Sequence[Near]) -> bool:
    """Return whether a statement gives a share roughly, and a sentence near it has about this share, or two figures of
    which one is about this share of the other.
    """
    for each in near if _ROUGHLY.search(to_simplified(text)) else ():
        figures = figures_of(each.text)
        shares = [abs(figure.value) for figure in figures if figure.unit == "%"]
        values = [abs(figure.value) for figure in figures if figure.unit != "%"][:12]
        shares += [100 * a / b for a, b in permutations(values, 2) if b]
        if any(abs(held - share) <= _ABOUT * share for held in shares):
            return True
    return False


def _date(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> Objection:
    text = statement.text
    titles = [source.about for source in cited]
    around = [date.iso for told in (*(each.around for each in near), *titles) for date in dates_of(told)]
    whole = [date.iso for source in cited for date in dates_of(source.text)]
    told = {date.iso for date in dates_of(text)}
    best = near[0] if near else None
    for date in dates_of(text):
        if any(held.startswith(date.iso) for held in around):
            continue
        # A coarser date elsewhere, "in 2025", tells nothing where the same sentence names another day.
        rivals = (held.iso for held in dates_of(best.text)) if best and best.alike >= ALIKE else ()
        is_other = any(len(held) >= len(date.iso) and held not in told for held in rivals)
        if is_other or not is_told_day(date.iso, [*around, *whole], is_own=False):
            return "date", date.raw
    return None


def _name(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> Objection:
    text = _AFTER_BRACKET.sub(". ", _EQUATION.sub(" ", statement.text))
    for figure in figures_of(text):
        # "840 MWh" names nobody.
        text = text.replace(figure.raw, " ")
    whole = " ".join(f"{source.about} {source.text}" for source in cited)
    best = near[0] if near else None
    if best is None or best.share < RELATED:
        return None
    if name := unknown_name(text, _BESIDE_CJK.sub(" ", whole)):
        return "name", name
    if best.share < NEAR:
        return None
    plain, held = to_simplified(text), to_simplified(whole)
    strange = [name for name in _chinese_names(plain) if name not in held]
    if strange and any(name not in plain for name in _chinese_names(to_simplified(best.text))):
        return "name", strange[0]
    around = " ".join(each.around for each in near)
    # The first word of a sentence may be a name too.
    own, theirs = _NAME.findall(text), _NAME.findall(f"- {best.text}")
    strange = [word for name in own for word in name.split() if word.removesuffix("'s") not in around]
    unnamed, held_unnamed = terms_of(text) - terms_of(" ".join(own)), terms_of(best.text) - terms_of(" ".join(theirs))
    is_alike = len(unnamed & held_unnamed) >= TURNED * len(unnamed | held_unnamed)
    if strange and is_alike and terms_of(" ".join(theirs)) - terms_of(text):
        return "name", strange[0]
    return _letter_changed(plain, to_simplified(best.text), held)


def _letter_changed(text: str, near: str, held: str) -> Objection:
    """Return a Chinese name of a kind of thing in which a letter or two stand for others, in the same sentence."""
    matcher = SequenceMatcher(None, text, near, autojunk=False)
    for change, a, b, c, d in matcher.get_opcodes() if matcher.ratio() >= NEAR else ():
        kind = _KIND_AHEAD.match(text, b)
        if change != "replace" or not b - a == d - c <= 2 or not kind:
            continue
        if text[a : kind.end()] not in held and near[c : d + kind.end() - b].endswith(kind[0]):
            return "name", text[a : kind.end()]
    return None


def _chinese_names(text: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in _CHINESE_NAME.finditer(text)]


def _contradiction(statement: Statement, near: Sequence[Near]) -> Objection:
    """Return whether the nearest sentence is the same but for a negation, or an opposite in the place of a word."""
    best = near[0] if near else None
    if best is None or (best.alike < ALIKE and best.share < SAME):
        return None
    is_more = without_negations(statement.text)[1] != without_negations(best.text)[1]
    own, theirs = _words(statement.text), _words(best.text)
    matcher = SequenceMatcher(None, own, theirs, autojunk=False)
    for change, a, b, c, d in matcher.get_opcodes():
        here, there = own[a:b], theirs[c:d]
        is_turned = (here.count(NEGATION_WORD) - there.count(NEGATION_WORD)) % 2
        if not is_more or change == "equal" or not is_turned:
            continue
        # "Fell short of" for "did not reach" turns nothing.
        is_short = max(len(here), len(there)) <= _TURN_WORDS and not any(
            map(has_side, (*_content(here), *_content(there)))
        )
        if _content(here) == _content(there) or (matcher.ratio() >= SAME and is_short):
            return "negation", ""
    return ("negation", "") if best.alike >= NEAR and is_substituted(statement.text, best.text) else None


def _words(text: str) -> list[str]:
    return [stem(token.text) for token in tokens_of(spell_negations(text)) if token.text[0].isalnum()]


def _content(words: Sequence[str]) -> frozenset[str]:
    joined = "".join(words) if words and re.match(f"[{CJK}]", words[-1]) else " ".join(words)
    return frozenset(content_terms(joined)) - {NEGATION_WORD}
