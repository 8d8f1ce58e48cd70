"""The sides of a question: which of them a sentence is about, and what a section with a given title looks for."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

from deep_research.messages.words import words
from deep_research.request import Language
from deep_research.text.analyzer import analyze, content_terms
from deep_research.text.folding import to_simplified

LANGUAGES: tuple[Language, ...] = ("en", "zh-Hans", "zh-Hant")


@dataclass(frozen=True)
class Lens:
    """What a section looks for: stems (each a tuple of terms that must stand in a row) and Chinese words.

    `spelled` has the English words as people spell them, by their stem.
    """

    key: str
    stems: frozenset[tuple[str, ...]]
    chinese: tuple[str, ...]
    spelled: tuple[tuple[str, str], ...] = ()

    @property
    def terms(self) -> frozenset[str]:
        """Return all terms of this side."""
        return frozenset(term for stem in self.stems for term in stem) | frozenset(
            term for word in self.chinese for term in analyze(word)
        )

    def hits(self, text: str) -> int:
        """Return how many different words of this side a text holds."""
        terms = analyze(text)
        singles, pairs = set(terms), set(pairwise(terms))
        english = sum((stem[0] in singles) if len(stem) == 1 else (stem in pairs) for stem in self.stems)
        simple = to_simplified(text)
        return english + sum(word in simple for word in self.chinese)


@cache
def aspects() -> tuple[Lens, ...]:
    """Return all sides, in the order in which a report takes them."""
    source = files(__package__).joinpath("aspects.toml")
    tables: dict[str, dict[str, list[str]]] = tomllib.loads(source.read_text(encoding="utf-8"))
    return tuple(_lens(key, table["en"], table["zh"]) for key, table in tables.items())


@cache
def side_terms() -> frozenset[str]:
    """Return the terms of all sides: they say how a question looks, not what it is about."""
    return frozenset(term for lens in aspects() for term in lens.terms)


def _lens(key: str, english: Iterable[str], chinese: Iterable[str]) -> Lens:
    stems = {word: tuple(analyze(word)[:2]) for word in english}
    single = {stem[0]: word for word, stem in reversed(stems.items()) if len(stem) == 1}
    return Lens(
        key=key,
        stems=frozenset(stem for stem in stems.values() if stem),
        chinese=tuple(chinese),
        spelled=tuple(sorted(single.items())),
    )


def title_of(key: str, language: Language) -> str:
    """Return the heading of a side."""
    return words(language)(f"aspect.{key}")


@cache
def _by_title() -> dict[str, Lens]:
    return {title_of(lens.key, language): lens for lens in aspects() for language in LANGUAGES}


@cache
def lens_of(title: str) -> Lens:
    """Return what a section looks for: the side it is named after, else the words of its title."""
    known = _by_title().get(title)
    if known is not None:
        return known
    own = {term: word for word in title.split() for term in content_terms(word)}
    stems = frozenset((term,) for term in content_terms(title))
    return Lens(key="", stems=stems, chinese=(), spelled=tuple(sorted(own.items())))


def search_words(lens: Lens, language: Language, count: int) -> list[str]:
    """Return words of a side that a query may use."""
    if language != "en":
        return list(lens.chinese[:count])
    return [word for _, word in lens.spelled[:count]]
