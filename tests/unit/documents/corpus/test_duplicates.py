"""Documents that are nearly the same are found once; what differs in a figure, a name or a negation is found apart."""

import pytest

from deep_research.documents.corpus.duplicates import bands_of, same_but_for_spelling

REPORT = """The harbour authority measured the retrofit of the ferry terminal over a full year and reports on it here.
The heat pumps delivered 412 MWh in 2024 at a seasonal performance factor of 3.1. Two of the four units failed in
January and were replaced under warranty, so that guests of the terminal did not notice anything at all. Maintenance
was carried out by the crew of the terminal together with the supplier. The board recommends to extend the system to
the northern pier, because the cables have already been laid there and the permits were granted in the autumn."""
CHINESE = """港务局对渡轮码头改造工程进行了为期一年的测量，现将结果报告如下。
热泵全年供热四百一十二兆瓦时，季节性能系数达到预期。四台机组中有两台在一月份发生故障，已在保修期内更换，旅客没有受到任何影响。维护工作由码头班组与供应商共同完成。
董事会建议把这一系统扩展到北侧栈桥，因为电缆已经铺设完毕，许可证也在秋季获得批准，工程可以立即开始。"""


def _spelled(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [("authority", "autority"), ("warranty", "waranty")],
        [("reports on it here", "reports on it here in short")],
        [("at all. ", ". "), ("together ", "")],
        [("over a full year", "over a\nfull\nyear")],
        [("The board", "\n7\n\nPage 2 of 9\n\nThe board")],
    ],
)
def test_spelling_and_a_few_words_make_no_other_document(changes):
    assert same_but_for_spelling(REPORT, _spelled(REPORT, *changes))
    assert same_but_for_spelling(_spelled(REPORT, *changes), REPORT)


@pytest.mark.parametrize(
    "change",
    [
        ("412", "421"),
        ("412 MWh", "412,000 MWh"),
        ("2024", "2025"),
        ("January", "February"),
        ("did not notice", "did notice"),
        ("recommends", "refuses"),
        ("northern", "southern"),
        ("granted", "denied"),
        ("The board", "In 2019 the board"),
        ("at all. ", "at all. " + "They said so when they were asked by the crew on a morning in spring. " * 3),
    ],
)
def test_another_figure_word_or_negation_makes_another_document(change):
    assert not same_but_for_spelling(REPORT, _spelled(REPORT, change))
    assert not same_but_for_spelling(_spelled(REPORT, change), REPORT)


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        (("现将结果", "现将有关结果"), True),
        (("为期一年的测量", "为期一年得测量"), True),
        (("四百一十二", "四百二十二"), False),
        (("没有受到", "受到"), False),
        (("建议", "反对"), False),
        (("北侧", "南侧"), False),
    ],
)
def test_chinese_texts_are_compared_by_character(change, is_same):
    assert same_but_for_spelling(CHINESE, _spelled(CHINESE, change)) is is_same


def test_a_text_of_equal_lines_is_compared_in_a_moment():
    lines = "The same line again\n\n" * 20_000
    assert same_but_for_spelling(lines, lines)
    assert not same_but_for_spelling(lines, "Another beginning\n\n" * 9_000 + lines)


def test_bands_hold_the_figures():
    terms = REPORT.split()
    passage = "  ".join(terms)
    assert set(bands_of(REPORT, [passage])).isdisjoint(bands_of(REPORT.replace("412", "413"), [passage]))
    assert bands_of("Too short.", ["too  short"]) == []


@pytest.fixture
async def indexed(corpus, docs):
    """Return a function that writes files, refreshes, and gives the survey and what a search finds."""

    async def put(**files: str):
        for name, text in files.items():
            (docs / f"{name}.md").write_text(text, encoding="utf-8")
        survey = await corpus.refresh()
        found = [hit.address for hit in await corpus.search("harbour ferry terminal retrofit 渡轮码头改造", limit=20)]
        return survey, found

    return put


FINAL = _spelled(REPORT, ("authority", "autority"), ("The board recommends", "The board now recommends"))


async def test_one_of_two_versions_is_found_and_the_other_is_told(indexed, corpus):
    survey, found = await indexed(v1=REPORT, v1_final=FINAL, other=REPORT.replace("412", "512"))
    assert survey.indexed == 2
    assert sorted(found) == ["other.md", "v1_final.md"]
    assert [(one.address, "nearly the same as 'v1_final.md'" in one.remark) for one in survey.remarks] == [
        ("v1.md", True)
    ]
    assert (await corpus.passages("v1.md"))[0].text.startswith("The harbour authority")


async def test_the_earliest_dated_version_is_the_one_that_is_found(indexed):
    dated = "---\ndate: {}\n---\n"
    _, found = await indexed(a=dated.format("2025-03-01") + FINAL, b=dated.format("2025-02-01") + REPORT)
    assert found == ["b.md"]


async def test_a_version_comes_forth_when_the_one_found_in_its_place_goes(indexed, docs):
    await indexed(v1=REPORT, v1_final=FINAL)
    (docs / "v1_final.md").unlink()
    survey, found = await indexed()
    assert (found, survey.indexed, survey.read_now, survey.remarks) == (["v1.md"], 1, 0, ())


async def test_versions_come_apart_when_one_is_changed(indexed, docs):
    await indexed(v1=REPORT, v1_final=FINAL)
    (docs / "v1_final.md").unlink()
    _, found = await indexed(v1_final=FINAL.replace("412", "498") + " ")
    assert sorted(found) == ["v1.md", "v1_final.md"]


async def test_documents_with_other_titles_of_their_own_stay_apart(indexed):
    _, found = await indexed(a=f"# Northern terminal\n\n{REPORT}", b=f"# Southern terminal\n\n{REPORT}")
    assert sorted(found) == ["a.md", "b.md"]


async def test_reports_from_one_template_stay_apart(indexed):
    survey, found = await indexed(**{f"q{n}": REPORT.replace("412", str(400 + n)) for n in range(9)})
    assert (len(set(found)), survey.indexed, survey.remarks) == (9, 9, ())
