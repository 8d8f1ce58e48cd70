import pytest

from deep_research.pipeline.about import limitations_of
from deep_research.pipeline.gap import Gap
from deep_research.text.messages.language import LANGUAGES
from deep_research.text.messages.words import words_in


@pytest.mark.parametrize("language", LANGUAGES)
def test_that_rules_made_the_plan_in_a_models_place_is_said(language: str) -> None:
    words = words_in(language)
    plan, other = (Gap(kind="act", scope=act, subject=act, reason="no JSON") for act in ("plan", "extract"))
    assert words("failed.plan") in limitations_of([plan], words)
    assert words("failed.plan") not in limitations_of([other], words)
