"""What a question says that is no topic: options, commands, and the material or a document of it."""

import pytest

from deep_research.reasoning.rules.question.material import (
    is_own_option,
    names_document,
    topic_part,
    without_commands,
)
from deep_research.reasoning.rules.question.signals import is_whole_material


@pytest.mark.parametrize("answer", ["costs", "Current state and latest developments.", "現狀與最新進展", "适合初学者"])
def test_options_are_known_in_any_language(answer: str) -> None:
    assert is_own_option(answer)


def test_options_behind_a_question_are_cut_off_and_nothing_else() -> None:
    assert topic_part("heat: Costs: At low cost") == "heat"
    assert topic_part("热泵：噪音") == "热泵：噪音"
    assert topic_part("Costs") == "Costs"


@pytest.mark.parametrize(
    ("question", "is_whole"),
    [
        ("What do my files say?", True),
        ("Give me a short summary of these documents", True),
        ("請幫我總結一下資料的要點", True),
        ("我的文件讲了什么", True),
        ("Summarize my documents on heat pumps", False),
        ("总结我的资料中的热泵", False),
        ("Summarize the heat pumps", False),
        ("heat sources", False),
        ("资料", False),
    ],
)
def test_material_as_a_whole_is_told_from_a_subject_in_it(question: str, is_whole: bool) -> None:
    assert is_whole_material(question) == is_whole


def test_commands_and_sides_leave_what_is_asked_about() -> None:
    assert without_commands("Research recent progress of the Sandmoor pump").split() == ["Sandmoor", "pump"]
    assert without_commands("熱泵的最新進展").split() == ["熱泵的"]


@pytest.mark.parametrize(
    ("question", "title", "address", "is_named"),
    [
        ("What does the tariff sheet say?", "HALDEN BAY HEAT - TARIFF SHEET", "a.txt", True),
        ("What does the tariff sheet say about pensioners?", "Tariff sheet", "a.txt", True),
        ("What is in tariff-sheet-2026.txt?", "", "sub/tariff-sheet-2026.txt", True),
        ("《技術說明》寫了什麼？", "调蓄池技术说明", "a.md", True),
        ("Summarize the tariff sheet", "Tariffs", "tariff-sheet-2026.txt", True),
        ("总结调蓄池技术说明", "調蓄池技術說明", "a.md", True),
        ("Summarize heat pumps", "Heat pump engineering note", "a.md", False),
        ("What does district heating mean?", "A tariff sheet for district heating", "a.md", False),
        ("Heat pumps in Halden Bay", "Heat pumps in Halden Bay", "a.md", False),
        ("What does the retrofit cost?", "The retrofit", "retrofit.md", False),
    ],
)
def test_document_is_named_by_title_or_file(question: str, title: str, address: str, is_named: bool) -> None:
    assert names_document(question, title, address) == is_named
