"""Figures that sources state, and what each is a figure of: whether two say the same, or contradict each other."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import NamedTuple

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.question.phrases import spans_between
from deep_research.reasoning.rules.quoting.drafting import row_of
from deep_research.reasoning.rules.quoting.relevance import CJK_CHARACTER
from deep_research.reasoning.rules.quoting.selection import best_first, trimmed
from deep_research.reasoning.rules.quoting.units import cells_of
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import ANY_YEAR, DateMention, find_dates, find_months
from deep_research.text.folding import to_simplified
from deep_research.text.number_words import ORDER
from deep_research.text.quantities import CURRENCY_SIGNS, Quantity, find_quantities
from deep_research.text.sentences import TextSpan, split_sentences
from deep_research.text.tables import is_label
from deep_research.verify.particulars import split_figures, without_idle_space

# Figures further apart than this are of different things; rounding allows so much, and "about".
_FAR, _ROUNDED, _ABOUT, _NEAR = 5.0, 0.05, 0.15, 0.3
# A figure of so many digits is hardly another one's by chance.
_TELLING_DIGITS, _TELLING_SHARED = 3, 2
# The words around two figures are the same but for so many, and there are enough of them.
_MAX_OTHER_WORDS, _MIN_SHARED = 1, 3
_SAME_SENTENCE = 0.5
# With more figures of one unit, which word belongs to which is not plain.
_MAX_FIGURES = 3
# The ends of a range are no figure of their own.
_RANGE = re.compile(
    r"(?i)\b(?:between|from)\s(?=[\d$€£¥])|(?<=[\d%])\s?(?:[-–~]|to|至|到)\s?(?=[\d$€£¥])|介于|之间|[由从]\d"
)
_CLAUSE = re.compile(r"[;；]|,\s|，|\b(?:while|whereas|but)\b")
# Whose count it is does not change what is counted.
_ATTRIBUTION = re.compile(
    r"(?i)^(?:according to|as counted by|in the (?:count|view) of)\b.*"
    r"|^(?:据|據|按照?|根据|根據).*(?:统计|統計|测算|測算|估算|说法|說法|数据|數據|核算)$"
)
# Who says whom a figure is from adds no origin to it.
_HEARSAY = re.compile(
    r"(?i)\b(?:according to|as (?:stated|reported|told) (?:by|in)|cit(?:es|ing)|quot(?:es|ing))\b"
    r"|^据|[，,]据|根据[^，。]{1,30}(?:报告|总结|数据|公报|统计)|援引|引述|(?:报告|总结|公报)(?:称|显示|指出|写道)"
)
# A plan and what came of it are two things, and so are one and the mean of many, whatever the figures.
_PLANNED = frozenset(
    """targe goal goals budge expec forec plan plans plann promi desig will avera media minim maxim
    目标 承诺 设计 将 预算 概算 预计 计划 平均 至少 至多""".split()
)
# What a figure is a figure of is changed by these: more of it, the change of it, a limit of it, what it is to be.
_KIND = re.compile(
    r"(?i)\b(?:increas\w*|decreas\w*|fell|rose|grew|growth|reduc\w*|declin\w*|drop\w*|target\w*|goal\w*|budget\w*|expect\w*"
    r"|forecast\w*|project(?:s|ed)|plan\w*|promised|design|will|estimat\w*|average|median|minimum|maximum|overrun|exceed\w*"
    r"|another|further|additional|per|before|after|without|among|of (?:them|which)|at (?:least|most)|(?:more|less) than"
    r"|(?:last|this|next|previous|past) (?:year|quarter|month|week)"
    r"|(?:over|under|above|below|up to|by)(?=\s[\d$€£¥]))\b"
    r"|目标|预算|概算|预计|计划|承诺|设计|平均|超[出过]|至少|至多|不[足到]|以[上下]|最[高低大小多少]|其中|[之以造修][前后]"
    r"|[去今上本明]年|[上本]月|[上下]半年|[增减降升每另将][^，；]{0,4}(?=\s*$)"
)
_NEARLY = re.compile(r"(?i)(?:\b(?:about|nearly|almost|around|roughly|some|approximately)\s|[约近])[$€£¥]?$")
# What only corrects another's figure is no claim against it.
_CORRECTS = re.compile(r"(?i)\bcorrect(?:s|ed|ion)\b|\bnot [\d$€£¥][\d.,]*.{0,30}\bbut\b|更正|有误|勘误")
# Words that every figure may stand with.
_IDLE = re.compile(r"(?i)[为达占总共约近]|全(?=[长年部])|累计|合计|实际|\btotal\b")
# Which one of several: names, stages, halls, plants.
_NAMED = re.compile(r"\b[A-Z][\w'-]*(?:\s(?:\d{1,4}|[A-Z])\b)?|第[一二三四五六七八九十\d]+\w|(?<![一二三四五六七八九十])[一二三四五六七八九][期号厂线楼]")
# What is counted is said by a noun; these only count.
_COUNTED = frozenset("people 家 例 个 台 辆 套 项 件 次 户".split())
_LETTERS = "abcdefghijklmnopqrstuvwxyz " + "人名" + "".join(_COUNTED)
_UNIT_OF_COLUMN = re.compile(r"[(（\[]([^)）\]]+)[)）\]]")


# Which stage, lot or issue a whole document is about.
_STAGE = re.compile(r"(?i)第[一二三四五六七八九十\d]+[期阶次季轮]|\b(?:stage|phase|round|lot) \w+")


class FigureClaim(NamedTuple):
    """A figure that a sentence or a row states, and what it is a figure of.

    `about` are the words of its clause or column, `keys` those that name its subject, `around` those of the whole
    passage and of the headings above it. In a sentence that is a range or a list, which word belongs to which figure is
    not plain.
    """

    piece: Evidence
    sentence: str
    figure: Quantity
    about: frozenset[str]
    keys: frozenset[str]
    around: frozenset[str]
    noun: frozenset[str]
    place: str
    kinds: frozenset[str]
    dates: tuple[str, ...]
    figures: tuple[tuple[float, str], ...]
    is_plain: bool
    is_rough: bool

    @property
    def is_hearsay(self) -> bool:
        """Return whether the sentence names somebody else as the one who gives the figure."""
        return bool(_HEARSAY.search(to_simplified(self.sentence)))


# A run asks for the same passages round by round, when it weighs them and when it writes.
@lru_cache(maxsize=4_096)
def _claims(piece: Evidence, place: str) -> tuple[FigureClaim, ...]:
    if piece.header:
        return tuple(_of_row(piece, place))
    sentences = (piece.quote[start:end] for start, end in split_sentences(piece.quote))
    plain = (sentence for sentence in sentences if not _CORRECTS.search(to_simplified(sentence)))
    return tuple(claim for sentence in plain for claim in _of_sentence(piece, sentence, place))


def _of_sentence(piece: Evidence, sentence: str, place: str) -> Iterator[FigureClaim]:
    text = without_idle_space(sentence)
    dates = _dates(text)
    measured = [figure for figure in find_quantities(text) if figure.unit]
    named = [each for each in _NAMED.finditer(_blank(text, [*dates, *measured])) if _is_name(each)]
    figures = _figures(text, [*dates, *(TextSpan(*each.span()) for each in named)])
    clauses = [
        span
        for span in spans_between(_CLAUSE.finditer(_blank(text, dates)), len(text))
        if not _ATTRIBUTION.match(text[slice(*span)].strip(" ,，"))
    ] or [(0, len(text))]
    bare = _blank(text, [*dates, *figures])
    units = Counter(_size(figure)[1] for figure in figures)
    is_range = _RANGE.search(_blank(text, dates)) is not None
    for figure in figures:
        first, last = next((span for span in clauses if span[0] <= figure.start < span[1]), (0, len(text)))
        kinds = _kinds(f"{bare[figure.start:last]}\n{bare[first : figure.start]}", place)
        near = [date for date in dates if first <= date.start < last] or dates
        own = [(first, last)]
        if len(_terms(bare[first:last])) <= _MIN_SHARED + 1:
            own += clauses[1:2] if own == clauses[:1] else clauses[:1]
        yield FigureClaim(
            piece=piece,
            sentence=sentence,
            figure=figure,
            about=_terms(" ".join(bare[at:end] for at, end in own)),
            keys=frozenset(
                term
                for each in named
                if any(at <= each.start() < end for at, end in own)
                for term in content_terms(each[0])
            ),
            around=_terms(f"{text} {place}"),
            noun=_counted(bare[figure.start : last]),
            place=place,
            kinds=kinds,
            dates=_periods(near, place),
            figures=tuple(map(_size, figures)),
            is_plain=units[_size(figure)[1]] <= _MAX_FIGURES and not is_range,
            is_rough=_NEARLY.search(text[: figure.start]) is not None,
        )


def _of_row(piece: Evidence, place: str) -> Iterator[FigureClaim]:
    """Yield the cells of a row that are one figure each; what stands left of it says whose figure it is."""
    cells = cells_of(piece.finding)
    text = row_of(piece).text
    dates = _dates(text)
    keys = cells[0][1]
    told = tuple(_size(_with_unit(cell, figure, label)) for label, cell in cells[1:] for figure in _figures(cell, find_dates(cell)))
    for label, cell in cells[1:]:
        if is_label(cell):
            keys += f" {cell}"
            continue
        figures = _figures(cell, find_dates(cell))
        if len(figures) != 1:
            continue
        figure, column = _with_unit(cell, figures[0], label), _UNIT_OF_COLUMN.sub("", label)
        words = _blank(f"{column} ", _dates(column)) + _blank(cell, figures)
        yield FigureClaim(
            piece=piece,
            sentence=text,
            figure=figure,
            about=_terms(words) or _terms(place),
            keys=_terms(_blank(keys, _dates(keys))),
            around=_terms(f"{text} {place}"),
            noun=_terms(words),
            place=place,
            kinds=_kinds(f"{words} {keys}", place),
            dates=_periods(_dates(column) or dates, place),
            figures=told,
            is_plain=True,
            is_rough=False,
        )


def _with_unit(cell: str, figure: Quantity, label: str) -> Quantity:
    """Return a cell's figure with the unit or scale that its column names: "Cost (€ million)", "days late"."""
    named = _UNIT_OF_COLUMN.findall(label) or [*label.split(), ""]
    for unit in named if not figure.unit else ():
        sign = next((sign for sign in CURRENCY_SIGNS if sign in unit and not sign.isalpha()), "")
        [*found] = find_quantities(f"{sign}{cell.strip()}{unit.replace(sign, '') if sign else unit}")
        if len(found) == 1 and (found[0].unit or found[0].value != figure.value):
            return found[0]._replace(raw=figure.raw)
    return figure


def _figures(text: str, taken: Iterable[TextSpan | DateMention]) -> list[Quantity]:
    """Return the figures of a text, in digits and in words, but for those that are part of something else."""
    in_digits, in_words = split_figures(text)
    worded = [Quantity(*each.values[0], each.start, each.end, each.raw) for each in in_words]
    offsets = {offset for each in taken for offset in range(each.start, each.end)}
    found = (each for each in (*in_digits, *worded) if each.unit != ORDER and offsets.isdisjoint(range(each.start, each.end)))
    return sorted(found, key=lambda figure: figure.start)


def _dates(text: str) -> list[DateMention]:
    """Return the dates of a text, and months that name no year."""
    dates = list(find_dates(text))
    return dates + [month for month in find_months(to_simplified(text)) if not any(month.start < date.end and date.start < month.end for date in dates)]


def _periods(dates: Iterable[DateMention], place: str) -> tuple[str, ...]:
    """Return the dates; where there are none, or no year, those of the headings above say when."""
    above = sorted({date.iso for date in find_dates(place)})
    year = above[0][:4] if above else ANY_YEAR
    return tuple(sorted({date.iso.replace(ANY_YEAR, year) for date in dates} or above))


def _blank(text: str, taken: Iterable[Quantity | DateMention]) -> str:
    """Return the text without figures and dates; what is counted stays."""
    for each in taken:
        if isinstance(each, Quantity) and each.unit in _COUNTED:
            each = each._replace(end=each.start + len(each.raw.rstrip(_LETTERS)))
        text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    return text


def _terms(text: str) -> frozenset[str]:
    plain = _KIND.sub(lambda word: " " if len(word[0]) > 1 else word[0], to_simplified(text))
    return frozenset(content_terms(_IDLE.sub(" ", plain)))


def _counted(text: str) -> frozenset[str]:
    """Return what a figure counts: the words right behind it, or the Chinese measure word."""
    words = _CLAUSE.split(text)[0].strip()
    return frozenset(words[:1]) if CJK_CHARACTER.match(words) else frozenset(content_terms(words)[:3])


def _kinds(text: str, place: str) -> frozenset[str]:
    own, above = ({word.lower()[:5] for word in _KIND.findall(to_simplified(each))} for each in (text, place))
    return frozenset(own | above & _PLANNED)


def _is_name(match: re.Match[str]) -> bool:
    """Return whether a word with a capital is a name: it opens no sentence, and says something."""
    is_first = match.start() == 0 and match[0].istitle() and match[0].isalpha() and match[0].isascii()
    return not is_first and bool(content_terms(match[0].split()[0]))


def _size(figure: Quantity) -> tuple[float, str]:
    value, unit = figure.in_base_unit
    return value, "" if unit in _COUNTED else unit


def differ(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether two documents' claims are about the same, at the same time, and their figures differ."""
    if not (one.is_plain and other.is_plain and _distance(one, other) < _FAR) or _is_one_figure(one, other):
        return False
    # A sentence that tells the other's figure as well says what the difference is.
    if _size(one.figure) in other.figures or _size(other.figure) in one.figures:
        return False
    if one.kinds != other.kinds or not _is_one_time(one, other) or not _is_one_subject(one, other):
        return False
    TRACE.append((one, other))
    if _is_only_one(one, other):
        return True
    if one.piece.header or other.piece.header:
        return _is_column_of(one, other) and _is_column_of(other, one)
    if not _size(one.figure)[1] and not one.noun & other.noun:
        return False
    return _is_told_alike(one, other)


def _is_only_one(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether both name the same subject and time, and each has but one figure of the unit, not far apart."""
    unit = _size(one.figure)[1]
    is_alone = all([each for _, each in claim.figures].count(unit) == 1 for claim in (one, other))
    return bool(unit and is_alone and one.keys & other.around and other.keys & one.around and one.dates and other.dates) and _distance(one, other) < _NEAR


def _is_column_of(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether a figure's column, if it has one, is what another is about."""
    if not one.piece.header:
        return len(one.about & other.around) >= _SAME_SENTENCE * len(one.about)
    if other.piece.header:
        return one.about <= other.about or other.about <= one.about
    shared = one.about & (other.about if _size(other.figure)[1] else other.noun)
    return len(shared) >= _SAME_SENTENCE * len(one.about)


def _is_told_alike(one: FigureClaim, other: FigureClaim) -> bool:
    topic = _title(one) & _title(other)
    first, second = one.about - topic, other.about - topic
    shared, both = first & second, first | second
    around = len(one.around & other.around) / len(one.around | other.around)
    if around >= _SAME_SENTENCE or len(shared) >= .6 * len(both):
        return min(len(first - second), len(second - first)) == 0 and len(first ^ second) <= 2 and len(one.about & other.about) >= _MIN_SHARED
    few, many = sorted((len(first), len(second)))
    return len(shared) >= 2 and len(shared) >= .5 * few and len(shared) >= .33 * many


def _title(claim):
    return _terms(claim.place.partition(" › ")[0])

TRACE = []

def agree(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether two documents give the same figure for the same thing, in whatever words."""
    if _distance(one, other) == inf or not _is_one_figure(one, other) or one.kinds & _PLANNED != other.kinds & _PLANNED:
        return False
    if not _is_one_time(one, other):
        return False
    digits = [_digits(claim.figure.raw) for claim in (one, other)]
    if one.piece.header or other.piece.header:
        held = (one.about | one.keys) & (other.about | other.keys)
        return _is_one_subject(one, other) and bool(one.about & other.about or held and min(digits) > 1)
    if min(digits) >= _TELLING_DIGITS:
        shared = (one.about & other.around) | (other.about & one.around)
        return len(shared) >= _TELLING_SHARED
    fewest = max(_MIN_SHARED, _SAME_SENTENCE * min(len(one.about), len(other.about)))
    return len(one.about & other.about) >= fewest


def _is_one_subject(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether each holds the names of the other, beside it or above it."""
    stages = [set(_STAGE.findall(to_simplified(claim.place).lower())) for claim in (one, other)]
    is_other_stage = all(stages) and stages[0].isdisjoint(stages[1])
    missing = [first.keys - second.around for first, second in ((one, other), (other, one))]
    if any(claim.piece.header and absent or any(map(str.isdigit, absent)) for claim, absent in zip((one, other), missing, strict=True)): 
        return False
    return not (is_other_stage or all(missing)) and (not any(missing) or bool(one.keys & other.keys))


def _is_one_time(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether the dates of one are those of the other; a day may stand for its month or year."""
    few, many = sorted((one.dates, other.dates), key=len)
    if not few and any(len(date) == len("2025-12") for date in many):
        return False
    return all(any(_is_same_date(*sorted((date, each), key=len)) for each in many) for date in few)


def _is_same_date(short: str, long: str) -> bool:
    if ANY_YEAR in (short[:4], long[:4]):
        return len(short) > 4 and short[4:7] == long[4:7]
    return short == long or (long.startswith(short) and len(long) == len("2025-12-31"))


def _is_one_figure(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether one figure is the other, rounded."""
    digits = min(_digits(one.figure.raw), _digits(other.figure.raw)) or 1
    first, second = (f"{claim.figure.in_base_unit[0]:.{digits}g}" for claim in (one, other))
    is_rough = one.is_rough or other.is_rough
    return _distance(one, other) <= (_ABOUT if is_rough else _ROUNDED) and (is_rough or first == second)


def _distance(one: FigureClaim, other: FigureClaim) -> float:
    """Return by which share the larger figure exceeds the smaller; infinite for figures that cannot be compared."""
    (first, unit), (second, other_unit) = _size(one.figure), _size(other.figure)
    if one.piece.document == other.piece.document or unit != other_unit:
        return inf
    low, high = sorted((abs(first), abs(second)))
    return high / low - 1 if low else inf


def _digits(figure: str) -> int:
    return len("".join(re.findall(r"\d", figure)).strip("0"))


_MAX_SHOWN = 4


def find_disagreements(
    evidence: Sequence[Evidence],
    *,
    section: str,
    gathered: Sequence[Evidence] = (),
    places: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Paragraph, ...]:
    """Return a table for each matter on which documents give different figures, the best evidence first.

    One aspect stands in the report; the other may be anything that was gathered. `places` are the title and headings
    above each piece, by its id.
    """
    claims, known = ranked_claims(evidence, places), {piece.id for piece in evidence}
    others = [*claims, *ranked_claims([piece for piece in gathered if piece.id not in known], places)]
    shown: set[str] = set()
    tables = []
    alike: dict[object, list[tuple[int, FigureClaim]]] = defaultdict(list)
    for place, claim in enumerate(others):
        alike[_size(claim.figure)[1], claim.kinds].append((place, claim))
    for at, one in enumerate(claims):
        near = alike[_size(one.figure)[1], one.kinds]
        other = next((claim for place, claim in near if place > at and differ(one, claim)), None)
        if other is not None and not {one.sentence, other.sentence} & shown:
            pair = sorted((one, other), key=lambda claim: claim.figure.in_base_unit)
            shown |= {one.sentence, other.sentence}
            tables.append(Paragraph(section=section, kind="table", sentences=tuple(map(statement, pair))))
    return tuple(tables[:_MAX_SHOWN])


def ranked_claims(evidence: Iterable[Evidence], places: Mapping[str, str] = MappingProxyType({})) -> list[FigureClaim]:
    """Return the figures that passages state, the best evidence first."""
    return [claim for piece in best_first(evidence) for claim in _claims(piece, places.get(piece.id, "").replace("_", " "))]


def statement(claim: FigureClaim) -> Sentence:
    """Return a claim as a row of a table: its figure, and its source's own sentence."""
    lead = claim.figure.raw.strip()
    if claim.piece.header:
        return row_of(claim.piece).model_copy(update={"lead": lead})
    return Sentence(text=trimmed(claim.sentence), evidence=(claim.piece.id,), lead=lead)
