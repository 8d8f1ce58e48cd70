"""The upper estimate of tokens holds against counts of real tokenizers, and is not far above them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.llm.tokens import tokens_at_most

# The largest count of GPT-4, GPT-4o, Qwen, DeepSeek, Llama 3, Llama 4 and Claude 2, made once with their tokenizers.
COUNTED = {
    "english": (
        80,
        (
            "Green tea contains between 20 and 45 milligrams of caffeine per cup, which is roughly a third of w"
            "hat the same cup of filter coffee holds. A systematic review of nineteen randomised trials found t"
            "hat habitual drinkers reported better attention, although the effect was small and several of the "
            "studies were funded by producers. The authors therefore call for larger, independently financed tr"
            "ials before any recommendation is made."
        ),
    ),
    "simplified": (
        147,
        (
            "每杯绿茶含有二十到四十五毫克咖啡因，大约是同样一杯滤泡咖啡的三分之一。一项包含十九个随机试验的系统综"
            "述发现，经常饮茶的人注意力更好，不过效果很小，而且其中几项研究由生产商资助。因此，作者呼吁在提出任何"
            "建议之前，先进行规模更大、经费独立的试验。"
        ),
    ),
    "traditional": (
        177,
        (
            "每杯綠茶含有二十到四十五毫克咖啡因，大約是同樣一杯濾泡咖啡的三分之一。一項包含十九個隨機試驗的系統綜"
            "述發現，經常飲茶的人注意力更好，不過效果很小，而且其中幾項研究由生產商資助。因此，作者呼籲在提出任何"
            "建議之前，先進行規模更大、經費獨立的試驗。"
        ),
    ),
    "code": (
        75,
        (
            "def cost(self, usage: Usage) -> float:\n    fresh = max(0, usage.read - usage.cached)\n    total = f"
            "resh * self.usd_in + usage.cached * self.usd_cached\n    return round((total + usage.written * self"
            ".usd_out) / 1_000_000, 10)\n"
        ),
    ),
    "json": (
        53,
        (
            '{"sections": [{"title": "Caffeine", "queries": ["caffeine in green tea mg per cup", "caffeine coff'
            'ee vs tea"]}, {"title": "Attention", "queries": ["randomised trial tea attention"]}]}'
        ),
    ),
    "numbers": (
        105,
        (
            "2019,184.2,1734,55.1\n2020,201.7,1650,58.9\n2021,219.4,1812,61.3\n2022,240.0,1968,63.7\n2023,251.8,204"
            "1,66.0\n"
        ),
    ),
}


@given(st.text(), st.text())
def test_longer_text_has_no_fewer_tokens(one, two):
    assert tokens_at_most(one + two) >= max(tokens_at_most(one), tokens_at_most(two)) - 1


@given(st.text(min_size=1))
def test_every_text_is_estimated(text):
    assert 0 <= tokens_at_most(text) <= 2 * len(text) + 1


def test_empty_text_has_none():
    assert tokens_at_most("") == 0


@pytest.mark.parametrize("kind", COUNTED)
def test_estimate_is_above_every_tokenizer_and_not_far_above_the_largest(kind):
    largest, text = COUNTED[kind]
    assert largest <= tokens_at_most(text) <= 1.6 * largest
