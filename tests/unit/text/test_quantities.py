import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.text.dates import find_dates
from deep_research.text.quantities import chinese_number, find_quantities


def quantities(text: str) -> list[tuple[float, str]]:
    return [(quantity.value, quantity.unit) for quantity in find_quantities(text)]


@pytest.mark.parametrize(
    "text", ["$1.2M", "US$1,200,000", "$1.2 million", "1.2 million dollars", "120万美元", "120萬美元"]
)
def test_one_sum_is_read_from_many_spellings(text: str):
    assert quantities(f"It cost {text} in all.") == [(1_200_000, "USD")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rose 3.5% or 3.5 percent", [(3.5, "%"), (3.5, "%")]),
        ("fell by −2.5 percentage points", [(-2.5, "pp")]),
        ("10–20% of it", [(10, "%"), (20, "%")]),
        ("$5-10 million", [(5e6, "USD"), (1e7, "USD")]),
        ("3.5亿元", [(3.5e8, "CNY")]),
        ("2万亿元", [(2e12, "CNY")]),
        ("５.３万辆", [(53_000, "辆")]),
        ("增加两倍，约三成，百分之三十", [(2, "x"), (30, "%"), (30, "%")]),
        ("一百二十万元", [(1_200_000, "CNY")]),
        ("提高２．５个百分点", [(2.5, "pp")]),
        ("5 m long, 40M users", [(5, "m"), (4e7, "people")]),
        ("100 GWh at 1.5°C", [(100, "GWh"), (1.5, "°C")]),
        ("86 degrees Fahrenheit, 30 degrees Celsius", [(86, "°F"), (30, "°C")]),
        ("5日圆，3圆", [(5, "JPY"), (3, "CNY")]),
        ("a 3-fold rise, 2.5x", [(3, "x"), (2.5, "x")]),
        ("2000 people in 12 months", [(2000, "people"), (12, "month")]),
        ("12 studies", [(12, "")]),
    ],
)
def test_quantities_are_normalised(text: str, expected: list[tuple[float, str]]):
    assert quantities(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "GLP-1 and G12C",
        "Figure 3, Table 2 and [12]",
        "5G and 3D",
        "in 2024",
        "第三章 第3节",
        "一家公司",
        "version 3.11.7",
    ],
)
def test_names_and_dates_are_no_quantities(text: str):
    assert quantities(text) == []


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-05-06", "2024-05-06"),
        ("on May 6, 2024", "2024-05-06"),
        ("6th of May 2024", "2024-05-06"),
        ("30-Sep-2015", "2015-09-30"),
        ("Sept. 2021", "2021-09"),
        ("Q3 2024", "2024-Q3"),
        ("third quarter of 2024", "2024-Q3"),
        ("FY24", "2024"),
        ("25/12/2023", "2023-12-25"),
        ("05/06/2024", "2024"),
        ("2024年5月6日", "2024-05-06"),
        ("2024年第三季度", "2024-Q3"),
        ("二〇二四年", "2024"),
        ("in 1999, then", "1999"),
    ],
)
def test_dates_are_normalised(text: str, iso: str):
    assert [mention.iso for mention in find_dates(text)] == [iso]


def test_both_years_of_a_range_are_found():
    assert [mention.iso for mention in find_dates("2020-2024 and 2021–2022")] == ["2020", "2024", "2021", "2022"]


@pytest.mark.parametrize("text", ["2000 people", "$2024", "model 2024X", "1.2024", "12,2024", "CVE-2025-1974."])
def test_numbers_that_look_like_years_are_no_dates(text: str):
    assert not find_dates(text)


@pytest.mark.parametrize(
    ("numeral", "value"),
    [("十", 10), ("二十五", 25), ("三百零二", 302), ("三百二十万", 3_200_000), ("一亿两千万", 120_000_000)],
)
def test_chinese_numerals_are_read(numeral: str, value: float):
    assert chinese_number(numeral) == value


@given(st.text(alphabet="0123456789.,%$ -–年万亿元第三十Q年月MBk to[]FY", max_size=60))
def test_spans_point_at_what_was_read(text: str):
    spans = [(found.start, found.end, found.raw) for found in find_quantities(text)]
    spans += [(found.start, found.end, found.raw) for found in find_dates(text)]
    for start, end, raw in spans:
        assert text[start:end] == raw != ""


@pytest.mark.parametrize(
    ("text", "unit", "base"),
    [
        ("The repair cost 300 pounds.", "GBP", (300.0, "GBP")),
        ("It raised 5 million pounds in May.", "GBP", (5_000_000.0, "GBP")),
        ("The calf weighed 90 pounds at birth.", "lb", (40_823_313.3, "mg")),
        ("每亩收茶20斤。", "斤", (10_000_000.0, "mg")),
        ("每畝收茶20斤。", "台斤", (12_000_000.0, "mg")),
        ("收茶二十斤。", "斤", (10_000_000.0, "mg")),
    ],
)
def test_a_unit_of_two_meanings_is_read_by_what_stands_beside_it(text: str, unit: str, base: tuple[float, str]) -> None:
    [found] = find_quantities(text)
    assert (found.unit, found.in_base_unit) == (unit, base)
