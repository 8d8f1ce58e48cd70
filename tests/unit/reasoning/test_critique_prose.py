"""A model's critical look as it is read: names of perspectives, what would change the conclusion, and bad answers."""

import pytest

from deep_research.reasoning.model.prose import Prose, read_critique
from deep_research.request import Language

LABELS = {"E1": "id1", "E2": "id2"}
CLOSING = "What would change the conclusion"


def read(text: str, language: Language = "en", closing: str = CLOSING, **more: bool) -> Prose:
    return read_critique(text, LABELS, section="analysis", language=language, closing=closing, **more)


GOOD = f"""### Who pays, who gains

Tenants pay more than before [E1]. The city gains [E2].

### Short and long term

Costs come first [E1].

### {CLOSING}

If the pumps fail early, the sum is another one [E2]. Whether bills fall has to be measured.
"""


def test_paragraphs_stand_under_the_names_of_their_perspectives():
    prose = read(GOOD)
    assert [(one.kind, one.lead) for one in prose.paragraphs] == [
        ("claim", "Who pays, who gains"),
        ("claim", "Short and long term"),
        ("claim", CLOSING),
        ("note", CLOSING),
    ]
    assert prose.problem == ""
    assert prose.cited == 3
    assert [each.text for each in prose.paragraphs[3].sentences] == ["Whether bills fall has to be measured."]


@pytest.mark.parametrize("head", ["## {}", "**{}**", "**{}**:", "#### **{}**", "### 1. {}", "### {} ###", "### {}:"])
def test_headings_may_look_as_they_like(head):
    name = "Costs and effects"
    [paragraph] = read(f"{head.format(name)}\n\nTenants pay more than before [E1].").paragraphs
    assert paragraph.lead == name
    assert [each.text for each in paragraph.sentences] == ["Tenants pay more than before."]


@pytest.mark.parametrize(
    "head",
    [
        "By 2031 twelve towns follow",
        "A gain of 12 %",
        "See www.evil.example",
        "It failed. All agree",
        "x" * 80,
    ],
)
def test_what_claims_something_is_no_name(head):
    [paragraph] = read(f"### {head}\n\nTenants pay more than before [E1].").paragraphs
    assert paragraph.lead == ""


def test_without_headings_it_is_prose():
    prose = read("Tenants pay more [E1].\n\nThe city gains [E2].")
    assert [(one.lead, len(one.sentences)) for one in prose.paragraphs] == [("", 1), ("", 1)]


def test_an_uncited_sentence_of_a_perspective_is_no_note():
    prose = read("### Costs\n\nTenants pay more [E1]. Everybody knows that.")
    [paragraph] = prose.paragraphs
    assert paragraph.kind == "claim"
    assert [each.evidence for each in paragraph.sentences] == [("id1",), ()]


def test_text_before_the_first_heading_is_kept():
    prose = read("All in all it was dear [E1].\n\n### Costs\n\nTenants pay more [E2].")
    assert [one.lead for one in prose.paragraphs] == ["", "Costs"]


@pytest.mark.parametrize(
    ("language", "closing", "name", "expected"),
    [
        ("zh-Hans", "什么会改变结论", "代价与成效", "代价与成效"),
        ("zh-Hant", "什麼會改變結論", "代价与成效的比较与权衡", "代價與成效的比較與權衡"),
    ],
)
def test_chinese_names_are_in_the_script_of_the_report(language, closing, name, expected):
    text = f"### {name}\n\n工程费用超出了原来的预算和计划 [E1]。\n\n### {closing}\n\n节省能否持久，还需要测量。"
    prose = read(text, language, closing)
    assert [(one.kind, one.lead) for one in prose.paragraphs] == [("claim", expected), ("note", closing)]


def test_an_answer_cut_at_its_limit_keeps_its_whole_sentences():
    prose = read("### Costs\n\nTenants pay more [E1].\n\n### Gains\n\nThe city gains [E2]. And then the", is_cut=True)
    assert [[each.text for each in one.sentences] for one in prose.paragraphs] == [
        ["Tenants pay more."],
        ["The city gains."],
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no sentence"),
        ("### Costs\n\n### Gains\n", "no sentence"),
        (f"### {CLOSING}\n\nIf it rains.", "no sentence"),
        ("### Costs\n\nTenants pay more. The city gains.", "carry no mark"),
        ("### Costs\n\nTenants pay more [E77].", "name no source"),
    ],
)
def test_what_cannot_be_used_is_said(text, problem):
    prose = read(text)
    assert problem in prose.problem
    assert not prose.cited
