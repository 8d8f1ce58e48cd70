"""Which language a page is shown in: what was chosen before, else what the browser asks for."""

from functools import cache
from importlib.resources import files

from fastapi import Request

from deep_research.request import Language
from deep_research.text.messages.language import LANGUAGES
from deep_research.text.messages.words import Words, words_from, words_in

COOKIE = "language"
_TRADITIONAL = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")
_OURS = {"zh": "zh-Hans", "en": "en"}


@cache
def page_words(language: Language) -> Words:
    """Return the words of the page in a language."""
    return words_from(files("deep_research.server").joinpath("words"), language)


def language_of(request: Request) -> Language:
    """Return the language to show a page in."""
    chosen = request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return chosen
    return accepted_language(request.headers.get("accept-language", ""))


def words_for(request: Request) -> Words:
    """Return the words of the language that a client asks for."""
    return words_in(language_of(request))


def accepted_language(header: str) -> Language:
    """Return the first of our languages that an `Accept-Language` header names; English where it has none."""
    weighed = []
    for number, part in enumerate(header.split(",")):
        tag, _, weight = part.partition(";")
        weighed.append((-_weight(weight), number, tag.strip().lower()))
    for negative, _, tag in sorted(weighed):
        ours = "zh-Hant" if tag.startswith(_TRADITIONAL) else _OURS.get(tag.partition("-")[0])
        if negative < 0 and ours:
            return ours
    return "en"


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
