"""A report in HTML: each marker leads to the passage behind it, and each sentence tells how it was checked.

Every passage stands once, among the sources. Without scripts a marker is a link to it; with them (`reading.js`) it
opens a card that shows the passage beside the sentence.
"""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from lxml import etree

from deep_research.charts.style import in_dark
from deep_research.export.contents import Contents
from deep_research.export.markup import Html, address, tag
from deep_research.export.page import heads, scrolling
from deep_research.export.quotation import quotation
from deep_research.messages.words import words_in
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
from deep_research.text.shortening import shortened
from deep_research.verify.verification import counted_verdicts, verdict_in_words

# What the report says itself, told from what a source says; each sign has words for those who do not see it.
_SIGNS = {"conclusion": "∴", "calculation": "=", "absence": "∅"}
_WEAK = {"partly": "◐", "not_checked": "?"}
_SOUND = "✓"
_PNG = b"\x89PNG\r\n\x1a\n"
_FIGURE = re.compile(r"[-+−–±~≈<>≤≥]?\s?[$€£¥]?\d[\d.,\s]*\s?[%‰]?$|[-–—]?$")
_LABEL_BYTES = 90
# Bytes, as a character of Chinese says as much as three letters, and is as many bytes.
_LONG_TITLE_BYTES = 100
_LONG_QUESTION_CHARS = 400
_SHORT_CELL = 20


class _Use(NamedTuple):
    """Where a passage is cited: the id of the place, its words, and how it was checked."""

    anchor: str
    label: str
    verdict: str = ""
    sign: str = ""


# The address of a document's stored text, at a passage of it: its id, start and end.
LinkToSource: TypeAlias = Callable[[str, int, int], str]


class Parts(NamedTuple):
    """A report in HTML: the ids and titles of its sections, its text, its sources, and the card of its script."""

    entries: list[tuple[str, str]]
    article: Html
    sources: Html
    card: Html


def in_parts(contents: Contents, link_to_source: LinkToSource | None = None) -> Parts:
    """Return a report in HTML, with links to the texts of its sources where there is an address for them."""
    return _Writer(contents, link_to_source).parts()


class _Writer:
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
        for heading, own in _sections(blocks, Label(words("report.notice"))):
            if heading is None:
                sections.append(self._notice(own))
            elif heading.part != "references":
                id_ = f"part-{len(entries) + 1}"
                entries.append((id_, heading.text))
                sections.append(self._section(id_, heading, own))
        entries.append(("checked", words("html.method")))
        method = tag(
            "section",
            tag("h2", words("html.method")),
            tag("p", words("verification.method")),
            id="checked",
            class_="about",
        )
        version = words("html.version", version=self.edition.code_version)
        end = tag("footer", *_parted([report.run_line, version]), class_="small")
        article = tag("article", self._head(), *sections, method, end)
        entries.append(("sources", words("html.sources")))
        return Parts(entries, article, self._sources(), self._card())

    def _head(self) -> Html:
        edition, words = self.edition, self.words
        title = edition.report.title
        question = f"{words('page.question')}{words('report.colon')}{edition.question}"
        asked = tag("p", question, class_="asked", dir="auto")
        if len(question) > _LONG_QUESTION_CHARS:
            summary = tag("summary", shortened(question, _LONG_QUESTION_CHARS // 2))
            asked = tag("details", summary, tag("p", edition.question), class_="asked", dir="auto")
        # As verify.json counts: notes and captions say nothing of the world, nor do sentences that only link others.
        counted = Counter[str](
            each.verdict.kind if each.verdict else "not_checked"
            for paragraph in edition.report.paragraphs
            if paragraph.kind not in ("note", "caption")
            for each in paragraph.sentences
            if each.kind != "link"
        )
        is_verified = self.contents.is_verified
        facts: list[str] = [words("verification.nothing")]
        if counted:
            sign, outcome = (_SOUND, "passed") if is_verified else ("!", "failed")
            facts = [
                tag("strong", tag("span", sign, aria_hidden="true"), " ", words(f"verification.{outcome}")),
                words("verification.sentences", verdicts=counted_verdicts(counted, words)),
            ]
        facts.append(tag("a", words("html.method"), href="#checked"))
        made = words(
            "html.made",
            day=f"{edition.created_at:%Y-%m-%d}",
            sources=len(edition.citations.cited),
            passages=len(self.uses),
        )
        return tag(
            "div",
            tag("p", made, class_="overline"),
            tag(
                "h1",
                title,
                class_="headline long" if len(title.encode()) > _LONG_TITLE_BYTES else "headline",
                dir="auto",
            ),
            asked if edition.question.strip() != edition.report.title.strip() else Html(),
            tag("p", *_parted(facts), class_="facts" if is_verified else "facts failed"),
            self._legend(),
            class_="head",
        )

    def _notice(self, blocks: Iterable[Block]) -> Html:
        """Return what a reader must know with the answer; it has no heading of its own."""
        own = (
            tag("p", tag("strong", block.text)) if isinstance(block, Label) else self._block(block) for block in blocks
        )
        return tag("div", *own, class_="notice", role="note")

    def _legend(self) -> Html:
        """Return what the signs mean, of those that this report uses."""
        words, kinds = self.words, {each.kind for each in self.sentences}
        entries = [(tag("span", "[1]", class_="cite"), words("html.legend_finding"))] if self.numbers else []
        entries += [(_sign(sign), words(f"html.legend_{kind}")) for kind, sign in _SIGNS.items() if kind in kinds]
        verdicts = {each.verdict.kind for each in self.sentences if each.verdict}
        entries += [
            (_sign(sign, "partly"), words(f"html.legend_{kind}")) for kind, sign in _WEAK.items() if kind in verdicts
        ]
        items = (tag("li", sign, " ", text) for sign, text in entries)
        return tag("ul", *items, class_="legend", aria_label=words("html.legend")) if entries else Html()

    def _section(self, id_: str, heading: Heading, blocks: Sequence[Block]) -> Html:
        own = [self._block(block) for block in blocks]
        title = tag("h2", heading.text, id=f"{id_}-title", dir="auto")
        return tag("section", title, *own, id=id_, class_=heading.part or None, aria_labelledby=f"{id_}-title")

    def _block(self, block: Block) -> Html:
        match block:
            case Heading(text) | Label(text):
                return tag("h3", text, dir="auto")
            case Prose((Span(text),)) if text == self.words("report.concluded"):
                return Html()  # the legend says it, of each sign
            case Prose(spans):
                return tag("p", *self._spans(spans), dir="auto")
            case Items(items, is_numbered):
                own = (tag("li", *self._spans(spans), dir="auto") for spans in items)
                return tag("ol" if is_numbered else "ul", *own)
            case Table():
                return self._table(block)
            case Picture():
                return self._figure(block)
        return Html()  # references: they stand with their passages

    def _spans(self, spans: Iterable[Span], anchor: str = "") -> Iterator[str]:
        """Yield what stands in a line; spans of one sentence make one element."""
        for _, group in groupby(spans, key=lambda span: id(span.sentence)):
            own = list(group)
            sentence = own[0].sentence
            if sentence is None:
                yield from (self._span(span, anchor) for span in own)
            else:
                yield self._sentence(sentence, own)

    def _span(self, span: Span, anchor: str) -> str:
        if span.kind == "marker":
            return self._marker(span, anchor)
        if span.kind == "address":
            return address(span.text, _shortened(span.text))
        element = {"strong": "strong", "emphasis": "em"}.get(span.kind)
        return tag(element, span.text) if element else span.text

    def _sentence(self, sentence: Sentence, spans: Sequence[Span]) -> Html:
        id_ = self._noted(sentence)
        text, marks = spans[0].text, [span for span in spans if span.kind == "marker"]
        # What is concluded in one go names its sources once: the markers at the end are those of all.
        self.open = [*self.open, id_]
        anchors = " ".join(self.open)
        if marks or not sentence.evidence:
            self.open = []
        gap = " " if any(span.kind == "fixed" and span.text.startswith(" ") for span in spans) else ""
        return tag("span", text, gap, *self._tail(sentence, marks, anchors), class_="s", id=id_)

    def _noted(self, sentence: Sentence) -> str:
        """Return a new id for a sentence, and note it with the passages that it cites."""
        self.count += 1
        id_, verdict = f"s{self.count}", sentence.verdict
        kind = self.words(f"html.kind_{sentence.kind}") if sentence.kind in _SIGNS else ""
        use = _Use(id_, _shortened(sentence.text))
        for evidence in self._shown(sentence.evidence):
            # Why is said of the passage that decided it.
            why = verdict.reason if verdict and verdict.evidence in ("", evidence) else ""
            told = [kind, verdict_in_words(verdict.kind, why, self.words) if verdict else ""]
            sign = _SOUND if sentence.is_sound else _WEAK.get(verdict.kind, "!") if verdict else ""
            if verdict and verdict.kind == "not_in_sources":
                told, sign = [self.words("html.looked_for")], _SIGNS["absence"]
            self._cite([evidence], use._replace(verdict=" · ".join(filter(None, told)), sign=sign))
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

    def _tail(self, sentence: Sentence, marks: Sequence[Span], anchors: str) -> Iterator[Html]:
        """Yield what stands behind a sentence: doubts, its kind, the sum of a calculation, its markers."""
        kind = sentence.verdict.kind if sentence.verdict else ""
        if kind == "partly":
            yield tag("span", _sign(_WEAK[kind], "partly"), self.words("report.partly"), class_="doubt")
        elif kind in _WEAK:
            yield self._opening_sign(sentence, _WEAK[kind], f"verification.{kind}", anchors, has_marks=bool(marks))
        if sentence.kind in _SIGNS:
            own = _SIGNS[sentence.kind], f"html.kind_{sentence.kind}"
            yield self._opening_sign(sentence, *own, anchors, has_marks=bool(marks))
        if sentence.kind == "calculation" and sentence.basis:
            yield tag("span", equation(sentence.basis), class_="sum")
        if sentence.kind == "absence" and marks:
            yield tag("span", self.words("html.nearest"), class_="nearest")
        told = sentence.verdict.evidence if sentence.verdict else ""
        for mark in marks:
            yield self._marker(mark, anchors, first=told)

    def _opening_sign(self, sentence: Sentence, sign: str, key: str, anchors: str, *, has_marks: bool) -> Html:
        """Return a sign that opens the same card as the markers behind it; by keyboard only where there are none."""
        label = self.words(key)
        numbers = [self.numbers[id_] for id_ in self._shown(sentence.evidence)]
        weak = " partly" if sign in _WEAK.values() else ""
        if not numbers:
            return _sign(sign, weak.strip(), label)
        own = {"tabindex": "-1"} if has_marks else {}
        shown = tag("span", sign, aria_hidden="true")
        return _opener(shown, f"cite sign{weak}", numbers, anchors, **own, **_named(label))

    def _marker(self, span: Span, anchors: str, first: str = "") -> Html:
        title = self.edition.citations.cited[int(span.text) - 1].title
        shown = sorted(self._shown(span.evidence), key=lambda id_: id_ != first)
        numbers = [self.numbers[id_] for id_ in shown]
        label = self.words("html.source_number", number=span.text, title=_shortened(title))
        return _opener(f"[{span.text}]", "cite", numbers, anchors, aria_label=label)

    def _table(self, table: Table) -> Html:
        body = []
        columns = list(zip(*table.rows, strict=True))[:-1]
        numeric = [*map(_is_of_figures, columns), False]
        for cells, sentence in zip(table.rows, table.sentences, strict=True):
            id_ = self._noted(sentence)
            marks = [span for span in cells[-1] if span.kind == "marker"]
            colon = self.words("report.colon")
            own = [
                tag(
                    "td",
                    *self._spans(cell, id_),
                    class_="number" if is_numeric else None,
                    data_label=f"{name}{colon}" if sentence.backing else None,
                    dir="auto",
                )
                for cell, name, is_numeric in zip(cells[:-1], table.head, numeric, strict=False)
            ]
            end = tag("td", *self._tail(sentence, marks, id_), class_="marks")
            body.append(tag("tr", *own, end, id=id_))
        head = heads(table.head, numeric)
        return scrolling(tag("table", tag("thead", head), tag("tbody", *body)), table.head[0])

    def _figure(self, picture: Picture) -> Html:
        words, caption = self.words, picture.caption
        id_, figure = f"figure-{caption.number}", caption.figure
        rows_of = (row.evidence for row in figure.rows)
        self._cite((*self._shown(caption.cite_ids), *rows_of), _Use(id_, picture.title))
        named = figure.named_columns
        names = [*(words(f"export.{key}") for key in (*named, "value")), words("report.source")]
        rows = []
        for row in figure.rows:
            mark = Span(str(self.edition.number_of(row.evidence)), "marker", (row.evidence,))
            texts = [tag("td", getattr(row, key), dir="auto") for key in named]
            value = tag("td", f"{row.value:,.15g}", class_="number")
            rows.append(tag("tr", *texts, value, tag("td", self._marker(mark, id_), class_="marks")))
        head = heads(names, [*(False for _ in named), True, False])
        data = scrolling(tag("table", tag("thead", head), tag("tbody", *rows)), picture.title)
        shown = self._picture(picture)
        return tag(
            "figure",
            shown or tag("p", words("html.no_picture"), class_="small"),
            tag("figcaption", tag("strong", picture.title, dir="auto"), " ", *self._spans(picture.sources, id_)),
            tag("details", tag("summary", words("figure.data")), data, open=not shown),
            id=id_,
        )

    def _picture(self, picture: Picture) -> Html:
        """Return the picture for light and dark pages, or nothing where neither of its files is one."""
        figure = picture.caption.figure
        svg, png = (self.contents.pictures.get(id_, b"") for id_ in (figure.svg, figure.png))
        if _is_svg(svg):
            dark = tag(
                "source",
                srcset=_inline("image/svg+xml", in_dark(svg.decode()).encode()),
                media="(prefers-color-scheme: dark)",
            )
            return tag("picture", dark, tag("img", src=_inline("image/svg+xml", svg), alt=picture.alt))
        return tag("img", src=_inline("image/png", png), alt=picture.alt) if png.startswith(_PNG) else Html()

    def _sources(self) -> Html:
        """Return the sources with the passages that are cited of each."""
        words, citations = self.words, self.edition.citations
        listed = [
            self._source(number, source, [one for one in self.passages if one.document == source.document])
            for number, source in enumerate(citations.sources, start=1)
        ]
        cited, others = listed[: len(citations.cited)], listed[len(citations.cited) :]
        more = tag("details", tag("summary", words("report.additional_sources")), *others) if others else Html()
        return tag(
            "aside",
            tag("h2", words("html.sources"), id="sources-title"),
            tag(
                "input",
                type="search",
                id="filter",
                hidden=True,
                placeholder=words("html.filter"),
                **_named(words("html.filter")),
            ),
            tag("p", words("html.nothing"), id="nothing", class_="small", role="status", hidden=True),
            self._index(),
            tag("div", *cited, id="cited") if cited else Html(),
            more,
            tag("p", " · ".join(source_counts(citations, words)), class_="small"),
            id="sources",
            aria_labelledby="sources-title",
        )

    def _index(self) -> Html:
        """Return the cited sources in a line each, before their passages."""
        items = (
            tag(
                "li",
                tag("span", f"[{number}]", class_="number"),
                tag("a", source.title, href=f"#source-{number}", dir="auto"),
                tag("span", source.published[:10], class_="day"),
            )
            for number, source in enumerate(self.edition.citations.cited, start=1)
        )
        return tag("ol", *items, class_="index", aria_label=self.words("html.index"))

    def _source(self, number: int, source: Source, passages: Sequence[CitedPassage]) -> Html:
        known = [text for text in (source.published[:10], source.delivered, self._language(source)) if text]
        meta = [*(tag("span", text, dir="auto") for text in known), address(source.address)]
        if not passages and self.link_to_source:
            meta.append(self._read(source.document))
        own = tag("ol", *map(self._passage, passages)) if passages else Html()
        title = tag("h3", tag("span", f"[{number}]", class_="number"), " ", tag("span", source.title, dir="auto"))
        below = tag("p", *_parted(meta), class_="meta")
        return tag("section", title, below, own, class_="source", id=f"source-{number}")

    def _language(self, source: Source) -> str:
        """Return the language of a source, where the report is in another."""
        code = source.language.partition("-")[0]
        if not code or code == self.words.language.partition("-")[0]:
            return ""
        key = f"html.language_{code}"
        return self.words(key) if key in self.words.templates else source.language

    def _passage(self, passage: CitedPassage) -> Html:
        number, uses = self.numbers[passage.id], self.uses.get(passage.id, [])
        if not uses:
            return Html()
        place = tag("a", passage.place or f"#{number}", class_="place", href=f"#p{number}", dir="auto")
        cited = tag("ul", *map(_use, uses), class_="uses", aria_label=self.words("html.used"))
        quoted = quotation(passage, self.spoken.get(passage.id, ()))
        read = self._read(passage.document, passage.start, passage.end)
        return tag("li", place, quoted, cited, read, class_="passage", id=f"p{number}")

    def _read(self, document: str, start: int = 0, end: int = 0) -> Html:
        """Return a link to the stored text of a source, at a passage of it."""
        if self.link_to_source is None:
            return Html()
        return tag("a", self.words("html.read"), class_="read", href=self.link_to_source(document, start, end))

    def _card(self) -> Html:
        """Return the empty card that the script fills; its words stand here, in the report's language."""
        words = self.words

        def button(name: str, sign: str) -> Html:
            return tag("button", sign, type="button", class_=name, **_named(words(f"html.{name}")))

        return tag(
            "div",
            tag("div", tag("p", class_="title", id="card-title"), button("close", "×"), class_="card-head"),
            tag("p", class_="meta"),
            tag("ul", class_="uses"),
            tag("div", class_="quoted", tabindex="0"),
            tag(
                "div",
                tag("span", button("previous", "‹"), tag("span", class_="at"), button("next", "›"), class_="steps"),
                tag("a", words("html.show"), class_="show", href="#sources"),
                self._read(""),
                class_="card-foot",
            ),
            id="card",
            popover="auto",
            role="dialog",
            tabindex="-1",
            aria_labelledby="card-title",
        )


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


def _sign(sign: str, kind: str = "", label: str = "") -> Html:
    """Return a sign; its words are for those who hear the page."""
    told = tag("span", label, class_="unseen") if label else Html()
    return tag("span", tag("span", sign, aria_hidden="true"), told, class_=f"sign {kind}".strip(), title=label or None)


def _opener(shown: str, name: str, passages: Sequence[int], anchors: str, **attributes: str) -> Html:
    """Return a link to the first of some passages, which opens the card of all of them."""
    listed = " ".join(map(str, passages))
    return tag("a", shown, class_=name, href=f"#p{passages[0]}", data_p=listed, data_s=anchors or None, **attributes)


def _use(use: _Use) -> Html:
    verdict = Html()
    if use.verdict:
        sign = tag("span", use.sign, " ", aria_hidden="true")
        told = use.verdict[:1].upper() + use.verdict[1:]
        is_weak = use.sign not in (_SOUND, *_SIGNS.values())
        verdict = tag("span", sign, told, class_="verdict weak" if is_weak else "verdict")
    return tag("li", tag("a", use.label, href=f"#{use.anchor}", dir="auto"), " ", verdict, data_s=use.anchor)


def _parted(parts: Sequence[str]) -> Iterator[str]:
    for at, part in enumerate(parts):
        yield from (" · ", part) if at else (part,)


def _named(words: str) -> dict[str, str]:
    return {"aria_label": words, "title": words}


def _is_of_figures(column: Sequence[Sequence[Span]]) -> bool:
    """Say whether a column ends its cells at one line: most are figures, and others as short as "not listed"."""
    texts = ["".join(span.text for span in cell) for cell in column]
    figures = sum(1 for text in texts if _FIGURE.match(text))
    return 2 * figures > len(texts) and all(len(text) <= _SHORT_CELL for text in texts)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    kept = line.encode()[:_LABEL_BYTES].decode(errors="ignore")
    return line if kept == line else f"{kept.rstrip()}…"


def _is_svg(content: bytes) -> bool:
    try:
        content.decode()
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, ValueError):
        return False
    return str(root.tag) == "{http://www.w3.org/2000/svg}svg"


def _inline(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"
