"""A finished report for tests of exports: every kind of sentence, paragraph and verdict, in English and Chinese."""

from collections.abc import Mapping
from datetime import UTC, datetime

from deep_research.export.contents import Contents
from deep_research.report.citation import Citations, Source
from deep_research.report.edition import CitedPassage, Edition
from deep_research.report.figure import Caption, DataRow, Figure, Image
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.paragraph import Backing, Paragraph, Sentence, Verdict, note, row
from deep_research.request import Language

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 45"><rect width="80" height="45" fill="#ffffff"/>'
    b'<rect x="8" y="10" width="60" height="10" fill="#0072b2"/></svg>'
)
# Document, what stands before the passage, the passage, what stands after it.
_TEXTS: dict[str, list[tuple[str, str, str, str]]] = {
    "en": [
        (
            "d1",
            "3. Cost\n\n",
            "The plant cost €146.2 million. The budget was €118.0 million.",
            " Storm Brida cost more.",
        ),
        ("d1", "Losses fell. ", "Emissions fell from 226,000 to 61,000 tonnes.", " Nobody had expected it."),
        ("d2", "An open letter. ", "We count €163.8 million in total.", " The council disagrees."),
        ("d3", "| Item | Cost |\n", "| Pumps | 61.4 |", "\n| Pipes | 31.5 |"),
        ("d3", "| Pumps | 61.4 |\n", "| Pipes | 31.5 |", "\n| Tank | 9.6 |"),
    ],
    "zh-Hans": [
        ("d1", "三、投资\n\n", "工程投资48.6亿元。概算为41.5亿元。", "暴雨使费用增加。"),
        ("d1", "漏损下降。", "排放由22.6万吨降至6.1万吨。", "这出乎意料。"),
        ("d2", "公开信。", "我们统计共53.9亿元。", "市政府不同意。"),
        ("d3", "| 分项 | 投资 |\n", "| 水泵 | 18.9 |", "\n| 管网 | 11.7 |"),
        ("d3", "| 水泵 | 18.9 |\n", "| 管网 | 11.7 |", "\n| 水池 | 7.3 |"),
    ],
}
_WORDS: dict[str, dict[str, str]] = {
    "en": {
        "title": "What did the plant cost and achieve?",
        "conclusion": "The plant was dearer than planned, but it did what it was built for.",
        "second": "Its critics count other things.",
        "calculation": "That is 24 per cent over budget.",
        "absence": "No source says what the repairs will cost.",
        "partly": "Emissions fell by 73 per cent within a year.",
        "unchecked": "Nobody had expected it.",
        "gap": "What the next ten years will cost.",
        "chapter": "Cost and results",
        "source": "Closing report",
        "heads": "Item|Cost",
        "rows": "Pumps|61.4|Pipes|31.5|Tank|9.6",
    },
    "zh-Hans": {
        "title": "工程花了多少钱，效果如何？",
        "conclusion": "工程超出了预算，但达到了目的。",
        "second": "批评者的口径不同。",
        "calculation": "即超出概算约17%。",
        "absence": "没有资料说明维修费用。",
        "partly": "排放一年内下降了73%。",
        "unchecked": "这出乎意料。",
        "gap": "今后十年的费用。",
        "chapter": "投资与效果",
        "source": "总结报告",
        "heads": "分项|投资",
        "rows": "水泵|18.9|管网|11.7|水池|7.3",
    },
}


def passages(language: Language) -> tuple[CitedPassage, ...]:
    """Return passages e1 to e5; the last two are rows of a table, with its header."""
    made = []
    for number, (document, before, quote, after) in enumerate(_TEXTS[language], start=1):
        start = len(before)
        header = " | ".join(["", *_WORDS[language]["heads"].split("|"), ""]).strip() if quote.startswith("|") else ""
        passage = CitedPassage(
            id=f"e{number}", document=document, start=start, end=start + len(quote), quote=quote, before=before,
            after=after, place=f"p. {number}", header=header,
        )  # fmt: skip
        made.append(passage)
    return tuple(made)


def edition(language: Language = "en") -> Edition:
    """Return a report with sentences of every kind and verdict, tables, a figure, a list, gaps and disagreements."""
    words, cited = _WORDS[language], passages(language)
    first = cited[0].quote.partition(" The" if language == "en" else "概算")[0]
    said = Sentence(
        text=first,
        evidence=("e1",),
        verdict=Verdict(
            kind="supported", reason="verbatim", evidence="e1", start=cited[0].start, end=cited[0].start + len(first)
        ),
    )
    other = Sentence(text=cited[2].quote, evidence=("e3",), verdict=Verdict(kind="supported", reason="verbatim"))
    follows = Verdict(kind="follows", reason="judged")
    concluded = Sentence(text=words["conclusion"], kind="conclusion", evidence=("e1", "e2", "e3"), verdict=follows)
    second = Sentence(text=words["second"], kind="conclusion", evidence=("e3",), verdict=follows)
    computed = Sentence(
        text=words["calculation"], kind="calculation", evidence=("e1",), basis="(146.2 - 118) / 118 * 100 = 24",
        verdict=Verdict(kind="computed"),
    )  # fmt: skip
    absent = Sentence(
        text=words["absence"], kind="absence", evidence=("e1", "e3"), verdict=Verdict(kind="not_in_sources")
    )
    partly = Sentence(
        text=words["partly"], evidence=("e2",), verdict=Verdict(kind="partly", reason="date: 2026", evidence="e2")
    )
    unchecked = Sentence(
        text=words["unchecked"], evidence=("e2",), verdict=Verdict(kind="not_checked", reason="failed")
    )
    heads, flat = words["heads"].split("|"), words["rows"].split("|")
    rows = [
        row(tuple(zip(heads, flat[at : at + 2], strict=True)), (f"e{4 + at // 2}" if at < 4 else "e5",))
        for at in range(0, len(flat), 2)
    ]
    backing = Backing(origins=2, oldest="2026-01-01", newest="2026-02-01", also=("e2",), against=(("163.8", "e3"),))
    disputed = said.model_copy(update={"lead": "146.2", "backing": backing})
    figure = Figure(
        title=words["chapter"],
        chart_type="bar",
        rows=(DataRow(label=flat[0], value=61.4, evidence="e4"), DataRow(label=flat[2], value=31.5, evidence="e5")),
        png="png",
        svg="svg",
    )
    chapter = words["chapter"]
    body: tuple[Caption | Paragraph, ...] = (
        Paragraph(section=chapter, lead=words["source"], sentences=(said, computed, partly)),
        Paragraph(section=chapter, mark="bullet", lead=words["source"], sentences=(other, absent)),
        Paragraph(section=chapter, mark="bullet", sentences=(unchecked,)),
        Paragraph(section=chapter, kind="table", sentences=tuple(rows)),
        note(chapter, words["second"]),
        Caption(
            section=chapter,
            kind="caption",
            number=1,
            figure=figure,
            sentences=(Sentence(text=chapter, evidence=("e4", "e5")),),
        ),
    )
    report = ReportLayout(
        title=words["title"],
        notice=(words["gap"],),
        abstract=(Paragraph(section="abstract", sentences=(concluded, second)),),
        chapters=(Chapter(title=chapter, paragraphs=body),),
        disagreements=(Paragraph(section="disagreements", kind="table", sentences=(disputed,)),),
        gaps=(words["gap"],),
        about=(words["second"],),
        pictures=(
            Image(address="https://cdn.example.org/wall_1.png?w=2", caption=words["source"], number=1),
            Image(address="img/lake_2.png", caption=words["gap"], number=2),
        ),
        run_line="Run 0123",
    )
    sources = (
        Source(
            document="d1", title=words["source"], address="https://example.org/report?a=1&b=2", published="2026-02-12"
        ),
        Source(document="d2", title="Open letter", address="/srv/papers/letter.md", published="2026-03-02"),
        Source(document="d3", title="costs.xlsx", address="costs.xlsx", delivered="abstract, from a service"),
    )
    unused = Source(document="d4", title="Choir programme", address="https://example.org/choir")
    return Edition(
        run="0123456789abcdef", question=words["title"], language=language,
        created_at=datetime(2026, 3, 4, 5, 6, tzinfo=UTC), code_version="0.1.0", report=report,
        citations=Citations(cited=sources, additional=(unused,)), passages=cited,
    )  # fmt: skip


def contents(of: Edition | None = None, pictures: Mapping[str, bytes] | None = None) -> Contents:
    """Return what an export is made of; the pictures are a small chart."""
    shown = {"svg": SVG, "png": PNG} if pictures is None else pictures
    return Contents(of or edition(), shown, markdown="", is_verified=True, folder="/nowhere")
