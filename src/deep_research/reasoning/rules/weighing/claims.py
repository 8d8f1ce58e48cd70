"""Figures that sources state, and what each is a figure of: whether two say the same, or contradict each other."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from math import inf
from string import ascii_lowercase
from types import MappingProxyType

from deep_research.reasoning.rules.question.phrases import spans_between
from deep_research.reasoning.rules.quoting.drafting import row_of
from deep_research.reasoning.rules.quoting.selection import best_first, trimmed
from deep_research.reasoning.rules.quoting.units import cells_of
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Paragraph, Sentence, Strings
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import ANY_YEAR, DateMention, find_dates, find_months
from deep_research.text.folding import to_simplified
from deep_research.text.number_words import ORDER
from deep_research.text.quantities import Quantity, find_quantities
from deep_research.text.sentences import TextSpan, split_sentences
from deep_research.text.tables import is_label
from deep_research.verify.particulars import split_figures, without_extra_space

# Figures nearer than the first may be rounded, than the second are hardly of two things, and further than the last are.
_ROUNDING, _NEAR, _FAR = 0.05, 0.3, 1.5
# A figure of so many digits is hardly another one's by chance.
_TELLING_DIGITS, _TELLING_SHARED = 3, 2
# Of the words around two figures, so many are the same, and such shares of them.
_MIN_SHARED, _SAME_SENTENCE, _LARGELY = 3, 0.5, 0.6
# With more figures of one unit, which word belongs to which is not plain.
_MAX_FIGURES = 3
# The ends of a range are no figure of their own.
_RANGE = re.compile(
    r"(?i)\b(?:between|from)\s(?=[\d$€£¥])|(?<=[\d%])\s?(?:[-–~]|to|至|到)\s?(?=[\d$€£¥])|介于|之间|[由从]\d|\d[^\W\d降升增减]{1,2}[至到]\d"
)
_CLAUSE = re.compile(r"[;；]|,\s|，|\b(?:while|whereas|but)\b")
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
# A change is one over a time.
CHANGES = frozenset("incre decre fell rose grew growt reduc decli drop dropp drops impro".split())
# What a figure is a figure of is changed by these: more of it, the change of it, a limit of it, what it is to be.
_KIND = re.compile(
    r"(?i)\b(?:(?:increas\w*|decreas\w*|fell|rose|grew|growth|reduc\w*|declin\w*|drop\w*|improve\w*)\b(?! to\b)"
    r"|(?:target\w*|goal\w*|budget\w*|expect\w*|forecast\w*|project(?:s|ed)|plan(?:s|ned)?|promised|design|will"
    r"|estimat\w*|average|median|minimum|maximum|overrun|exceed\w*|another|further|additional|per|before|after|among"
    r"|of (?:them|which)|at (?:least|most)|(?:more|less) than"
    r"|(?:last|this|next|previous|past) (?:year|quarter|month|week)"
    r"|(?:over|under|above|below|up to)(?=\s*$))\b)"
    r"|目标|预算|概算|预计|计划|承诺|设计|平均|超[出过]|至少|至多|不[足到]|以[上下]|最[高低大小多少]|其中|[之以造修期底][前后]"
    r"|[去今上本明]年|[上本]月|[上下]半年|[增减降升每另将](?:(?![到至])[^，；]){0,4}(?=\s*$)"
)
# What only corrects another's figure is no claim against it.
_CORRECTS = re.compile(r"(?i)\bcorrect(?:s|ed|ion)\b|\bnot [\d$€£¥][\d.,]*.{0,30}\bbut\b|更正|有误|勘误")
# Words that every figure may stand with.
_IDLE = re.compile(
    r"(?i)[为达占总共约近]|全(?=[长年部])|累计|合计|截至|实际|[现共设]有|人数|人次|数量"
    r"|\b(?:total|(?:end|close|beginning) of)\b"
)
# Which one of several: names, stages, halls, plants; a word by itself that opens a sentence is none.
_NAME = re.compile(
    r"(?<![A-Za-z])(?P<word>[A-Z][a-z-]*\b(?!\s(?:\d{1,4}|[A-Z])\b))|(?<![A-Za-z])[A-Z][\w'-]*(?:\s(?:\d{1,4}|[A-Z])\b)?"
    r"|第[一二三四五六七八九十\d]+\w|(?<![一二三四五六七八九十])[一二三四五六七八九][期号厂线楼]"
)
# What is counted is said by a noun; these only count.
_COUNTED = frozenset("people 家 例 个 台 辆 套 项 件 次 户".split())
_COUNTED_WORDS = f"{ascii_lowercase} 人名{''.join(_COUNTED)}"
_UNIT_OF_COLUMN = re.compile(r"[(（\[]([^)）\]]+)[)）\]]")
# Which stage, issue or version of a series a whole document is about.
_NUMBERED = re.compile(r"第[一二三四五六七八九十]+|(?<![\d.])\d{1,4}(?:\.\d+)*(?![\d.])")


@dataclass(frozen=True, eq=False)
class FigureClaim:
    """A figure that a sentence or a row states, and what it is a figure of.

    `about` are the words of its clause or column, `near` those next to it, `names` those that say which one is meant;
    `place` is the title and the headings above it. In a range or a list, which word belongs to which figure is not
    plain.
    """

    piece: Evidence
    sentence: str
    place: str
    figure: Quantity
    about: frozenset[str]
    names: frozenset[str]
    kinds: frozenset[str]
    dates: Strings
    figures: tuple[tuple[float, str], ...]
    is_plain: bool = True
    near: frozenset[str] = frozenset()

    @cached_property
    def size(self) -> tuple[float, str]:
        """Return the value and unit by which the figure compares with others."""
        return self.figure.in_base_unit

    @property
    def title(self) -> str:
        return self.place.partition(" › ")[0]

    @cached_property
    def above(self) -> frozenset[str]:
        """Return the words that stand above it, without dates."""
        return _terms(_undated(self.place))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Return the numbers of the title that are no dates."""
        return frozenset(_NUMBERED.findall(_undated(self.title)))

    @cached_property
    def around(self) -> frozenset[str]:
        """Return the words of the whole passage and of what stands above it."""
        return _terms(f"{self.sentence} {self.place}")

    @cached_property
    def digits(self) -> int:
        """Return how many digits the figure is given with."""
        return len(re.sub(r"\D", "", self.figure.raw).strip("0"))

    @cached_property
    def is_hearsay(self) -> bool:
        """Return whether the sentence names somebody else as the one who gives the figure."""
        return bool(_HEARSAY.search(to_simplified(self.sentence)))


# A run asks for the same passages round by round, when it weighs them and when it writes.
# The number of a page is no figure.
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")


@lru_cache(maxsize=4_096)
def _claims(piece: Evidence, place: str) -> tuple[FigureClaim, ...]:
    if piece.header:
        return tuple(_of_row(piece, place))
    sentences = (piece.quote[start:end] for start, end in split_sentences(piece.quote))
    plain = (sentence for sentence in sentences if not _CORRECTS.search(to_simplified(sentence)))
    return tuple(claim for sentence in plain for claim in _of_sentence(piece, sentence, place))


def _of_sentence(piece: Evidence, sentence: str, place: str) -> Iterator[FigureClaim]:
    text = without_extra_space(sentence)
    dates = _dates(text)
    undated = blank(text, dates)
    named = [
        each
        for each in _NAME.finditer(blank(undated, [figure for figure in find_quantities(text) if figure.unit]))
        if (each.start() or not each["word"]) and content_terms(each[0].split()[0])
    ]
    addresses = _ADDRESS.finditer(text)
    figures = _figures(text, [*dates, *(TextSpan(*each.span()) for each in (*named, *addresses))])
    clauses = spans_between(_CLAUSE.finditer(undated), len(text))
    bare, sizes = blank(undated, figures), tuple(figure.in_base_unit for figure in figures)
    for figure in figures:
        first, last = next((span for span in clauses if span[0] <= figure.start < span[1]), (0, len(text)))
        unit = figure.in_base_unit[1]
        # What stands behind the next figure of the unit is that one's: "a fall of 3 % in rents led to 2 % in prices".
        later = (each.start for each in figures if each.start > figure.start and each.in_base_unit[1] == unit)
        end = next((at for at in later if at < last and _terms(bare[figure.end : at])), last)
        before, behind = bare[first : figure.start], bare[figure.start : end]
        own = [(first, end)]
        # A short clause has its subject in the first one with words, or the first one in the next.
        if len(_terms(bare[first:end])) <= _MIN_SHARED + 1:
            own += [(at, to) for at, to in clauses if at != first and _terms(bare[at:to])][:1]
        # A number behind a noun, and before none, only tells one thing from others: door 4, version 3.
        noun = re.split(r"[\W\d_]", text[: figure.start].rstrip(" -"))[-1]
        counted = re.split(r"[\W\d_]", text[figure.end :].lstrip(" -"))[0]
        yield FigureClaim(
            piece,
            sentence,
            place,
            figure,
            about=_terms(" ".join(bare[at:to] for at, to in own)),
            near=frozenset(term for term in (*_words(before)[-2:], *_words(behind)[:3]) if len(term) > 1),
            names=_terms(" ".join(each[0] for each in named if any(at <= each.start() < to for at, to in own))),
            kinds=_kinds(f"{behind}\n{before}", place),
            dates=_periods([date for date in dates if first <= date.start < last] or dates, place),
            figures=sizes,
            is_plain=bool(figure.unit or content_terms(counted) or not content_terms(noun))
            and [each for _, each in sizes if each].count(unit) <= _MAX_FIGURES
            and not _RANGE.search(undated[first:last]),
        )


def _of_row(piece: Evidence, place: str) -> Iterator[FigureClaim]:
    """Yield the cells of a row that are one figure each; what stands left of it says whose figure it is."""
    cells = cells_of(piece.finding)
    labels, values = (" ; ".join(each) for each in zip(*cells, strict=True))
    figures = [_of_cell(cell, label) for label, cell in cells]
    sizes = tuple(figure.in_base_unit for figure in figures[1:] if figure)
    names = cells[0][1]
    for (label, cell), figure in zip(cells[1:], figures[1:], strict=True):
        if is_label(cell):
            names += f" {cell}"
        elif figure:
            column = _UNIT_OF_COLUMN.sub("", label)
            words = _undated(column) + cell.replace(figure.raw, "")
            subject = _terms(_undated(names))
            # A column may be a year, and what is counted the row's name.
            about = _terms(words)
            yield FigureClaim(
                piece,
                row_of(piece).text,
                place,
                figure,
                about=about or subject,
                names=subject if about else frozenset(),
                kinds=_kinds(f"{words} {names}", place),
                dates=_periods(_dates(column) or _dates(values), f"{labels} {place}"),
                figures=sizes,
            )


def _of_cell(cell: str, label: str) -> Quantity | None:
    """Return the one figure of a cell, with the unit or scale that its column names: "Cost (€ million)"."""
    figures = _figures(cell, find_dates(cell))
    if len(figures) != 1:
        return None
    for unit in () if figures[0].unit else _UNIT_OF_COLUMN.findall(label):
        sign = "".join(re.findall(r"[$€£¥]", unit))
        found = _figures(f"{sign}{cell.strip()}{unit.replace(sign, '')}", ())
        if len(found) == 1:
            return found[0]._replace(raw=figures[0].raw)
    return figures[0]


def _figures(text: str, taken: Iterable[TextSpan | DateMention]) -> list[Quantity]:
    """Return the figures of a text, in digits and in words, but for those that are part of something else.

    People and pieces are counted as what they are called: they make no unit.
    """
    in_digits, in_words = split_figures(text)
    worded = [Quantity(*each.values[0], each.start, each.end, each.raw) for each in in_words]
    offsets = {offset for each in taken for offset in range(each.start, each.end)}
    found = []
    for each in sorted((*in_digits, *worded), key=lambda figure: figure.start):
        if each.unit in _COUNTED:
            number = each.raw.rstrip(_COUNTED_WORDS)
            each = each._replace(unit="", end=each.start + len(number), raw=number)
        if each.unit != ORDER and offsets.isdisjoint(range(each.start, each.end)):
            found.append(each)
    return found


def _dates(text: str) -> list[DateMention]:
    """Return the dates of a text, and months that name no year."""
    dates = list(find_dates(text))
    return dates + find_months(to_simplified(blank(text, dates)))


def _periods(dates: Iterable[DateMention], place: str) -> Strings:
    """Return the dates; where there are none, or no year, what stands above says when."""
    above = sorted({date.iso for date in find_dates(place)})
    year = above[0][:4] if above else ANY_YEAR
    return tuple(sorted({date.iso.replace(ANY_YEAR, year) for date in dates} or above))


def _undated(text: str) -> str:
    return blank(text, _dates(text))


def blank(text: str, taken: Iterable[Quantity | DateMention]) -> str:
    """Return a text with blanks for figures and dates, so that offsets stay."""
    for each in taken:
        text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    return text


@lru_cache(maxsize=4_096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(_words(text))


def _words(text: str) -> list[str]:
    return content_terms(_IDLE.sub(" ", _KIND.sub(" ", to_simplified(text))))


def _kinds(text: str, place: str) -> frozenset[str]:
    own, above = ({word.lower()[:5] for word in _KIND.findall(to_simplified(each))} for each in (text, place))
    return frozenset(own | above & _PLANNED)


def differ(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether two documents' claims are about the same, at the same time, and their figures differ."""
    is_plain = one.is_plain and other.is_plain and one.kinds == other.kinds
    if not (_distance(one, other) < _FAR and is_plain and _is_one_time(one, other) and _is_one_subject(one, other)):
        return False
    # A sentence that tells the other's figure as well says what the difference is.
    if _is_rounded(one, other) or one.size in other.figures or other.size in one.figures:
        return False
    is_row = one.piece.header or other.piece.header
    # What is measured is named last before a figure, or soon behind it.
    is_near = one.near & other.about and other.near & one.about
    if not (is_near or is_row or one.names & other.names):
        return False
    is_alike = _is_told_in_row if is_row else _is_told_alike
    return _is_only_one(one, other) or is_alike(one, other)


def _is_only_one(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether both name the same subject and time, and the figures are not far apart."""
    is_telling = one.figure.unit or min(one.digits, other.digits) >= _TELLING_DIGITS
    is_named = one.names | other.names and one.dates and other.dates
    return bool(is_telling and is_named) and _distance(one, other) < _NEAR


def _is_told_in_row(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether a column is another column, or what a sentence is about."""
    row, told = (one, other) if one.piece.header else (other, one)
    if told.piece.header:
        return row.about <= told.about or told.about <= row.about
    return len(row.about & told.about) >= _SAME_SENTENCE * len(row.about)


def _is_told_alike(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether two sentences are about one thing: in the same words but for one, or in words half the same.

    Between sentences of one pattern, another word is another thing.
    """
    topic = _terms(one.title) & _terms(other.title)
    first, second = one.about - topic, other.about - topic
    shared, fewer = len(first & second), min(len(first), len(second))
    if shared >= _LARGELY * len(first | second):
        return shared == fewer and len(first ^ second) <= 2 <= len(one.about & other.about)
    return shared >= max(2 if _distance(one, other) < _NEAR else 3, _SAME_SENTENCE * fewer)


def agree(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether two documents give the same figure for the same thing, in whatever words."""
    is_planned = one.kinds & _PLANNED != other.kinds & _PLANNED
    if is_planned or not _is_rounded(one, other) or not _is_one_time(one, other):
        return False
    digits = min(one.digits, other.digits)
    if one.piece.header or other.piece.header:
        held = (one.about | one.names) & (other.about | other.names)
        return _is_one_subject(one, other) and bool(one.about & other.about or (held and digits > 1))
    if digits >= _TELLING_DIGITS:
        shared = (one.about & other.around) | (other.about & one.around)
        return len(shared) >= _TELLING_SHARED
    fewest = max(_MIN_SHARED, _SAME_SENTENCE * min(len(one.about), len(other.about)))
    return len(one.about & other.about) >= fewest


def _is_one_subject(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether each holds the names of the other, beside it or above it, and one topic.

    What only a title says ("The population was 8,211") is another thing under another title.
    """
    if not (one.names <= other.around and other.names <= one.around):
        return False
    if one.numbers and other.numbers and one.numbers.isdisjoint(other.numbers):
        return False
    is_named = one.names & other.names or one.above & other.around or other.above & one.around
    return bool(is_named or not (one.above and other.above))


def _is_one_time(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether the dates of one are those of the other; a day may stand for its month or year.

    A change, and a row beside a dated row, is of a time: where it is not given, nothing is known.
    """
    few, many = sorted((one.dates, other.dates), key=len)
    is_row = one.piece.header and other.piece.header
    if not few and (one.kinds & CHANGES or any(is_row or len(date) == len("2025-12") for date in many)):
        return False
    return all(any(_is_same_date(*sorted((date, each), key=len)) for each in many) for date in few)


def _is_same_date(short: str, long: str) -> bool:
    if ANY_YEAR in (short[:4], long[:4]):
        return len(short) > 4 and short[4:7] == long[4:7]
    return short == long or (long.startswith(short) and len(long) == len("2025-12-31"))


def _is_rounded(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether one figure is the other, given with fewer digits."""
    digits = min(one.digits, other.digits) or 1
    first, second = (f"{claim.size[0]:.{digits}g}" for claim in (one, other))
    return first == second and _distance(one, other) <= _ROUNDING


def _distance(one: FigureClaim, other: FigureClaim) -> float:
    """Return by which share the larger figure exceeds the smaller; infinite for figures that cannot be compared."""
    (first, unit), (second, other_unit) = one.size, other.size
    if one.piece.document == other.piece.document or unit != other_unit:
        return inf
    low, high = sorted((abs(first), abs(second)))
    return high / low - 1 if low else inf


_MAX_SHOWN = 4
# Where nothing is known of the titles and headings above passages.
NOWHERE: Mapping[str, str] = MappingProxyType({})


def find_disagreements(
    evidence: Sequence[Evidence],
    *,
    section: str,
    gathered: Sequence[Evidence] = (),
    places: Mapping[str, str] = NOWHERE,
) -> tuple[Paragraph, ...]:
    """Return a table for each matter on which documents give different figures, the best evidence first.

    One aspect stands in the report; the other may be anything that was gathered. `places` are the title and headings
    above each piece, by its id.
    """
    claims, known = ranked_claims(evidence, places), {piece.id for piece in evidence}
    others = [*claims, *ranked_claims([piece for piece in gathered if piece.id not in known], places)]
    shown: set[str] = set()
    tables = []
    for at, one in enumerate(claims):
        unit = one.size[1]
        later = (claim for claim in islice(others, at + 1, None) if claim.size[1] == unit)
        other = next((claim for claim in later if differ(one, claim)), None)
        if other and not {one.sentence, other.sentence} & shown:
            pair = sorted((one, other), key=lambda claim: claim.size)
            shown |= {one.sentence, other.sentence}
            tables.append(Paragraph(section=section, kind="table", sentences=tuple(map(statement, pair))))
            if len(tables) == _MAX_SHOWN:
                break
    return tuple(tables)


def ranked_claims(evidence: Iterable[Evidence], places: Mapping[str, str] = NOWHERE) -> list[FigureClaim]:
    """Return the figures that passages state, the best evidence first."""
    return [
        claim for piece in best_first(evidence) for claim in _claims(piece, places.get(piece.id, "").replace("_", " "))
    ]


def statement(claim: FigureClaim) -> Sentence:
    """Return a claim as a row of a table: its figure, and its source's own sentence."""
    lead = claim.figure.raw.strip()
    if claim.piece.header:
        return row_of(claim.piece).replace(lead=lead)
    return Sentence(text=trimmed(claim.sentence), evidence=(claim.piece.id,), lead=lead)
