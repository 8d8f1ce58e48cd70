"""What a question says that is no topic: our own options, commands, and words for the asker's material.

Options and sides are ways to look at a subject, and "summarize my documents" has none but the documents.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import PurePosixPath

from deep_research.messages.words import words
from deep_research.reasoning.rules.lexicon.question_words import (
    COMMAND_ZH,
    CONTENTS,
    DIRECTIVES,
    HAN_RUN,
    MATERIAL,
    MATERIAL_WORDS,
    NO_SUBJECT_WORDS,
    SUMMARY,
    WHAT_OF_IT,
    WORD,
)
from deep_research.reasoning.rules.question.focus import CUES, focus_names, without_cues
from deep_research.reasoning.rules.question.sections import LANGUAGES
from deep_research.text.analyzer import content_terms
from deep_research.text.folding import to_simplified

_OPTIONS = {
    "documents": ("points", "news", "disagree"),
    "goal": ("overview", "causes", "comparison", "figures"),
    "limits": ("none", "beginner", "cost", "time"),
}
_ANSWER_EDGE = " \t.。!！?？\"'“”"
_COLON = re.compile(r"[:：]")
# One word alone is too little to name a document.
_NAMING_TERMS = 2


def is_own_option(answer: str) -> bool:
    """Say whether an answer is an option that we offer for any subject, in whatever language or script."""
    return _folded(answer) in _own_options()


def is_document_option(answer: str) -> bool:
    """Say whether an answer is one of the options on the asker's documents."""
    return _folded(answer) in _worded("documents")


def topic_part(question: str) -> str:
    """Return a question without the options chosen for it; nothing is left of one about the material as a whole."""
    text = question
    while (colon := _last_colon(text)) >= 0 and is_own_option(text[colon + 1 :]):
        text = text[:colon]
    return "" if is_document_option(text) or is_whole_material(text) else text


def is_whole_material(text: str) -> bool:
    """Say whether a question is about the asker's documents and names no subject in them."""
    simple = to_simplified(text)
    if not MATERIAL.search(simple):
        return False
    left = COMMAND_ZH.sub(" ", without_cues(MATERIAL.sub(" ", simple)))
    return not HAN_RUN.search(left) and all(_is_command(word.group()) for word in WORD.finditer(left))


def without_commands(question: str) -> str:
    """Return a question with nothing but what it is about, as it is spelled there; the rest is blank."""
    simple = without_cues(to_simplified(question))
    simple = WORD.sub(lambda word: " " * len(word.group()) if _is_command(word.group()) else word.group(), simple)
    return "".join(letter if kept != " " else " " for letter, kept in zip(question, simple, strict=True))


def names_document(question: str, title: str, address: str) -> bool:
    """Say whether a question asks what is in a document that it calls by its title or file name."""
    simple = to_simplified(question)
    is_told = CONTENTS.search(simple) is not None
    if not is_told and not SUMMARY.search(simple):
        return False
    asked = SUMMARY.sub(" ", CONTENTS.sub(" ", WHAT_OF_IT.split(simple, maxsplit=1)[0]))
    named = _named_by(word for word in asked.split() if not _is_command(word))
    names = [_named_by([name]) for name in (title, PurePosixPath(address).stem)]
    return len(named) >= _NAMING_TERMS and (
        any(_holds_run(name, named) for name in names) if is_told else named in names
    )


def _named_by(stretches: Iterable[str]) -> list[str]:
    terms = (term for stretch in stretches for term in content_terms(stretch))
    return [term for term in terms if not any(sign.isdigit() for sign in term)]


def wanted_of_document(question: str) -> str:
    """Return what is wanted of the document that a question names; nothing where it asks for all of it."""
    wanted = WHAT_OF_IT.search(to_simplified(question))
    return question[wanted.end() :] if wanted else ""


def _holds_run(terms: list[str], wanted: list[str]) -> bool:
    return any(terms[at : at + len(wanted)] == wanted for at in range(len(terms) - len(wanted) + 1))


def _is_command(word: str) -> bool:
    plain = word.lower().replace("’", "'")
    return plain in NO_SUBJECT_WORDS or plain in DIRECTIVES or plain in MATERIAL_WORDS


def _last_colon(text: str) -> int:
    return max((match.start() for match in _COLON.finditer(text)), default=-1)


def _folded(text: str) -> str:
    return to_simplified(text).strip(_ANSWER_EDGE).lower()


@cache
def _worded(kind: str) -> frozenset[str]:
    say = [words(language) for language in LANGUAGES]
    return frozenset(_folded(one(f"clarify.option_{kind}_{key}")) for one in say for key in _OPTIONS[kind])


@cache
def _own_options() -> frozenset[str]:
    names = (name for language in LANGUAGES for name in focus_names(tuple(CUES), words(language)))
    return frozenset(map(_folded, names)).union(*map(_worded, _OPTIONS))
