"""Which language a text is written in, by counting letters of each script and common words. Guesses no others."""

import re
from collections.abc import Iterable
from functools import cache

from deep_research.text.folding import simplified_table
from deep_research.text.stop_words import ENGLISH, LATIN

_SAMPLE_CHARS = 6_000
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f][A-Za-z\u00c0-\u024f'’]*")
_OTHER_LETTER = re.compile(r"[\u0370-\u1fff]")
# Letters of scripts, and of languages that share one with others those that only they have.
_LETTERS = dict(
    zip(
        ("ru", "uk", "el", "he", "fa", "ar", "hi", "th"),
        "[ыэъё] [іїєґ] [Ͱ-Ͽ] [֐-׿] [پچژگ] [ةىأإ] [ऀ-ॿ] [ก-๛]".split(),
        strict=True,
    )
)
# All that `detect_language` can tell.
DETECTED = frozenset(("en", "zh", "ja", "ko", *LATIN, *_LETTERS))
# Technical Chinese is full of Latin names: a quarter of the words being Chinese makes the text Chinese.
_CJK_SHARE = 0.25
# Japanese prose is at least a third kana; names and titles quoted in Chinese stay far below a tenth.
_KANA_SHARE = 0.10
_CJK_CHARS_PER_WORD = 2


def in_script(text: str, language: str) -> str:
    """Return Chinese text in the script of a report's language; everything else is left alone."""
    if text.isascii() or language not in ("zh-Hans", "zh-Hant"):
        return text
    if (found := detect_language(text)) == language or not found.startswith("zh"):
        return text
    import opencc

    converted: str = opencc.OpenCC("t2s" if language == "zh-Hans" else "s2t").convert(text)
    return converted


def detect_language(text: str) -> str:
    """Return the language of a text, judged on its beginning, middle and end; "other" where nothing tells."""
    sample = _sample(text)
    words = _LATIN_WORD.findall(sample)
    if sample.isascii():
        return _latin_language(words)
    han, kana, hangul = (len(pattern.findall(sample)) for pattern in (HAN, _KANA, _HANGUL))
    cjk_words = (han + kana + hangul) / _CJK_CHARS_PER_WORD
    other_words = len(_OTHER_LETTER.findall(sample)) / 5
    if cjk_words and cjk_words >= _CJK_SHARE * (cjk_words + len(words) + other_words):
        if hangul > han + kana:
            return "ko"
        if kana >= _KANA_SHARE * (han + kana):
            return "ja"
        return "zh-Hant" if is_traditional(sample) else "zh-Hans"
    if other_words <= len(words):
        return _latin_language(words)
    return _most({code: len(re.findall(letters, sample)) for code, letters in _LETTERS.items()})


def are_foreign(texts: Iterable[str], text: str) -> bool:
    """Return whether all texts are in other languages than one text, so that their words cannot be compared."""
    language = detect_language(text)[:2]
    return all(detect_language(each)[:2] != language for each in texts)


def is_traditional(text: str) -> bool:
    """Return whether a Chinese text has more letters of traditional writing than of simplified writing."""
    table = simplified_table()
    simplified = _simplified_letters()
    letters = HAN.findall(text)
    return sum(ord(letter) in table for letter in letters) > sum(letter in simplified for letter in letters)


def tells_script(text: str) -> bool:
    """Return whether a Chinese text holds a letter that only one of the two scripts has."""
    table, simplified = simplified_table(), _simplified_letters()
    return any(ord(letter) in table or letter in simplified for letter in HAN.findall(text))


@cache
def _simplified_letters() -> frozenset[str]:
    # Big5 has what traditional writing uses too.
    return frozenset(letter for letter in simplified_table().values() if not letter.encode("big5", "ignore"))


def _sample(text: str) -> str:
    if len(text) <= _SAMPLE_CHARS:
        return text
    third = _SAMPLE_CHARS // 3
    middle = len(text) // 2
    return "\n".join((text[:third], text[middle : middle + third], text[-third:]))


def _latin_language(words: list[str]) -> str:
    if not words:
        return "other"
    lowered = [word.lower().replace("’", "'") for word in words]
    english = sum(word in ENGLISH for word in lowered)
    foreign = [word for word in lowered if any(word in common for common in LATIN.values())]
    shared = sum(word in ENGLISH for word in foreign)
    other = len(foreign) - shared
    accented = sum(not word.isascii() for word in lowered)
    # A short question or a table may hold no common word at all: plain letters then count as English.
    is_likely = english - shared / 2 >= other and (english > shared or not other)
    if is_likely and accented <= max(english, len(words) // 4):
        return "en"
    return _most({code: sum(word in common for word in foreign) for code, common in LATIN.items()})


def _most(found: dict[str, int]) -> str:
    """Return the language with the highest count; "other" where two have it, or none has any."""
    first, second = sorted(found, key=lambda code: -found[code])[:2]
    return first if found[first] > found[second] else "other"
