"""Whether a sentence or a row answers: it is about the thing asked for, and tells what is asked of it."""

import pytest

from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.rules.quoting.answer import Subjects, UnitContext, beside_in_columns, sought_parts
from deep_research.reasoning.rules.quoting.relevance import Weights
from deep_research.reasoning.rules.quoting.units import Unit, as_sentence, labelled
from deep_research.text.analyzer import content_terms
from deep_research.text.sentences import TextSpan


def is_met(question: str, told: str | dict[str, str], around: str = "", subjects: Subjects | None = None) -> bool:
    weights = Weights(dict.fromkeys(content_terms(question), 1.0))
    [sought, *_] = sought_parts(analyze_question(question), weights)
    text = told if isinstance(told, str) else labelled(list(told), told.values())
    unit = Unit((as_sentence(text),), "", None if isinstance(told, str) else TextSpan(0, 0))
    return sought.is_met(unit, UnitContext(around), subjects or Subjects())


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("布袋场水车在2023年坏过几次？", "布袋场水车2023年坏过十二次。"),
        ("布袋場水車在2023年壞過幾次？", "布袋場水車2023年壞過十二次。"),
        ("How many times did the pump fail in 2023?", "In 2023 the pump failed twelve times."),
    ],
)
def test_a_number_in_words_is_a_number(question: str, told: str) -> None:
    assert is_met(question, told)


def test_a_story_before_the_question_need_not_stand_in_the_answer() -> None:
    told = "A manager of a house on the coast rang us about last spring and the detergent. How many towels were lost?"
    assert is_met(told, "We lost 40 towels.")


@pytest.mark.parametrize(
    ("question", "asked", "other", "told"),
    [
        ("我们的石斑鱼拿到产销履历了吗？", "石斑鱼", "白虾", "产销履历的稽核员下周三来。"),
        ("Is the cod of the farm certified?", "cod", "hake", "The farm is certified."),
    ],
)
def test_what_does_not_name_the_thing_asked_about_is_no_answer(question, asked, other, told) -> None:
    assert not is_met(question, told, subjects=Subjects(asked=(asked,), others=(other,)))


def test_a_year_does_not_tell_a_month_of_it() -> None:
    assert not is_met("七股场2023年哪一个月用电最多？", {"年度": "2023", "场别": "七股场", "用电": "251300"})
    assert is_met("七股场2024年哪一个月用电最多？", {"月份": "3月", "用电": "2110"}, around="七股场 2024年")
    assert not is_met("In which month of 2023 was most gas used?", {"Year": "2023", "Gas used": "4021"})
    assert is_met("In which month of 2024 was most gas used?", {"Month": "Jan", "Gas used": "2110"}, around="2024")


def test_an_empty_cell_tells_nobody() -> None:
    question = "Which company trained the fire marshals?"
    assert not is_met(question, {"Name": "Hal Imrie", "Fire marshal": "-"})
    assert is_met(question, {"Name": "Hal Imrie", "Fire marshal": "Aldgarth Safety"})


def test_a_name_in_a_column_is_a_word_of_its_own() -> None:
    table = "| Month | kWh |\n| --- | --- |\n| Mar | 1 |\n| Apr | 2 |\n"
    assert beside_in_columns("Who are the fire marshals?", [table]) == ((), ())
    assert beside_in_columns("How much was it in Mar?", [table]) == (("mar",), ("apr",))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How much did the bridge weigh?", "The bridge weighed 900 tonnes."),
        ("How much time did the repair take?", "The repair took three weeks of time."),
        ("What is the hourly rate of the mechanic?", "The hourly rate of the mechanic is €45."),
        ("What was the exchange rate of the euro?", "The exchange rate of the euro was 1.08."),
        ("Which firm built the bridge?", "Nordbau AG built the bridge."),
        ("修复花了多少时间？", "修复花了3周时间。"),
        ("欧元的汇率是多少？", "欧元的汇率是7.8。"),
        ("歐元的匯率是多少？", "歐元的匯率是7.8。"),
        ("哪家公司建造了大桥？", "临江路桥公司建造了大桥。"),
    ],
)
def test_what_is_asked_for_is_read_by_the_words_beside_it(question: str, told: str) -> None:
    assert is_met(question, told)


def test_a_person_is_no_firm() -> None:
    assert not is_met("Which firm built the bridge?", "Mr Karl Berg had built the bridge.")
