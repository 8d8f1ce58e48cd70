"""Any report against its sources, statement by statement, by rules alone: what is certainly wrong is a fault.

What rules cannot decide is said to be so and is no fault: they know words, figures, dates and names, not meaning.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import combinations, permutations
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from deep_research.evidence.passage import Evidence
from deep_research.text.analyzer import CJK, content_terms, stem
from deep_research.text.folding import fold_typography, to_simplified
from deep_research.text.quantities import Quantity
from deep_research.text.script import detect_language
from deep_research.text.sentences import TextSpan
from deep_research.text.tables import find_tables
from deep_research.value import Value
from deep_research.verify.absence import stretches_about
from deep_research.verify.calculation import objection_to
from deep_research.verify.cited_markdown import CitedReport, Statement, read_cited
from deep_research.verify.opposition import has_side, is_substituted
from deep_research.verify.particulars import HEDGE, NEGATION_WORD, dates_of, figures_of, spell_negations, split_figures, without_negations
from deep_research.verify.quote import find_quote, find_span, tokens_of, whole_sentences
from deep_research.verify.veto import days_told, figure_objection, has_other, holds_worded, is_told_day, unknown_name

VerdictWord = Literal["word_for_word", "agrees", "undecided", "fault"]
FaultKind = Literal[
    "number", "sum", "date", "name", "negation", "source", "quote", "altered_quote", "absence", "uncited",
    "no_entry", "never_cited", "no_source", "twice", "mixed_entry",
]  # fmt: skip

# Of a statement's words, what a sentence of a source must hold to speak of the same, to be near it, or to be it.
_RELATED, _NEAR, _SAME = 0.45, 0.6, 0.75
# Of the words of both together, what they must share before one can contradict the other, or be it but for a turn.
_ALIKE, _TURNED = 0.5, 0.7
_TURN_WORDS = 4
# "Nearly a third" may be 31 per cent, and "less than a fifth" 16.
_ABOUT = 0.25
# Fewer words than this are of every subject.
_MIN_TERMS = 4
# So many sentences may carry a statement together, each with its neighbours.
_DRAWN_ON = 3
_MIN_QUOTED_WORDS, _MIN_QUOTED_CJK = 4, 8
# A table counts so few things itself.
_COUNTED = 12
_QUOTED = re.compile(r"“([^“”]+)”|「([^「」]+)」|『([^『』]+)』|\"([^\"]+)\"|«([^«»]+)»")
_EQUATION = re.compile(r"[\d(][\d.,\s()%€$£¥+\-−–*/×÷]*[+\-−–*/×÷][\d.,\s()%€$£¥+\-−–*/×÷]*[=＝]\s*[€$£¥]?\d[\d.,]*")
_COMPUTES = re.compile(
    r"(?i)\b(?:total|sum|together|combined|differ\w*|altogether|adds? up|more|less|fewer|higher|lower|above|below|over|under|up|down"
    r"|rise|rose|increas\w*|decreas\w*|grew|growth|fell|fall|drop\w*|gap|average|times|per|share|rest|remain\w*"
    r"|therefore|extra|sav\w+)\b|percent|%"
    r"|合计|总计|共计|总共|差|高|低|多|少|贵|便宜|增|减|降|升|占|平均|倍|之和|共|比|省|剩|余"
)
_ROUGHLY = re.compile(rf"{HEDGE.pattern}|\b(?:over|under|less|more|fewer|close to)\b|不到|不足|逾|多", re.IGNORECASE)
_ABSENT = re.compile(
    r"(?i)\b(?:no|none of the|neither of the|not one of the)\s(?:\w+\s){0,2}?(?:documents?|sources?|reports?|files?|papers?)"
    r"(?:\s\w+){0,2}?\s(?:gives?|says?|states?|mentions?|names?|reports?|contains?|tells?|holds?|describes?|shows?)\b"
    r"|\b(?:documents?|sources?|reports?|files?)\s(?:do|does)\s(?:not|n't)\s\w+"
    r"|\bnot\s(?:given|mentioned|stated|named|reported|found)\sin\sany\s(?:of\sthe\s)?(?:documents?|sources?)"
    r"|(?:没有|无)(?:任何)?(?:一[份个篇])?(?:资料|文件|文档|来源|报告|材料)(?:给出|提到|提及|说明|记载|披露|列出|提供|写明)?了?"
    r"|(?:资料|文件|文档|来源|报告|材料)(?:中|里)?(?:均|都)?(?:未|没有|没|并未)(?:给出|提到|提及|说明|记载|披露|列出|提供|写明)"
)
_LATIN = "A-Za-z\u00c0-\u024f'’&-"
_NAME = re.compile(rf"(?<![.!?:;。“\"‘(]\s)(?<!^)(?<![\w-])[A-Z][{_LATIN}]*[a-z][{_LATIN}]*(?:\s+[A-Z][{_LATIN}]+)*")
_BESIDE_CJK = re.compile(rf"(?<=[{CJK}])(?=[A-Za-z])")
_AFTER_BRACKET = re.compile(r"[)）]\s+(?=[A-Z])")
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖"
    "贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤常温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟"
    "殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤阳"
)
_TITLES = "市长|主任|局长|院长|教授|工程师|总工|经理|董事长|总裁|书记|部长|处长|博士|先生|女士|组长|馆长|校长|主席|研究员|记者"
_KINDS = "公司|集团|银行|大学|学院|医院|研究院|研究所|设计院|委员会|市|县|区|镇|村|省|湖|河|江|港|厂|桥"
# A person beside a title, and what ends in a word for its kind, with the letter before it.
_CHINESE_NAME = re.compile(
    rf"(?:{_TITLES})(?P<after>[{_SURNAMES}][{CJK}])"
    rf"|(?P<before>[{_SURNAMES}][{CJK}]{{1,2}})(?={_TITLES})"
    rf"|(?P<kind>(?![年月日的本全该各等和与在为个两是从到及])[{CJK}](?:{_KINDS}))"
)
_KIND_AHEAD = re.compile(rf"[{CJK}]{{0,4}}?(?:{_KINDS})")


class Source(Value):
    """A document that a report may rest on."""

    address: str
    title: str
    text: str
    published: str = ""

    @property
    def about(self) -> str:
        """Return what is known of it beside its text."""
        return f"{self.title} {self.published[:10]}"

    @cached_property
    def sentences(self) -> list[tuple[TextSpan, frozenset[str], frozenset[str]]]:
        """Return its sentences with their terms and, for a row of a table, those of its header."""
        headers = {
            row.start: _terms(" ".join(table.header.cells))
            for table in find_tables(self.text)
            for row in table.rows
            if table.header
        }
        spans = whole_sentences(self.text)
        return [
            (span, _terms(self.text[span.start : span.end]), headers.get(span.start, frozenset())) for span in spans
        ]


class Near(NamedTuple):
    """A sentence of a source, it with its neighbours, what share of a statement's terms it holds, and how alike the two
    are, both ways.
    """

    source: Source
    text: str
    around: str
    share: float = 1.0
    alike: float = 1.0
    is_row: bool = False

    @property
    def is_same_subject(self) -> bool:
        """Return whether it speaks of just what the statement speaks of, so that another figure contradicts it."""
        return self.alike >= _ALIKE or (self.is_row and self.share >= _NEAR)


class Checked(Value):
    """What the check of one statement, or of one reference, showed; a fault names its kind and what is wrong."""

    line: int
    text: str
    verdict: VerdictWord
    fault: FaultKind | None = None
    detail: str = ""
    source: str = ""
    passage: str = ""


class Audit(Value):
    """Everything that was checked, in the order of the report."""

    checked: tuple[Checked, ...]

    @property
    def faults(self) -> list[Checked]:
        """Return what is wrong."""
        return [each for each in self.checked if each.verdict == "fault"]


def audit_report(text: str, sources: Sequence[Source]) -> Audit:
    """Check a Markdown report with numbered references against its sources."""
    report = read_cited(text)
    listed, remarks = _listed(report, sources)
    checked = [_check(statement, listed, sources) for statement in report.statements]
    return Audit(checked=tuple(sorted((*remarks, *checked), key=lambda each: each.line)))


def _listed(report: CitedReport, sources: Sequence[Source]) -> tuple[dict[int, Source | None], list[Checked]]:
    """Return which source each number stands for, and what is wrong with the references."""
    used = {number for statement in report.statements for number in statement.numbers}
    listed: dict[int, Source | None] = {}
    remarks = []
    for entry in report.entries:

        def fault(kind: FaultKind, detail: str = "", line: int = entry.line, text: str = entry.text) -> Checked:
            return Checked(line=line, text=text, verdict="fault", fault=kind, detail=detail)

        by_address, by_title = _matches(entry.text, sources)
        if entry.number in listed:
            remarks.append(fault("twice", str(entry.number)))
            continue
        listed[entry.number] = by_address or by_title
        if not (by_address or by_title):
            remarks.append(fault("no_source", str(entry.number)))
        elif by_address and by_title and by_address.address != by_title.address:
            remarks.append(fault("mixed_entry", f"{by_title.address} / {by_address.address}"))
        if entry.is_cited and entry.number not in used:
            remarks.append(fault("never_cited", str(entry.number)))
    return listed, remarks


def _matches(entry: str, sources: Sequence[Source]) -> tuple[Source | None, Source | None]:
    """Return the source whose address stands in a reference, and the one whose title does."""
    shown = _folded(entry)
    by_address = [
        source
        for source in sources
        if _folded(source.address).rstrip("/") in shown or _folded(PurePosixPath(source.address).name or "\0") in shown
    ]
    titled = [(len(title), source) for source in sources if (title := _folded(source.title)) and title in shown]
    longest = max((length for length, _ in titled), default=0)
    by_title = [source for length, source in titled if length == longest]
    address = max(by_address, key=lambda source: len(source.address), default=None)
    if address is not None and address in by_title:
        return address, address
    return address, by_title[0] if by_title else None


def _folded(text: str) -> str:
    return "".join(to_simplified(fold_typography(text).text).casefold().split())


def _check(statement: Statement, listed: Mapping[int, Source | None], sources: Sequence[Source]) -> Checked:
    result = Checked(line=statement.line, text=statement.text, verdict="undecided")

    def fault(kind: FaultKind, detail: str = "", near: Near | None = None) -> Checked:
        where = {"source": near.source.address, "passage": near.text} if near else {}
        return result.model_copy(update={"verdict": "fault", "fault": kind, "detail": detail, **where})

    unlisted = [number for number in statement.numbers if number not in listed]
    if unlisted:
        return fault("no_entry", "".join(f"[{number}]" for number in unlisted))
    if absent := _absence(statement.text):
        held = _false_absence(absent, sources)
        return fault("absence", "", held) if held else result
    if not statement.numbers:
        claimed = _uncited(statement, sources)
        return fault("uncited", "", claimed[1]) if claimed[0] else result
    cited = [source for number in statement.numbers if (source := listed[number])]
    others = [source for source in sources if source not in cited]
    if not cited:
        # That the reference leads nowhere was said where it stands.
        return result
    for source in cited:
        if match := find_quote(statement.text, source.text):
            passage = source.text[match.start : match.end]
            return result.model_copy(update={"verdict": "word_for_word", "source": source.address, "passage": passage})
    if objection := _quotations(statement.text, cited, others):
        return fault(*objection)
    # Across languages words cannot be compared, but figures can.
    language = detect_language(statement.text)[:2]
    is_foreign = all(detect_language(source.text)[:2] != language for source in cited)
    near = [] if is_foreign else _nearest(statement.text, cited)
    found = _figure(statement, near, cited) if is_foreign else _objection(statement, near, cited)
    elsewhere = _elsewhere(statement, others, near, is_refused=bool(found)) if found or not is_foreign else None
    if elsewhere:
        return fault("source" if statement.has_marker else "uncited", elsewhere.source.address, elsewhere)
    if found:
        return fault(*found, near[0] if near else None)
    agrees = bool(near) and near[0].share >= _RELATED and bool(figures_of(statement.text) or dates_of(statement.text))
    where = {"source": near[0].source.address, "passage": near[0].text} if near and near[0].share >= _RELATED else {}
    return result.model_copy(update={"verdict": "agrees" if agrees else "undecided", **where})


def _terms(text: str) -> frozenset[str]:
    return frozenset(term for term in content_terms(to_simplified(text)) if not any(map(str.isdigit, term)))


def _nearest(text: str, sources: Iterable[Source]) -> list[Near]:
    """Return the few sentences that hold most of a statement's words, the best first."""
    wanted = _terms(text)
    found = []
    for source in sources:
        own = []
        for at, (span, terms, header) in enumerate(source.sentences):
            if shared := len(wanted & (terms | header)):
                rank = shared / len(wanted), len(wanted & terms) / len(wanted | terms)
                own.append((rank, source, at, span, bool(header)))
        found += sorted(own, key=lambda each: each[0], reverse=True)[:_DRAWN_ON]
    near = []
    for (share, alike), source, at, span, is_row in sorted(found, key=lambda each: each[0], reverse=True):
        if is_row and near and near[0].share > share:
            # The rows beside the one that is meant hold figures of others.
            continue
        spans = [span] if is_row else [each[0] for each in source.sentences[max(0, at - 1) : at + 2]]
        around = source.text[spans[0].start : spans[-1].end]
        near.append(Near(source, " ".join(source.text[span.start : span.end].split()), around, share, alike, is_row))
    return near


def _evidence(texts: Iterable[str]) -> list[Evidence]:
    return [Evidence(id="", document="", start=0, end=0, quote=text, finding="", section="") for text in texts]


def _objection(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> tuple[FaultKind, str] | None:
    """Return what the cited sources cannot carry of a statement, or None if rules know nothing against it."""
    for check in (_equation, _figure, _worded, _date, _name, _contradiction):
        if found := check(statement, near, cited):
            return found
    return None


Objection = tuple[FaultKind, str] | None


def _equation(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> Objection:
    text = statement.text
    for match in _EQUATION.finditer(text):
        objection = objection_to(match[0], text, quotes=[text, *(source.text for source in cited)])
        if objection.startswith("result"):
            return "sum", objection.removeprefix("result: ")
    return None


def _figure(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> Objection:
    # What an equation says was computed; its result, told beside it, is as good.
    text = _EQUATION.sub(" ", statement.text)
    results = _evidence(match[0] for match in _EQUATION.finditer(statement.text))
    figures = split_figures(text)[0]
    texts = [*(source.text for source in cited), *(source.about for source in cited)]
    days = days_told(text, texts)
    around, whole = [*_evidence(each.around for each in near), *results], _evidence(texts)
    computes = bool(_COMPUTES.search(to_simplified(text)))
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
        if computes and _is_computed(figure, others, statement.before, near):
            continue
        is_known = not figure_objection(figure, whole) or _is_rounding(figure, whole)
        if is_known and not (best and best.is_same_subject and _rivals(figure, others, best)):
            continue
        is_sum = computes and len([other for other in others if other.unit == figure.unit or figure.unit == "%"]) > 1
        return "sum" if is_sum else "number", figure.raw.strip()
    return None


def _rivals(figure: Quantity, others: Sequence[Quantity], near: Near) -> bool:
    """Return whether a sentence holds another figure of the unit, which the statement does not tell."""
    told = {other.value for other in others}
    units = ("", figure.unit) if near.is_row else (figure.unit,)
    return any(held.unit in units and held.value not in told for held in figures_of(near.text))


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
        if not is_held and best and best.share >= _NEAR and has_other(best.text, worded.values[0]):
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
        rivals = (held.iso for held in dates_of(best.text)) if best and best.alike >= _ALIKE else ()
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
    if best is None or best.share < _RELATED:
        return None
    if name := unknown_name(text, _BESIDE_CJK.sub(" ", whole)):
        return "name", name
    if best.share < _NEAR:
        return None
    plain, held = to_simplified(text), to_simplified(whole)
    strange = [name for name in _chinese_names(plain) if name not in held]
    if strange and any(name not in plain for name in _chinese_names(to_simplified(best.text))):
        return "name", strange[0]
    around = " ".join(each.around for each in near)
    # The first word of a sentence may be a name too.
    own, theirs = _NAME.findall(text), _NAME.findall(f"- {best.text}")
    strange = [word for name in own for word in name.split() if word.removesuffix("'s") not in around]
    unnamed, held_unnamed = _terms(text) - _terms(" ".join(own)), _terms(best.text) - _terms(" ".join(theirs))
    is_alike = len(unnamed & held_unnamed) >= _TURNED * len(unnamed | held_unnamed)
    if strange and is_alike and _terms(" ".join(theirs)) - _terms(text):
        return "name", strange[0]
    return _letter_changed(plain, to_simplified(best.text), held)


def _letter_changed(text: str, near: str, held: str) -> Objection:
    """Return a Chinese name of a kind of thing in which a letter or two stand for others, in the same sentence."""
    matcher = SequenceMatcher(None, text, near, autojunk=False)
    for change, a, b, c, d in matcher.get_opcodes() if matcher.ratio() >= _NEAR else ():
        kind = _KIND_AHEAD.match(text, b)
        if change == "replace" and b - a == d - c <= 2 and kind and text[a : kind.end()] not in held:
            if near[c : d + kind.end() - b].endswith(kind[0]):
                return "name", text[a : kind.end()]
    return None


def _chinese_names(text: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in _CHINESE_NAME.finditer(text)]


def _contradiction(statement: Statement, near: Sequence[Near], cited: Sequence[Source]) -> Objection:
    """Return whether the nearest sentence is the same but for a negation, or for a word in the place of its opposite."""
    best = near[0] if near else None
    if best is None or (best.alike < _ALIKE and best.share < _SAME):
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
        is_short = max(len(here), len(there)) <= _TURN_WORDS and not any(map(has_side, (*_content(here), *_content(there))))
        if _content(here) == _content(there) or (matcher.ratio() >= _SAME and is_short):
            return "negation", ""
    return ("negation", "") if best.alike >= _NEAR and is_substituted(statement.text, best.text) else None


def _words(text: str) -> list[str]:
    return [stem(token.text) for token in tokens_of(spell_negations(text)) if token.text[0].isalnum()]


def _content(words: Sequence[str]) -> frozenset[str]:
    joined = "".join(words) if words and re.match(f"[{CJK}]", words[-1]) else " ".join(words)
    return frozenset(content_terms(joined)) - {NEGATION_WORD}


def _elsewhere(
    statement: Statement, others: Sequence[Source], near: Sequence[Near], *, is_refused: bool
) -> Near | None:
    """Return where another source says what the cited one does not."""
    for source in others:
        if match := find_quote(statement.text, source.text):
            text = source.text[match.start : match.end]
            return Near(source, text, text)
    if len(_terms(statement.text)) < _MIN_TERMS:
        return None
    here, alike = (near[0].share, near[0].alike) if near else (0.0, 0.0)
    if not is_refused and here >= _RELATED:
        return None
    best: Near | None = None
    for source in others:
        there = _nearest(statement.text, [source])
        floor = max(_NEAR, here) if is_refused else _SAME
        is_nearer = bool(there) and there[0].share >= floor and there[0].alike > alike
        if is_nearer and not _objection(statement, there, [source]):
            best = max(best, there[0], key=lambda each: each.share) if best else there[0]
    return best


def _quotations(
    text: str, cited: Sequence[Source], others: Sequence[Source]
) -> tuple[FaultKind, str, Near | None] | None:
    """Return what is wrong with the words that a statement puts in quotation marks."""
    for match in _QUOTED.finditer(text):
        quoted = next(filter(None, match.groups())).strip()
        words = [token.text for token in tokens_of(quoted) if token.text[0].isalnum()]
        # A name or a term in quotation marks is no quotation.
        if len(words) < (_MIN_QUOTED_CJK if re.search(f"[{CJK}]", quoted) else _MIN_QUOTED_WORDS):
            continue
        if any(find_span(quoted, source.text) or find_span(quoted, source.title) for source in cited):
            continue
        for source in others:
            if span := find_span(quoted, source.text):
                held = source.text[slice(*span)]
                return "source", source.address, Near(source, held, held)
        near = _nearest(quoted, cited)
        held_words = [token.text for each in near[:1] for token in tokens_of(each.text)]
        blocks = SequenceMatcher(None, words, held_words, autojunk=False).get_matching_blocks()
        is_altered = sum(block.size for block in blocks) >= _NEAR * len(words)
        return "altered_quote" if is_altered else "quote", quoted, near[0] if is_altered else None
    return None


def _absence(text: str) -> str:
    """Return what a statement says that no source holds, or "" if it says no such thing."""
    plain = to_simplified(text)
    match = _ABSENT.search(plain)
    return f"{plain[: match.start()]} {plain[match.end() :]}".strip(" .。") if match else ""


def _false_absence(absent: str, sources: Sequence[Source]) -> Near | None:
    texts = {source.address: to_simplified(source.text) for source in sources}
    for stretch in stretches_about(absent, absent, texts):
        # A particle parts words that stand together elsewhere.
        passage = texts[stretch.document][stretch.start : stretch.end].replace("的", "")
        is_counted = bool(figures_of(passage) or dates_of(passage))
        if stretch.is_it or (is_counted and _terms(absent.replace("的", "")) <= _terms(passage)):
            source = next(each for each in sources if each.address == stretch.document)
            return Near(source, source.text[stretch.start : stretch.end], "")
    return None


def _uncited(statement: Statement, sources: Sequence[Source]) -> tuple[bool, Near | None]:
    """Return whether a statement without a marker claims something, and where it may come from."""
    near = _nearest(statement.text, sources)
    best = near[0] if near else None
    if best is None or best.text.lstrip("# ") == best.source.title:
        return False, None
    has_figures = bool(split_figures(statement.text)[0])
    is_same = best.alike >= _NEAR and len(_terms(statement.text)) >= _MIN_TERMS
    is_dated = bool(dates_of(statement.text)) and best.share >= _NEAR
    return (has_figures and best.share >= _RELATED) or is_same or is_dated, best


def faults_by_kind(audit: Audit) -> Iterator[tuple[str, int]]:
    """Yield how many faults of each kind there are."""
    kinds = [each.fault or "" for each in audit.faults]
    yield from ((kind, kinds.count(kind)) for kind in dict.fromkeys(kinds))
