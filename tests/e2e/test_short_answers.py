"""Questions for one thing, over small folders: the answer first, or that there is none and what comes nearest."""

import asyncio
from pathlib import Path

import pytest

from deep_research.runner import research
from deep_research.settings import load_settings

LETTER = """The Aldous Fund
7 Chapel Yard, Wrenfield

Your application for a new kiln

Dear Ms Fenwick,

You had asked for £18,400. The trustees resolved to give £15,900. The difference of £2,500 is the price of the shed.

The workshop stays open while the kiln is built.
"""
SITES = """# Safety at our two sites

## Brook Street workshop

The wiring was inspected on 4 March 2025 by Calder Electrical. Two sockets were replaced.

## Mill Lane store

The store has a ramp, eleven racks and a loading door. It is open from 8 to 16 on weekdays.
"""
SITES_ZH = """# 两处场所的安全情况

## 溪口工坊

2025年3月4日，恒明电气公司检查了溪口工坊的线路，换了两个插座。

## 磨坊仓库

磨坊仓库有一条坡道、十一排货架和一扇装卸门，工作日八点到十六点开放。
"""


def ask(question: str, folder: Path, **documents: str) -> str:
    docs = folder / "documents"
    docs.mkdir()
    for name, text in documents.items():
        (docs / f"{name}.md").write_text(text, encoding="utf-8")
    settings = load_settings(home=folder / "home", logs=folder / "runs", docs=docs, offline=True, clarify="off")
    report = asyncio.run(research(question, settings=settings)).final_report
    return report.partition("## References")[0].partition("## 参考文献")[0]


def test_who_writes_a_letter_is_known_from_its_first_lines_and_its_sums_stay_together(tmp_path: Path) -> None:
    report = ask("How much did the Aldous Fund give for the kiln?", tmp_path, letter=LETTER, sites=SITES)
    answer = report.partition("## Answer")[2]
    assert "The trustees resolved to give £15,900." in answer.partition("## ")[0]
    assert answer.index("£18,400") < answer.index("£15,900") < answer.index("£2,500")


@pytest.mark.parametrize(
    ("question", "texts", "denial", "nearest"),
    [
        ("When was the wiring of the Mill Lane store inspected?", SITES, "do not answer this question", "4 March 2025"),
        ("磨坊仓库的线路是哪一天检查的？", SITES_ZH, "没有回答这个问题", "2025年3月4日"),
    ],
)
def test_what_is_told_of_another_site_is_shown_as_the_nearest_and_not_as_the_answer(
    question: str, texts: str, denial: str, nearest: str, tmp_path: Path
) -> None:
    report = ask(question, tmp_path, sites=texts)
    assert report.index(denial) < report.index(nearest)


@pytest.mark.parametrize(
    ("question", "texts", "answer"),
    [
        ("When was the wiring of the Brook Street workshop inspected?", SITES, "4 March 2025"),
        ("溪口工坊的线路是哪一天检查的？", SITES_ZH, "2025年3月4日"),
    ],
)
def test_what_is_told_of_the_site_itself_is_the_answer(question: str, texts: str, answer: str, tmp_path: Path) -> None:
    report = ask(question, tmp_path, sites=texts)
    assert answer in report
    assert "do not answer" not in report
    assert "没有回答" not in report


def test_a_question_for_a_person_is_not_answered_by_a_sentence_that_names_nobody(tmp_path: Path) -> None:
    opened = SITES + "\nThe Mill Lane store was opened on 2 May 2024 with bread and salt.\n"
    report = ask("Who opened the Mill Lane store?", tmp_path, sites=opened)
    assert report.index("do not answer this question") < report.index("was opened on 2 May 2024")
