"""Quantities in words: what states one, in both languages and both scripts, what it equals, and what only looks so."""

import time

import pytest

from deep_research.text.number_words import find_worded, implied_numbers, implied_shares, spelled_numbers


def stated(text: str) -> list[tuple[str, float, str]]:
    """Return each quantity's words, and its plainest value."""
    return [(each.raw, round(each.values[0][0], 1), each.values[0][1]) for each in find_worded(text)]


@pytest.mark.parametrize(
    ("text", "raw", "value", "unit"),
    [
        ("It rose in one in three towns.", "one in three", 33.3, "%"),
        ("It rose in 2 out of 5 towns.", "2 out of 5", 40, "%"),
        ("Two-thirds of the towns agreed.", "Two-thirds", 66.7, "%"),
        ("He sold two fifths to the bank.", "two fifths", 40, "%"),
        ("A quarter of the towns agreed.", "A quarter of", 25, "%"),
        ("Costs fell by a third.", "by a third", 33.3, "%"),
        ("It sold half of the land.", "half of", 50, "%"),
        ("Costs were cut in half.", "in half", 50, "%"),
        ("Costs halved.", "halved", 50, "%"),
        ("Costs doubled.", "doubled", 2, "x"),
        ("It costs twice as much.", "twice", 2, "x"),
        ("A threefold rise.", "threefold", 3, "x"),
        ("It is three times as high.", "three times", 3, "x"),
        ("Dozens of towns agreed.", "Dozens", 10, "order"),
        ("Hundreds of thousands of people came.", "Hundreds of thousands", 1e5, "order"),
        ("Several hundred people came.", "Several hundred", 100, "order"),
        ("Seven towns agreed.", "Seven", 7, ""),
        ("A seven-day trip.", "seven-day", 7, "day"),
        ("About twenty-one million people came.", "twenty-one million people", 21e6, "people"),
        ("One hundred and five towns agreed.", "One hundred and five", 105, ""),
        ("A dozen towns agreed.", "A dozen", 12, ""),
        ("Half a million people came.", "Half a million", 5e5, ""),
        ("It took two and a half years.", "two and a half years", 2.5, "year"),
        ("约三分之一的企业同意。", "三分之一", 33.3, "%"),
        ("約三分之二的企業同意。", "三分之二", 66.7, "%"),
        ("一半的企业同意。", "一半", 50, "%"),
        ("半數企業同意。", "半數", 50, "%"),
        ("费用翻了一番。", "翻了一番", 2, "x"),
        ("費用翻了兩番。", "翻了兩番", 4, "x"),
        ("费用增加一倍。", "增加一倍", 2, "x"),
        ("數十家企業同意。", "數十", 10, "order"),
        ("来了几百万人。", "几百万", 1e6, "order"),
        ("共有三个城市。", "三", 3, ""),
        ("历时二十多年。", "二十多", 20, "year"),
        ("共一百零五。", "一百零五", 105, ""),
        ("人口十二萬。", "十二萬", 120_000, ""),
    ],
)
def test_a_quantity_in_words_is_found(text, raw, value, unit):
    assert stated(text) == [(raw, value, unit)]


@pytest.mark.parametrize(
    "text",
    [
        "One of the towns, for one thing, and no one else, one day.",
        "A third party had a first, a second-hand car and a half-life in the second half of 2020.",
        "She saw Five Guys play the Big Ten in the twenty-first century.",
        "It cost 5 million dollars; a quarter later the men's doubles began.",
        "一些人一起来，一定统一，一方面十分好，万一百姓想吃三明治，第二个也行。",
        "人數十分多，八十年代，二十世紀，二〇一三年，百分之七，六七个，千万别来。",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_quantity_is_none(text):
    assert stated(text) == []


def test_a_passage_holds_more_than_it_states():
    text = "Both towns, the third of 5 of the 20, for one; 第四, 五。"
    assert implied_numbers(text) == {2, 3}
    assert spelled_numbers(text) == {1, 4, 5}
    assert implied_shares(text) == (25,)


@pytest.mark.parametrize("text", ["一" * 40_000, "seven " * 8_000, "one in three, " * 3_000, "1 of 2 " * 6_000])
def test_the_time_that_is_needed_grows_with_the_text_and_no_faster(text):
    began = time.process_time()
    find_worded(text)
    spelled_numbers(text)
    implied_shares(text)
    assert time.process_time() - began < 10
