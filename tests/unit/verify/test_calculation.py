"""A calculation stands only if code computes the same from figures that the passages hold."""

import pytest

from deep_research.verify.calculation import objection_to

QUOTES = ("The pumps cost €61.4 million in 2023.", "The tank cost €11.7 million in 2024, for 8 buildings.")
CHINESE = ("调蓄池投资9.5亿元，管网改造投资21.6亿元。", "共有8个小区。")
TRADITIONAL = ("調蓄池投資9.5億元，管網改造投資21.6億元。", "共有8個社區。")


@pytest.mark.parametrize(
    ("basis", "text", "quotes"),
    [
        ("61.4 + 11.7 = 73.1", "Together they cost €73.1 million.", QUOTES),
        ("€61.4 million + €11.7 million = €73.1 million", "Together they cost €73.1 million.", QUOTES),
        ("(61.4 - 11.7) / 11.7 × 100 ≈ 425", "The pumps cost 425 % more than the tank.", QUOTES),
        ("11.7 / 8 = 1.46", "That is €1.46 million a building.", QUOTES),
        ("61.4 / 12 = 5.1", "That is €5.1 million a month.", QUOTES),
        ("2024 − 2023 = 1", "The tank came 1 year later.", QUOTES),
        ("61,400,000 / 1000 = 61,400", "That is 61,400 thousand.", QUOTES),
        ("9.5 + 21.6 = 31.1", "两项合计31.1亿元。", CHINESE),
        ("9.5亿 + 21.6亿 = 31.1亿", "两项合计31.1亿元。", CHINESE),
        ("21.6 ÷ 8 = 2.7", "平均每个小区2.7亿元。", CHINESE),
        ("9.5 + 21.6 = 31.1", "兩項合計31.1億元。", TRADITIONAL),
        ("（21.6 − 9.5）÷ 9.5 × 100 = 127.4", "多出127.4%。", TRADITIONAL),
    ],
)
def test_what_is_computed_right_from_what_the_passages_hold_may_stand(
    basis: str, text: str, quotes: tuple[str, ...]
) -> None:
    assert objection_to(basis, text, quotes=quotes) == ""


BUDGET = ("The budget was €118.0 million.", "The final cost was €146.2 million.", "预算1.18亿元，实际花费1.462亿元。")


@pytest.mark.parametrize(
    ("basis", "text"),
    [
        ("(146.2 - 118.0) / 118.0 * 100 = 23.9", "The overrun of €28.2 million is 24 per cent of the budget."),
        ("(1.462亿 - 1.18亿) / 1.18亿 * 100 = 23.9", "超支2820万元，约为预算的24%。"),
        ("(146.2 - 118.0) / 118.0 = 0.239", "The overrun was 24 per cent of the budget."),
        ("(146.2 - 118.0) / 118.0 = 23.9%", "The overrun was 23.9 per cent of the budget."),
        ("(1.462亿 - 1.18亿) / 1.18亿 = 23.9%", "超支为预算的百分之二十四。"),
        ("146.2 / 118.0 = 1.239", "It cost 24 per cent more than planned."),
        ("118.0 / 146.2 = 0.807", "The budget was 19 per cent below the cost."),
        ("146.2 / 118.0 = 1.24", "The cost was 124 per cent of the budget."),
        ("146.2 / 118.0 = 1.24", "For 1 euro of the budget, 1.24 euros were spent."),
        ("1.462亿 / 1.18亿 = 1.24", "预算每1元实际花费1.24元。"),
    ],
)
def test_a_sentence_may_give_the_steps_to_the_result_and_tell_a_ratio_in_per_cent(basis: str, text: str) -> None:
    assert objection_to(basis, text, quotes=BUDGET) == ""


@pytest.mark.parametrize(
    ("basis", "text", "reason"),
    [
        (
            "(146.2 - 118.0) / 118.0 * 100 = 23.9",
            "The overrun of €29.2 million is 24 per cent of the budget.",
            "number",
        ),
        ("(1.462亿 - 1.18亿) / 1.18亿 * 100 = 23.9", "超支2920万元，约为预算的24%。", "number"),
        ("(146.2 - 118.0) / 118.0 = 0.239", "The overrun was 29 per cent of the budget.", "untold"),
        ("(146.2 - 118.0) / 118.0 = 0.239", "The overrun was €24 million.", "untold"),
        ("(146.2 - 118.0) / 118.0 = 29%", "The overrun was 29 per cent of the budget.", "result"),
        ("(146.2 - 118.0) / 118.0 = 23.9", "The overrun was 23.9 per cent of the budget.", "result"),
        ("146.2 - 118.0 = 28.2%", "The overrun was 2820 per cent.", "untold"),
        ("146.2 / 118.0 = 1.24", "For 2 euros of the budget, 1.24 euros were spent.", "number"),
        ("146.2 - 118.0 = 28.2", "The overrun was €28.2 million for 1 plant.", "number"),
    ],
)
def test_a_wrong_step_and_a_wrong_share_are_refused(basis: str, text: str, reason: str) -> None:
    assert objection_to(basis, text, quotes=BUDGET).split(":")[0] == reason


GROWTH = ("Sales were 240,000 units in 2024 and grew by 12 %.", "Each costs €50.")


@pytest.mark.parametrize(
    ("basis", "text", "quotes"),
    [
        ("240000 * 1.12 = 268800", "Next year it would be 268,800.", GROWTH),
        ("240000 * 0.12 = 28800", "That is 28,800 more.", GROWTH),
        ("240000 * 0.88 = 211200", "It would fall to 211,200.", GROWTH),
        ("0.24 * 50 = 12", "That is €12 million.", GROWTH),
        ("3 * 50 = 150", "Three of them cost €150.", GROWTH),
        ("50 * 24 * 7 = 8400", "A week of hours comes to €8,400.", GROWTH),
        ("9.5 * 3 = 28.5", "三年合计28.5亿元。", CHINESE),
        ("9.5 * 3 = 28.5", "三年合計28.5億元。", TRADITIONAL),
    ],
)
def test_operands_may_be_counts_and_other_forms_of_the_passages_figures(
    basis: str, text: str, quotes: tuple[str, ...]
) -> None:
    assert objection_to(basis, text, quotes=quotes) == ""


@pytest.mark.parametrize(
    ("basis", "text", "reason"),
    [
        ("240000 * 1.12 = 278800", "Next year it would be 278,800.", "result: 240000 * 1.12 = 268800"),
        ("240000 + 37 = 240037", "That is 240,037.", "operand: 37"),
        ("37 * 50 = 1850", "That is €1,850.", "operand: 37"),
        ("13 * 50 = 650", "That is €650.", "operand: 13"),
        ("240000 * 1.37 = 328800", "Next year it would be 328,800.", "operand: 1.37"),
        ("240000 * 0.37 = 88800", "That is 88,800 more.", "operand: 0.37"),
        ("0.37 * 50 = 18.5", "That is €18.5 million.", "operand: 0.37"),
        ("240 * 50 = 12000", "That is €12,000.", "operand: 240"),
    ],
)
def test_a_wrong_sum_and_a_foreign_operand_are_refused_in_every_form(basis: str, text: str, reason: str) -> None:
    assert objection_to(basis, text, quotes=GROWTH) == reason


@pytest.mark.parametrize(
    ("basis", "text", "quotes", "reason"),
    [
        ("61.4 + 11.7 = 75.1", "Together they cost €75.1 million.", QUOTES, "result"),
        ("9.5 + 21.6 = 41.1", "两项合计41.1亿元。", CHINESE, "result"),
        ("9.5 + 21.6 = 41.1", "兩項合計41.1億元。", TRADITIONAL, "result"),
        ("61.4 + 12.9 = 74.3", "Together they cost €74.3 million.", QUOTES, "operand"),
        ("9.5 + 20.6 = 30.1", "两项合计30.1亿元。", CHINESE, "operand"),
        ("9.5 + 20.6 = 30.1", "兩項合計30.1億元。", TRADITIONAL, "operand"),
        ("61.4 + 11.7 = 73.1", "Together they cost a lot.", QUOTES, "untold"),
        ("61.4 + 11.7 = 73.1", "Together they cost €83.1 million.", QUOTES, "untold"),
        ("9.5 + 21.6 = 31.1", "两项合计很多。", CHINESE, "untold"),
        ("61.4 + 11.7 = 73.1", "Together they cost €73.1 million, and 950 jobs were lost.", QUOTES, "number"),
        ("9.5 + 21.6 = 31.1", "两项合计31.1亿元，裁员950人。", CHINESE, "number"),
        ("9.5 + 21.6 = 31.1", "兩項合計31.1億元，裁員950人。", TRADITIONAL, "number"),
        ("61.4 + 11.7", "Together they cost €73.1 million.", QUOTES, "equation"),
        ("61.4 + = 73.1", "Together they cost €73.1 million.", QUOTES, "equation"),
        ("61.4 + 11.7 = 73.1 = 73.1", "Together they cost €73.1 million.", QUOTES, "equation"),
        ("the pumps and the tank = 73.1", "Together they cost €73.1 million.", QUOTES, "equation"),
        ("", "Together they cost €73.1 million.", QUOTES, "equation"),
        ("11.7 / 0 = 0", "That is 0 a building.", QUOTES, "equation"),
        ("__import__('os').getpid() = 1", "It is 1.", QUOTES, "equation"),
        ("61.4 ** 11.7 = 5", "It is 5.", QUOTES, "equation"),
        ("9" * 300 + " + 1 = 2", "It is 2.", QUOTES, "equation"),
        ("(" * 90 + "61.4" + ")" * 90 + " = 3", "It is 3.", QUOTES, "result"),
    ],
)
def test_what_is_wrong_or_not_from_the_passages_is_refused(
    basis: str, text: str, quotes: tuple[str, ...], reason: str
) -> None:
    assert objection_to(basis, text, quotes=quotes).split(":")[0] == reason


def test_figures_of_the_question_may_be_operands() -> None:
    basis, text = "500 - 61.4 = 438.6", "Of your €500 million, €438.6 million are left."
    assert objection_to(basis, text, quotes=QUOTES).startswith("operand")
    assert objection_to(basis, text, quotes=QUOTES, asked="We have €500 million. Is that enough?") == ""


@pytest.mark.parametrize(
    ("shown", "is_right"), [("1.4625", True), ("1.46", True), ("1.5", True), ("2", False), ("1.4", False)]
)
def test_a_result_may_be_rounded_to_what_is_shown(shown: str, is_right: bool) -> None:
    objection = objection_to(f"11.7 / 8 = {shown}", f"That is €{shown} million a building.", quotes=QUOTES)
    assert (objection == "") is is_right


@pytest.mark.parametrize(
    ("told", "is_right"), [("2,348", True), ("2,350", True), ("2,300", True), ("2,400", False), ("2,000", False)]
)
def test_a_sentence_may_round_the_result_to_two_digits(told: str, is_right: bool) -> None:
    objection = objection_to("587 * 4 = 2348", f"Four of them cost €{told}.", quotes=("Each costs €587.",))
    assert (objection == "") is is_right


@pytest.mark.parametrize("text", ["It would take three years.", "It would take 3 years."])
def test_a_result_may_be_told_in_words(text: str) -> None:
    assert objection_to("36 / 12 = 3", text, quotes=("It takes 36 months.",)) == ""
    assert objection_to("36 / 12 = 3", text.replace("three", "four").replace("3", "4"), quotes=("36 months.",))
