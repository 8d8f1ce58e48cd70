"""Series in sentences: figures of one subject at several times, told in one sentence or in several documents."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from deep_research.reasoning.rules.weighing.claims import CHANGES, FigureClaim, blank, ranked_claims
from deep_research.reasoning.rules.weighing.series import MIN_POINTS, Series, is_near, unit_of
from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import DataRow
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import ANY_YEAR, DateMention, find_dates
from deep_research.text.folding import to_simplified
from deep_research.verify.particulars import without_extra_space

# A mean and a limit are figures like others; a change, a plan and a part are figures of something else.
_KINDS = frozenset({"avera", "media", "minim", "maxim"})
# What falls from one figure to the next is told in figures like others, and so is what is counted by the tonne.
_FROM = re.compile(r"(?i)\bfrom\s*$|[由从從][^，]{0,12}$")
_RATES = ("per", "每")
_UNREAL = re.compile(r"(?i)\b(?:if|would|could|might|may|until)\b|如果|倘若|假如|若|可能")
_PER = re.compile(r"^\s?(per [\w-]+|an? (?:year|month|week|day|hour)\b)|^\s?(/\s?\w+)")
_EACH = re.compile(r"每([\w]{1,4}?)$")
# What leads from a subject to its figure, and from there to the next.
_LEADS = re.compile(
    r"(?i)(?:\s+|\b(?:was|were|is|are|be|been|has|have|had|fell|rose|grew|dropped|declined|increased|decreased|reached|stood"
    r"|came|amounted|averaged|peaked|counted|totall?ed|therefore|then|about|around|some|only|at|to|from|of|by|in|on|and"
    r"|since|for|the)|[为是由从约达至到的在自仅共有，、：,;:]|只有|[升降增减提][高少加]?)[\s,]*$"
)
_BEGINS = re.compile(r"(?i)(?:in|by|from|since|the|a|an|and|its|our|of|on)\b|截至|[到，、的,\s]")
_NUMBERED = re.compile(r"[a-z]+ \d+\b|第\w|\d+[号號]")
_MAX_MEASURE_CHARS = 60
_MIN_SHARED, _SAME = 2, 0.6


class Point(NamedTuple):
    """A figure at one time, the words that say what it is of, and how it is told.

    `numbered` are things that a number tells from others: "project 2".
    """

    claim: FigureClaim
    date: str
    about: frozenset[str]
    measure: str
    unit: str
    numbered: frozenset[str]
    kinds: frozenset[str]


def series_of_sentences(
    evidence: Sequence[Evidence], places: Mapping[str, str], titles: Mapping[str, str]
) -> Iterator[Series]:
    """Yield the series that sentences tell; `places` are the title and headings above pieces, by id, `titles` those of
    documents.
    """
    groups: list[list[Point]] = []
    claims = ranked_claims([piece for piece in evidence if not piece.header], places)
    for _, told in groupby(claims, key=lambda claim: (claim.piece.id, claim.sentence)):
        for point in _points(list(told)):
            group = next((each for each in groups if _is_of(point, each)), None)
            if group:
                group.append(point)
            else:
                groups.append([point])
    for group in groups:
        if group[0].kinds <= _KINDS:
            yield from _series(group, titles)


def _points(claims: Sequence[FigureClaim]) -> Iterator[Point]:
    """Yield the figures of a sentence that have each a date of their own."""
    text = without_extra_space(claims[0].sentence)
    dates = find_dates(text)
    if not dates or _UNREAL.search(text):
        return
    units = defaultdict(list)
    for claim in claims:
        units[claim.size[1]].append(claim)
    for own in units.values():
        pairs = list(zip(own, dates, strict=False))
        if len(own) == len(dates) > 1 and _take_turns(pairs) and _is_one_thing(text, pairs):
            for claim, date in pairs:
                yield _point(own[0], claim, date.iso, text, own)
        elif len(own) == len(own[0].dates) == 1 and own[0].is_plain and ANY_YEAR not in own[0].dates[0]:
            yield _point(own[0], own[0], own[0].dates[0], text, own)


def _take_turns(pairs: Sequence[tuple[FigureClaim, DateMention]]) -> bool:
    """Return whether each figure has its own date, before it or after it throughout: "€88 in 2021, €103 in 2023"."""
    spans = [sorted((claim.figure.start, date.start)) for claim, date in pairs]
    orders = {claim.figure.start < date.start for claim, date in pairs}
    return len(orders) == 1 and all(one[1] < other[0] for one, other in pairwise(spans))


def _is_one_thing(text: str, pairs: Sequence[tuple[FigureClaim, DateMention]]) -> bool:
    """Return whether all is said with the first figure: no later one brings words of its own."""
    ends = [max(claim.figure.end, date.end) for claim, date in pairs]
    words = [set(content_terms(_blank(text[begin:end]))) for begin, end in zip([0, *ends], ends, strict=False)]
    return all(later <= words[0] for later in words[1:]) and not re.search(r"(?i)\bby\b", text[ends[0] : ends[-1]])


def _blank(text: str) -> str:
    """Return a text without its dates, figures and the verbs that lead to them."""
    for date in find_dates(text):
        text = text.replace(date.raw, " ")
    text = to_simplified(text)
    return " ".join(_LEADS.sub("", part) for part in re.split(r"[-+]?[$€£¥]?\d[\d,.]*", text))


def _point(first: FigureClaim, claim: FigureClaim, date: str, text: str, told: Sequence[FigureClaim]) -> Point:
    """Return the figure of a claim; what it is of is said with the first one of those that are told together."""
    figure, dates = first.figure, find_dates(text)
    rest = blank(text, [*dates, *(one.figure for one in told)])
    begin = min([figure.start, *(each.start for each in dates if each.start)])
    lead = text[:begin]
    if dates[0].start == 0 or not content_terms(lead):
        lead = text[dates[0].end : figure.start]
    after = text[figure.end :]
    stop = min([len(after), *(each.start - figure.end for each in dates if each.start > figure.end)])
    counted = "" if figure.unit else re.split(r"[,;，；。.]", after[:stop])[0]
    measure = _phrase(counted) if content_terms(counted) else _phrase(lead)
    per = _PER.search(after)
    unit = unit_of(figure) + (f" {per[1] or per[2]}" if per else "")
    if each := _EACH.search(text[: figure.start]):
        unit, measure = f"{unit}/{each[1]}", _phrase(_EACH.sub("", lead))
    skipped = (*CHANGES, *_RATES) if len(told) > 1 and _FROM.search(text[: figure.start]) else _RATES
    kinds = frozenset(kind for kind in first.kinds if not kind.startswith(skipped))
    return Point(claim, date, first.about, measure, unit, frozenset(_NUMBERED.findall(rest.lower())), kinds)


def _phrase(text: str) -> str:
    """Return a subject without what leads to it and from it."""
    plain, begin, end = to_simplified(text), 0, len(text)
    while match := _BEGINS.match(plain, begin, end):
        begin = match.end()
    while match := _LEADS.search(plain, begin, end):
        end = match.start()
    return text[begin:end].strip(" ,，:：")


def _is_of(point: Point, group: Sequence[Point]) -> bool:
    """Return whether a figure is of what a group is of: the same unit, the same kind, the same words, no other name."""
    one, other = point.claim, group[0].claim
    if one.size[1] != other.size[1] or point.kinds != group[0].kinds:
        return False
    if one.sentence == other.sentence:
        return one.piece.id == other.piece.id
    shared = len(point.about & group[0].about)
    is_same = shared >= max(_MIN_SHARED, _SAME * min(len(point.about), len(group[0].about)))
    is_same = is_same and point.numbered == group[0].numbered
    return is_same and one.names <= other.around and other.names <= one.around


def _series(group: Sequence[Point], titles: Mapping[str, str]) -> Iterator[Series]:
    points = _of_one_length(group)
    if len({date for date, _ in points}) < MIN_POINTS:
        return
    shared = frozenset.intersection(*(point.about for _, point in points))
    words = {point.measure: {*content_terms(point.measure)} for _, point in points}
    told = [each for each in words if words[each] and len(each) <= _MAX_MEASURE_CHARS]
    if not told:
        return
    measure = max(told, key=lambda each: len(shared & words[each]) / len(words[each]))
    by_document: dict[str, dict[str, Point]] = defaultdict(dict)
    for date, point in points:
        known = by_document[point.claim.piece.document].setdefault(date, point)
        if not _is_near(known, point):
            return
    units = {point.unit for _, point in points}
    is_as_told = len({unit_of(point.claim.figure) for _, point in points}) == 1
    unit = max(units, key=len) if is_as_told else points[0][1].claim.size[1]
    differ = any(not _is_near(one, other) for date, one in points for same, other in points if same == date)
    rows: dict[tuple[str, str], DataRow] = {}
    for date, point in points:
        piece, figure = point.claim.piece, point.claim.figure
        series = titles.get(piece.document, piece.document) if differ else ""
        value = figure.value if is_as_told else figure.in_base_unit[0]
        rows.setdefault((series, date), DataRow(label=date, value=value, evidence=piece.id, series=series))
    if len({row.value for row in rows.values()}) > 1:
        yield Series(
            measure, unit, tuple(sorted(rows.values(), key=lambda row: (row.series, row.label))), is_dated=True
        )


def _of_one_length(group: Iterable[Point]) -> list[tuple[str, Point]]:
    """Return the points with their dates cut to the shortest: years beside a day are years."""
    points = [(point.date, point) for point in group]
    shortest = min(len(date) for date, _ in points)
    return [(date[:shortest], point) for date, point in points if shortest in (len(date), 4)]


def _is_near(one: Point, other: Point) -> bool:
    return is_near(*(point.claim.size[0] for point in (one, other)))
