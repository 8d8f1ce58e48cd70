"""Sections from the question itself: the phrases it names, and the aspects it is looked at from."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from deep_research.reasoning.rules.lexicon import load_table
from deep_research.reasoning.rules.question.phrases import Phrase, phrases
from deep_research.request import Language
from deep_research.text.analyzer import CJK_CHARACTER, analyze, content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.messages.language import LANGUAGES
from deep_research.text.messages.words import words_in
from deep_research.text.sentences import split_sentences


@dataclass(frozen=True)
class Aspect:
    """What a section looks for: stems (each a tuple of terms that must stand in a row) and Chinese words."""

    key: str
    stems: frozenset[tuple[str, ...]]
    chinese: tuple[str, ...]

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset().union(*self.stems, *map(analyze, self.chinese))

    def hits(self, text: str) -> int:
        """Return how many different words of this aspect a text holds."""
        terms = analyze(text)
        simple = to_simplified(text)
        return len(self.stems & {*zip(terms), *pairwise(terms)}) + sum(word in simple for word in self.chinese)


@cache
def aspects() -> tuple[Aspect, ...]:
    """Return all aspects, in the order in which a report takes them."""
    return tuple(aspect_from(key, **words) for key, words in load_table("aspects").items())


@cache
def aspect_terms() -> frozenset[str]:
    """Return the terms of all aspects: they say how a question looks, not what it is about."""
    return frozenset(term for aspect in aspects() for term in aspect.terms)


def aspect_from(key: str, en: Iterable[str], zh: Iterable[str]) -> Aspect:
    """Return an aspect by its English and Chinese words."""
    stems = (tuple(analyze(word)[:2]) for word in en)
    return Aspect(key=key, stems=frozenset(filter(None, stems)), chinese=tuple(zh))


def aspect_title(key: str, language: Language) -> str:
    """Return the heading of an aspect."""
    return words_in(language)(f"aspect.{key}")


@cache
def _by_title() -> dict[str, Aspect]:
    return {aspect_title(aspect.key, language): aspect for aspect in aspects() for language in LANGUAGES}


@cache
def aspect_of(title: str) -> Aspect:
    """Return what a section looks for: the aspect it is named after, else the words of its title."""
    if known := _by_title().get(title):
        return known
    return Aspect(key="", stems=frozenset((term,) for term in content_terms(title)), chinese=())


MIN_SECTIONS, MAX_SECTIONS = 3, 5
# A phrase that so many sentences or titles hold is the topic of the report, not a section of it.
_TOPIC_SHARE, _TOPIC_TITLES = 0.3, 0.4
_MIN_SENTENCES = 3
_USUAL = ("background", "results", "problems")
_COMPARES = re.compile(
    r"(?i)\b(?:compare|comparing|versus|vs|differences? between|better than)\b|比较|对比|相比|区别|差异|哪个更"
)
# A single word heads a section only if its ending shows a noun.
_NOUN = re.compile(r"\w{4}(?:tion|sion|ity|ment|ance|ence|ness|ship|ism|logy|ics)s?$")


def sections_of(
    question: str, passages: Sequence[str], language: Language, *, titles: Collection[str] = ()
) -> list[str]:
    """Return the titles of the sections that a question gets over passages of documents with these titles."""
    named = _facets(question, passages, titles)
    asked = _asked_aspects(question, strictly=len(named) >= MIN_SECTIONS)
    chosen = [*named, *(aspect_title(key, language) for key in asked)][:MAX_SECTIONS]
    if len(chosen) > 1:
        return chosen
    # Where the question names no sides, the usual ones are looked for.
    return [*chosen, *(aspect_title(key, language) for key in _USUAL if key not in asked)]


def _facets(question: str, passages: Sequence[str], titles: Collection[str]) -> list[str]:
    """Return the phrases that tell sentences apart: each is held by several that no other chosen phrase has.

    One phrase alone divides nothing: it is the topic.
    """
    compares = _COMPARES.search(to_simplified(question)) is not None
    left = [phrase for phrase in phrases(question) if _may_head(phrase, compares=compares)]
    if not passages:
        return [_title(phrase) for phrase in left][:MAX_SECTIONS] if len(left) > 1 else []
    headed = [frozenset(analyze(title)) for title in titles]
    sentences = [frozenset(analyze(text[at:end])) for text in passages for at, end in split_sentences(text)]
    held = {phrase: {at for at, terms in enumerate(sentences) if phrase.terms <= terms} for phrase in left}
    left = [
        phrase
        for phrase in left
        if _MIN_SENTENCES <= len(held[phrase]) <= _TOPIC_SHARE * len(sentences)
        and sum(phrase.terms <= terms for terms in headed) <= _TOPIC_TITLES * len(headed)
    ]
    chosen: list[Phrase] = []
    covered: set[int] = set()
    while left and len(chosen) < MAX_SECTIONS:
        # A single word heads a section only where no longer phrase is left that would.
        most = [phrase for phrase in left if len(phrase.terms) > 1 and len(held[phrase] - covered) >= _MIN_SENTENCES]
        best = max(most or left, key=lambda phrase: len(held[phrase] - covered))
        if len(held[best] - covered) < _MIN_SENTENCES:
            break
        left = [phrase for phrase in left if not (phrase.terms <= best.terms or best.terms <= phrase.terms)]
        chosen.append(best)
        covered |= held[best]
    found = [_title(phrase) for phrase in sorted(chosen, key=lambda phrase: question.find(phrase.text))]
    return found if len(found) > 1 else []


def _may_head(phrase: Phrase, *, compares: bool) -> bool:
    """Return whether a phrase is specific enough for a heading; names are headings only where they are compared."""
    if phrase.is_name:
        return compares
    if CJK_CHARACTER.search(phrase.text):
        return len(phrase.text) >= 3
    return " " in phrase.text or _NOUN.search(phrase.text) is not None


def _title(phrase: Phrase) -> str:
    return phrase.text[:1].upper() + phrase.text[1:]


def aspects_named(text: str) -> tuple[Aspect, ...]:
    """Return the aspects that a text names."""
    return tuple(aspect for aspect in aspects() if aspect.hits(text))


def _asked_aspects(question: str, *, strictly: bool) -> list[str]:
    """Return the aspects that a question names; strictly, only those that one of its phrases consists of."""
    own = (
        [phrase.text for phrase in phrases(question) if not _may_head(phrase, compares=True)]
        if strictly
        else [question]
    )
    return [aspect.key for aspect in aspects() if any(map(aspect.hits, own))]
