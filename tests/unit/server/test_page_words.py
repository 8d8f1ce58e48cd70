"""Words of the page: the same keys and placeholders in every language; and which language is shown."""

import re

import pytest

from deep_research.server.page.views import accepted_language, page_words
from deep_research.text.messages.language import LANGUAGES
from deep_research.text.messages.words import placeholders


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_keys_and_placeholders(language):
    english, ours = page_words("en").templates, page_words(language).templates
    assert {key: placeholders(text) for key, text in ours.items()} == {
        key: placeholders(text) for key, text in english.items()
    }
    assert [key for key, text in ours.items() if not text.strip()] == []


@pytest.mark.parametrize("language", ["zh-Hans", "zh-Hant"])
def test_chinese_words_use_full_width_punctuation(language):
    han = r"[\u4e00-\u9fff]"
    for key, text in page_words(language).templates.items():
        assert not re.search(f"{han}[,;:!?()]|[,;:!?()]{han}", text), key


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de-DE,de;q=0.9", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-Hans"),
        ("zh-TW,zh;q=0.9,en;q=0.8", "zh-Hant"),
        ("zh-HK", "zh-Hant"),
        ("fr;q=0.9,en;q=0.2,zh-Hans-CN;q=0.5", "zh-Hans"),
        ("en-GB,zh-CN;q=0.3", "en"),
        ("zh;q=0,en", "en"),
        ("zh;q=wrong,;;,q=", "en"),
    ],
)
def test_the_browser_says_which_language_is_shown_first(header, language):
    assert accepted_language(header) == language
