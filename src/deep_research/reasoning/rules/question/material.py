"""What a question says that is no topic: our own options, commands, and words for the user's material.

Options and aspects are ways to look at a subject, and "summarize my documents" has none but the documents.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import PurePosixPath

from deep_research.documents.corpus.port import Corpus
from deep_research.reasoning.rules.lexicon.question_words import CONTENTS, SUMMARY, WHAT_OF_IT, WORD
from deep_research.reasoning.rules.question.phrases import phrases
from deep_research.reasoning.rules.question.sections import aspect_title, aspects
from deep_research.reasoning.rules.question.signals import (
    CUES,
    focus_names,
    is_command,
    is_whole_material,
    without_cues,
)
from deep_research.reasoning.values import RelatedText, Strings
from deep_research.text.analyzer import content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.messages.language import LANGUAGES
from deep_research.text.messages.words import Words, words_in

_OPTIONS = {
    "documents": ("points", "news", "disagree"),
    "goal": ("overview", "causes", "comparison", "figures"),
    "limits": ("none", "beginner", "cost", "time"),
}
_ANSWER_EDGE = " \t.。!！?？\"'“”"
# Of a long question, so many phrases say what it is about.
_TOPIC_PHRASES = 3
# One word alone is too little to name a document.
_NAMING_TERMS = 2


def is_own_option(answer: str) -> bool:
    """Return whether an answer is an option that we offer for any subject, in whatever language or script."""
    return plain_answer(answer) in _own_options()


def is_document_option(answer: str) -> bool:
    """Return whether an answer is one of the options on the user's documents."""
    return plain_answer(answer) in _worded("documents")


def topic_part(question: str) -> str:
    """Return a question without the options chosen for it; nothing is left of one about the material as a whole."""
    while (colon := max(question.rfind(":"), question.rfind("："))) >= 0 and is_own_option(question[colon + 1 :]):
        question = question[:colon]
    return "" if is_document_option(question) or is_whole_material(question) else question


def without_commands(question: str) -> str:
    """Return a question with nothing but what it is about, as it is spelled there; the rest is blank."""
    simple = without_cues(to_simplified(question))
    simple = WORD.sub(lambda word: " " * len(word[0]) if is_command(word[0]) else word[0], simple)
    return "".join(letter if kept != " " else " " for letter, kept in zip(question, simple, strict=True))


def topic_of(question: str) -> str:
    """Return what a question is about, without what it asks of it: "What did the Halden plant cost?" Halden plant."""
    told = phrases(without_commands(topic_part(question)))[:_TOPIC_PHRASES]
    return " ".join(phrase.text for phrase in told)


def names_document(question: str, title: str, address: str) -> bool:
    """Return whether a question asks what is in a document that it calls by its title or file name."""
    simple = to_simplified(question)
    asks_contents = CONTENTS.search(simple)
    if not asks_contents and not SUMMARY.search(simple):
        return False
    asked = SUMMARY.sub(" ", CONTENTS.sub(" ", WHAT_OF_IT.split(simple, maxsplit=1)[0]))
    named = _named_by(word for word in asked.split() if not is_command(word))
    names = [_named_by([name]) for name in (title, PurePosixPath(address).stem)]
    if asks_contents:
        names = [name[at : at + len(named)] for name in names for at in range(len(name))]
    return len(named) >= _NAMING_TERMS and named in names


def _named_by(stretches: Iterable[str]) -> list[str]:
    terms = (term for stretch in stretches for term in content_terms(stretch))
    return [term for term in terms if not any(sign.isdigit() for sign in term)]


def plain_answer(text: str) -> str:
    """Return an answer in small letters and simplified script, without the signs around it."""
    return to_simplified(text).strip(_ANSWER_EDGE).lower()


def own_options(kind: str, words: Words) -> Strings:
    """Return the options that we offer for any subject: on the user's documents, on the goal, or on the limits."""
    return tuple(words(f"clarify.option_{kind}_{key}") for key in _OPTIONS[kind])


@cache
def _worded(kind: str) -> frozenset[str]:
    return frozenset(plain_answer(one) for language in LANGUAGES for one in own_options(kind, words_in(language)))


@cache
def _own_options() -> frozenset[str]:
    names = {
        name
        for language in LANGUAGES
        for name in (
            *(aspect_title(aspect.key, language) for aspect in aspects()),
            *focus_names(tuple(CUES), words_in(language)),
        )
    }
    return frozenset(map(plain_answer, names)).union(*map(_worded, _OPTIONS))


# Passages that are looked at for what the documents hold on a question.
_LOOKED_AT = 60
_MAX_HELD = 10


async def related_texts(corpus: Corpus, question: str, *, most: int = _MAX_HELD) -> tuple[RelatedText, ...]:
    """Return the documents nearest to a question, each with its best passage; any, where none has a word of it."""
    best: dict[str, RelatedText] = {}
    hits = list(await corpus.search(question, limit=_LOOKED_AT))
    for listed in [] if hits else (await corpus.contents())[:most]:
        hits += await corpus.search(listed.title, limit=1)
    for hit in hits:
        best.setdefault(hit.title, RelatedText(title=hit.title, text=hit.text, published=hit.published))
    return tuple(best.values())[:most]
