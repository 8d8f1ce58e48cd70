"""What a question asks for, by its own words, in English and both scripts of Chinese."""

from pathlib import Path

import pytest

from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.reasoning.rules.question.analysis import analyze_question, ordinals_in
from deep_research.reasoning.rules.question.spelling import Respelled, respellings


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("fact", "What did the new boiler cost?"),
        ("fact", "新的锅炉花了多少钱？"),
        ("fact", "annual pass family price"),
        ("yes_no", "Did Anna Weber attend the May meeting?"),
        ("yes_no", "診所星期六有沒有開門？"),
        ("who_when_where", "Who signed the lease for Room 14?"),
        ("who_when_where", "农残检测是谁负责的？"),
        ("list", "Which orders were more than ten days late?"),
        ("list", "哪些客戶在三月後付款？"),
        ("extreme", "Which pump ran the longest?"),
        ("extreme", "最贵的一批是哪一批？"),
        ("trend", "How did visitor numbers develop between 2019 and 2024?"),
        ("trend", "从2019年到2023年，产量是怎么变化的？"),
        ("comparison", "Compare the rates of Hansa and Baltic."),
        ("comparison", "比較龍井和碧螺春的價格"),
        ("reason", "Why was stage 2 delayed?"),
        ("reason", "二期为什么推迟了？"),
        ("procedure", "How do I reset the alarm?"),
        ("procedure", "如何申请补助？"),
        ("overview", "What was decided at the meeting of 12 May?"),
        ("overview", "九月的月會做了哪些決議？"),
        ("advice", "Should we renew the contract with Nordfracht?"),
        ("advice", "我们应该换供应商吗？"),
        ("open", "The state of our warehouse in Lindau"),
        ("open", "茶园现状"),
        # What no pattern holds is told by the words of questions like it.
        ("who_when_where", "I'd like to hear who looks after the greenhouse"),
        ("procedure", "Walk me through returning a borrowed kayak"),
        ("reason", "What lay behind the closing of the ferry line?"),
        ("trend", "Has the number of swimmers been rising or falling over the years?"),
        ("overview", "Give me the gist of the letter from the council"),
        ("list", "还没交会费的会员名单"),
        ("who_when_where", "請問是哪個單位負責這項工程的驗收"),
    ],
)
def test_the_kind_of_answer_that_is_asked_for(kind: str, question: str):
    assert analyze_question(question).kind == kind


def test_background_is_no_part_of_what_is_asked():
    asked = analyze_question("Netherby Farm is in court. We need data. Which samples of 2023 were above 0.5 mg/l?")
    assert asked.parts == ("Which samples of 2023 were above 0.5 mg/l?",)
    assert asked.names == ()
    assert asked.periods == ("2023",)


def test_two_questions_in_one_are_two_parts():
    assert analyze_question("Who mended the mast at Lower Ford, and what did that cost?").parts == (
        "Who mended the mast at Lower Ford",
        "what did that cost?",
    )
    # A clause that asks nothing belongs to the question behind it.
    assert analyze_question("六月底盘点的时候，哪些药不够？各剩多少？").parts == (
        "六月底盘点的时候，哪些药不够？",
        "各剩多少？",
    )


def test_what_is_to_be_left_out_is_no_anchor():
    asked = analyze_question("Compare Hansa and Baltic, leaving out the surcharges of Dorval.")
    assert asked.excluded == ("the surcharges of Dorval",)
    assert asked.names == ("Hansa", "Baltic")


def test_names_end_where_latin_letters_end():
    assert analyze_question("六月Polarbox 200断电那一次，是谁最先发现的？").names == ("Polarbox 200",)
    assert analyze_question("What is Dr Marta Velin's number?").names == ("Marta Velin",)


def test_numbered_things_are_compared_by_their_number():
    assert ordinals_in("Stage two begins after phase 1") == [("stage", "2"), ("phase", "1")]
    assert ordinals_in("第三期和二期") == [("期", "3"), ("期", "2")]
    assert ordinals_in("The valve of compartment 7 leaked") == [("compartment", "7")]
    assert analyze_question("Who changed the valve on compartment 7 of the washer?").ordinals == ("compartment 7",)
    assert analyze_question("Which of the orders took 12 days?").ordinals == ()


async def test_a_name_that_the_documents_spell_otherwise(tmp_path: Path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "log.txt").write_text(
        "The mast at Lower Ford stands again. Ruth Amadi was there.", encoding="utf-8"
    )
    corpus = FolderCorpus(tmp_path / "docs", index=tmp_path / "index.db")
    await corpus.refresh()
    assert await respellings(["Lower Foord", "Ruth Ammadi"], corpus) == [
        Respelled("Foord", "Ford"),
        Respelled("Ammadi", "Amadi"),
    ]
    assert await respellings(["Halden"], corpus) == []
    await corpus.close()
