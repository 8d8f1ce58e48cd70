"""A report that a model wrote, read block by block: sections, lists, tables, and sentences with their marks."""

import time

import pytest

from deep_research.reasoning.model.prose import ParsedProse, read_report, read_row, read_sentences
from deep_research.report.paragraph import Paragraph
from deep_research.request import Language

LABELS = {"E1": "one", "E2": "two", "E3": "three"}


def report(text: str, language: Language = "en", *, is_cut: bool = False) -> ParsedProse:
    return read_report(text, LABELS, language=language, abstract=["Abstract", "摘要"], is_cut=is_cut)


def _read(text: str, language: Language = "en", *, is_cut: bool = False) -> list[list[tuple[str, tuple[str, ...]]]]:
    paragraphs = report(text, language, is_cut=is_cut).paragraphs
    return [[(each.text, each.evidence) for each in paragraph.sentences] for paragraph in paragraphs]


def _shape(paragraphs: tuple[Paragraph, ...]) -> list[tuple[str, str, str, str]]:
    return [(one.section, one.kind, one.mark, one.lead) for one in paragraphs]


# Marks


@pytest.mark.parametrize(
    "text",
    [
        "Costs rose by 5 % [E1]. Noise fell [E2, E3].",
        "Costs rose by 5 %. [E1] Noise fell. [E2][E3]",
        "Costs rose by 5 % 【E1】. Noise fell (E2; E3).",
        "## Costs\n\n- Costs rose by **5 %** [e1].\n- Noise fell [E2、E3].",
        "Costs rose by 5 % [1]. Noise fell [2, 3].",
    ],
    ids=["inside", "after", "brackets", "markdown", "bare-numbers"],
)
def test_marks_belong_to_their_sentence_wherever_they_stand(text: str) -> None:
    sentences = [sentence for paragraph in _read(text) for sentence in paragraph]
    assert sentences == [("Costs rose by 5 %.", ("one",)), ("Noise fell.", ("two", "three"))]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Paths stand in .pth files [E1].", "Paths stand in .pth files."),
        ("It runs on .NET [E1] and reads .gitignore [E2] .", "It runs on .NET and reads .gitignore."),
        ("The factor is .5 [E1], or so it was [E2] ; it fell [E3] !", "The factor is .5, or so it was; it fell!"),
        ("费用上升 [E1] ，噪音下降 [E2] 。", "费用上升，噪音下降。"),
        ("路径写在 .pth 文件里 [E1]。", "路径写在 .pth 文件里。"),
    ],
)
def test_blanks_before_a_stop_go_with_their_mark_and_those_before_a_name_with_a_stop_stay(text: str, told: str) -> None:
    assert [sentence for paragraph in _read(text) for sentence, _ in paragraph] == [told]


def test_chinese_marks_and_sentences() -> None:
    assert _read("费用上涨了5%[E1]。噪音下降了【E2，E3】。", "zh-Hans") == [
        [("费用上涨了5%。", ("one",)), ("噪音下降了。", ("two", "three"))]
    ]


def test_ranges_leading_zeros_and_words_are_marks_too() -> None:
    sentences = [("Costs rose.", ("one", "two", "three")), ("Noise fell.", ("one",)), ("It ended.", ("two",))]
    assert _read("Costs rose [E1-E3]. Noise fell [E01]. It ended [Source E2].") == [sentences]


def test_round_brackets_are_marks_only_where_they_name_what_was_given() -> None:
    assert _read("Cars run on petrol with ethanol (E10) today [E1].") == [
        [("Cars run on petrol with ethanol (E10) today.", ("one",))]
    ]


@pytest.mark.parametrize(
    ("text", "kind", "evidence", "basis"),
    [
        ("We recommend to wait [so: E1, E3].", "conclusion", ("one", "three"), ""),
        ("We recommend to wait. [SO：E1–E3]", "conclusion", ("one", "two", "three"), ""),
        ("It is dear [E2] [so: E1].", "conclusion", ("two", "one"), ""),
        ("Both cost 12 [calc: 3 * 4 = 12; E2].", "calculation", ("two",), "3 * 4 = 12"),
        ("Both cost 12 [calc: 3 * 4 = 12, E2, E3].", "calculation", ("two", "three"), "3 * 4 = 12"),
        (
            "Nobody names a date [none: opening date | date of opening; E1].",
            "absence",
            ("one",),
            "opening date | date of opening",
        ),
        ("Nobody names a date [none: opening date].", "absence", (), "opening date"),
        ("Nobody names a share [none: share 2026].", "absence", (), "share 2026"),
        ("Nobody names a share [none: share 2026; E1].", "absence", ("one",), "share 2026"),
        ("没有资料说明份额[none: share 2026；E2]。", "absence", ("two",), "share 2026"),
        ("我们建议先等待【so：E1，E2】。", "conclusion", ("one", "two"), ""),
        ("两项合计12亿元［calc：3 * 4 = 12；E2］。", "calculation", ("two",), "3 * 4 = 12"),
        ("資料沒有說明何時啟用[none: 啟用 日期；E3]。", "absence", ("three",), "啟用 日期"),
        ("Three things count:", "link", (), ""),
        ("We recommend to wait [so: E9].", "conclusion", ("E9",), ""),
    ],
)
def test_a_mark_says_what_a_sentence_is(text: str, kind: str, evidence: tuple[str, ...], basis: str) -> None:
    (sentence,) = read_sentences(text, LABELS, "zh-Hant" if "資" in text else "en" if text.isascii() else "zh-Hans")
    assert (sentence.kind, sentence.evidence, sentence.basis) == (kind, evidence, basis)
    assert "[" not in sentence.text
    assert "【" not in sentence.text


@pytest.mark.parametrize(
    "text",
    ["It cost 5 [so E1].", "It cost 5 [so:].", "It cost 5 [so: ", "It cost 5 [calc: 2 + 3"],
)
def test_a_broken_mark_makes_no_conclusion_and_cites_nothing(text: str) -> None:
    (sentence,) = read_sentences(text, LABELS, "en")
    assert (sentence.kind, sentence.evidence) == ("link", ())


def test_a_mark_for_nothing_is_kept_for_the_record() -> None:
    assert _read("Costs rose [E9]. Noise fell [E1].") == [[("Costs rose.", ("E9",)), ("Noise fell.", ("one",))]]


def test_a_sentence_without_a_mark_rests_on_nothing() -> None:
    assert _read("Everybody knows this. Costs rose [E1].")[0][0] == ("Everybody knows this.", ())


# Sections, lists and tables


def test_what_stands_before_the_first_heading_or_under_its_name_is_the_answer() -> None:
    text = "It rose [E1].\n\n## Costs\n\nIt rose by 5 % [E1].\n\n## Abstract\n\nAll in all it rose [E2]."
    assert [one.section for one in report(text).paragraphs] == ["abstract", "Costs", "abstract"]
    assert [one.section for one in report("## 摘要\n\n费用上涨了[E1]。", "zh-Hans").paragraphs] == ["abstract"]


@pytest.mark.parametrize("head", ["## {}", "## {} ##", "## **{}**", "## 1. {}", "## {}:", "  ## {} [E1]"])
def test_headings_may_look_as_they_like(head: str) -> None:
    (paragraph,) = report(f"{head.format('Costs and effects')}\n\nTenants pay more [E1].").paragraphs
    assert paragraph.section == "Costs and effects"


@pytest.mark.parametrize("head", ["### {}", "**{}**", "**{}**:", "#### **{}**", "### 1. {}"])
def test_small_headings_lead_their_paragraphs(head: str) -> None:
    (paragraph,) = report(f"## Costs\n\n{head.format('Who pays')}\n\nTenants pay more [E1].").paragraphs
    assert (paragraph.section, paragraph.lead) == ("Costs", "Who pays")


@pytest.mark.parametrize(
    "head",
    ["By 2031 twelve towns follow", "A gain of 12 %", "See www.evil.example", "It failed. All agree", "x" * 80],
)
def test_what_claims_something_is_no_small_heading(head: str) -> None:
    (paragraph,) = report(f"## Costs\n\n### {head}\n\nTenants pay more than before [E1].").paragraphs
    assert paragraph.lead == ""


def test_the_title_of_the_whole_is_no_section() -> None:
    assert [one.section for one in report("# The report\n\nIt rose [E1].").paragraphs] == ["abstract"]


@pytest.mark.parametrize(
    ("language", "text", "leads"),
    [
        ("en", "1. **Wait.** We recommend to wait [so: E1].\n2. **Ask:** One should ask [so: E2].", ["Wait", "Ask"]),
        ("en", "1) **Wait** [so: E1]. We recommend to wait [so: E1].\n2) One should ask [so: E2].", ["Wait", ""]),
        (
            "zh-Hans",
            "1. **先等待。** 我们建议先等待[so: E1]。\n2. **再询问：** 应当再询问[so: E2]。",
            ["先等待", "再询问"],
        ),
        ("zh-Hans", "1、**先等待**：我们建议先等待[so: E1]。\n2、应当再询问[so: E2]。", ["先等待", ""]),
        (
            "zh-Hant",
            "1、**先等待**：我們建議先等待[so: E1]。\n2、**再詢問**：應當再詢問[so: E2]。",
            ["先等待", "再詢問"],
        ),
    ],
)
def test_recommendations_are_a_numbered_list_with_their_points(language: Language, text: str, leads: list[str]) -> None:
    items = report(
        f"费用上涨[E1]。\n\n{text}" if language != "en" else f"It rose [E1].\n\n{text}", language
    ).paragraphs[1:]
    assert [item.mark for item in items] == ["number", "number"]
    assert [item.lead for item in items] == leads
    assert [[each.kind for each in item.sentences] for item in items] == [["conclusion"], ["conclusion"]]


@pytest.mark.parametrize(
    ("rest", "told"),
    [("the costs rose", "The costs rose."), ("mRNA is made here", "mRNA is made here."), ("费用上涨", "费用上涨.")],
)
@pytest.mark.parametrize("mark", ["", "- ", "1. "])
def test_what_follows_a_bold_point_begins_like_a_sentence(mark: str, rest: str, told: str) -> None:
    (paragraph,) = report(f"## Costs\n\n{mark}**Against:** {rest} [E1].").paragraphs
    assert (paragraph.lead, paragraph.sentences[0].text) == ("Against", told)


def test_a_list_right_below_its_lead_over_and_items_over_several_lines() -> None:
    prose = report(
        "It rose [E1].\n\nThree things count:\n- Costs rose\n  by 5 % [E1].\n* Noise fell [E2].\n• It ended [E3]."
    )
    assert [one.mark for one in prose.paragraphs] == ["", "", "bullet", "bullet", "bullet"]
    assert prose.paragraphs[1].sentences[0].kind == "link"
    assert prose.paragraphs[2].sentences[0].text == "Costs rose by 5 %."


@pytest.mark.parametrize("text", ["The pilot ran in 2024. 3 towns joined [E1].", "2024 brought rain [E1]."])
def test_a_number_in_prose_begins_no_list(text: str) -> None:
    assert [one.mark for one in report(text).paragraphs] == [""]


def test_a_pipe_table_keeps_its_columns_and_each_row_its_marks() -> None:
    text = (
        "| Port | **Cost** | Source |\n|:--|--:|---|\n| Halden | €5 million [E1] | [E2] |\n| Lund | €6 million | [E3] |"
    )
    (table,) = report(f"## Costs\n\n{text}").paragraphs
    assert (table.section, table.kind) == ("Costs", "table")
    assert [(row.cells, row.evidence) for row in table.sentences] == [
        ((("Port", "Halden"), ("Cost", "€5 million")), ("one", "two")),
        ((("Port", "Lund"), ("Cost", "€6 million")), ("three",)),
    ]


def test_a_row_may_be_computed() -> None:
    text = "| Port | Cost |\n|---|---|\n| Both | 12 [calc: 3 * 4 = 12; E1] |"
    (table,) = report(text).paragraphs
    assert (table.sentences[0].kind, table.sentences[0].basis) == ("calculation", "3 * 4 = 12")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("| Halden | **€5 million** | [E1] |", [((("Port", "Halden"), ("Cost", "€5 million")), "finding", ("one",))]),
        ("| Halden | €5 (E2) |", [((("Port", "Halden"), ("Cost", "€5")), "finding", ("two",))]),
        ("|---|---|\n| Halden | €5 [so: E1] |", [((("Port", "Halden"), ("Cost", "€5")), "conclusion", ("one",))]),
        ("Halden cost €5 [E1].", []),
        ("| Halden |", []),
        ("", []),
    ],
)
def test_a_row_is_read_under_the_names_of_its_columns(text: str, rows: list[object]) -> None:
    found = read_row(text, ["Port", "Cost"], LABELS, "en")
    assert [(one.cells, one.kind, one.evidence) for one in found] == rows


def test_a_row_is_put_into_the_script_of_the_report() -> None:
    (found,) = read_row("| 费用 | 5亿元 | [E1] |", ["項目", "內容"], LABELS, "zh-Hant")
    assert found.cells == (("項目", "費用"), ("內容", "5億元"))


@pytest.mark.parametrize(
    "table",
    [
        "| only |\n|---|\n| one [E1] |",
        "|---|---|\n|---|---|",
        "| a | b |",
        "||||\n||||",
        "| a | b |\n|---|---|\n| | [E1] |",
    ],
)
def test_a_table_that_is_none_leaves_nothing_behind(table: str) -> None:
    assert _read(f"{table}\n\nIt rose [E1].") == [[("It rose.", ("one",))]]


def test_rows_of_different_length_are_read_as_far_as_they_go() -> None:
    text = "| Port | Cost |\n|---|---|\n| Halden | 5 | extra | [E1] |\n| Lund |\n| Ford | 7 [E2] |"
    (table,) = report(text).paragraphs
    assert [row.cells for row in table.sentences] == [
        (("Port", "Halden"), ("Cost", "5")),
        (("Port", "Ford"), ("Cost", "7")),
    ]


# What is no prose


def test_the_markdown_of_a_model_is_no_prose_and_everything_else_is() -> None:
    text = (
        "```\nCosts <b>rose</b> [E1]. See [the report](https://evil.example) [E2]. "
        "![Chart](//evil.example) Noise fell [E3](https://evil.example).\n```"
    )
    assert _read(text) == [
        [("Costs <b>rose</b>.", ("one",)), ("See the report.", ("two",)), ("Chart Noise fell.", ("three",))]
    ]
    assert _read("A p-value < 0.05 was found [E1].") == [[("A p-value < 0.05 was found.", ("one",))]]


def test_an_answer_cut_at_its_limit_loses_only_its_torn_end() -> None:
    assert _read("Costs rose [E1]. Noise fell because the", is_cut=True) == [[("Costs rose.", ("one",))]]
    assert _read("Costs rose [E1].\n\n## Noise\n\n- It", is_cut=True) == [[("Costs rose.", ("one",))]]
    assert _read("Costs rose [E1].", is_cut=True) == [[("Costs rose.", ("one",))]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no sentence"),
        ("## Costs\n\n## Gains\n", "no sentence"),
        ("I cannot help with that request. It would not be right to do so at all.", "no mark"),
        ('<source id="E1">\nCosts rose.\n</source> Costs rose [E1].', "repeats the prompt"),
        ("Les coûts ont augmenté de cinq pour cent en un an dans la ville [E1].", "language"),
        (
            "费用在一年之内上涨了百分之五，而且噪音也下降了很多，居民们对此都感到十分满意，市政府也一样。[E1]",
            "language",
        ),
        ("Costs rose in the whole of the city last year [E8]. They fell again [so: E9].", "name no source"),
    ],
    ids=["empty", "headings", "refusal", "echo", "french", "chinese", "unknown-sources"],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    assert said in report(text).problem


def test_simplified_prose_becomes_traditional_where_that_was_asked_for() -> None:
    assert _read("费用与结果都有所变化[E1]。", "zh-Hant") == [[("費用與結果都有所變化。", ("one",))]]
    assert _read("公里與台灣的費用都有變化[E1]。", "zh-Hant") == [[("公里與台灣的費用都有變化。", ("one",))]]
    (item,) = report("## 费用与结果\n\n1. **费用变化** 费用有变化[E1]。", "zh-Hant").paragraphs
    assert (item.section, item.lead) == ("費用與結果", "費用變化")


@pytest.mark.parametrize(
    "text",
    [
        "[so: " * 20_000,
        "[calc: 1 + " * 10_000,
        "[E1, " * 20_000,
        "| a " * 20_000 + "|",
        "| a | b |\n" * 5_000,
        "1. **" * 10_000,
        "**a" * 20_000,
        "## \n" * 20_000,
        "- " * 40_000,
        "\n \n" * 40_000,
        "a " * 60_000,
        "费用" * 60_000,
        "1、" * 30_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_a_model_that_does_not_stop_is_soon_read(text: str) -> None:
    begin = time.process_time()
    report(text)
    assert time.process_time() - begin < 10
