"""Languages by their tags (BCP 47), and which of them a question is asked in. Translates nothing."""

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Only a tag that is not ours needs its tables.
    from babel import Locale

# Those with fixed words of their own; a report in any other has those of English.
LANGUAGES = ("en", "zh-Hans", "zh-Hant")
# The tag of a language that we cannot name.
UNKNOWN = "und"
_QUOTED = re.compile(r"《[^》]*》|「[^」]*」|『[^』]*』|“[^”]*”|„[^“”]*[“”]|«[^»]*»|\"[^\"]*\"")
# "Oscar de la Renta", "Los Angeles": small words of another language within a name.
_NAME = re.compile(
    r"\b[A-ZÀ-Þ][\w'’-]*(?:\s+(?:(?:d[aeiou]s?|del|l[ae]s?|los|van|von|der|den|y)\s+){0,2}[A-ZÀ-Þ][\w'’-]*)+"
)
_LATIN_WORD = re.compile(r"[A-Za-z]+")
# Names and terms stand untranslated in Chinese questions ("iPhone 15 Pro 评测"); words of English grammar do not, and
# each stands for some characters of Chinese.
_CHARACTERS_PER_WORD = 4


def report_language(question: str, wanted: str | None = None) -> str:
    """Return the language to answer in: the one asked for, else the question's own."""
    if wanted is not None:
        return wanted
    from deep_research.text.script import HAN, detect_language
    from deep_research.text.stop_words import ENGLISH, LATIN

    # What is quoted is what the question is about, not how it is asked.
    text = _QUOTED.sub(" ", question)
    text = text if any(map(str.isalpha, text)) else question
    language = detect_language(text)
    if language.startswith("zh"):
        words = [word for word in _LATIN_WORD.findall(text) if word.lower() in ENGLISH and not word.isupper()]
        return "en" if len(HAN.findall(text)) <= len(words) * _CHARACTERS_PER_WORD else language
    if language not in LATIN and language != "other":
        return language
    around_names = detect_language(_NAME.sub(" ", text))
    if around_names == "en" or not any(map(str.isalpha, text)):
        return "en"
    # One word alone may stand in an English question too: "Disney plus price".
    words = [word for word in _LATIN_WORD.findall(text) if word.lower() in LATIN.get(language, ())]
    is_certain = len(words) > 1 or not text.isascii()
    return language if is_certain and around_names == language != "other" else UNKNOWN


@cache
def language_tag(value: str) -> str:
    """Return the tag of a language that is given by its tag or its English name; raise `ValueError` for any other."""
    if value in (*LANGUAGES, UNKNOWN):
        return value
    locale = locale_of(value)
    if locale.language == "zh":
        return "zh-Hant" if locale.script == "Hant" else "zh-Hans"
    return str(locale).replace("_", "-")


def language_name(tag: str) -> str:
    """Return what a language is called in English."""
    own = {
        "zh-Hans": "Simplified Chinese (简体中文)",
        "zh-Hant": "Traditional Chinese (繁體中文)",
        UNKNOWN: "the language of the question",
    }
    return own.get(tag) or str(locale_of(tag).english_name)


def locale_of(value: str) -> "Locale":
    """Return what is known of a language: the names of its months, how it writes figures."""
    from babel import Locale, UnknownLocaleError

    named = {name.casefold(): code for code, name in Locale("en").languages.items()}
    try:
        return Locale.parse(named.get(value.strip().casefold(), value.strip()).replace("_", "-"), sep="-")
    except (UnknownLocaleError, ValueError):
        raise ValueError(
            "give the code of a language, such as en, zh-Hans, zh-Hant, de, fr, es, pt-BR, ja, ko, ru or ar"
        ) from None
