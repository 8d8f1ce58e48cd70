"""The rules by which a report is scored: what counts as told, and where a sentence must stand."""

import json
from pathlib import Path

import openpyxl
import pytest

from evals.drbench import Item, figures, holds, items_of
from evals.drbench_places import check

ANSWER = "Lee's Market reduced food waste by 8% in Q2 2024, saving $1.2M."


@pytest.mark.parametrize(
    "text",
    [
        "Lee's Market cut its food waste: it was reduced by 8 percent, saving 1.2 million dollars.",
        "In 2024 the market reduced food waste by 8%, saving $1,200,000.",
    ],
)
def test_figures_count_in_any_spelling(text: str) -> None:
    assert holds(text, ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        "Lee's Market reduced food waste by 9% in Q2 2024, saving $1.3M.",
        "Lee's Market reduced food waste a lot, saving money.",
        "The weather cooled by 8%, and 1.2 million people stayed in.",
    ],
)
def test_other_figures_or_other_words_do_not(text: str) -> None:
    assert not holds(text, ANSWER)


def test_dates_and_quarters_are_no_figures() -> None:
    assert figures("In Q3 2024, as of 12 May 2025, 250 products") == {250.0}


def test_a_report_is_cut_into_paragraphs_items_and_rows() -> None:
    report = (
        "# Title\n\n## One\n\nA claim. [1] Another. [2]\n\n- an item [1]\n\n"
        "| Site | Waste | Source |\n| --- | --- | --- |\n| Oslo | 5 t | [2] |\n\n"
        "## References\n\n[1] A - a.pdf (p. 1)\n"
    )
    items = items_of(report, {1: "a.pdf", 2: "b.xlsx"})
    assert [sorted(item.files) for item in items] == [["a.pdf", "b.xlsx"], ["a.pdf"], ["b.xlsx"]]
    assert items[2] == Item("| Oslo | 5 t |   |", frozenset({"b.xlsx"}), "| Site | Waste | Source |")


def test_a_wrong_cell_range_is_noticed(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Waste"
    for row in (["Site", "Tonnes"], ["Oslo", 380], ["Bergen", 515]):
        sheet.append(row)
    book.save(tmp_path / "waste.xlsx")
    evidence = [
        {"id": "header", "source": "waste.xlsx", "place": "Waste!A1:B1"},
        {"id": "oslo", "source": "waste.xlsx", "place": "Waste!A2:B2"},
        {"id": "wrong", "source": "waste.xlsx", "place": "Waste!A3:B3"},
    ]
    told = [{"text": "Site: Oslo; Tonnes: 380", "evidence": ["header", place]} for place in ("oslo", "wrong")]
    placed, misplaced = check([{"sentences": told}], evidence, tmp_path)
    assert placed == 1
    assert len(misplaced) == 1


def test_a_wrong_message_is_noticed(tmp_path: Path) -> None:
    lines = [{"subject": "A", "body": "First body."}, {"subject": "B", "body": "Eighty per cent of vendors comply."}]
    (tmp_path / "mail.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    evidence = [{"id": str(n), "source": "mail.jsonl", "place": f"message {n}, x"} for n in (1, 2)]
    told = [{"text": "Eighty per cent of vendors comply.", "evidence": [id_]} for id_ in "12"]
    assert check([{"sentences": told}], evidence, tmp_path)[0] == 1
