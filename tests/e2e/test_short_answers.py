"""Questions for one thing, over small folders: the answer first, or that there is none and what comes nearest."""

import asyncio
import json
from pathlib import Path

import pytest

from deep_research.reasoning.rules.quoting import drafting
from deep_research.request import ReportLength
from deep_research.runner import research
from deep_research.settings import load_settings
from deep_research.verify.report import Verifier

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


def ask(
    question: str, folder: Path, *, focus: tuple[str, ...] = (), length: ReportLength = "standard", **documents: str
) -> str:
    docs = folder / "documents"
    docs.mkdir(exist_ok=True)
    for name, text in documents.items():
        (docs / f"{name}.md").write_text(text, encoding="utf-8")
    settings = load_settings(home=folder / "home", logs=folder / "runs", docs=docs, offline=True, clarify="off")
    report = asyncio.run(research(question, settings=settings, focus=focus, length=length)).final_report
    head, _, tail = report.replace("## 参考文献", "## References").partition("## References")
    # What the run did is told behind the references; any digits may stand in its name at the end.
    return head + tail.partition("## 关于本报告")[2].rpartition("---")[0]


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


OFFER = """# Minutes, 4 March 2025

The board resolved to buy the new kiln at a price of £4,100.
"""
BILL = """# Minutes, 9 June 2025

The new kiln cost £4,650, because the flue had to be longer.
"""
OFFER_ZH = """# 2025年3月4日会议纪要

会议决定购买新窑炉，价格为41,000元。
"""
BILL_ZH = """# 2025年6月9日会议纪要

新窑炉的价格为46,500元，因为烟道加长了。
"""


@pytest.mark.parametrize(
    ("question", "texts", "answer", "overtaken"),
    [
        ("What did the new kiln cost?", (OFFER, BILL), "£4,650", "£4,100"),
        ("新窑炉的价格是多少钱？", (OFFER_ZH, BILL_ZH), "46,500", "41,000"),
    ],
)
def test_of_two_figures_for_one_thing_the_newest_leads(
    question: str, texts: tuple[str, str], answer: str, overtaken: str, tmp_path: Path
) -> None:
    report = ask(question, tmp_path, offer=texts[0], bill=texts[1])
    assert answer in report
    assert overtaken not in report[: report.index(answer)]


@pytest.mark.parametrize(
    ("question", "text", "mark"),
    [
        ("What did the new kiln cost?", BILL, "This may not be the answer"),
        ("新窑炉的价格是多少钱？", BILL_ZH, "这可能不是所问的答案"),
    ],
)
def test_an_answer_that_is_likely_wrong_says_so(
    question: str, text: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "documents"
    docs.mkdir()
    (docs / "bill.md").write_text(text, encoding="utf-8")
    for likelihood in (0.9, 0.1):
        monkeypatch.setattr(drafting, "likelihood_of", lambda _, likelihood=likelihood: likelihood)
        settings = load_settings(home=tmp_path / "home", logs=tmp_path / str(likelihood), docs=docs, offline=True)
        report = asyncio.run(research(question, settings=settings))
        told = json.loads(Path(report.folder, "stats.json").read_text(encoding="utf-8"))["answer"]
        assert told == {"is_answered": True, "is_doubtful": likelihood < 0.5, "likelihood": likelihood}
        assert (mark in report.final_report.split("\n## ")[1]) is (likelihood < 0.5)
        assert report.is_verified


RULES = """# Rules on board

The café is open on every crossing.

You may not take these things on board:

- fireworks
- petrol in cans
- gas bottles

Dogs travel free of charge.
"""


def test_what_leads_to_a_list_stands_with_its_items(tmp_path: Path) -> None:
    report = ask("What may I not take on board?", tmp_path, rules=RULES)
    answer = report.partition("## Answer")[2].partition("## ")[0]
    assert all(item in answer for item in ("fireworks", "petrol in cans", "gas bottles"))


WORKS = """# Waterworks of Brannock: closing report

## Cost

The new waterworks of Brannock cost £4.2 million in total by the end of 2025. The budget was £3.9 million.

| Part | Cost (£ million) |
| --- | --- |
| Pumps | 1.9 |
| Pipes | 1.4 |
| Tank | 0.9 |

## Results

Leaks in the network of Brannock fell from 21 per cent in 2021 to 9 per cent in 2025, a reduction by more than half.

## Residents

The residents of Brannock sent 31 complaints about noise in 2024 and 4 complaints in 2025.
"""
WORKS_ZH = """# 柏诺水厂改造总结报告

## 投资

截至2025年底，柏诺水厂改造累计完成投资4.2亿元。批准的预算为3.9亿元。

## 效果

柏诺水厂改造后，管网漏损率由2021年的21%降低到2025年的9%，效果明显。

## 居民

柏诺水厂附近居民2024年投诉噪声31次，2025年投诉4次。
"""
ASKED = "How much did the new waterworks of Brannock cost and what did it achieve?"
ASKED_ZH = "柏诺水厂改造花了多少钱，效果如何？"


@pytest.mark.parametrize(
    ("question", "text", "cost", "result"),
    [(ASKED, WORKS, "£4.2 million", "9 per cent"), (ASKED_ZH, WORKS_ZH, "4.2亿元", "9%")],
)
def test_of_two_things_asked_both_are_answered_first_and_in_their_order(
    question: str, text: str, cost: str, result: str, tmp_path: Path
) -> None:
    first = ask(question, tmp_path, works=text).split("\n## ")[1]
    assert 0 < first.index(cost) < first.index(result)


def test_a_small_table_is_shown_whole(tmp_path: Path) -> None:
    report = ask(ASKED, tmp_path, works=WORKS)
    assert all(f"| {part} | {cost} |" in report for part, cost in (("Pumps", 1.9), ("Pipes", 1.4), ("Tank", 0.9)))


@pytest.mark.parametrize(
    ("question", "text", "focus", "told", "untold"),
    [
        (ASKED, WORKS, "noise complaints", "31 complaints", "£3.9 million"),
        (ASKED_ZH, WORKS_ZH, "噪声投诉", "31次", "3.9亿元"),
    ],
)
def test_a_focus_decides_what_is_quoted(
    question: str, text: str, focus: str, told: str, untold: str, tmp_path: Path
) -> None:
    report = ask(question, tmp_path, focus=(focus,), works=text)
    assert told in report
    assert untold not in report


@pytest.mark.parametrize(("question", "text"), [(ASKED, WORKS), (ASKED_ZH, WORKS_ZH)])
def test_a_short_report_is_the_answer_and_one_paragraph(question: str, text: str, tmp_path: Path) -> None:
    short = ask(question, tmp_path, length="short", works=text)
    assert sum(title.count("\n\n") > 0 for title in short.split("\n## ")[2:]) <= 1
    assert "31" not in short


def test_things_that_are_compared_stand_each_under_its_name(tmp_path: Path) -> None:
    tests = "The Corvo P3 pumped 97 litres per minute. The Hydra 20 pumped 88 litres per minute and costs €310."
    report = ask("Compare the Corvo P3 and the Hydra 20.", tmp_path, tests=f"# Pumps in a test\n\n{tests}\n")
    assert report.index("**Corvo P3**") < report.index("97 litres") < report.index("**Hydra 20**")


def test_a_question_that_rules_cannot_read_is_told_so_first(tmp_path: Path) -> None:
    report = ask("Wie viel haben die Pumpen von Brannock gekostet?", tmp_path, works=WORKS)
    assert "English and Chinese only" in report.split("\n## ")[0]


def test_a_file_that_cannot_be_read_is_told_in_the_reports_language(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "letter.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n")
    assert "“letter.pdf”没有使用" in ask(ASKED_ZH, tmp_path, works=WORKS_ZH)


TRENDS = {
    "en": ("How did the revenue of Halden Bay develop from 2021 to 2024?", "# Halden Bay", "Revenue (EUR million)"),
    "zh-Hans": ("青岚市的用水量从2021年到2024年有什么变化？", "# 青岚市用水", "用水量（亿立方米）"),
    "zh-Hant": ("青嵐市的用水量從2021年到2024年有什麼變化？", "# 青嵐市用水", "用水量（億立方公尺）"),
}


@pytest.mark.parametrize("language", TRENDS)
def test_what_a_table_comes_to_names_its_source_so_that_the_report_is_verified(tmp_path: Path, language: str) -> None:
    question, title, column = TRENDS[language]
    table = "| 2021 | 118.2 |\n| 2022 | 121.4 |\n| 2023 | 130.9 |\n| 2024 | 146.5 |\n"
    docs = tmp_path / "documents"
    docs.mkdir()
    (docs / "a.md").write_text(f"{title}\n\n| Year / 年份 | {column} |\n| --- | --- |\n{table}", encoding="utf-8")
    settings = load_settings(home=tmp_path / "home", logs=tmp_path / "logs", docs=docs, strategy="local")
    report = asyncio.run(research(question, settings=settings))
    assert f"**{column}: 118.2 (2021) → 146.5 (2024), +23.9 %** [1]\n\n|" in report.final_report
    assert report.is_verified
    for file in (f"{report.folder}/report.md", Path(report.folder, "report.md")):
        assert Verifier().verify_report(file).report_passed
    assert Verifier().verify_paragraphs_jsonl(f"{report.folder}/paragraphs.jsonl").paragraphs_jsonl_cite_ids_passed
