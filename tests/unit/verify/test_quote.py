"""A sentence is supported where a passage holds it as whole sentences, or with cuts that say nothing."""

import pytest

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Verdict
from deep_research.verify.quote import check_quote


def check(sentence: str, *quotes: str, start: int = 100) -> Verdict | None:
    passages = tuple(
        Evidence(id=f"e{n}", document="d", start=start, end=start + len(quote), quote=quote, finding="", section="")
        for n, quote in enumerate(quotes, start=1)
    )
    return check_quote(Sentence(text=sentence, evidence=tuple(p.id for p in passages)), passages)


def is_supported(sentence: str, *quotes: str) -> bool:
    verdict = check(sentence, *quotes)
    return verdict is not None and verdict.kind == "supported"


def test_verbatim_sentence_is_supported_with_its_place_in_the_document():
    quote = "Costs rose. The plant cost €5 million in 2024. It opened late."
    verdict = check("The plant cost €5 million in 2024.", "Nothing here.", quote)
    assert verdict is not None
    assert (verdict.kind, verdict.reason, verdict.evidence) == ("supported", "verbatim", "e2")
    assert quote[verdict.start - 100 : verdict.end - 100] == "The plant cost €5 million in 2024."


def test_trimmed_sentence_records_the_whole_original():
    quote = "Costs rose. However, the plant cost €5 million (see Table 2). It opened late."
    verdict = check("The plant cost €5 million.", quote)
    assert verdict is not None
    assert (verdict.kind, verdict.reason) == ("supported", "trimmed")
    assert quote[verdict.start - 100 : verdict.end - 100] == "However, the plant cost €5 million (see Table 2)."


def test_verbatim_passage_is_preferred_to_a_trimmed_one():
    verdict = check("The plant is new.", "However, the plant is new.", "The plant is new.")
    assert verdict is not None
    assert (verdict.reason, verdict.evidence) == ("verbatim", "e2")


def test_sentence_without_passages_is_not_found():
    verdict = check("The plant is new.")
    assert verdict is not None
    assert (verdict.kind, verdict.reason) == ("not_found", "uncited")


def test_paraphrase_is_left_undecided():
    assert check("The plant was recently built.", "The plant is new.") is None


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("“The plant” cost 5–6 million.", '"The plant" cost 5-6 million.'),
        ("The plant's cost rose to 5 %.", "The plant’s  cost\nrose to 5%."),
        ("改造工程投资48.6亿元，超出概算。", "改造工程投资\n48.6 亿元,超出概算。"),
        ("海绵城市改造工程由市政府批准。", "海绵城市改造\n工程由市政府批准。"),
        ("A ﬁrst test of 10² samples.", "A first test of 10² samples."),
    ],
)
def test_typography_and_line_breaks_do_not_matter(sentence, quote):
    assert is_supported(sentence, quote)


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("safe.", "The plant is not safe."),
        ("Safe.", "The plant is not safe."),
        ("The plant is safe", "The plant is safe only on weekdays."),
        ("The plant is safe.", "Nobody said that the plant is safe."),
        ("The plant is safe.", "The plant is safe. "[:-2] + ", the vendor said."),
        ("安全。", "该厂并不安全。"),
        ("该厂安全。", "厂商称该厂安全。"),
        ("The plant is cheap.", "The plant is safe. the plant is cheap for now."),
        ("102 samples were taken.", "10² samples were taken."),
        ("51/2 tonnes were lost.", "5½ tonnes were lost."),
        ("The balance was −5 million.", "The balance was—5 million."),
        ("The rate was 1,234.", "The rate was 12,34."),
        ("", "The plant is safe."),
        ("...", "The plant is safe..."),
    ],
)
def test_part_of_a_sentence_or_another_one_is_not_supported(sentence, quote):
    assert not is_supported(sentence, quote)


@pytest.mark.parametrize(
    "quote",
    [
        "“We tested it for a year. The plant is safe. It costs little,” the vendor said.",
        'He wrote: "We tested it. The plant is safe. It is cheap."',
        "「我們測試過了。The plant is safe.」廠商說。",
    ],
)
def test_what_somebody_says_inside_a_quotation_is_not_taken_for_the_source(quote):
    assert not is_supported("The plant is safe.", quote)


def test_line_break_inside_narrow_text_is_no_sentence_boundary():
    assert not is_supported("安全可靠。", "该项目的设备并不\n安全可靠。")
    assert not is_supported("Built in 1990.", "plant was not\nBuilt in 1990.")
    assert is_supported(
        "青岚市常住人口186万，建成区面积212平方公里。", "简介。\n一、概况\n青岚市常住人口186万，建成区面积212平方公里。"
    )


def test_neighbouring_sentences_may_be_quoted_together_but_not_across_a_gap():
    quote = "The plant is new. It is safe. It is cheap."
    assert is_supported("The plant is new. It is safe.", quote)
    assert not is_supported("The plant is new. It is cheap.", quote)


def test_list_items_and_table_rows_are_sentences_of_their_own():
    quote = "Results:\n\n- three heat pumps\n- one tank\n\n| Part | Cost |\n| --- | --- |\n| Tank | 5 |\n"
    assert is_supported("three heat pumps", quote)
    assert is_supported("| Tank | 5 |", quote)
    assert not is_supported("three heat pumps one tank", quote)
