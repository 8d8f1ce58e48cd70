"""Finished reports made by hand, of any length and with any text, for what exports them."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from deep_research.export.contents import Contents
from deep_research.report.citation import Citations, Source
from deep_research.report.edition import CitedPassage, Edition
from deep_research.report.figure import Caption, DataRow, Figure
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.markdown import render
from deep_research.report.paragraph import Paragraph, Sentence, Verdict, row
from deep_research.request import Language
from deep_research.text.messages.words import words_in

CREATED = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 45"><rect width="60" height="30" fill="#0072b2"/></svg>'
SOURCES = 4


class Texts(NamedTuple):
    """What a made report says in one language."""

    title: str
    chapter: str
    finding: str
    conclusion: str
    point: str
    item: str
    columns: tuple[str, ...]
    source: str
    quote: str


ENGLISH = Texts(
    title="What did the harbour heat programme cost?",
    chapter="Costs of phase",
    finding="The programme cost €146.2 million by the end of 2025, 24 per cent more than the council approved.",
    conclusion="Pipes, more than pumps, explain the overrun.",
    point="Set priorities",
    item="Cover the oldest streets first, since a uniform design wastes money.",
    columns=("Item", "Approved (€ million)", "Final (€ million)"),
    source="Closing report to the city council",
    quote="The Harbour Heat retrofit cost €146.2 million in total by 31 December 2025.",
)
SIMPLIFIED = Texts(
    title="青岚市的海绵城市改造花了多少钱？",
    chapter="工程阶段",
    finding="截至2025年底，改造工程共投入146.2亿元，比市议会批准的预算高出24%，其中管网更换占了大部分。",
    conclusion="超支主要来自管网，而不是泵站。",
    point="确定重点",
    item="先改造最老的街区，因为统一的设计会浪费资金。",
    columns=("项目", "批准预算（亿元）", "决算（亿元）"),
    source="市政府决算报告",
    quote="截至2025年12月31日，改造工程总投入为146.2亿元。",
)
TRADITIONAL = Texts(
    title="青嵐市的海綿城市改造花了多少錢？",
    chapter="工程階段",
    finding="截至2025年底，改造工程共投入146.2億元，比市議會批准的預算高出24%，其中管網更換占了大部分。",
    conclusion="超支主要來自管網，而不是泵站。",
    point="確定重點",
    item="先改造最老的街區，因為統一的設計會浪費資金。",
    columns=("項目", "批准預算（億元）", "決算（億元）"),
    source="市政府決算報告",
    quote="截至2025年12月31日，改造工程總投入為146.2億元。",
)
TEXTS: Mapping[Language, Texts] = {"en": ENGLISH, "zh-Hans": SIMPLIFIED, "zh-Hant": TRADITIONAL}


def png(width: int = 8, height: int = 4) -> bytes:
    """Return a small blue picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    line = b"\0" + b"\x00\x72\xb2" * width
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(line * height)) + chunk(b"IEND", b"")
    )


def contents(
    language: Language = "en",
    *,
    chapters: int = 2,
    figures: Sequence[tuple[bytes, bytes]] = ((png(), SVG),),
    paragraphs: int = 3,
    columns: int = 0,
    extra: str = "",
    sources: Sequence[Source] = (),
) -> Contents:
    """Return a finished report; `figures` are PNG and SVG of each, `extra` stands in all kinds of blocks.

    With `columns`, a table of so many stands in its first chapter. `sources` are cited beside its own.
    """
    texts = TEXTS[language]
    own = [
        Source(
            document=f"d{number}",
            title=f"{texts.source} {number} {extra}".strip(),
            address=f"https://example.org/reports/{number}" if number % 2 else f"folder/report-{number}.pdf",
            places=(f"p. {number}",),
            published="2026-02-12" if number % 2 else "",
            language=language,
        )
        for number in range(1, SOURCES + 1)
    ]
    cited = [*own, *sources]
    passages = [
        CitedPassage(
            id=f"e{number}",
            document=source.document,
            start=0,
            end=len(texts.quote),
            quote=f"{texts.quote} {extra}".strip(),
            place=f"p. {number}",
        )
        for number, source in enumerate(cited, start=1)
    ]
    ids = [passage.id for passage in passages]
    body = [_chapter(number, texts, ids, paragraphs=paragraphs, extra=extra) for number in range(1, chapters + 1)]
    if columns:
        wide = [
            row(tuple((f"C{at}", f"v{line}.{at}") for at in range(1, columns + 1)), (ids[0],)) for line in range(1, 5)
        ]
        table = Paragraph(section="s", kind="table", sentences=tuple(wide))
        body[0] = body[0].model_copy(update={"paragraphs": (table, *body[0].paragraphs)})
    captions = [_caption(number, texts, ids, language) for number in range(1, len(figures) + 1)]
    for number, caption in enumerate(captions):
        at = number % len(body)
        body[at] = body[at].model_copy(update={"paragraphs": (*body[at].paragraphs, caption)})
    said = Sentence(text=texts.finding, evidence=(ids[0],), verdict=Verdict(kind="supported"))
    report = ReportLayout(
        title=f"{texts.title} {extra}".strip(),
        abstract=(Paragraph(section="a", sentences=(said,)),),
        chapters=tuple(body),
        gaps=(f"{texts.item} {extra}".strip(),),
        about=(texts.item,),
        run_line=f"Run r1, {CREATED:%Y-%m-%d}",
    )
    edition = Edition(
        run="r1" * 16,
        question=texts.title,
        language=language,
        created_at=CREATED,
        code_version="1",
        report=report,
        citations=Citations(cited=tuple(cited)),
        passages=tuple(passages),
    )
    markdown = render(report, edition.citations, number_of=edition.number_of, words=words_in(language))
    pictures = {
        f"{kind}{number}": data
        for number, pair in enumerate(figures, start=1)
        for kind, data in zip(("png", "svg"), pair, strict=True)
    }
    return Contents(edition=edition, pictures=pictures, markdown=markdown, is_verified=True, folder="/nowhere")


def _chapter(number: int, texts: Texts, ids: Sequence[str], *, paragraphs: int, extra: str) -> Chapter:
    def sentences(at: int) -> tuple[Sentence, ...]:
        first, second = ids[at % len(ids)], ids[(at + 1) % len(ids)]
        return (
            Sentence(text=f"{extra} {texts.finding}".strip(), evidence=(first,), verdict=Verdict(kind="supported")),
            Sentence(
                text=texts.conclusion, kind="conclusion", evidence=(first, second), verdict=Verdict(kind="follows")
            ),
            Sentence(
                text=texts.finding,
                kind="calculation",
                basis="146200 / 118000 = 1.239",
                evidence=(second,),
                verdict=Verdict(kind="computed"),
            ),
        )

    prose = [Paragraph(section="s", sentences=sentences(at)) for at in range(paragraphs)]
    items = [
        Paragraph(
            section="s",
            mark="number",
            lead=f"{texts.point} {extra}".strip(),
            sentences=(Sentence(text=texts.item, evidence=(ids[at % len(ids)],)),),
        )
        for at in range(3)
    ]
    bullets = [item.model_copy(update={"mark": "bullet", "lead": ""}) for item in items]
    rows = [
        row(
            tuple(
                zip(texts.columns, (f"{texts.point} {at} {extra}".strip(), f"{at * 11}.5", f"{at * 12:,}"), strict=True)
            ),
            (ids[0],),
        )
        for at in range(1, 6)
    ]
    table = Paragraph(section="s", kind="table", lead=texts.point, sentences=tuple(rows))
    return Chapter(title=f"{texts.chapter} {number} {extra}".strip(), paragraphs=(*prose, *items, table, *bullets))


def _caption(number: int, texts: Texts, ids: Sequence[str], language: Language) -> Caption:
    rows = tuple(DataRow(label=str(2020 + at), value=at * 1234.5, evidence=ids[at % len(ids)]) for at in range(1, 5))
    figure = Figure(title=texts.chapter, chart_type="line", unit="€", rows=rows, png=f"png{number}", svg=f"svg{number}")
    title = words_in(language)("figure.caption", number=number, title=texts.chapter)
    return Caption(
        section="s",
        kind="caption",
        number=number,
        figure=figure,
        sentences=(Sentence(text=title, evidence=tuple(dict.fromkeys(row.evidence for row in rows))),),
    )
