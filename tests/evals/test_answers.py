"""The rules by which the report on a question is scored."""

from typing import Any

import pytest

from evals.answers import FOLDERS, SEALED, count_words, failures_of, first_words, folders_in
from evals.shared import read_json_lines

REPORT = """# What did the boiler cost?

## Answer

The boiler of stage 2 cost € 41,300. [1]

| Order | Days late | Source |
| --- | --- | --- |
| 1044 | 14 | [1] |

## References

[1] boiler.docx
"""
QUESTION = {"answerable": True, "first": [["€ 41,300", "41,300 euros"]], "rows": [["1044", "14"]], "max_words": 30}


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        ({}, ""),
        ({"first": [["€ 38,900"]]}, "not among the first words: € 38,900"),
        ({"never_first": ["stage 2"]}, "among the first words: stage 2"),
        ({"rows": [["1044", "15"]]}, "no row: 1044 | 15"),
        ({"max_words": 5}, "words, at most 5"),
        ({"answerable": False}, "does not say that it is not answered"),
    ],
)
def test_what_is_wrong_with_a_report(change: dict[str, Any], failure: str):
    assert "".join(failures_of(REPORT, QUESTION | change)).endswith(failure)


def test_a_refusal_of_what_could_be_answered_is_a_failure():
    refused = REPORT.replace("The boiler of stage 2", "The sources at hand do not answer this question. The boiler")
    assert list(failures_of(refused, QUESTION)) == ["says that it is not answered, and it is"]


def test_two_chinese_characters_are_a_word():
    assert count_words("杀青机 cost 86,500") == 4
    assert first_words("杀青机的费用", 2) == "杀青机的"


def test_the_questions_are_many_and_of_every_kind():
    questions = [each for folder in folders_in(FOLDERS) for each in read_json_lines(folder / "questions.jsonl")]
    assert len(questions) + 40 >= 120
    assert len({question["kind"] for question in questions}) == 12
    assert SEALED.exists()
