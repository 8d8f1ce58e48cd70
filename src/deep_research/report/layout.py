"""A report as blocks of text with numbered markers, in the order in which they are read: what every format renders.

It decides what stands where and with which marks; it knows no markup, and finds, judges and numbers nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple, TypeAlias

from deep_research.report.citation import Citations, Source
from deep_research.report.escaping import one_line
from deep_research.report.figure import Caption, Image
from deep_research.report.paragraph import TABLE_ROWS, Backing, Paragraph, Sentence, Strings, is_quoted
from deep_research.text.messages.words import Words
from deep_research.text.tables import is_label
from deep_research.value import Value

# Of the sources that are not cited, the nearest are listed.
_MAX_UNCITED = 10
_MAX_PICTURES = 6
# A longer calculation is shown in verification.md alone.
_MAX_BASIS_CHARS = 40
# Digits that nobody grouped and that are no year.
_LONG_NUMBER = re.compile(r"(?<![\d.,])\d{5,}(?![\d,])")
_CELLS = re.compile(r"(.+!)([A-Z]+)(\d+):([A-Z]+)(\d+)$")
# Before the markers of what the report concludes or computes itself, where its words do not tell so.
_CONCLUDED = "∴"
_TELLS = re.compile(
    r"(?i)\b(?:we|our|should|would|ought|recommend\w*|suggest\w*|propos\w*|impl(?:y|ies)|indicat\w*|means|therefore|thus|hence|so"
    r"|likely|probably|remains?|unclear|uncertain|open|seems?|appears?|judge\w*|comput\w*|calculat\w*|works? out)\b"
    r"|建[议議]|[应應]|[宜须須]|因此|所以|[可足]见|可見|[说說]明|表明|意味|看[来來]|似乎|很?可能|我[们們]|本[报報]告|不明|未定|尚待|[计計]算|[约約]合|得出"
)
_OWN = ("conclusion", "calculation")
# A sentence prints so many numbers at most: those of the documents that it rests on most.
MAX_MARKERS = 3
# More than one sum or difference.
_HAS_STEPS = re.compile(r"[*/×÷].*=|[-+−].*[-+−].*=")
_LONG_TITLE = 80
# More places than this say no more than the document itself.
_MAX_SHOWN_PLACES = 4
_WIDE_END = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef][”’…]*$")
_STOP = re.compile(r"[.!?。！？…:：;；][\"'”’»)\]）】》」』]*(?:\[\d{1,3}\])*$")
# So many values of a figure are told to those who cannot see it.
_MAX_ALT_VALUES = 12
# Stands where the markers go in fixed words.
_HERE = "\0"
Cite = Callable[[str], int]


class Chapter(Value):
    """A heading and its paragraphs."""

    title: str
    paragraphs: tuple[Caption | Paragraph, ...]


# From this likelihood on an answer stands without a mark of doubt.
_DOUBTED = 0.3


class ReportLayout(Value):
    """A whole report before it is rendered; `about` is what the run did and could not do, a line each.

    `pictures` are those of the cited sources, source by source.
    `notice` is what a reader must know with the answer, below it. `knowledge` is what a model says by itself where no
    source was found; nothing of it is cited or checked. Without references, the report says where they are. Where the
    sources do not answer the question, `is_answered` is false; `likelihood` says how likely the answer is the one that
    was asked for, where rules chose it.
    """

    title: str
    notice: Strings = ()
    abstract: tuple[Caption | Paragraph, ...] = ()
    abstract_title: str = ""
    chapters: tuple[Chapter, ...] = ()
    disagreements: tuple[Paragraph, ...] = ()
    knowledge: str = ""
    gaps: Strings = ()
    about: Strings = ()
    pictures: tuple[Image, ...] = ()
    run_line: str
    has_references: bool = True
    is_answered: bool = True
    likelihood: float = 1.0

    @property
    def is_doubtful(self) -> bool:
        """Return whether the answer may not be the one that was asked for."""
        return self.is_answered and self.likelihood < _DOUBTED

    @property
    def paragraphs(self) -> list[Paragraph]:
        """Return all paragraphs in the order in which they are read."""
        body = (paragraph for chapter in self.chapters for paragraph in chapter.paragraphs)
        return [*self.abstract, *body, *self.disagreements]

    @property
    def sentences(self) -> list[Sentence]:
        """Return all sentences in the order in which they are read."""
        return [sentence for paragraph in self.paragraphs for sentence in paragraph.sentences]

    @property
    def text(self) -> str:
        """Return the title, the headings and all sentences as plain text, to be searched."""
        titles = (self.title, *(chapter.title for chapter in self.chapters))
        return "\n".join((*titles, *(sentence.text for sentence in self.sentences)))

    @property
    def captions(self) -> list[Caption]:
        """Return the figures in the order in which they are read."""
        return [paragraph for paragraph in self.paragraphs if isinstance(paragraph, Caption)]


class Span(NamedTuple):
    """A piece of text on one line. `fixed` are our own words and signs, which no format takes for markup.

    A `marker` is the number of a source, with the pieces of evidence of that source which it stands for. `sentence` is
    the one that it is part of. An `address` is a link where it is of the web.
    """

    text: str
    kind: Literal["text", "fixed", "strong", "emphasis", "marker", "address"] = "text"
    evidence: Strings = ()
    sentence: Sentence | None = None


Spans: TypeAlias = tuple[Span, ...]


class Heading(NamedTuple):
    """A heading below the report's title; `part` says what it opens, where that is no chapter of the body."""

    text: str
    level: Literal[2, 3] = 2
    part: str = ""


class Label(NamedTuple):
    """Words above what belongs to them, less than a heading."""

    text: str


class Prose(NamedTuple):
    """A paragraph."""

    spans: Spans


class Items(NamedTuple):
    """A list."""

    items: tuple[Spans, ...]
    is_numbered: bool = False


class Table(NamedTuple):
    """A table; each row has a cell for each column, and is a sentence of the report."""

    head: Strings
    rows: tuple[tuple[Spans, ...], ...]
    sentences: tuple[Sentence, ...] = ()


class Picture(NamedTuple):
    """A figure: its values in words for those who do not see it, its title, and its sources."""

    caption: Caption
    alt: str
    title: str
    sources: Spans


class Reference(NamedTuple):
    """A numbered source as the references list it; `note` says where in it, and of which day it is."""

    number: int
    title: str
    address: str
    note: str


class References(NamedTuple):
    """Sources, one a line."""

    sources: tuple[Reference, ...]


Block: TypeAlias = Heading | Label | Prose | Items | Table | Picture | References


def laid_out(report: ReportLayout, citations: Citations, *, number_of: Cite, words: Words) -> list[Block]:
    """Return all that stands between a report's title and its last line, in blocks.

    `number_of` gives the citation number of an evidence id.
    """
    blocks: list[Block] = []
    if report.abstract:
        title = one_line(report.abstract_title) or words("report.abstract")
        blocks += [Heading(title, part="abstract"), *chapter_blocks(report.abstract, number_of, words)]
    if report.notice:
        blocks += [Label(words("report.notice")), *_bullets(report.notice)]
    gaps = _bullets(report.gaps)
    for chapter in report.chapters:
        title = one_line(chapter.title)
        blocks += [Heading(title), *chapter_blocks(chapter.paragraphs, number_of, words)]
        if title == words("report.gaps"):
            # What the writer leaves open is one list with what we know of it.
            blocks, gaps = _joined(blocks, gaps), []
    knowledge: list[Block] = []
    if report.knowledge:
        note = Span(words("report.knowledge_note"), "emphasis")
        knowledge = [Prose((note,)), Prose((_text(report.knowledge),))]
    legend = [words("report.concluded")] if any(one.kind in _OWN for one in report.sentences) else []
    unlisted = [] if report.has_references else [*legend, words("report.unlisted")]
    closing: dict[str, Sequence[Block]] = {
        "knowledge": knowledge,
        "disagreements": [_paragraph(table, number_of, words) for table in report.disagreements],
        "gaps": gaps,
        "references": _references(citations, legend, words) if report.has_references else [],
        "pictures": _pictures(report.pictures),
        "about": _bullets([*report.about, *unlisted]),
    }
    for key, own in closing.items():
        blocks += [Heading(words(f"report.{key}"), part=key), *own] if own else []
    return blocks


def markers(evidence: Sequence[str], number_of: Cite) -> Spans:
    """Return the markers of pieces of evidence: each source's number once, in order."""
    numbers: dict[int, list[str]] = {}
    for id_ in dict.fromkeys(evidence):
        numbers.setdefault(number_of(id_), []).append(id_)
    return tuple(Span(str(number), "marker", tuple(ids)) for number, ids in sorted(numbers.items()))


def _text(text: str) -> Span:
    return Span(one_line(text))


def _fixed(text: str) -> Spans:
    return (Span(text, "fixed"),) if text else ()


def _of(sentence: Sentence, spans: Iterable[Span]) -> Spans:
    return tuple(span._replace(sentence=sentence) for span in spans)


def _around(words_with_marks: str, marks: Spans) -> Spans:
    before, _, after = words_with_marks.partition(_HERE)
    return (*_fixed(before), *marks, *_fixed(after))


def _bullets(items: Sequence[str]) -> list[Block]:
    return [Items(tuple((_text(item),) for item in items))] if items else []


def _pictures(pictures: Sequence[Image]) -> list[Block]:
    """Return a handful of the sources' pictures, by words and address: who opens a report asks no foreign server."""
    # Two of each source at most.
    numbers = (0, 0, *(one.number for one in pictures))
    few = [one for one, number in zip(pictures, numbers, strict=False) if one.number != number]
    items = ((_text(one.caption), *_fixed(f" [{one.number}] "), Span(one.address, "address")) for one in few)
    return [Items(tuple(items)[:_MAX_PICTURES])] if few else []


def _joined(blocks: list[Block], more: list[Block]) -> list[Block]:
    """Return the blocks with more at their end; a list goes on where one ended."""
    match blocks[-1], *more:
        case Items(first, is_numbered=False), Items(second, is_numbered=False):
            return [*blocks[:-1], Items((*first, *second))]
    return [*blocks, *more]


def chapter_blocks(paragraphs: Sequence[Paragraph], number_of: Cite, words: Words) -> Iterator[Block]:
    """Yield the blocks of a chapter's paragraphs: its labels, lists, tables and prose."""
    lead, mark = "", ""
    items: list[Spans] = []
    for paragraph in (*paragraphs, None):
        if items and (not paragraph or paragraph.mark != mark):
            yield Items(tuple(items), is_numbered=mark == "number")
            items = []
        if not paragraph:
            return
        block, mark = _paragraph(paragraph, number_of, words), paragraph.mark
        if mark and isinstance(block, Prose):
            # Items of a list stand below each other, each with its point in bold.
            point = f"{one_line(paragraph.lead)}{words('report.stop')}"
            items.append((Span(point, "strong"), *_fixed(" "), *block.spans) if paragraph.lead else block.spans)
            continue
        if paragraph.lead.endswith((":", "：")) and isinstance(block, Prose):
            # Who says it stands in the line itself: what comes next may be another's.
            block = Prose((_text(paragraph.lead), *_fixed(_space_after(paragraph.lead)), *block.spans))
        elif paragraph.lead and paragraph.lead != lead:
            yield _label(paragraph, number_of)
        lead = paragraph.lead
        yield block


def _label(paragraph: Paragraph, number_of: Cite) -> Label | Prose:
    """Return what stands above a paragraph; what a table comes to is a claim, and names the table's sources."""
    label = one_line(paragraph.lead)
    if paragraph.kind != "table" or not re.search(r"\d", label):
        return Label(label)
    return Prose((Span(label, "strong"), *_fixed(" "), *markers(paragraph.cite_ids, number_of)))


def _space_after(text: str) -> str:
    """Return what parts a text from the next: Chinese punctuation brings its own space."""
    return "" if _WIDE_END.search(text) else " "


def _paragraph(paragraph: Paragraph, number_of: Cite, words: Words) -> Block:
    if paragraph.kind == "table":
        return _table(paragraph, number_of, words)
    if isinstance(paragraph, Caption):
        return _picture(paragraph, number_of, words)
    if paragraph.kind == "caption":
        return Label(" ".join(one_line(sentence.text) for sentence in paragraph.sentences))
    spans: list[Span] = []
    joint = ""
    pending: tuple[str, ...] = ()
    named = set[int]()
    signed = signed_sentence(paragraph)
    for sentence, after in zip_longest(paragraph.sentences, paragraph.sentences[1:]):
        space = _space_after(sentence.text)
        # What is concluded in one go from the same sources names them once, at its end; and what its own words tell
        # to be ours, not again. A paragraph ends with its sources.
        sources = set(map(number_of, sentence.evidence))
        is_own = after is not None and sentence.kind == "conclusion" and signed not in (sentence, after)
        is_going_on = is_own and after.kind == "conclusion" and sources == set(map(number_of, after.evidence))
        is_named = is_own and not pending and sources <= named and _TELLS.search(sentence.text) is not None
        marks: Spans = ()
        if not is_named:
            pending = (*pending, *sentence.evidence)
        if not (is_named or is_going_on):
            marks, pending = _sources_of(sentence, pending, number_of, words, is_signed=sentence is signed), ()
            named.update(int(mark.text) for mark in marks if mark.kind == "marker")
        gap = space if marks else ""
        # Before the markers: a paragraph ends in one.
        is_partly = sentence.verdict and sentence.verdict.kind == "partly"
        doubt = f"{gap}{words('report.partly')}" if is_partly else ""
        own = (_text(sentence.text), *_fixed(f"{doubt}{gap}"), *marks)
        spans += [*_fixed(joint), *_of(sentence, own)]
        # A sentence without a stop of its own is given one.
        joint = space if _STOP.search(sentence.text) else words("report.value_separator")
    return Prose(tuple(spans))


def _picture(caption: Caption, number_of: Cite, words: Words) -> Picture:
    figure, separator = caption.figure, words("report.value_separator")
    values = [
        f"{' '.join(filter(None, (row.series, row.label)))}{words('report.colon')}{row.value:,.15g}"
        for row in figure.rows[:_MAX_ALT_VALUES]
    ]
    more = ["…"] if len(figure.rows) > _MAX_ALT_VALUES else []
    description = words(f"figure.{figure.chart_type}", title=figure.title, values=separator.join([*values, *more]))
    sources = _around(words("figure.sources", marks=_HERE), markers(caption.cite_ids, number_of))
    return Picture(caption, one_line(description), one_line(caption.text), sources)


def signed_sentence(paragraph: Paragraph) -> Sentence | None:
    """Return the sentence behind which a sign tells that the report speaks itself, where neither its words do nor the
    number before it: what is put in order is proposed.
    """
    own = [each for each in paragraph.sentences if each.kind in _OWN and each.evidence]
    is_told = paragraph.mark == "number" or any(_is_shown(each) or _TELLS.search(each.text) for each in own)
    return None if is_told or not own else own[0]


def _is_shown(sentence: Sentence) -> bool:
    """Return whether a calculation stands behind its sentence: one that a reader would not do in the head."""
    has_steps = sentence.kind == "calculation" and _HAS_STEPS.search(sentence.basis)
    return bool(has_steps) and not sentence.cells and len(sentence.basis) <= _MAX_BASIS_CHARS


def _sources_of(
    sentence: Sentence, evidence: Sequence[str], number_of: Cite, words: Words, *, is_signed: bool
) -> Spans:
    """Return the markers of a sentence, with its sign or its calculation where it has one.

    The last marker leads to the passages of the documents that are not printed, too.
    """
    # Of documents that it rests on alike, those that were named last may be named nowhere else.
    marks = sorted(markers(evidence, number_of), key=lambda mark: (-len(mark.evidence), -int(mark.text)))
    rest = tuple(id_ for mark in marks[MAX_MARKERS:] for id_ in mark.evidence)
    shown = sorted(marks[:MAX_MARKERS], key=lambda mark: int(mark.text))
    if rest:
        shown[-1] = shown[-1]._replace(evidence=(*shown[-1].evidence, *rest))
    if shown and _is_shown(sentence):
        sum_ = words("report.computed", basis=equation(sentence.basis), marks=_HERE).partition(_HERE)[0]
        return (_text(sum_), *_fixed(sum_[len(sum_.rstrip()) :]), *shown)
    return (*_fixed(_CONCLUDED if shown and is_signed else ""), *shown)


def equation(basis: str) -> str:
    """Return a calculation as it is printed: 20132 * 82 / 100 as 20,132 × 82 ÷ 100."""
    grouped = _LONG_NUMBER.sub(lambda number: f"{int(number[0]):,}", basis)
    return " ".join(grouped.replace("*", " × ").replace("/", " ÷ ").split())


def _table(paragraph: Paragraph, number_of: Cite, words: Words) -> Table | Prose:
    """Return rows as a table, each with its marker; rows of one kind keep their columns, one quoted row is a line."""
    rows = paragraph.sentences
    labels = [label for label, _ in max(rows, key=lambda row: len(row.cells)).cells]
    known = set(labels)
    if all(row.backing for row in rows):
        head, lines = _backed(rows, number_of, words)
    elif all(row.lead for row in rows):
        head = [words("report.figure"), words("report.statement")]
        lines = [_cells(row.lead, row.text) for row in rows]
    elif not any(row.cells for row in rows):
        head, lines = [words("report.statement")], [_cells(row.text) for row in rows]
    elif len(rows) == 1 and not paragraph.mark:
        line = _text(_labelled(rows[0].cells, words))
        return Prose(_of(rows[0], (line, *_fixed(" "), *markers(rows[0].evidence, number_of))))
    elif (
        (paragraph.mark or len(rows) >= TABLE_ROWS or not all(is_quoted(row) for row in rows))
        and len(known) == len(labels)
        and all(known.issuperset(dict(row.cells)) for row in rows)
    ):
        head = [one_line(label) for label in labels]
        lines = [_cells(*(dict(row.cells).get(label, "") for label in labels)) for row in rows]
    else:
        head = [words("report.record"), words("report.values")]
        lines = [_record(row, words) for row in rows]
    # Where all rows are the report's own, they are so at a glance.
    own = [row for row in rows if row.kind in _OWN]
    signed = own if len(own) < len(rows) else []
    ends = (_sources_of(row, row.evidence, number_of, words, is_signed=row in signed) for row in rows)
    cells = tuple((*line, end) for line, end in zip(lines, ends, strict=True))
    return Table((*head, words("report.source")), cells, tuple(rows))


def _cells(*texts: str) -> list[Spans]:
    return [(_text(text),) for text in texts]


def _backed(rows: Sequence[Sentence], number_of: Cite, words: Words) -> tuple[list[str], list[list[Spans]]]:
    """Return columns that say how well each figure is backed; the one of other figures only where there are any."""
    backings = [row.backing or Backing() for row in rows]
    columns = {
        "figure": _cells(*(row.lead for row in rows)),
        "statement": _cells(*(row.text for row in rows)),
        "origins": [_independent_sources(backing, number_of, words) for backing in backings],
        "others": [_others(backing, number_of, words) for backing in backings],
        "dated": [_days(backing, words) for backing in backings],
    }
    if not any(backing.against for backing in backings):
        del columns["others"]
    return [words(f"report.{key}") for key in columns], [list(line) for line in zip(*columns.values(), strict=True)]


def _independent_sources(backing: Backing, number_of: Cite, words: Words) -> Spans:
    if not backing.also:
        return _fixed(str(backing.origins))
    return _around(words("report.also", count=backing.origins, marks=_HERE), markers(backing.also, number_of))


def _others(backing: Backing, number_of: Cite, words: Words) -> Spans:
    spans: list[Span] = []
    for figure, id_ in backing.against:
        joint = words("report.value_separator") if spans else ""
        spans += [*_fixed(joint), _text(figure), *_fixed(" "), *markers([id_], number_of)]
    return tuple(spans) or _fixed("–")


def _days(backing: Backing, words: Words) -> Spans:
    """Return the day of the statement's source, and first and last of all that give the figure."""
    if backing.oldest == backing.newest:
        return (_text(backing.newest or "–"),)
    return (_text(words("report.days", own=backing.published or "–", oldest=backing.oldest, newest=backing.newest)),)


def _record(row: Sentence, words: Words) -> list[Spans]:
    """Return what a row is about, its leading cells that name things, and what it says: the rest with labels."""
    named = 1 + next((at for at, (_, value) in enumerate(row.cells[1:-1]) if not is_label(value)), 0)
    return _cells(" · ".join(value for _, value in row.cells[:named]), _labelled(row.cells[named:], words))


def _labelled(cells: Sequence[tuple[str, str]], words: Words) -> str:
    """Return cells one after the other, each behind the name of its column."""
    colon, separator = words("report.colon"), words("report.value_separator")
    return separator.join(f"{label}{colon}{value}" if label else value for label, value in cells)


def _references(citations: Citations, legend: Sequence[str], words: Words) -> list[Block]:
    blocks: list[Block] = [Prose(_fixed(line)) for line in legend]
    numbered = list(enumerate(citations.sources, start=1))
    cited, additional = numbered[: len(citations.cited)], numbered[len(citations.cited) :]
    parts = {
        "cited_sources": [one for one in cited if one[1].document not in citations.unused],
        "earlier_sources": [one for one in cited if one[1].document in citations.unused],
        "additional_sources": additional[:_MAX_UNCITED],
    }
    for key, sources in parts.items():
        if sources:
            listed = (reference(number, source, words) for number, source in sources)
            blocks += [Heading(words(f"report.{key}"), 3), References(tuple(listed))]
    if len(citations.additional) > _MAX_UNCITED:
        blocks.append(Prose(_fixed(words("report.more_sources", count=len(citations.additional) - _MAX_UNCITED))))
    statistics = f"{words('report.statistics')}{words('report.colon').rstrip()}"
    return [*blocks, Prose(_fixed(statistics)), *_bullets(source_counts(citations, words))]


def source_counts(citations: Citations, words: Words) -> tuple[str, str]:
    """Say how many sources there are, and which share of them is cited."""
    share, total = citations.share_cited, len(citations.sources)
    return words("report.cited_share", share=share), words("report.total_sources", count=total)


def reference(number: int, source: Source, words: Words) -> Reference:
    """Return a source as the references list it."""
    # A page of the web is dated, and its first heading is its title again.
    is_page = source.address.startswith(("http://", "https://"))
    delivered = [source.delivered] if source.delivered else []
    listed = _by_sheet([label for label in source.places if not (is_page and source.title in label)])
    dated = [source.published[:10]] if is_page and source.published else []
    named = [*delivered, *dated, *listed[:_MAX_SHOWN_PLACES], *(["…"] if len(listed) > _MAX_SHOWN_PLACES else [])]
    note = one_line(words("report.value_separator").join(named))
    return Reference(number, one_line(_short_title(source) + source.aside), one_line(source.address), note)


def _short_title(source: Source) -> str:
    """Return a title; of a file of many messages only its first subject, as the places name those that are cited."""
    first, *others = source.title.split("; ")
    return f"{first} …" if len(others) > 1 and len(source.title) > _LONG_TITLE else source.title


def _by_sheet(labels: Sequence[str]) -> list[str]:
    """Return places, rows of one sheet as one of them: Teams!A4:E4, A5:E5 and A8:E8 as Teams!A4:E5, A8:E8."""
    found: dict[str, list[tuple[str, int, str, int]]] = {}
    for label in labels:
        match = _CELLS.match(label)
        rows = found.setdefault(match[1] if match else label, [])
        if match:
            left, top, right, bottom = match[2], int(match[3]), match[4], int(match[5])
            if rows and (rows[-1][0], rows[-1][2], rows[-1][3] + 1) == (left, right, top):
                top = rows.pop()[1]
            rows.append((left, top, right, bottom))
    return [sheet + ", ".join(f"{a}{top}:{b}{bottom}" for a, top, b, bottom in rows) for sheet, rows in found.items()]
