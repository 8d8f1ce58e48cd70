"""What a report proposes may have a target or a deadline of its own, which a judge then looks at."""

import pytest

from deep_research.report.paragraph import Sentence
from deep_research.verify.veto import veto
from tests.unit.reasoning.pieces import piece


@pytest.mark.parametrize(
    ("text", "may_stand"),
    [
        ("We propose a target of 20% within 30 days.", True),
        ("我们提议豁免不超过20%，30天内完成。", True),
        ("我們提議豁免不超過20%，30天內完成。", True),
        ("The controller left out 20% within 30 days.", False),
        ("准入控制器在30天内豁免了20%。", False),
    ],
)
def test_only_what_is_proposed_may_have_a_figure_of_its_own(text: str, may_stand: bool) -> None:
    held = piece("The controller sets the level of each namespace. 准入控制器为命名空间设置级别。")
    language = "en" if text.isascii() else "zh-Hans"
    sentence = Sentence(text=text, kind="conclusion", evidence=(held.id,))
    refused = veto(sentence, [held], asked="", language=language, is_judged=True)
    assert (refused is None) == may_stand
