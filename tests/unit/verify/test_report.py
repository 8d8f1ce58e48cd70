"""The files of a report, checked as shipped: what passes, what fails, and what the reader is told."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from deep_research.report.citation import Source, number_sources
from deep_research.report.edition import CitedPassage, Edition
from deep_research.report.escaping import escape
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.markdown import render
from deep_research.report.paragraph import Paragraph, Refusal, Sentence, Verdict, note, row
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from deep_research.verify.report import Verifier

SUPPORTED = Verdict(kind="supported", reason="verbatim", evidence="e1", start=3, end=40)
TEXTS = {
    "en": ("The plant cost 5 million euros.", "It opened in 2024.", "Costs"),
    "zh-Hans": ("该厂投资5亿元。", "该厂于2024年投产。", "投资"),
    "zh-Hant": ("該廠投資5億元。", "該廠於2024年投產。", "投資"),
}
LANGUAGES: list[Language] = ["en", "zh-Hans", "zh-Hant"]


def claim(*texts: str, section: str = "Costs", evidence: str = "e1") -> Paragraph:
    sentences = tuple(Sentence(text=text, evidence=(evidence,), verdict=SUPPORTED) for text in texts)
    return Paragraph(section=section, sentences=sentences)


def ship(
    folder: Path,
    report: ReportLayout,
    *,
    language: Language = "en",
    text: str | None = None,
    earlier: Sequence[str] = (),
    byline: str = "",
) -> Path:
    """Write a report and its proofs as the pipeline does; return the report's path.

    The documents that an `earlier` report cites keep their numbers.
    """
    documents = {"e1": "d1", "e2": "d2"}
    sources = {
        document: Source(
            document=document, title=f"Title [{document}] - part 1", address=f"a/{document}.pdf", byline=byline
        )
        for document in ("d1", "d2", "d3")
    }
    citations = number_sources(
        report.paragraphs,
        document_of=documents,
        sources=list(sources.values()),
        earlier=[sources[document] for document in earlier],
    )
    rendered = render(
        report, citations, number_of=lambda id_: citations.number(documents[id_]), words=words_in(language)
    )
    lines = [
        {
            "id": f"p{number}",
            "section": paragraph.section,
            "kind": paragraph.kind,
            "lead": paragraph.lead,
            "mark": paragraph.mark,
            "text": " ".join(sentence.text for sentence in paragraph.sentences),
            "cite_ids": list(paragraph.cite_ids),
            "sentences": [sentence.to_json() for sentence in paragraph.sentences],
        }
        for number, paragraph in enumerate(report.paragraphs, start=1)
    ]
    evidence = [{"id": id_, "document": document, "place": "p. 4"} for id_, document in documents.items()]
    edition = Edition(
        run="1",
        question="?",
        language=language,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        code_version="",
        report=report,
        citations=citations,
        passages=tuple(
            CitedPassage(id=id_, document=document, start=0, end=1, quote="") for id_, document in documents.items()
        ),
    )
    (folder / "edition.json").write_text(json.dumps(edition.to_json()), encoding="utf-8")
    numbered = {str(n): s.to_json() for n, s in enumerate((*citations.cited, *citations.additional), start=1)}
    write_lines(folder / "paragraphs.jsonl", lines)
    write_lines(folder / "evidence.jsonl", evidence)
    (folder / "citations.json").write_text(json.dumps(numbered), encoding="utf-8")
    (folder / "report.md").write_bytes((rendered if text is None else text).encode())
    return folder / "report.md"


def write_lines(path: Path, records: list) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")


def whole_report(language: Language = "en") -> ReportLayout:
    first, second, section = TEXTS[language]
    return ReportLayout(
        title="What does it cost [7]?",
        abstract=(claim(first, section="abstract"),),
        chapters=(Chapter(title=section, paragraphs=(claim(first, second), claim(second, evidence="e2"))),),
        gaps=("Who pays [8]?",),
        about=("Costs means [9] all costs.", "3 pages"),
        run_line="Run 1, started 2026-01-01",
    )


def verify(report: Path, language: Language | None = None):
    verifier = Verifier(words_in(language)) if language else Verifier()
    return verifier.verify(report, report.with_name("paragraphs.jsonl"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_sound_report_passes_in_every_language(tmp_path, language):
    outcome = verify(ship(tmp_path, whole_report(language), language=language))
    assert outcome.passed, outcome
    assert outcome.report_passed
    assert outcome.paragraphs_jsonl_cite_ids_passed
    assert outcome.paragraph_end_citation_passed
    assert (outcome.report.checked_paragraphs, outcome.report.markers, outcome.report.references) == (3, 4, 3)
    assert outcome.report.language == language
    assert outcome.paragraphs.verdicts == {"supported": 4}
    assert words_in(language)("verification.passed") in outcome.in_words()


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_of_an_earlier_report_are_kept_in_a_list_of_their_own(tmp_path, language):
    report = ship(tmp_path, whole_report(language), language=language, earlier=["d3", "d2"])
    text = report.read_text(encoding="utf-8")
    outcome = verify(report)
    assert outcome.passed, outcome
    assert outcome.report.language == language
    lists = [text.index(f"### {words_in(language)(f'report.{key}_sources')}") for key in ("cited", "earlier")]
    places = {number: text.rindex(f"[{number}] Title") for number in (1, 2, 3)}
    # The report cites 2 and 3; 1 is the source that only the one before it cites.
    assert lists[0] < places[2] < places[3] < lists[1] < places[1]

    # Verification is as strict as ever: what stands there is not cited, each number is there once and in order.
    cited = text.replace("[2]", "[1]", 1)
    assert cited != text
    assert verify(ship(tmp_path, whole_report(language), text=cited)).report.markers_of_uncited_sources == (1,)
    for wrong in (text.replace("[1] Title", "[4] Title"), text.replace("[3] Title", "[2] Title")):
        assert not verify(ship(tmp_path, whole_report(language), text=wrong)).report.references_are_numbered
    without = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("[1] Title"))
    assert not verify(ship(tmp_path, whole_report(language), text=without)).report.references_are_numbered


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_report_without_references_is_checked_against_the_list_beside_it(tmp_path, language):
    unlisted = whole_report(language).model_copy(update={"has_references": False})
    report = ship(tmp_path, unlisted, language=language)
    text = report.read_text(encoding="utf-8")
    assert words_in(language)("report.references") not in [line.lstrip("# ") for line in text.splitlines()]
    outcome = verify(report)
    assert outcome.passed, outcome
    assert outcome.report.language == language
    assert outcome.report.references == 3

    unknown = verify(ship(tmp_path, unlisted, text=text.replace("[2]", "[9]")))
    assert unknown.report.unresolved_markers == (9,)
    assert unknown.report.unused_references == (2,)
    assert verify(ship(tmp_path, unlisted, text=text.replace("[2]", "[3]"))).report.markers_of_uncited_sources == (3,)
    (tmp_path / "citations.json").unlink()
    assert not verify(report).passed


def test_references_that_were_cut_off_are_missed(tmp_path):
    text = ship(tmp_path, whole_report()).read_text(encoding="utf-8")
    head, _, rest = text.partition("## References")
    cut = head + "## About" + rest.partition("## About")[2]
    assert verify(ship(tmp_path, whole_report(), text=cut)).report.unresolved_markers == (1, 2)


@pytest.mark.parametrize(("language", "byline"), [("en", "Ann Lee et al., 2015"), ("zh-Hans", "李安 等, 2015")])
def test_who_wrote_a_source_is_checked_with_its_reference(tmp_path, language, byline):
    report = ship(tmp_path, whole_report(language), language=language, byline=byline)
    text = report.read_text(encoding="utf-8")
    assert text.count(f"part 1 ({byline}) - a/d") == 3
    assert verify(report).passed
    report.write_text(text.replace("2015", "2025", 1), encoding="utf-8")
    assert not verify(report).passed
    # Versions before bylines wrote none, neither into the report nor beside it.
    listed = tmp_path / "citations.json"
    older = {number: {**source, "byline": ""} for number, source in json.loads(listed.read_text()).items()}
    for source in older.values():
        del source["byline"]
    listed.write_text(json.dumps(older), encoding="utf-8")
    (tmp_path / "edition.json").write_text((tmp_path / "edition.json").read_text().replace(json.dumps(byline), '""'))
    report.write_text(text.replace(f" ({byline})", ""), encoding="utf-8")
    assert verify(report).passed


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_do_not_matter(tmp_path, ending):
    report = ship(tmp_path, whole_report())
    report.write_bytes(report.read_bytes().replace(b"\n", ending.encode()))
    assert verify(report).passed


def test_honest_report_about_nothing_passes(tmp_path):
    nothing = ReportLayout(
        title="Anything?",
        abstract=(note("abstract", words_in("en")("nothing.report")),),
        chapters=(Chapter(title="Costs", paragraphs=(note("Costs", words_in("en")("nothing.section")),)),),
        run_line="Run 1",
    )
    outcome = verify(ship(tmp_path, nothing))
    assert outcome.passed
    assert outcome.report.checked_paragraphs == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_paragraph_without_marker_fails(tmp_path, language):
    report = ship(tmp_path, whole_report(language), language=language)
    heading = f"## {TEXTS[language][2]}\n\n"
    text = report.read_text(encoding="utf-8").replace(heading, f"{heading}{TEXTS[language][0]}\n\n")
    report.write_text(text, encoding="utf-8")
    outcome = verify(report)
    assert not outcome.passed
    assert not outcome.paragraph_end_citation_passed
    assert outcome.paragraph_without_citation_count == 1
    assert TEXTS[language][0] in outcome.in_words()


@pytest.mark.parametrize(
    "smuggled",
    [
        "- The plant is unsafe.",
        "> The plant is unsafe.",
        "**The plant is unsafe.**",
        "1. The plant is unsafe.",
        "The plant is unsafe. [1] And it leaks.",
        "The plant is unsafe, see `x[1]`",
        r"The plant is unsafe. \[1\]",
        "## Annex\n\nThe plant is unsafe.",
    ],
)
def test_claim_in_other_clothes_still_needs_a_marker(tmp_path, smuggled):
    report = ship(tmp_path, whole_report())
    text = report.read_text(encoding="utf-8").replace("## References", f"## More\n\n{smuggled}\n\n## References")
    report.write_text(text, encoding="utf-8")
    assert verify(report).paragraph_without_citation_count == 1
    report.write_text(f"{text}\n\n## More\n\n{smuggled}\n", encoding="utf-8")
    assert verify(report).paragraph_without_citation_count == 2


def test_listed_claim_is_checked_even_where_claims_are_exempt(tmp_path):
    plain = whole_report()
    outlook = Chapter(title="Outlook", paragraphs=(claim("The plant will close."),))
    report = ship(tmp_path, plain.model_copy(update={"chapters": (*plain.chapters[:1], outlook)}))
    assert verify(report).passed
    text = report.read_text(encoding="utf-8").replace("The plant will close. [1]", "The plant will close.")
    report.write_text(text, encoding="utf-8")
    assert verify(report).paragraph_without_citation_count == 1


@pytest.mark.parametrize(
    "block",
    [
        "| Part | Cost |\n| --- | --- |\n| Tank | 5 [1] |",
        "![Figure 1](data:image/png;base64,AAAA)",
        "*Figure 1: costs by year*",
        "图1：各年投资",
        "**Key figures**",
        "### Part one",
        "<!-- made by hand -->",
        "```\nx[99] = 1\n```",
    ],
)
def test_tables_captions_and_headings_need_no_marker(tmp_path, block):
    report = ship(tmp_path, whole_report())
    text = report.read_text(encoding="utf-8").replace("## References", f"## More\n\n{block}\n\n## References")
    report.write_text(text, encoding="utf-8")
    outcome = verify(report)
    assert outcome.paragraph_without_citation_count == 0
    assert not outcome.report.uncited_rows
    assert outcome.report.unresolved_markers == ((99,) if "x[99]" in block else ())
    assert outcome.report.foreign, "it is not the report's own all the same"


@pytest.mark.parametrize(
    "rows",
    [
        "| Tank | 5 |",
        "| Tank | 5 [1] |\n| Pump | 6 |",
        "| Pump | 6 | [2] |\n| Tank | `[1]` |",
        "| Tank \\[1\\] | 5 |",
    ],
)
def test_every_row_of_a_table_needs_a_marker(tmp_path, rows):
    report = ship(tmp_path, whole_report())
    table = f"| Part | Cost [1] |\n| --- | --- |\n{rows}"
    text = report.read_text(encoding="utf-8").replace("## References", f"## More\n\n{table}\n\n## References")
    report.write_text(text, encoding="utf-8")
    outcome = verify(report)
    assert not outcome.report_passed
    assert outcome.report.uncited_rows == (rows.split("\n")[-1],)
    assert outcome.paragraph_end_citation_passed
    assert words_in("en")("verification.problems") in outcome.in_words()
    report.write_text(text.replace("## More", f"## {words_in('en')('report.about')}"), encoding="utf-8")
    assert not verify(report).report.uncited_rows


@pytest.mark.parametrize("language", LANGUAGES)
def test_table_of_quoted_rows_passes_and_its_own_brackets_are_no_markers(tmp_path, language):
    first, _, section = TEXTS[language]
    rows = tuple(
        row((("Part [8]", name), ("Cost", "5")), ("e1",)).model_copy(update={"verdict": SUPPORTED})
        for name in ("Tank [9]", "Pump", "Pipe")
    )
    chapter = Chapter(
        title=section, paragraphs=(claim(first), Paragraph(section=section, kind="table", sentences=rows))
    )
    plain = whole_report(language)
    report = ship(tmp_path, plain.model_copy(update={"chapters": (chapter,)}), language=language)
    outcome = verify(report)
    assert outcome.passed, outcome.report
    assert outcome.report.markers == 5
    assert outcome.paragraphs.verdicts == {"supported": 5}


def test_table_without_ids_fails(tmp_path):
    rows = (row((("Part", "Tank"),), ("e1",)), row((("Part", "Pump"),), ()))
    chapter = Chapter(title="Costs", paragraphs=(Paragraph(section="Costs", kind="table", sentences=rows),))
    report = ship(tmp_path, whole_report().model_copy(update={"chapters": (chapter,)}))
    assert verify(report).paragraphs.uncited_claims == ("p2",)


def test_marker_in_a_table_must_resolve(tmp_path):
    report = ship(tmp_path, whole_report())
    table = "| Part | Cost |\n| --- | --- |\n| Tank | 5 [12] |"
    text = report.read_text(encoding="utf-8").replace("## References", f"## More\n\n{table}\n\n## References")
    report.write_text(text, encoding="utf-8")
    outcome = verify(report)
    assert not outcome.report_passed
    assert outcome.report.unresolved_markers == (12,)
    assert "[12]" in outcome.in_words()


@pytest.mark.parametrize(
    ("old", "new", "field", "value"),
    [
        ("euros. [1]", "euros. [9]", "unresolved_markers", (9,)),
        ("2024. [2]", "2024. [3]", "markers_of_uncited_sources", (3,)),
        ("2024. [2]", "2024. [1]", "unused_references", (2,)),
        ("\n[2] Title", "\n[4] Title", "references_are_numbered", False),
        ("\n[2] Title", "\n[1] Title", "references_are_numbered", False),
        (
            "[3] Title [d3] - part 1 - a/d3.pdf",
            "[3] Title of nothing",
            "malformed_references",
            ("[3] Title of nothing",),
        ),
    ],
)
def test_broken_references_fail(tmp_path, old, new, field, value):
    report = ship(tmp_path, whole_report())
    text = report.read_text(encoding="utf-8")
    assert old in text
    report.write_text(text.replace(old, new), encoding="utf-8")
    outcome = verify(report)
    assert not outcome.report_passed
    assert getattr(outcome.report, field) == value
    assert words_in("en")("verification.problems") in outcome.in_words()


@pytest.mark.parametrize(
    "text",
    [
        "As shown in [3] the plant cost 5 million.",
        "The plant cost 5 million.[12]",
        "See https://example.org/a[3]b and https://[2001:db8::1]/x for the cost.",
        "The matrix a[3] is small.",
        "The [4](https://example.org) plant is new.",
        "一种方法[3]的成本较低。",
        "A line\u2028separator and a\x0cform feed [5] are letters.",
    ],
)
def test_brackets_in_a_sentence_are_its_own_words(tmp_path, text):
    plain = whole_report()
    chapter = Chapter(title="Costs", paragraphs=(claim(text, "It opened in 2024."), claim(text, evidence="e2")))
    report = ship(tmp_path, plain.model_copy(update={"chapters": (chapter,)}))
    outcome = verify(report)
    assert outcome.passed, outcome.report
    assert outcome.report.markers == 4
    gap = "" if text.endswith("。") else " "
    written = escape(text)
    bare = report.read_text(encoding="utf-8").replace(f"{written}{gap}[2]", written)
    report.write_text(bare, encoding="utf-8")
    assert verify(report).paragraph_without_citation_count == 1


def test_missing_files_fail_clearly(tmp_path):
    outcome = verify(tmp_path / "report.md")
    assert not outcome.passed
    assert (outcome.report.problem, outcome.paragraphs.problem) == ("missing", "missing")
    assert "report.md" in outcome.in_words()
    assert "缺少文件" in verify(tmp_path / "report.md", "zh-Hans").in_words()


def test_unreadable_and_empty_files_fail_clearly(tmp_path):
    report = ship(tmp_path, whole_report())
    report.write_bytes(b"\xff\xfe\x00broken")
    assert verify(report).report.problem == "unreadable"
    report.write_text("\n\n", encoding="utf-8")
    assert verify(report).report.problem == "empty"
    (tmp_path / "paragraphs.jsonl").write_text('{"id": "p1"}\nnot json\n', encoding="utf-8")
    listed = Verifier().verify_paragraphs_jsonl(tmp_path / "paragraphs.jsonl")
    assert not listed.paragraphs_jsonl_cite_ids_passed
    assert listed.broken_lines == ("paragraphs.jsonl:1", "paragraphs.jsonl:2")


def test_claim_without_ids_or_with_unknown_ones_fails(tmp_path):
    report = ship(tmp_path, whole_report())
    (tmp_path / "evidence.jsonl").write_text('{"id": "e2", "document": "d2"}\n', encoding="utf-8")
    listed = verify(report).paragraphs
    assert (listed.paragraphs_jsonl_cite_ids_passed, listed.unknown_ids) == (False, ("e1",))
    path = tmp_path / "paragraphs.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"cite_ids": ["e2"]', '"cite_ids": []'), encoding="utf-8")
    assert verify(report).paragraphs.uncited_claims == ("p3",)


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_name_every_sentence_with_verdict_source_and_place(tmp_path, language):
    first, second, section = TEXTS[language]
    doubtful = Sentence(text=second, evidence=("e1",), verdict=Verdict(kind="contradicted", reason="number: 5|6"))
    judged = Sentence(text="x " * 300, evidence=("e1",), verdict=Verdict(kind="not_checked", reason="a judge's words"))
    mixed = Paragraph(section=section, sentences=(doubtful, judged))
    plain = whole_report(language)
    chapters = (*plain.chapters, Chapter(title="More", paragraphs=(mixed,)))
    report = ship(tmp_path, plain.model_copy(update={"chapters": chapters}), language=language)
    dropped = (
        Refusal(section=section, text="This was invented.", reason="uncited"),
        Refusal(section="abstract", text="It cost 7.", kind="contradicted", reason="number: 7"),
    )
    outcome = Verifier().verify(report, report.with_name("paragraphs.jsonl"), dropped=dropped)
    text, say = outcome.in_words(), words_in(language)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + 6
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)
    assert f"| {first} | {say('verification.supported')}" in text
    assert "| [1] | p. 4" in text
    assert "3–40 | `e1` |" in text
    assert say("verification.reason_number") in text
    assert "a judge's words" in text
    item = say("verification.not_found") + say("report.colon") + say("verification.reason_uncited")
    assert "- " + say("verification.dropped_item", section=section, text="This was invented.", why=item) in text
    assert f"- {say('report.abstract')}{say('report.colon').strip()}" in text
    assert outcome.to_json()["dropped"] == ["This was invented.", "It cost 7."]
    refusals = cast("list[dict[str, str]]", outcome.to_json()["refusals"])
    assert [refusal["reason"] for refusal in refusals] == ["uncited", "number: 7"]
    assert len(text.splitlines()) < 60
    assert "sentences" not in outcome.paragraphs.to_json()


def test_report_alone_is_checked_without_its_proofs(tmp_path):
    report = ship(tmp_path, whole_report())
    (tmp_path / "paragraphs.jsonl").unlink()
    assert Verifier().verify_report(report).report_passed


def test_a_shipped_sentence_that_names_a_figure_which_is_not_there_fails(tmp_path):
    ship(tmp_path, whole_report())
    paragraphs = tmp_path / "paragraphs.jsonl"
    assert Verifier().verify_paragraphs_jsonl(paragraphs).paragraphs_jsonl_cite_ids_passed
    first, *others = paragraphs.read_text(encoding="utf-8").splitlines()
    record = json.loads(first)
    named = {"text": "Chart 7 shows the cost.", "evidence": record["cite_ids"], "verdict": {"kind": "supported"}}
    record["sentences"] = [named]
    paragraphs.write_text("\n".join([json.dumps(record), *others]) + "\n", encoding="utf-8")
    listed = Verifier().verify_paragraphs_jsonl(paragraphs)
    assert not listed.paragraphs_jsonl_cite_ids_passed
    assert listed.refused == ("Chart 7 shows the cost.",)
