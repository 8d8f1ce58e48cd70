"""A report in HTML: each marker leads to the passage behind it, and each sentence tells how it was checked.

Every passage stands once, among the sources. Without scripts a marker is a link to it; with them (`reading.js`) it
opens a card that shows the passage beside the sentence.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import NamedTuple, TypeAlias

from lxml import etree
from markupsafe import Markup

from deep_research.charts.style import in_dark
from deep_research.export.contents import Contents
from deep_research.export.markup import element, joined
from deep_research.export.printed import is_number_column
from deep_research.export.quotation import quotation
from deep_research.report.citation import Source
from deep_research.report.edition import CitedPassage
from deep_research.report.layout import (
    Block,
    Heading,
    Items,
    Label,
    Picture,
    Prose,
    Span,
    Table,
    equation,
    laid_out,
    source_counts,
)
from deep_research.report.paragraph import Sentence
from deep_research.text.messages.words import words_in
from deep_research.text.shortening import shortened
from deep_research.verify.verification import counted_verdicts, verdict_in_words

# What the report says itself, distinct from what a source says; each sign has words for those who do not see it.
_SIGNS = {"conclusion": "∴", "calculation": "=", "absence": "∅"}
_WEAK = {"partly": "◐", "not_checked": "?"}
_SOUND = "✓"
_PNG = b"\x89PNG\r\n\x1a\n"
_LABEL_BYTES = 90
# Bytes, as a character of Chinese says as much as three letters, and is as many bytes.
_LONG_TITLE_BYTES = 100
_LONG_QUESTION_CHARS = 400


class _Use(NamedTuple):
    """Where a passage is cited: the id of the place, its words, and how it was checked."""

    anchor: str
    label: str
    verdict: str = ""
    sign: str = ""

    @property
    def is_weak(self) -> bool:
        return self.sign not in (_SOUND, *_SIGNS.values())


# The address of a document's stored text, at a passage of it: its id, start and end.
LinkToSource: TypeAlias = Callable[[str, int, int], str]


class Parts(NamedTuple):
    """A report in HTML: the ids and titles of its sections, its text, its sources, and the card of its script."""

    entries: list[tuple[str, str]]
    article: Markup
    sources: Markup
    card: Markup


def in_parts(contents: Contents, link_to_source: LinkToSource | None = None) -> Parts:
    """Return a report in HTML, with links to the texts of its sources where there is an address for them."""
    return _ArticleWriter(contents, link_to_source).parts()


class _ArticleWriter:
    """Writes one report; notes on the way which sentence cites which passage, for the list of sources at its end."""

    def __init__(self, contents: Contents, link_to_source: LinkToSource | None) -> None:
        self.contents = contents
        self.link_to_source = link_to_source
        self.edition = contents.edition
        self.words = words_in(self.edition.language)
        self.passages = sorted(
            self.edition.passages, key=lambda one: (self.edition.number_of(one.id), one.start, one.end)
        )
        self.numbers = {passage.id: number for number, passage in enumerate(self.passages, start=1)}
        self.sentences = self.edition.report.sentences
        self.uses: dict[str, list[_Use]] = {}
        self.spoken: dict[str, list[tuple[int, int, str]]] = {}
        self.count = 0
        self.open: list[str] = []

    def parts(self) -> Parts:
        """Return the whole report."""
        report, words = self.edition.report, self.words
        blocks = laid_out(report, self.edition.citations, number_of=self.edition.number_of, words=words)
        sections = []
        entries: list[tuple[str, str]] = []
        notice = Label(words("report.notice"))
        for heading, own in _sections(blocks, notice):
            if heading is None:
                sections.append(element("notice", notice.text, self._blocks(own[1:])))
            elif heading.part != "references":
                id_ = f"part-{len(entries) + 1}"
                entries.append((id_, heading.text))
                sections.append(element("section", id_, heading.text, heading.part, self._blocks(own)))
        entries += [("checked", words("html.method")), ("sources", words("html.sources"))]
        lines = [report.run_line, words("html.version", version=self.edition.code_version)]
        article = element("article", self._head(), joined(sections), lines, words)
        return Parts(entries, article, self._sources(), element("card", self._read(""), words))

    def _head(self) -> Markup:
        edition, words = self.edition, self.words
        title = edition.report.title
        question = f"{words('page.question')}{words('report.colon')}{edition.question}"
        summary = shortened(question, _LONG_QUESTION_CHARS // 2) if len(question) > _LONG_QUESTION_CHARS else ""
        if edition.question.strip() == title.strip():
            question = summary = ""
        # As verify.json counts: notes and captions say nothing of the world, nor do sentences that only link others.
        counted = Counter[str](
            each.verdict.kind if each.verdict else "not_checked"
            for paragraph in edition.report.paragraphs
            if paragraph.kind not in ("note", "caption")
            for each in paragraph.sentences
            if each.kind != "link"
        )
        verdicts = {each.verdict.kind for each in self.sentences if each.verdict}
        return element(
            "head",
            edition=edition,
            passages=len(self.uses),
            is_long=len(title.encode()) > _LONG_TITLE_BYTES,
            question=edition.question if summary else question,
            summary=summary,
            verdicts=counted_verdicts(counted, words),
            is_verified=self.contents.is_verified,
            # The legend names the signs that this report uses.
            has_markers=bool(self.numbers),
            own_signs=_used(_SIGNS, {each.kind for each in self.sentences}),
            weak_signs=_used(_WEAK, verdicts),
            words=words,
        )

    def _blocks(self, blocks: Iterable[Block]) -> Markup:
        return joined(map(self._block, blocks))

    def _block(self, block: Block) -> Markup:
        match block:
            case Heading(text) | Label(text):
                return element("label", text)
            case Prose(spans):
                return element("prose", self._line(spans))
            case Items(items, is_numbered):
                return element("items", [self._line(spans) for spans in items], is_numbered)
            case Table():
                return self._table(block)
            case Picture():
                return self._figure(block)
        return Markup()  # references: they stand with their passages

    def _line(self, spans: Iterable[Span], anchor: str = "") -> Markup:
        """Return what stands in a line; spans of one sentence make one element."""
        parts: list[str] = []
        for _, group in groupby(spans, key=lambda span: id(span.sentence)):
            own = list(group)
            sentence = own[0].sentence
            parts += [self._span(span, anchor) for span in own] if sentence is None else [self._sentence(sentence, own)]
        return joined(parts)

    def _span(self, span: Span, anchor: str) -> str:
        if span.kind == "marker":
            return self._marker(span, anchor)
        if span.kind == "address":
            return element("address", span.text, _shortened(span.text))
        name = {"strong": "strong", "emphasis": "em"}.get(span.kind)
        return element("set_off", name, span.text) if name else span.text

    def _sentence(self, sentence: Sentence, spans: Sequence[Span]) -> Markup:
        id_ = self._noted(sentence)
        text, marks = spans[0].text, [span for span in spans if span.kind == "marker"]
        # What is concluded in one go names its sources once: the markers at the end are those of all.
        self.open = [*self.open, id_]
        anchors = " ".join(self.open)
        if marks or not sentence.evidence:
            self.open = []
        gap = " " if any(span.kind == "fixed" and span.text.startswith(" ") for span in spans) else ""
        return element("sentence", id_, f"{text}{gap}", self._tail(sentence, marks, anchors))

    def _noted(self, sentence: Sentence) -> str:
        """Return a new id for a sentence, and note it with the passages that it cites."""
        self.count += 1
        id_, verdict = f"s{self.count}", sentence.verdict
        kind = self.words(f"html.kind_{sentence.kind}") if sentence.kind in _SIGNS else ""
        use = _Use(id_, _shortened(sentence.text))
        for evidence in self._shown(sentence.evidence):
            # Why is said of the passage that decided it.
            why = verdict.reason if verdict and verdict.evidence in ("", evidence) else ""
            parts = [kind, verdict_in_words(verdict.kind, why, self.words) if verdict else ""]
            sign = _SOUND if sentence.is_sound else _WEAK.get(verdict.kind, "!") if verdict else ""
            if verdict and verdict.kind == "not_in_sources":
                parts, sign = [self.words("html.looked_for")], _SIGNS["absence"]
            self._cite([evidence], use._replace(verdict=" · ".join(filter(None, parts)), sign=sign))
        if sentence.backing:
            against = (id_ for _, id_ in sentence.backing.against)
            self._cite((*self._shown(sentence.backing.also), *against), use)
        if verdict and verdict.evidence and verdict.start >= 0:
            self.spoken.setdefault(verdict.evidence, []).append((verdict.start, verdict.end, id_))
        return id_

    def _cite(self, evidence: Iterable[str], use: _Use) -> None:
        for id_ in dict.fromkeys(evidence):
            self.uses.setdefault(id_, []).append(use)

    def _shown(self, evidence: Iterable[str]) -> list[str]:
        """Return evidence without what is shown with other: the header above a row."""
        pieces = [self.edition.passage[id_] for id_ in dict.fromkeys(evidence)]
        headers = {(piece.document, piece.header) for piece in pieces}
        return [piece.id for piece in pieces if piece.header or (piece.document, piece.quote) not in headers]

    def _tail(self, sentence: Sentence, marks: Sequence[Span], anchors: str) -> Markup:
        """Return what stands behind a sentence: doubts, its kind, the sum of a calculation, its markers."""
        parts = sentence.verdict.evidence if sentence.verdict else ""
        return element(
            "tail",
            sentence=sentence,
            weak_sign=_WEAK.get(sentence.verdict.kind, "") if sentence.verdict else "",
            own_sign=_SIGNS.get(sentence.kind, ""),
            basis=equation(sentence.basis),
            passages=[self.numbers[id_] for id_ in self._shown(sentence.evidence)],
            marks=joined(self._marker(mark, anchors, first=parts) for mark in marks),
            anchors=anchors,
            words=self.words,
        )

    def _marker(self, span: Span, anchors: str, first: str = "") -> Markup:
        title = self.edition.citations.cited[int(span.text) - 1].title
        shown = sorted(self._shown(span.evidence), key=lambda id_: id_ != first)
        numbers = [self.numbers[id_] for id_ in shown]
        label = self.words("html.source_number", number=span.text, title=_shortened(title))
        return element("opener", f"[{span.text}]", "cite", numbers, anchors, label)

    def _table(self, table: Table) -> Markup:
        rows = []
        numeric = [is_number_column(table, at) for at in range(len(table.head))]
        for cells, sentence in zip(table.rows, table.sentences, strict=True):
            id_ = self._noted(sentence)
            names = [f"{name}{self.words('report.colon')}" if sentence.backing else "" for name in table.head]
            own = [
                (self._line(cell, id_), name, is_number)
                for cell, name, is_number in zip(cells[:-1], names, numeric, strict=False)
            ]
            marks = [span for span in cells[-1] if span.kind == "marker"]
            rows.append((id_, own, self._tail(sentence, marks, id_)))
        return element("table", table.head, numeric, rows)

    def _figure(self, picture: Picture) -> Markup:
        caption = picture.caption
        id_, figure = f"figure-{caption.number}", caption.figure
        rows_of = (row.evidence for row in figure.rows)
        self._cite((*self._shown(caption.cite_ids), *rows_of), _Use(id_, picture.title))
        named, rows = figure.named_columns, []
        for row in figure.rows:
            mark = Span(str(self.edition.number_of(row.evidence)), "marker", (row.evidence,))
            rows.append(([getattr(row, key) for key in named], f"{row.value:,.15g}", self._marker(mark, id_)))
        light, dark = self._pictures(picture)
        return element(
            "figure",
            id=id_,
            picture=picture,
            light=light,
            dark=dark,
            sources=self._line(picture.sources, id_),
            named=named,
            rows=rows,
            words=self.words,
        )

    def _pictures(self, picture: Picture) -> tuple[str, str]:
        """Return the addresses of the picture for light and for dark pages, "" where there is none."""
        figure = picture.caption.figure
        svg, png = (self.contents.pictures.get(id_, b"") for id_ in (figure.svg, figure.png))
        if _is_svg(svg):
            return _inline("image/svg+xml", svg), _inline("image/svg+xml", in_dark(svg.decode()).encode())
        return _inline("image/png", png) if png.startswith(_PNG) else "", ""

    def _sources(self) -> Markup:
        """Return the sources with the passages that are cited of each."""
        citations = self.edition.citations
        listed = [
            self._source(number, source, [one for one in self.passages if one.document == source.document])
            for number, source in enumerate(citations.sources, start=1)
        ]
        return element(
            "sources",
            index=citations.cited,
            cited=joined(listed[: len(citations.cited)]),
            others=joined(listed[len(citations.cited) :]),
            counts=source_counts(citations, self.words),
            words=self.words,
        )

    def _source(self, number: int, source: Source, passages: Sequence[CitedPassage]) -> Markup:
        known = [text for text in (source.published[:10], source.delivered, self._language(source)) if text]
        read = Markup() if passages else self._read(source.document)
        return element("source", number, source, known, read, joined(map(self._passage, passages)))

    def _language(self, source: Source) -> str:
        """Return the language of a source, where the report is in another."""
        code = source.language.partition("-")[0]
        if not code or code == self.words.language.partition("-")[0]:
            return ""
        key = f"html.language_{code}"
        return self.words(key) if key in self.words.templates else source.language

    def _passage(self, passage: CitedPassage) -> Markup:
        number, uses = self.numbers[passage.id], self.uses.get(passage.id, [])
        if not uses:
            return Markup()
        quoted = quotation(passage, self.spoken.get(passage.id, ()))
        read = self._read(passage.document, passage.start, passage.end)
        return element("passage", number, passage.place, quoted, uses, read, self.words)

    def _read(self, document: str, start: int = 0, end: int = 0) -> Markup:
        """Return a link to the stored text of a source, at a passage of it."""
        if self.link_to_source is None:
            return Markup()
        return element("link", self.words("html.read"), self.link_to_source(document, start, end), "read")


def _sections(blocks: Iterable[Block], notice: Label) -> Iterator[tuple[Heading | None, list[Block]]]:
    """Yield each heading with what stands below it; the notice has no heading."""
    heading: Heading | None = None
    own: list[Block] = []
    for block in blocks:
        opened = block if isinstance(block, Heading) and block.level == 2 else None
        if opened or block == notice:
            if heading or own:
                yield heading, own
            heading, own = opened, []
        if not opened:
            own.append(block)
    if heading or own:
        yield heading, own


def _used(signs: Mapping[str, str], kinds: AbstractSet[str]) -> list[tuple[str, str]]:
    return [(kind, sign) for kind, sign in signs.items() if kind in kinds]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    start = line.encode()[:_LABEL_BYTES].decode(errors="ignore")
    return line if start == line else f"{start.rstrip()}…"


def _is_svg(content: bytes) -> bool:
    try:
        content.decode()
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, ValueError):
        return False
    return str(root.tag) == "{http://www.w3.org/2000/svg}svg"


def _inline(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"
