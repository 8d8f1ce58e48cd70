import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.text.folding import fold_typography, to_simplified


@pytest.mark.parametrize(
    ("original", "folded"),
    [
        ("“quoted” – it’s", '"quoted" - it\'s'),
        ("a\u00a0b\n\n c", "a b c"),
        ("ﬁne eﬃcient", "fine efficient"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zerowidth"),
        ("ＡＢＣ１２３％", "ABC123%"),
        ("e\u0301t", "ét"),
        ("Case STAYS", "Case STAYS"),
        ("臺灣「引文」", '臺灣"引文"'),
    ],
)
def test_spellings_fold(original: str, folded: str):
    assert fold_typography(original).text == folded


@pytest.mark.parametrize(
    ("original", "quote", "found"),
    [
        ("He said “ﬁne  words” here", '"fine words"', "“ﬁne  words”"),
        ("a soft\u00adhyphen b", "softhyphen", "soft\u00adhyphen"),
        ("an e\u0301tude", "étude", "e\u0301tude"),
        ("x\n\n  y z", "y z", "y z"),
        ("他說「好」，走了", '"好"', "「好」"),
    ],
)
def test_a_folded_quote_is_found_at_its_original_place(original: str, quote: str, found: str):
    folded = fold_typography(original)
    at = folded.text.index(quote)
    start, end = folded.original_span(at, at + len(quote))
    assert original[start:end] == found


@given(st.text(max_size=80))
def test_offsets_ascend_and_folding_again_changes_nothing(text: str):
    folded = fold_typography(text)
    assert len(folded.starts) == len(folded.ends) == len(folded.text)
    assert all(0 <= start < end <= len(text) for start, end in zip(folded.starts, folded.ends, strict=True))
    assert list(folded.starts) == sorted(folded.starts)


@given(st.text(alphabet=st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF), max_size=60))
def test_simplifying_keeps_every_offset(text: str):
    assert len(to_simplified(text)) == len(text)


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [
        ("乾燥幹部", "干燥干部"),
        ("以後皇后", "以后皇后"),
        ("頭髮發展", "头发发展"),
        ("麵包表面", "面包表面"),
        ("看著", "看着"),
        ("復興複雜", "复兴复杂"),
        ("裡面公里", "里面公里"),
        ("鐘錶一隻", "钟表一只"),
        ("颱風臺灣", "台风台湾"),
        ("製造制度", "制造制度"),
    ],
)
def test_letters_that_simplified_writing_merged_meet(traditional: str, simplified: str):
    assert to_simplified(traditional) == to_simplified(simplified) == simplified
