"""The shipped file against what it was made from: whatever is changed, added, left out or moved is named."""

import json
from pathlib import Path

import pytest

from deep_research.report.figure import Caption, DataRow, Figure
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.paragraph import Backing, Paragraph, Sentence, Verdict, note, row
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from tests.unit.verify.test_report import LANGUAGES, SUPPORTED, TEXTS, claim, ship, verify

MOON = {
    "en": "The moon is made of cheese. [1]",
    "zh-Hans": "月亮是奶酪做的。[1]",
    "zh-Hant": "月亮是乳酪做的。[1]",
}


def full_report(language: Language) -> ReportLayout:
    """Return a report with everything that a report may hold."""
    first, second, section = TEXTS[language]
    rows = tuple(
        row((("Part", name), ("Cost | net", cost)), ("e1",)).model_copy(update={"verdict": SUPPORTED})
        for name, cost in (("Tank", "5"), ("Pump", "6"), ("Pipe", "-7"))
    )
    disputed = tuple(
        Sentence(text=text, evidence=(id_,), lead="5", backing=Backing(origins=2, also=("e2",), against=(("6", "e2"),)))
        for text, id_ in ((first, "e1"), (second, "e2"))
    )
    caption = Caption(
        section=section,
        kind="caption",
        sentences=(Sentence(text="Figure 1. Costs", evidence=("e1",)),),
        number=1,
        figure=Figure(title="Costs", chart_type="bar", rows=(DataRow(label="2024", value=5, evidence="e1"),), png="x"),
    )
    written = Paragraph(
        section=section,
        sentences=(
            Sentence(text=f"{first} (*net*)", kind="conclusion", evidence=("e1", "e2")),
            Sentence(text=second, kind="calculation", basis="20000 * 3 / 4 = 15000", evidence=("e1",)),
            Sentence(text=first, evidence=("e2",), verdict=Verdict(kind="partly")),
        ),
    )
    items = tuple(claim(first).model_copy(update={"mark": "number", "lead": f"Point {n}"}) for n in (1, 2))
    led = claim(second).model_copy(update={"lead": "We, 2024:"})
    paragraphs = (
        written, led, *items, Paragraph(section=section, kind="table", sentences=rows),
        note(section, "Figure 1 shows it."), caption, claim(first, second).model_copy(update={"lead": "Small heading"}),
    )  # fmt: skip
    return ReportLayout(
        title="What does it cost [7]?",
        notice=("Read this first.",),
        abstract=(claim(first, section="abstract"),),
        chapters=(Chapter(title=section, paragraphs=paragraphs),),
        disagreements=(Paragraph(section=section, kind="table", sentences=disputed),),
        gaps=("Who pays [8]?",),
        about=("Costs means [9] all costs.", "3 pages"),
        run_line="Run 1, started 2026-01-01",
    )


def shipped(folder: Path, language: Language) -> Path:
    report = ship(folder, full_report(language), language=language)
    records = [json.loads(line) for line in (folder / "paragraphs.jsonl").read_text("utf-8").splitlines()]
    for record in records:
        if record["kind"] == "caption":
            record["figure"] = {
                "title": "Costs", "chart_type": "bar", "unit": "", "number": 1, "files": [],
                "rows": [{"label": "2024", "value": 5, "evidence": "e1", "series": ""}],
            }  # fmt: skip
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / "paragraphs.jsonl").write_text(lines, encoding="utf-8")
    return report


def as_before_editions(folder: Path) -> None:
    """Leave the listing as versions wrote it that kept no edition."""
    (folder / "edition.json").unlink()
    path = folder / "paragraphs.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    kept = [{key: value for key, value in record.items() if key not in ("lead", "mark")} for record in records]
    path.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_changed_sign_is_noticed(tmp_path, language):
    report = shipped(tmp_path, language)
    text = report.read_text(encoding="utf-8")
    assert not any((verify(report).report.foreign, verify(report).report.lost)), verify(report).report
    for at in range(0, len(text), 7):
        changed = "" if at % 2 else "8" if text[at] == "9" else "9"
        tampered = text[:at] + changed + text[at + 1 :]
        if "".join(tampered.split()) != "".join(text.split()):
            report.write_text(tampered, encoding="utf-8")
            assert not verify(report).report_passed, tampered[max(0, at - 30) : at + 30]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("is_old", [False, True])
def test_what_is_changed_added_or_left_out_is_named(tmp_path, language, is_old):
    first, second, _ = TEXTS[language]
    report = shipped(tmp_path, language)
    if is_old:
        as_before_editions(tmp_path)
    text = report.read_text(encoding="utf-8")
    assert not any((verify(report).report.foreign, verify(report).report.lost)), verify(report).report

    def check(tampered: str):
        assert tampered != text
        report.write_text(tampered, encoding="utf-8")
        outcome = verify(report)
        assert not outcome.report_passed
        assert not outcome.passed
        return outcome

    outcome = check(text.replace("5", "999", 1))
    assert "999" in outcome.report.foreign[0]
    assert first in outcome.report.lost[0]
    assert "999" in outcome.in_words()
    outcome = check(text.replace("**Small", f"{MOON[language]}\n\n**Small"))
    assert outcome.report.foreign == (MOON[language],)
    gap = "" if language.startswith("zh") else " "
    outcome = check(text.replace(f"{second}{gap}[1]", f"{second}{gap}[1]{gap}{MOON[language]}", 1))
    assert outcome.report.foreign[-1] == MOON[language]
    assert second in check(text.replace(f"{second}{gap}[1]", f"{second}{gap}[2]")).report.foreign[0]
    assert "Tank" in check(text.replace("| Tank | 5 |", "| Tank | 6 |")).report.foreign[0]
    assert "Pump" in check(text.replace("| Pump | 6 | [1] |\n", "")).report.lost[0]
    assert "part 2" in check(text.replace("part 1 - a/d2.pdf", "part 2 - a/d2.pdf")).report.foreign[0]
    assert "a/x.pdf" in check(text.replace("a/d2.pdf", "a/x.pdf")).report.foreign[0]
    assert check(text.replace(MOON[language], "") + f"\n{MOON[language]}\n").report.foreign == (MOON[language],)
    assert check(text.replace("2024: 5", "2024: 6").replace("2024：5", "2024：6")).report.foreign
    if not is_old:
        assert check(text.replace("Read this first.", "Read that first.")).report.foreign == ("- Read that first.",)
        assert check(text.replace("# What does", "# What did")).report.lost[0].startswith("# What does")
        assert check(text.replace("3 pages", "4 pages")).report.foreign == ("- 4 pages",)
        point = text[text.index("1. **Point") : text.index("2. **Point")]
        assert check(text.replace(point, "").replace("**Small", f"{point}\n**Small")).report.foreign


def test_listing_without_its_edition_does_not_pass(tmp_path):
    report = ship(tmp_path, full_report("en"))
    (tmp_path / "edition.json").unlink()
    assert verify(report).paragraphs.broken_lines == ("edition.json",)
    (tmp_path / "edition.json").write_text("{}", encoding="utf-8")
    assert verify(report).paragraphs.broken_lines == ("edition.json",)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_writer_leaves_open_stands_under_the_heading_of_gaps(tmp_path: Path, language: Language) -> None:
    title = words_in(language)("report.gaps")
    items = tuple(note(title, text).model_copy(update={"mark": "bullet"}) for text in ("Who pays?", "When?"))
    written = full_report(language)
    report = ship(
        tmp_path,
        written.model_copy(
            update={"chapters": (Chapter(title=title, paragraphs=items),), "gaps": (), "disagreements": ()}
        ),
        language=language,
    )
    assert verify(report).passed
    report.write_text(report.read_text("utf-8").replace("When?", "Why?"), encoding="utf-8")
    assert verify(report).report.lost == ("- When?",)
