"""Sections from the question itself: the phrases it names, and the sides it is looked at from."""

import re
from collections.abc import Collection, Sequence

from deep_research.reasoning.rules.aspects import aspects, title_of
from deep_research.reasoning.rules.phrases import Phrase, phrases
from deep_research.request import Language
from deep_research.text.analyzer import CJK, analyze
from deep_research.text.folding import to_simplified
from deep_research.text.sentences import split_sentences

FEWEST_SECTIONS, MOST_SECTIONS = 3, 5
# A phrase that so many sentences or titles hold is the topic of the report, not a section of it.
_TOPIC_SHARE, _TOPIC_TITLES = 0.3, 0.4
_FEWEST_SENTENCES = 3
_MOST_HITS = 4
# Beside what was asked for, so many further sides give the answer a setting.
_SETTING = 2
_USUAL = ("background", "results", "problems")
_COMPARES = re.compile(
    r"\b(?:compare|comparing|versus|vs|differences? between|better than)\b|比较|对比|相比|区别|差异|哪个更",
    re.IGNORECASE,
)
# A single word heads a section only if its ending shows a noun.
_NOUN = re.compile(r"\w{4}(?:tion|sion|ity|ment|ance|ence|ness|ship|ism|logy|ics)s?$")
_TOO_PLAIN = frozenset(
    """action administration application communication community competition component consumption education equipment
    experience function generation government industry investment management operation operations organisation
    organization performance perspective population process production reference resolution section sensitivity
    technology transformation transition transport transportation version""".split()
)
_WIDE = re.compile(f"[{CJK}]")


def sections_of(
    question: str, passages: Sequence[str], language: Language, *, titles: Collection[str] = ()
) -> list[str]:
    """Return the titles of the sections that a question gets over passages of documents with these titles."""
    named = _facets(question, passages, titles)
    asked = _asked_sides(question, strictly=len(named) >= FEWEST_SECTIONS)
    chosen = [*named, *(title_of(key, language) for key in asked)][:MOST_SECTIONS]
    if len(chosen) >= FEWEST_SECTIONS:
        return chosen
    mass: dict[str, float] = {
        lens.key: sum(min(lens.hits(passage), _MOST_HITS) for passage in passages) for lens in aspects()
    }
    # Where nothing shows a side, the usual ones are looked for.
    mass = {key: hits or (0.5 if key in _USUAL else 0) for key, hits in mass.items()}
    room = max(FEWEST_SECTIONS - len(chosen), _SETTING) if chosen else MOST_SECTIONS
    others = sorted((key for key in mass if mass[key] and key not in asked), key=lambda key: -mass[key])[:room]
    chosen += [title_of(lens.key, language) for lens in aspects() if lens.key in others]
    # What comes next stands last.
    return sorted(chosen, key=lambda title: title == title_of("outlook", language))


def _facets(question: str, passages: Sequence[str], titles: Collection[str]) -> list[str]:
    """Return the phrases that tell sentences apart: each is held by several that no other chosen phrase has.

    One phrase alone divides nothing: it is the topic.
    """
    compares = _COMPARES.search(to_simplified(question)) is not None
    left = [phrase for phrase in phrases(question) if _may_head(phrase, compares=compares)]
    if not passages:
        return [_title(phrase) for phrase in left][:MOST_SECTIONS] if len(left) > 1 else []
    headed = [frozenset(analyze(title)) for title in titles]
    sentences = [frozenset(analyze(text[at:end])) for text in passages for at, end in split_sentences(text)]
    held = {phrase: {at for at, terms in enumerate(sentences) if phrase.terms <= terms} for phrase in left}
    left = [
        phrase
        for phrase in left
        if _FEWEST_SENTENCES <= len(held[phrase]) <= _TOPIC_SHARE * len(sentences)
        and sum(phrase.terms <= terms for terms in headed) <= _TOPIC_TITLES * len(headed)
    ]
    chosen: list[Phrase] = []
    covered: set[int] = set()
    while left and len(chosen) < MOST_SECTIONS:
        # A single word heads a section only where no longer phrase is left that would.
        most = [phrase for phrase in left if len(phrase.terms) > 1 and len(held[phrase] - covered) >= _FEWEST_SENTENCES]
        best = max(most or left, key=lambda phrase: (len(held[phrase] - covered), -left.index(phrase)))
        if len(held[best] - covered) < _FEWEST_SENTENCES:
            break
        left = [phrase for phrase in left if not (phrase.terms <= best.terms or best.terms <= phrase.terms)]
        chosen.append(best)
        covered |= held[best]
    found = [_title(phrase) for phrase in sorted(chosen, key=lambda phrase: question.find(phrase.text))]
    return found if len(found) > 1 else []


def _may_head(phrase: Phrase, *, compares: bool) -> bool:
    """Say whether a phrase is specific enough for a heading; names are headings only where they are compared."""
    if phrase.is_name:
        return compares
    if _WIDE.search(phrase.text):
        return len(phrase.text) >= 3
    return " " in phrase.text or (_NOUN.search(phrase.text) is not None and phrase.text.lower() not in _TOO_PLAIN)


def _title(phrase: Phrase) -> str:
    return phrase.text[:1].upper() + phrase.text[1:]


def _asked_sides(question: str, *, strictly: bool) -> list[str]:
    """Return the sides that a question names; strictly, only those that one of its phrases consists of."""
    if not strictly:
        return [lens.key for lens in aspects() if lens.hits(question)]
    own = [phrase.text for phrase in phrases(question) if not _may_head(phrase, compares=True)]
    return [lens.key for lens in aspects() if any(lens.hits(text) for text in own)]
