"""Figures of a report: the place of each among the paragraphs, and the files in which it is delivered."""

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from deep_research.charts.style import in_dark
from deep_research.documents.readers import read
from deep_research.documents.readers.pictures import whole_address
from deep_research.errors import SourceError
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.journalled import Snapshot
from deep_research.pipeline.records import RunRecords
from deep_research.reasoning.rules.quoting.units import count_prompt_injections
from deep_research.report.citation import Citations
from deep_research.report.edition import Edition
from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import Caption, Figure, Image
from deep_research.report.layout import ReportLayout
from deep_research.report.paragraph import Paragraph, Sentence, is_quoted, note
from deep_research.text.in_thread import in_thread
from deep_research.text.messages.words import Words
from deep_research.value import JsonObject

_MAX_VALUES = 24
# A spreadsheet would compute what begins so.
_COMPUTED = re.compile(r"[=+\-@\t\r]")


class _FigurePosition(NamedTuple):
    """After which paragraph of which part a figure stands, and whether only because the part ends there.

    Part 0 is the abstract.
    """

    part: int
    paragraph: int
    is_end: bool = False
    is_mentioned: bool = False


class _PositionedFigure(NamedTuple):
    """A figure with its place, its number and the evidence of its rows."""

    position: _FigurePosition
    number: int
    figure: Figure
    evidence: list[Evidence]


async def with_figures(
    report: ReportLayout,
    stored: Sequence[str],
    words: Words,
    records: RunRecords,
    *,
    before: ReportLayout | None = None,
    is_written: bool,
) -> tuple[ReportLayout, list[str]]:
    """Return the report with its figures in their places, and the titles of those that nothing in it speaks of.

    Where the report will be a part of another, its figures are numbered on from those `before` it. A report that a
    model wrote has those that its text names, in the order in which it does.
    """
    after = max((one.number for one in before.captions), default=0) if before else 0
    figures = [await records.load(Figure, id_) for id_ in stored]
    parts = [report.abstract, *(chapter.paragraphs for chapter in report.chapters)]
    # The abstract is kept short, and the end looks back and ahead: figures stand there only where nothing else is.
    ends = {words("report.conclusion"), words("report.outlook")}
    body = {number for number, chapter in enumerate(report.chapters, start=1) if chapter.title not in ends}
    cited = {id_ for part in parts for paragraph in part for id_ in paragraph.cite_ids}
    pieces = {piece.id: piece for piece in await records.evidence(sorted(cited))}
    drawn_from = [await records.evidence(list(dict.fromkeys(row.evidence for row in each.rows))) for each in figures]
    if is_written:
        documents = {number: {piece.document for piece in own} for number, own in enumerate(drawn_from, start=1)}
        parts = [tuple(_without_strays(paragraph, documents, pieces) for paragraph in part) for part in parts]
    positioned: list[_PositionedFigure] = []
    for number, (figure, own) in enumerate(zip(figures, drawn_from, strict=True), start=1):
        position = _mention(parts, number) if is_written else _nearest(parts, own, pieces, body)
        if position:
            positioned.append(_PositionedFigure(position, number, figure, own))
    # They are numbered in the order of reading.
    positioned.sort(key=lambda one: one.position)
    numbers = {one.number: number for number, one in enumerate(positioned, start=after + 1)}
    positioned = [one._replace(number=numbers[one.number]) for one in positioned]
    if is_written:
        parts = [tuple(_renumbered(paragraph, numbers) for paragraph in part) for part in parts]
    filled = []
    for index, part in enumerate(parts):
        whole = []
        for at, paragraph in enumerate(part):
            whole.append(paragraph)
            for one in positioned:
                whole += _shown(one, paragraph, words) if one.position[:2] == (index, at) else []
        filled.append(tuple(whole))
    chapters = tuple(chapter.replace(paragraphs=own) for chapter, own in zip(report.chapters, filled[1:], strict=True))
    left_out = [figure.title for figure in figures if all(one.figure is not figure for one in positioned)]
    return report.replace(abstract=filled[0], chapters=chapters), left_out


def described(figure: Figure) -> str:
    """Return what a figure shows, for whoever decides whether the report needs it."""
    values = "; ".join(
        f"{' '.join(filter(None, (row.series, row.label)))}: {row.value:.15g}" for row in figure.rows[:_MAX_VALUES]
    )
    return f"{figure.title} ({figure.chart_type}{', ' if figure.unit else ''}{figure.unit}): {values}"


def _shown(positioned: _PositionedFigure, after: Paragraph, words: Words) -> list[Paragraph]:
    """Return a figure's caption, behind a sentence of its own where the text has none for it."""
    # A small heading over what stands before holds for the figure too; who is quoted there does not speak here.
    lead = "" if after.lead.endswith((":", "：")) or after.is_item else after.lead
    number = positioned.number
    text = words("figure.caption", number=number, title=positioned.figure.title)
    # A row of a table is read under its header.
    evidence = tuple(dict.fromkeys(id_ for piece in positioned.evidence for id_ in (piece.id, piece.header) if id_))
    caption = Caption(
        section=after.section,
        kind="caption",
        lead=lead,
        sentences=(Sentence(text=text, evidence=evidence),),
        number=number,
        figure=positioned.figure,
    )
    introduced = note(after.section, words("figure.shown", number=number))
    return [caption] if positioned.position.is_mentioned else [introduced.replace(lead=lead), caption]


# A source's own words speak of the source's figures.
NAMED_FIGURE = re.compile(r"(?i)(\bfig(?:ure|\.)\s?|[图圖]\s?)(\d{1,2})(?!\d)")

_IN_BRACKETS = re.compile(rf"\s?[(（]{NAMED_FIGURE.pattern[4:]}[)）]", re.IGNORECASE)
_BRACKETS = str.maketrans("", "", "()（）")


def chartless(text: str) -> str:
    """Return a sentence without the charts that it names, and without spaces."""
    return "".join(NAMED_FIGURE.sub("", text).translate(_BRACKETS).split())


def _mention(parts: Sequence[Sequence[Paragraph]], number: int) -> _FigurePosition | None:
    """Return the first paragraph that names a figure."""
    for index, part in enumerate(parts):
        for at, paragraph in enumerate(part):
            named = (
                match[2]
                for each in paragraph.sentences
                if not is_quoted(each)
                for match in NAMED_FIGURE.finditer(each.text)
            )
            if str(number) in named:
                return _FigurePosition(index, _after_list(part, at), is_mentioned=True)
    return None


def _without_strays(
    paragraph: Paragraph, documents: Mapping[int, set[str]], pieces: Mapping[str, Evidence]
) -> Paragraph:
    """Return a paragraph without the charts, named in brackets, that show nothing of what their sentence cites."""

    def checked(sentence: Sentence) -> Sentence:
        cited = {pieces[id_].document for id_ in sentence.evidence or paragraph.cite_ids if id_ in pieces}

        def kept(match: re.Match[str]) -> str:
            return match[0] if cited & documents.get(int(match[2]), set()) else ""

        return sentence.replace(text=_IN_BRACKETS.sub(kept, sentence.text))

    return paragraph.replace(
        sentences=tuple(each if is_quoted(each) else checked(each) for each in paragraph.sentences)
    )


def _renumbered(paragraph: Paragraph, numbers: Mapping[int, int]) -> Paragraph:
    def renumbered(match: re.Match[str]) -> str:
        return f"{match[1]}{numbers.get(int(match[2]), match[2])}"

    return paragraph.replace(
        sentences=tuple(
            each if is_quoted(each) else each.replace(text=NAMED_FIGURE.sub(renumbered, each.text))
            for each in paragraph.sentences
        )
    )


def _nearest(
    parts: Sequence[Sequence[Paragraph]], own: Sequence[Evidence], pieces: Mapping[str, Evidence], body: Collection[int]
) -> _FigurePosition | None:
    """Return the place behind what rests on most of a figure's evidence, else the end of the chapter nearest to it."""
    ids, documents, sections = ({*group} for group in zip(*((e.id, e.document, e.section) for e in own), strict=True))
    best = None
    for index, part in enumerate(parts):
        cited = [pieces[id_].document for paragraph in part for id_ in paragraph.cite_ids]
        # A chapter on the figure's document comes before one that cites it among others.
        share = sum(document in documents for document in cited) / max(len(cited), 1)
        for at, paragraph in enumerate(part):
            is_in_section = paragraph.section in sections
            overlap = len(ids.intersection(paragraph.cite_ids)), share * is_in_section, share, is_in_section
            score = (index in body, *overlap)
            if any(overlap) and (not best or score > best[0]):
                last = at if overlap[0] else len(part) - 1
                # What goes on about the same is not torn apart.
                while last + 1 < len(part) and ids.intersection(part[last + 1].cite_ids):
                    last += 1
                best = score, _FigurePosition(index, _after_list(part, last), is_end=not overlap[0])
    return best[1] if best else None


def _after_list(part: Sequence[Paragraph], at: int) -> int:
    """Return the last item of the list that a paragraph belongs to, else the paragraph itself."""
    while part[at].is_item and at + 1 < len(part) and part[at + 1].mark == part[at].mark:
        at += 1
    return at


def figure_record(caption: Caption) -> JsonObject:
    """Return what `paragraphs.jsonl` says of a figure."""
    record = caption.figure.model_dump(mode="json", exclude={"png", "svg"})
    endings = (".png", ".csv", *((".svg", "-dark.svg") if caption.figure.svg else ()))
    return record | {"number": caption.number, "files": [caption.file(ending) for ending in endings]}


async def figure_files(caption: Caption, edition: Edition, records: RunRecords) -> dict[str, bytes]:
    """Return the files of a figure by name: the pictures, for light and for dark pages, and its rows with sources."""
    files = {caption.file(".png"): await records.store.get_blob(caption.figure.png)}
    if caption.figure.svg:
        svg = await records.store.get_blob(caption.figure.svg)
        files |= {caption.file(".svg"): svg, caption.file("-dark.svg"): in_dark(svg.decode()).encode()}
    rows = []
    for row in caption.figure.rows:
        piece, number = edition.passage[row.evidence], edition.number_of(row.evidence)
        source = edition.citations.cited[number - 1]
        rows.append(
            {
                "label": row.label,
                "series": row.series,
                "value": f"{row.value:.15g}",
                "unit": caption.figure.unit,
                "citation": str(number),
                "source": f"{source.title} - {source.address}",
                "place": piece.place,
                "passage": piece.quote,
                "evidence": piece.id,
            }
        )
    return files | {caption.file(".csv"): _csv(rows)}


async def pictures_of(citations: Citations, context: StageContext) -> tuple[Image, ...]:
    """Return the pictures of the cited sources, as they stand at the addresses that are cited."""
    if not context.request.enable_citation_image or not citations.used:
        return ()
    records = context.records
    rows = [row for row in await records.calls() if row.kind == "fetch" and row.state == "done"]
    fetched = [Snapshot.from_json(await records.answer(row)) for row in rows]
    pages, images = {page.address: page for page in fetched}, list[Image]()
    for source in citations.used:
        document, page = await records.document(source.document), pages.get(source.address)
        pictures, number = document.pictures, citations.number(source.document)
        if page and page.snapshot != document.snapshot:
            # The same text was seen elsewhere first, perhaps with other pictures.
            raw = await records.store.get_blob(page.snapshot)
            try:
                pictures = (await in_thread(read, raw, name=page.address, media_type=page.media_type)).pictures
            except SourceError:
                # What cannot be read is cited from elsewhere: an abstract, say.
                pictures = ()
        for picture in pictures:
            address = whole_address(picture.address, source.address)
            # The name of a file says nothing of it.
            is_file = " " not in picture.caption and "." in picture.caption[-5:]
            if not is_file and not count_prompt_injections(picture.caption):
                images.append(Image(address=address, caption=picture.caption, source=source.address, number=number))
    return tuple(images)


def _csv(rows: Sequence[Mapping[str, str]]) -> bytes:
    """Return rows as a sheet that opens in every program: marked as UTF-8, and nothing in it is a formula."""
    stream = io.StringIO(newline="")
    sheet = csv.DictWriter(stream, rows[0].keys())
    sheet.writeheader()
    for row in rows:
        sheet.writerow(
            {name: f"'{cell}" if name != "value" and _COMPUTED.match(cell) else cell for name, cell in row.items()}
        )
    return stream.getvalue().encode("utf-8-sig")
