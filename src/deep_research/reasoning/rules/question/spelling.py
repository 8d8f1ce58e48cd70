"""Names that the documents spell otherwise than the question does."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from deep_research.documents.corpus.port import Corpus
from deep_research.text.analyzer import analyze

_WORD = re.compile(r"[A-Za-zÀ-ÿ]{4,}")
_SEEN_PASSAGES = 3


class Respelled(NamedTuple):
    """A word of the question and how the documents spell it."""

    asked: str
    known: str


async def respellings(names: Sequence[str], corpus: Corpus) -> list[Respelled]:
    """Return the words of names that no document holds, with the spelling that some document has."""
    found = []
    for word in dict.fromkeys(word for name in names for word in _WORD.findall(name)):
        [*terms] = analyze(word)
        if len(terms) != 1 or (await corpus.frequencies(terms))[1].get(terms[0]):
            continue
        if near := await corpus.spelled_like(terms[0]):
            passages = await corpus.search(near, limit=_SEEN_PASSAGES)
            words = (each for passage in passages for each in _WORD.findall(passage.text))
            if known := next((each for each in words if each[0].isupper() and analyze(each) == [near]), ""):
                found.append(Respelled(word, known))
    return found
