"""How well a sentence or a row answers a question: by its own words, and by where it stands."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from deep_research.reasoning.rules.question.analysis import ordinals_in, part_analysis, sort_asked_for
from deep_research.reasoning.rules.quoting.relevance import Weights
from deep_research.reasoning.rules.quoting.selection import Candidate, stands_alone
from deep_research.reasoning.rules.quoting.table_answer import choose_rows, is_computed
from deep_research.reasoning.rules.quoting.units import (
    SourceSentence,
    Unit,
    cells_of,
    labelled,
    runs_of,
    states_nothing,
)
from deep_research.reasoning.values import TABLE_KINDS, QuestionAnalysis, Strings
from deep_research.report.sources.document import Document
from deep_research.text.analyzer import CJK_CHARACTER, analyze, content_terms
from deep_research.text.columns import OF_YEARS
from deep_research.text.dates import ANY_YEAR, find_dates, find_months, lies_in
from deep_research.text.folding import to_simplified
from deep_research.text.headings import headings_above
from deep_research.text.number_words import find_worded
from deep_research.text.quantities import CURRENCY_SIGNS, find_quantities
from deep_research.text.sentences import TextSpan, line_kind
from deep_research.text.tables import find_tables

# What the question's words count for in a sentence itself, with those of its title and headings, with those of its
# neighbours, and with all of its document's.
_REACHES = (1.2, 0.7, 0.4, 0.4)
# What was decided, or how something is done, stands under a heading that says so.
_HEADING_FIRST = (0.7, 1.4, 0.4, 0.4)
_EXCLUDED_SHARE, _IS_EXCLUDED = 0.5, -2.0
_MIN_KNOWN = 0.34
# A passage that answers is about so much of the subjects that are asked about, and holds so much of the other words.
_MIN_COVERED = 0.5
# A row holds a question's words in few cells; half of the pairs of Chinese characters are no words.
_MIN_COVERED_BY_ROW = {False: 0.34, True: 0.2}
_NEAR_SORT = 0.3
# Verbs, where their ending shows them, and words for times.
_IDLE = re.compile(
    r"\b\w+(?:ed|ing)\b|\b(?:spring|summer|autumn|winter|year|month|week|day)s?\b"
    r"|[今去明本当][年月日]|\d{4}年|[一二三四五六七八九十\d]+月|[上下]半年|一天|[那一]次|最后|当时",
    re.IGNORECASE,
)
# A cell that names something: few words, no figure.
_IS_NAME = re.compile(r"[^\W\d][^\d|:：;；。]{1,30}")
# The same for an anchor of the question; and one that stands nowhere.
_ANCHOR_OWN, _ANCHOR_AROUND = 0.5, 0.35
_ANCHORS = (_ANCHOR_OWN, _ANCHOR_AROUND, 0.2, 0.1)
_ANCHOR_MISSING = -0.6
_OTHER_ANCHOR = -0.8
_OF_THAT_DAY = 2.0
_RIGHT_SORT, _WRONG_SORT = 0.6, 0.5
# Whether a sentence holds one of these can be told for sure.
_SURE_SORTS = frozenset({"money", "share", "duration", "count", "date"})
_NO_STATEMENT, _EXPECTED, _OUTCOME = -0.6, -0.4, 0.6
_CURRENCIES = frozenset(CURRENCY_SIGNS.values())
_SHARES = frozenset({"%", "pp", "bp"})
_DURATIONS = frozenset({"s", "ms", "min", "h", "day", "week", "month", "year"})
_MONEY_LABEL = re.compile(
    r"[$€£¥]|\b(?:EUR|USD|GBP|CHF|CNY|RMB)\b|cost|price|fee|amount|元|费|价|金额|款", re.IGNORECASE
)
_IN_BRACKETS = re.compile(r"[(（](.{1,8})[)）]")
_DAY = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|(?:mon|tues|wednes|thurs"
    r"|fri|satur|sun)days?|\d{1,2}:\d{2})\b|\d+月|[周星期]+[一二三四五六日]|\d+[点點时時]",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof)\.? [A-Z]|\b[A-Z][a-zé]+ (?:[A-Z]\. )?(?:van |von |de )?[A-Z][a-zé]+\b"
    # A Chinese surname before a given name.
    r"|[王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许邓冯韩曹曾彭萧蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任"
    r"姚卢傅钟姜崔谭廖范汪陆金石戴贾韦夏邱方侯邹熊孟秦白江阎薛尹段雷黎史龙陶贺顾毛郝龚邵万钱严武莫孔汤"
    r"]"
    r"[一-龥]{1,2}(?=[、，。（(：:]|[一-龥]?(?:负责|签|主任|经理|医师|护理|老师|担任|提出|表示|说|报告|主持|接任|兼))"
)
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof)\.? [A-Z]\w+(?: [A-Z]\w+)?")
_ORGANISATION = re.compile(
    r"\b[A-Z]\w+ & [A-Z]\w+|\bby [A-Z]\w+|\b[A-Z]\w+ (?:AG|SE|GmbH|Ltd|Inc|Corp|LLC|plc|SA|AB|AS|BV|Co|Group|Works)\b"
    r"|[一-龥A-Za-z]{2,}(?:公司|厂|院|局|所|社|行|部|会|店|场|站)"
)
_PLACE = re.compile(r"\b(?:in|at|near|to|from) (?:the )?[A-Z][a-z]+|[在于位][一-龥]{2,8}[路街村镇县市区楼室厅库园山湾]")
_DECIDED = re.compile(
    r"\b(?:resolved|decided|decides|decision|agreed|agrees|approved|adopted|chose|accepted|rejected|postponed|unanimous\w*)\b"
    r"|决定|决议|通过|同意|议定|否决|暂不|改由|起实施|起停用",
    re.IGNORECASE,
)
_CAUSAL = re.compile(
    r"\b(?:because|due to|owing to|caused?|causes|reasons?|since|result of|led to|therefore|was missing|failed)\b"
    r"|因为|由于|因(?=[一-龥])|导致|造成|原因|所以|因此|缘故",
    re.IGNORECASE,
)
# A cause that is denied, or guessed at.
_NO_CAUSE = re.compile(
    r"\bnothing to do with\b|\bnot the (?:cause|reason)\b|\bI (?:would bet|guess|suppose)\b|无关|不是一回事|听说|我猜",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:plan(?:s|ned)?|budget(?:ed)?|estimat\w+|expect(?:ed|s)?|draft|offer(?:ed)?|quot(?:e|ed|ation)|proposed"
    r"|tenders?|award(?:ed)?|contract (?:price|sum))\b|计划|预算|概算|预估|预计|报价|草案|拟|合同价|中标",
    re.IGNORECASE,
)
_ACTUAL = re.compile(
    r"\b(?:actual(?:ly)?|final(?:ly)?|in the end|end(?:ed)? up|came to|spent|paid|settled)\b"
    r"|实际|结算|决算|最终|最后|花[掉了费]|耗资|付清",
    re.IGNORECASE,
)


class UnitContext(NamedTuple):
    """Where a unit stands: its title and headings, the terms of its neighbours and of its document, and the date."""

    around: str
    neighbours: frozenset[str] = frozenset()
    document: frozenset[str] = frozenset()
    published: str = ""
    # The terms of the document's first lines, which may name its author, and of all its headings.
    opening: frozenset[str] = frozenset()
    # What the title and the first lines give as its date.
    dated: Strings = ()
    headed: frozenset[str] = frozenset()


class Subjects(NamedTuple):
    """What documents are about: the terms of titles, headings and columns; what is asked about, and what stands beside
    it in a column.
    """

    terms: frozenset[str] = frozenset()
    asked: Strings = ()
    others: Strings = ()

    @property
    def name(self) -> Strings:
        """Return the one thing in a column that is asked about; of several names, some say what is asked of others."""
        return self.asked if len(self.asked) == 1 else ()


def is_said(name: str, text: str) -> bool:
    """Return whether a text says a name, which is in simplified script and small letters; it may be a plural."""
    return re.search(rf"(?<![a-z]){re.escape(name)}(?:e?s)?(?![a-z])", to_simplified(text).lower()) is not None


def beside_in_columns(question: str, texts: Iterable[str]) -> tuple[Strings, Strings]:
    """Return the names in columns that a question says, and those beside them, in simplified script, small letters."""
    found: dict[str, None] = {}
    for text in texts:
        for table in find_tables(text):
            for cells in zip(*(row.cells for row in table.rows), strict=False):
                names = sorted({to_simplified(cell).lower() for cell in cells if _IS_NAME.fullmatch(cell)})
                if len(names) > 1 and any(is_said(name, question) for name in names):
                    found |= dict.fromkeys(names)
    asked = tuple(name for name in found if is_said(name, question))
    return asked, tuple(name for name in found if name not in asked)


@dataclass(frozen=True)
class AnswerSought:
    """What an answer must hold: the question's terms by weight, and its anchors."""

    analysis: QuestionAnalysis
    weights: Weights
    # What of the question no document holds.
    unknown: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> tuple[frozenset[str], ...]:
        """Return the terms of each name."""
        return tuple(terms for name in self.analysis.names if (terms := frozenset(content_terms(name))))

    def score(self, unit: Unit, place: UnitContext) -> float:
        """Return how well a unit answers, given where it stands."""
        reaches, held = [], frozenset[str]()
        for terms in (unit.terms, _terms(place.around), place.neighbours, place.document):
            held |= terms
            reaches.append(held)
        worths = _HEADING_FIRST if self.analysis.kind in ("overview", "procedure") else _REACHES
        score = sum(worth * self.weights.share(reach) for worth, reach in zip(worths, reaches, strict=True))
        reaches[1] |= place.opening
        for name in self.names:
            score += next(
                (worth for worth, reach in zip(_ANCHORS, reaches, strict=True) if name <= reach), _ANCHOR_MISSING
            )
        score += self._numbered(unit.text, place.around)
        if self.analysis.kind == "overview":
            # A meeting is told by the document of its day, whatever days it names; others may mention it.
            score += _OF_THAT_DAY * _meets((place.published, *place.dated), self.analysis.periods)
        else:
            score += self._period(unit, place)
            score += _NO_STATEMENT * (
                self.analysis.kind == "reason" and _NO_CAUSE.search(to_simplified(unit.text)) is not None
            )
        score += (
            _RIGHT_SORT if self.has_sort(unit, place.around) else -_WRONG_SORT * (self.analysis.asks_for in _SURE_SORTS)
        )
        score += _NO_STATEMENT * self._is_only_planned(unit.text, place.around)
        score += _EXPECTED * self._is_expected(unit.text)
        score += _OUTCOME * (self.asks_for_outcome and _ACTUAL.search(to_simplified(unit.text)) is not None)
        if not unit.header and states_nothing(unit.text):
            score += _NO_STATEMENT
        return round(score + _IS_EXCLUDED * self.is_excluded(unit, place.around), 6)

    def is_excluded(self, unit: Unit, around: str) -> bool:
        """Return whether a unit tells what is to be left out, or stands under a heading that names it."""
        told = unit.terms if not unit.header else _terms(" ".join(value for _, value in cells_of(unit.text)))
        heading = _terms(around.rpartition(" › ")[2])
        if not unit.header and "money" in map(sort_asked_for, self.analysis.excluded) and _holds_money(unit):
            return True
        return any(each.share(told) >= _EXCLUDED_SHARE or heading & each.of.keys() for each in self.excluded)

    @cached_property
    def excluded(self) -> tuple[Weights, ...]:
        """Return the terms of each thing that is to be left out."""
        terms = (content_terms(text) for text in self.analysis.excluded)
        return tuple(Weights(dict.fromkeys(each, 1.0)) for each in terms if each)

    def is_met(self, unit: Unit, place: UnitContext, subjects: Subjects) -> bool:
        """Return whether a unit holds the question's anchors, or stands under them, and the sort of thing asked for."""
        held = unit.terms | _terms(place.around)
        for name in self.names:
            # A document's first lines and what stands beside a passage name what it is about, unless another heading
            # of the document has that name.
            beside = place.neighbours | place.opening if not unit.header else place.neighbours
            if not name <= held and (name <= place.headed or not name <= held | beside):
                return False
            held |= name
        if not all(_terms(name) <= held for name in subjects.name):
            return False
        if not unit.header and self._is_about_something_else(unit.text):
            return False
        if self._period(unit, place) < 0:
            return False
        # What another heading of the document names is not what this passage is about.
        opening = place.opening - place.headed if not unit.header else frozenset()
        if not self._is_covered(held, opening, subjects, is_row=unit.header is not None):
            return False
        if self.analysis.asks_for in ("person", "organisation"):
            return self._names_another(unit, subjects) and not self._is_unclear_row(unit)
        return self.analysis.asks_for not in _SURE_SORTS or (self.has_sort(unit) and not self._is_unclear_row(unit))

    def _is_unclear_row(self, unit: Unit) -> bool:
        """Return whether a row has nothing in the columns that the question names, or several dates and names none."""
        cells = cells_of(unit.text) if unit.header and self.analysis.kind not in TABLE_KINDS else ()
        named = [value for label, value in cells if self.weights.of.keys() & _terms(label)]
        if named and not any(map(str.isalnum, "".join(named))):
            return True
        dates = [value for _, value in cells if find_dates(value)] if self.analysis.asks_for == "date" else []
        return len(dates) > 1 and not {*dates} & {*named}

    def nearness(self, unit: Unit, place: UnitContext) -> float:
        """Return how near a unit comes to an answer, whatever it is about: by the question's words, and by its sort."""
        return self.weights.share(unit.terms | _terms(place.around)) + _NEAR_SORT * self.has_sort(unit)

    def _names_another(self, unit: Unit, subjects: Subjects) -> bool:
        """Return whether a unit names somebody whom the question does not name, nor what stands beside it."""
        text = to_simplified(unit.text)
        words = " ".join((*self.analysis.names, *self.analysis.parts)).split()
        for word in (*words, *subjects.asked, *subjects.others):
            text = text.replace(word, "")
        if self.analysis.asks_for == "organisation":
            text = _TITLED.sub("", text)
        return _PERSON.search(text) is not None or _ORGANISATION.search(text) is not None

    def _is_covered(self, held: frozenset[str], opening: frozenset[str], subjects: Subjects, *, is_row: bool) -> bool:
        """Return whether these terms hold half of the subjects that are asked about, and enough of what is asked of
        them.
        """
        parts = _terms(self.analysis.asking)
        terms = self.weights.without_question_words().without_seams().of.keys() - self.idle
        told = terms & parts if parts else terms
        about, asked = told & subjects.terms, told.difference(*self.names, *map(_terms, subjects.name))
        least = _MIN_COVERED
        if is_row and self.analysis.kind in TABLE_KINDS:
            least = _MIN_COVERED_BY_ROW[any(map(CJK_CHARACTER.match, asked))]
        reaches = ((about, held | opening), (asked, held))
        return min(Weights(dict.fromkeys(terms, 1.0)).share(reach) for terms, reach in reaches) >= least

    @cached_property
    def idle(self) -> frozenset[str]:
        """Return the terms of a question that never decide whether it is answered: its verbs and times."""
        return _terms(" ".join(_IDLE.findall(to_simplified(self.analysis.asking))))

    def _is_about_something_else(self, text: str) -> bool:
        """Return whether no document holds most of what is asked, beside its names; other languages do not count."""
        is_chinese = CJK_CHARACTER.search(text) is not None
        lost = [term for term in self.unknown if term.isascii() != is_chinese]
        named = frozenset().union(*self.names)
        known = [term for term in self.weights.of if term not in named]
        return len(known) < _MIN_KNOWN * (len(known) + len(lost))

    @cached_property
    def asks_for_outcome(self) -> bool:
        """Return whether the question asks what something came to."""
        return _ACTUAL.search(to_simplified(self.analysis.asking)) is not None

    def _is_only_planned(self, text: str, around: str) -> bool:
        """Return whether a plan or an offer is told where the question asks for what it came to."""
        told = to_simplified(f"{text} {around}")
        return self.asks_for_outcome and _PLANNED.search(told) is not None and not _ACTUAL.search(told)

    def _is_expected(self, text: str) -> bool:
        """Return whether something is only planned or expected, which the question does not ask for."""
        asked, told = to_simplified(self.analysis.asking), to_simplified(text)
        return _PLANNED.search(told) is not None and not _ACTUAL.search(told) and not _PLANNED.search(asked)

    def _period(self, unit: Unit, place: UnitContext) -> float:
        wanted, published = self.analysis.periods, place.published
        if not wanted:
            return 0.0
        cells = cells_of(unit.text) if unit.header else (("", unit.text),)
        # A bare number is a year where its column is one of years.
        told = (f"{label} {value if OF_YEARS.search(label) or not value.isdigit() else ''}" for label, value in cells)
        near = _dates(place.around)
        # A month that names no year is of the year that it stands under.
        own = [date.replace(ANY_YEAR, near[-1][:4] if near else ANY_YEAR) for date in _dates("; ".join(told))]
        if _meets(own, wanted):
            return _ANCHOR_OWN
        if _meets(near, wanted):
            return _OTHER_ANCHOR / 2 if own else _ANCHOR_AROUND
        if wanted[0].startswith(ANY_YEAR):
            # A month is not always named again.
            return _ANCHOR_AROUND * _meets([published], wanted)
        return _OTHER_ANCHOR if own else _ANCHOR_MISSING + 0.3 * _meets([published], wanted)

    def _numbered(self, text: str, around: str) -> float:
        score = 0.0
        for kind, number in ordinals_in(" ".join(self.analysis.ordinals)):
            own = {found for noun, found in ordinals_in(text) if noun == kind}
            near = {found for noun, found in ordinals_in(around) if noun == kind}
            if number in own:
                score += _ANCHOR_OWN
            elif own:
                score += _OTHER_ANCHOR
            else:
                score += _ANCHOR_AROUND if number in near else _OTHER_ANCHOR if near else _ANCHOR_MISSING
        return score

    def has_sort(self, unit: Unit, around: str = "") -> bool:
        """Return whether a unit holds a thing of the sort that is asked for; a heading may say what was decided."""
        text, sort = to_simplified(unit.text), self.analysis.asks_for
        # A column's label may hold the unit of its cells: "Yield (%)".
        cells = cells_of(text) if unit.header else ()
        measured = [f"{value} {held[1]}" for label, value in cells if (held := _IN_BRACKETS.search(label))]
        units = {quantity.unit for quantity in find_quantities("; ".join((text, *measured)))}
        units |= {unit for worded in find_worded(text) for _, unit in worded.values}
        match self.analysis.kind:
            case "reason":
                return _CAUSAL.search(f"{text} {to_simplified(around)}") is not None
            case "overview":
                return _DECIDED.search(f"{text} {to_simplified(around)}") is not None
        match sort:
            case "money":
                return _holds_money(unit)
            case "share":
                return bool(units & _SHARES)
            case "duration":
                return bool(units & _DURATIONS)
            case "count":
                return bool(units - _CURRENCIES - _SHARES)
            case "date":
                # A year that the question names does not tell when in it.
                dates = {mention.iso for mention in find_dates(text)}
                return bool(dates - {*self.analysis.periods}) or _DAY.search(text) is not None
            case "person":
                return _PERSON.search(text) is not None
            case "organisation":
                return _ORGANISATION.search(text) is not None
            case "place":
                return _PLACE.search(text) is not None
        return False


def _holds_money(unit: Unit) -> bool:
    is_labelled = unit.header is not None and _MONEY_LABEL.search(unit.text) is not None
    return is_labelled or any(quantity.unit in _CURRENCIES for quantity in find_quantities(to_simplified(unit.text)))


def sought_parts(analysis: QuestionAnalysis, weights: Weights) -> list[AnswerSought]:
    """Return what each part of a question looks for; the other words of it count less."""
    known = weights.known()
    if analysis.kind == "comparison":
        # Each sentence may speak of one of the things compared.
        anchors = [{"names": (name,), "ordinals": ()} for name in analysis.names] if len(analysis.names) > 1 else []
        anchors = anchors or [{"ordinals": (each,)} for each in analysis.ordinals if len(analysis.ordinals) > 1]
        if anchors:
            return [AnswerSought(analysis.replace(**each), known, weights.unknown) for each in anchors]
    if not analysis.parts:
        return [AnswerSought(analysis, known, weights.unknown)]
    found = []
    part_of = analysis.replace(names=(), periods=(), ordinals=())
    for part in analysis.parts:
        part_of = part_analysis(part, part_of)
        found.append(AnswerSought(part_of, known.focused([part]), weights.unknown))
    return found


def anywhere_in(title: str, text: str, published: str) -> UnitContext:
    """Return what a document's title, first lines and date say of all that stands in it."""
    opening = text[:_OPENING]
    return UnitContext(title, published=published, opening=_terms(opening), dated=(*_dates(title), *_dates(opening)))


@lru_cache(maxsize=2_048)
def _terms(text: str) -> frozenset[str]:
    return frozenset(analyze(text.replace("_", " ")))


def _dates(text: str) -> list[str]:
    """Return the dates of a text, and the months of those that name no year; a number in a row is no year by itself."""
    cells = cells_of(text)
    if len(cells) > 1:
        text = "; ".join(
            label if value.isdigit() and not OF_YEARS.search(label) else f"{label}: {value}" for label, value in cells
        )
    found = [mention.iso for mention in find_dates(text)]
    return found or [mention.iso for mention in find_months(text)]


def _meets(found: Iterable[str], wanted: Iterable[str]) -> bool:
    """Return whether a date lies in a wanted period, or is a part of one."""
    return any(lies_in(date, period) for date in found if date for period in wanted)


# Of one document, so many sentences and, where no table is asked for, rows may answer.
_FEW_SENTENCES, _ROWS, MAX_MET = 4, 2, 6
_SENTENCES = {"overview": 30}
# So many characters of a document name whom it is from.
_OPENING = 240
# So much of a document, in characters, says what it is about.
_LOOKED_AT = 200_000
# A sentence is near its neighbours: two before it and one after.
_BEFORE, _AFTER = 2, 2
# Another table of the same document answers too if it is nearly as good.
_NEARLY = 0.9
# A cause is told in so many sentences of a paragraph.
_CAUSE = 4
_FIGURES, _TOGETHER = 3, ("money", "share")
STEPS, MIN_STEPS, _IN_STEPS = 10, 3, 0.8
# A table with a row for each period, or with rows that meet a condition, was made for such a question.
_FITTING_TABLE = 0.8
# One row alone is hardly a list.
_ONE_ROW = 0.4


def answering_parts(
    document: Document, stretches: Sequence[tuple[int, int]], parts: Sequence[AnswerSought], question: str
) -> list[Candidate]:
    """Return what of a document answers a part of a question best, best first, nothing twice."""
    found: dict[int, Candidate] = {}
    for sought in parts:
        for candidate in answering_units(document, stretches, sought, question):
            known = found.get(candidate.unit.start)
            if not known or known.score < candidate.score:
                found[candidate.unit.start] = candidate
    return sorted(found.values(), key=best_candidate)


def answering_units(
    document: Document, stretches: Sequence[tuple[int, int]], sought: AnswerSought, question: str
) -> list[Candidate]:
    """Return the sentences and rows of a document that answer best, best first."""
    whole = anywhere_in(document.title, document.text, document.published)
    whole = whole._replace(document=frozenset(analyze(document.text[:_LOOKED_AT])))
    sentences = [
        candidate
        for start, end in stretches
        for headings, run in runs_of(document.text[start:end], start)
        for candidate in _in_run(run, headings, document, whole, sought)
    ]
    chosen: list[Candidate] = []
    taken: set[int] = set()
    for candidate in sorted(sentences, key=best_candidate):
        starts = {sentence.start for sentence in candidate.unit.sentences}
        if sought.analysis.kind == "overview":
            # A sentence that leans on one already chosen stands together with it.
            inner = [each for each in chosen if len(starts) > 1 and each.unit.start in starts]
            chosen = [each for each in chosen if each not in inner]
            taken -= {each.unit.start for each in inner}
        if len(chosen) < _SENTENCES.get(sought.analysis.kind, _FEW_SENTENCES) and not starts & taken:
            chosen.append(candidate)
            taken |= starts
    return sorted([*chosen, *_answering_rows(document, stretches, whole, sought, question)], key=best_candidate)


def best_candidate(candidate: Candidate) -> tuple[float, int]:
    """Return what candidates are sorted by."""
    return -candidate.score, candidate.unit.start


def _in_run(
    run: Sequence[SourceSentence], headings: str, document: Document, whole: UnitContext, sought: AnswerSought
) -> Iterator[Candidate]:
    """Yield each sentence of a run; one that leans on its neighbour stands together with it."""
    around = f"{document.title} {headings}"
    if sought.analysis.kind == "procedure":
        unit = Unit(tuple(run[:STEPS]), headings)
        steps = sum(line_kind(document.text, sentence.start) == "item" for sentence in unit.sentences)
        score = sought.score(unit, whole._replace(around=around))
        yield Candidate(unit, score + _IN_STEPS * (steps >= MIN_STEPS))
        return
    for at, sentence in enumerate(run):
        neighbours = frozenset().union(*(each.terms for each in run[max(0, at - _BEFORE) : at + _AFTER]))
        score = sought.score(Unit((sentence,), headings), whole._replace(around=around, neighbours=neighbours))
        first = at - 1 if at and not stands_alone(sentence.text) else at
        last = at + 1
        if sought.analysis.kind == "reason":
            ends = (end for end in range(last, len(run)) if "\n\n" in document.text[run[end - 1].end : run[end].start])
            last = min(at + _CAUSE, next(ends, len(run)))
        # What leads to a list stands with its items.
        while run[last - 1].text.endswith((":", "：")) or at + 1 < last < min(at + STEPS, len(run)):
            if last == len(run) or line_kind(document.text, run[last].start) != "item":
                break
            last += 1
        if sought.analysis.asks_for in _TOGETHER and sought.has_sort(Unit((sentence,), headings)):
            # The figures of a paragraph stay together.
            while last < min(at + _FIGURES, len(run)) and sought.has_sort(Unit((run[last],), headings)):
                last += 1
            while first > max(0, last - _FIGURES) and sought.has_sort(Unit((run[first - 1],), headings)):
                first -= 1
        yield Candidate(Unit(tuple(run[first:last]), headings), score)


def _answering_rows(
    document: Document, stretches: Sequence[tuple[int, int]], whole: UnitContext, sought: AnswerSought, question: str
) -> list[Candidate]:
    tables, are_met, is_whole = [], [], sought.analysis.kind in TABLE_KINDS or is_computed(question)
    asked = frozenset(content_terms(question))
    for table in find_tables(document.text):
        headings = headings_above(document.text, table.start)
        around = f"{document.title} {headings}"
        chosen = choose_rows(table, question, sought.analysis, around) if table.header else None
        if not (chosen and table.header and any(start <= table.start < end for start, end in stretches)):
            continue
        labels = frozenset(analyze(" ".join(table.header.cells)))
        place = whole._replace(around=around, neighbours=labels)
        header = TextSpan(table.header.start, table.header.end)
        units = [
            Unit(
                (SourceSentence(row.start, row.end, labelled(table.header.cells, row.cells, asked)),), headings, header
            )
            for row in chosen.rows
        ]
        more = _FITTING_TABLE * chosen.fit * (is_whole or chosen.fit >= 1)
        more -= _ONE_ROW * (sought.analysis.kind == "list" and len(units) == 1)
        tables.append([Candidate(unit, sought.score(unit, place) + more) for unit in units])
        are_met.append(chosen.fit >= 1 and len(units) <= MAX_MET)
    if not is_whole:
        # Rows that meet a condition of the question are told together.
        few = (row for rows, is_met in zip(tables, are_met, strict=True) for row in (rows if is_met else rows[:_ROWS]))
        return sorted(few, key=best_candidate)[:MAX_MET]
    best = max((row.score for rows in tables for row in rows), default=0.0)
    # The rows of a table stay together.
    tops = [(max(row.score for row in rows), rows) for rows in tables]
    return [Candidate(row.unit, top) for top, rows in tops if top >= _NEARLY * best for row in rows]
