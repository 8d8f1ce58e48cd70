"""What a sentence and a passage have in common."""

import pytest

from deep_research.verify.coverage import is_related

PROOF = "The harbour retrofit cost €146.2 million in total."


@pytest.mark.parametrize(
    ("sentence", "span", "related"),
    [
        ("The retrofit was dear.", PROOF, True),
        ("It came to €146.2 million.", "cost €146.2 million", True),
        ("Everything was a disgraceful failure.", PROOF, False),
        ("改造花费很高。", "改造总共花费了48.6亿元", True),
        ("改造花費很高。", "改造总共花费了48.6亿元", True),
        ("居民非常愤怒。", "改造总共花费了48.6亿元", False),
        ("改造花费了1.46亿欧元。", PROOF, True),
    ],
)
def test_words_without_anything_in_common_prove_nothing(sentence: str, span: str, related: bool) -> None:
    assert is_related(sentence, span) is related
