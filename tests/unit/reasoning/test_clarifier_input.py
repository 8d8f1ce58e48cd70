"""Input hygiene, hostile input, and the measurement of the gate."""

from pathlib import Path

import pytest

from deep_research.errors import InputError
from deep_research.reasoning.rules.question.clarifier import MAX_QUESTION_CHARS, assess, clean_question, usable_question
from deep_research.reasoning.values import Inquiry
from evals.clarify_gate import is_held_back, main


def test_question_is_one_line_of_visible_characters():
    assert clean_question("\ufeff What\tis\x00 a\r\n\u200bheat\u00a0 pump?\x1b ") == "What is a heat pump?"


def test_question_is_composed():
    assert clean_question("caf\u0065\u0301") == "caf\u00e9"


def test_lone_surrogates_are_dropped():
    assert clean_question("a\udc80b") == "ab"


@pytest.mark.parametrize("text", ["", " \n\t", "\x00\x07", "\u200b\u2060"])
def test_empty_question_is_refused(text):
    with pytest.raises(InputError, match="empty") as refused:
        usable_question(text)
    assert refused.value.exit_code == 65


def test_oversize_question_is_refused_with_the_way_out():
    with pytest.raises(InputError, match="--docs"):
        usable_question("word " * MAX_QUESTION_CHARS)
    assert usable_question("x" * MAX_QUESTION_CHARS)


@pytest.mark.parametrize("piece", ["信息", "的", "研究一下", "it ", "that is ", "A ", "my ", "STATUS6", "？", "那个"])
def test_long_hostile_question_ends_within_the_limit_of_a_unit_test(piece):
    text = (piece * MAX_QUESTION_CHARS)[: MAX_QUESTION_CHARS - 1] + "x"
    assert assess(Inquiry(question=text, context=text)).reasoning


def test_measurement_stands_beside_its_floors(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clarify_gate").mkdir()
    (tmp_path / "deep_research_bench_prompts").mkdir()
    tasks = ['{"text": "Plan a trip for me %d", "vague": true}', '{"text": "Who won in %d?", "vague": false}']
    lines = "\n".join(task % number for number in range(20) for task in tasks)
    (tmp_path / "clarify_gate/in3_train.jsonl").write_text(lines, encoding="utf-8")
    prompt = '{"id": 1, "language": "en", "prompt": "How do birds navigate?"}\n'
    (tmp_path / "deep_research_bench_prompts/prompts.jsonl").write_text(prompt, encoding="utf-8")
    assert main(["--data", str(tmp_path)]) == 0
    assert "1.000  at least 0.72" in capsys.readouterr().out


def test_a_quarter_is_held_back():
    share = sum(is_held_back(f"task {number}") for number in range(4000)) / 4000
    assert 0.22 < share < 0.28
