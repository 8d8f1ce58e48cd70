"""Text → search terms, the same for the index and for queries: folded, stemmed, CJK cut into bigrams.

A term is made of letters, digits and, inside a number, full stops.
"""

import re
import threading
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

from deep_research.text.folding import fold_character, simplified_table
from deep_research.text.stop_words import CHINESE_BIGRAMS, CHINESE_PARTICLE_WORDS, CHINESE_PARTICLES, ENGLISH

# Raise it whenever a text gives other terms: an index that was made before is then built anew.
ANALYZER_VERSION = 1

CJK = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_HIRAGANA_ONLY = re.compile(r"[\u3040-\u309f]+")
_SCALES = {"k": "thousand", "m": "million", "mn": "million", "b": "billion", "bn": "billion", "tn": "trillion"}
# "$1.2M", "US$3bn", "40M": the letter is a scale after a currency sign, or when it is a capital M or B, or "bn".
_SCALED = re.compile(r"(?<![\w.])(US)?([$€£¥]?)\s?(\d[\d,]{0,30}(?:\.\d+)?)\s?(k|K|m|M|mn|b|B|bn|tn)(?![\w])")
_SPELLED: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
    (re.compile(r"(?<=\d)\s?%"), " percent "),
    (re.compile(r"\bper cent\b", re.IGNORECASE), "percent"),
    # "US" and "U.S." would otherwise become the stop word "us".
    (re.compile(r"\bU\.S\.(?:A\.)?(?!\w)|\bUSA?\b"), "usa"),
    (re.compile(r"\b(?:[A-Za-z]\.){2,}"), lambda match: match[0].replace(".", "") + " "),
)
_LETTER = rf"[^\W_{CJK}]"
_TERM = re.compile(rf"[{CJK}]+|\d+(?:\.\d+)+(?![a-z])|[a-z0-9]+(?:['-][a-z0-9]+)*|{_LETTER}+(?:-{_LETTER}+)*")
CJK_CHARACTER = re.compile(f"[{CJK}]")
# Longer ones are no words of a language, and no stem of theirs is worth remembering.
_MAX_WORD_CHARS = 60
# A run looks at each sentence some five times; a whole document is not worth remembering.
_MAX_REMEMBERED_CHARS = 1_000
_STEM_LOCK = threading.Lock()


class _SearchFolding(dict[int, str]):
    """The folding of each character met so far: typography, accents of Latin letters, simplified Han."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = fold_character(character)
        if "\u3400" <= folded <= "\u9fff":
            folded = simplified_table().get(ord(folded), folded) if len(folded) == 1 else folded
        elif len(folded) == 1 and not folded.isascii():
            base = unicodedata.normalize("NFD", folded)[0]
            folded = base if base.isascii() else folded
        self[code] = folded
        return folded


_FOLDING = _SearchFolding()


def fold_for_search(text: str) -> str:
    """Return the text as search compares it, still in its case: one script, no accents, plain typography."""
    if text.isascii():
        return text
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return text.translate(_FOLDING)


def analyze(text: str) -> list[str]:
    """Return the terms of a text in order, repeats and stop words included."""
    return list(_remembered_terms(text) if len(text) <= _MAX_REMEMBERED_CHARS else _terms(text))


def _terms(text: str) -> tuple[str, ...]:
    terms: list[str] = []
    for token in _TERM.findall(_spell_out(text)):
        if token.isascii():
            terms += _joined_terms(token) if "-" in token else (_stem(token),)
        elif CJK_CHARACTER.match(token):
            terms += [token] if len(token) == 1 else [token[i : i + 2] for i in range(len(token) - 1)]
        else:
            terms += token.split("-")
    return tuple(terms)


_remembered_terms = lru_cache(maxsize=4_000)(_terms)


def content_terms(text: str) -> list[str]:
    """Return the terms of a text that carry its subject: stop words and seams between Chinese words left out."""
    return [term for term in analyze(text) if not _is_stop(term)]


def stem(word: str) -> str:
    """Return the stem under which one English word is indexed."""
    return _stem(fold_for_search(word).lower())


def _spell_out(text: str) -> str:
    text = _SCALED.sub(_scale_word, fold_for_search(text))
    for pattern, replacement in _SPELLED:
        text = pattern.sub(replacement, text)
    return text.lower()


def _scale_word(match: re.Match[str]) -> str:
    _, currency, number, letter = match.groups()
    if not currency and letter not in ("M", "B", "bn", "mn", "tn"):
        return match[0]
    return f"{number} {_SCALES[letter.lower()]} "


def _joined_terms(token: str) -> list[str]:
    parts = token.split("-")
    terms = [_stem(part) for part in parts]
    # "GLP-1", "GLP1" and "GLP 1" must find each other; "long-term" and "2024-05-06" are just their parts.
    if any(part[-1].isdigit() for part in parts) and not all(part.isdigit() for part in parts):
        terms.insert(0, "".join(parts))
    return terms


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    word = word.removesuffix("'s").replace("'", "")
    if not 3 <= len(word) <= _MAX_WORD_CHARS or not word.isascii() or not word.isalpha():
        return word
    # A stemmer keeps the word it is working on in itself.
    with _STEM_LOCK:
        return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    import snowballstemmer  # type: ignore[import-untyped]  # it ships no types

    stem_word: Callable[[str], str] = snowballstemmer.stemmer("english").stemWord
    return stem_word


@cache
def _english_stops() -> frozenset[str]:
    return frozenset(_stem(word) for word in ENGLISH) | {word.replace("'", "") for word in ENGLISH}


def _is_stop(term: str) -> bool:
    if term.isascii():
        return term in _english_stops()
    if term in CHINESE_BIGRAMS or _HIRAGANA_ONLY.fullmatch(term):
        return True
    return term not in CHINESE_PARTICLE_WORDS and not CHINESE_PARTICLES.isdisjoint(term)
