"""What a note or a gap may say without a source: no figure in digits or in words but the asker's own."""

import pytest

from deep_research.pipeline.stages.verify import claims_nothing


@pytest.mark.parametrize(
    "text",
    ["Costs rose by 5 %.", "A third of the firms failed.", "Dozens failed.", "费用翻了一番。", "三分之一的企業失敗。"],
)
def test_a_quantity_needs_a_source(text):
    assert not claims_nothing(text)
    assert claims_nothing(text, asked=f"Is it true? {text}")


@pytest.mark.parametrize(
    "text", ["Two questions stay open.", "One of them is new.", "还有三个问题。", "前景十分不明。"]
)
def test_a_note_may_count_its_own_things(text):
    assert claims_nothing(text)
