"""How much of a question a text covers: terms weighted by how rare they are in the documents at hand."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from deep_research.corpus.port import Corpus
from deep_research.reasoning.aspects import Lens, side_terms
from deep_research.reasoning.phrases import asking_terms, chinese_pieces
from deep_research.text.analyzer import CJK, analyze, content_terms

CJK_CHARACTER = re.compile(f"[{CJK}]")


@dataclass(frozen=True)
class Weights:
    """The terms of a question and what each is worth; one that no document holds is `unknown` and worth most."""

    of: dict[str, float]
    unknown: frozenset[str] = frozenset()

    @property
    def total(self) -> float:
        """Return the worth of the whole question."""
        return sum(self.of.values())

    def share(self, terms: Iterable[str]) -> float:
        """Return which share of the question these terms cover, by worth; a question about nothing is covered."""
        if not self.of:
            return 0.0 if self.unknown else 1.0
        held = set(terms)
        return sum(worth for term, worth in self.of.items() if term in held) / self.total

    def without_sides(self, own: Lens | None = None) -> "Weights":
        """Return the weights of what the question is about: without words that name a side of it, but for its own."""
        kept = own.terms if own is not None else frozenset()
        left = {term: worth for term, worth in self.of.items() if term in kept or term not in side_terms()}
        return Weights(left, self.unknown)

    def without_asking(self) -> "Weights":
        """Return the weights without words that questions are asked with; one made of nothing else is about them."""
        left = {term: worth for term, worth in self.of.items() if term not in asking_terms() and not term.isdigit()}
        return Weights(left or self.of, self.unknown)

    def known(self) -> "Weights":
        """Return the weights of the terms that some document holds."""
        left = {term: worth for term, worth in self.of.items() if term not in self.unknown}
        return Weights(left, self.unknown)

    def missing(self, terms: Iterable[str]) -> list[str]:
        """Return the question's terms that are not among these."""
        held = set(terms)
        return [term for term in self.of if term not in held]


# Words about the documents themselves: "what do my files say", "the key points".
_ABOUT_DOCUMENTS = frozenset(analyze("document file source say tell summary summarise key point main"))


async def weigh(question: str, corpus: Corpus | None) -> Weights:
    """Weigh a question's terms by how rare they are in the corpus; without one, all are worth the same."""
    stretches = [question[start:end] for start, end in chinese_pieces(question)]
    pieces = [list(dict.fromkeys(content_terms(stretch))) for stretch in stretches]
    terms = list(dict.fromkeys(term for piece in pieces for term in piece if term not in _ABOUT_DOCUMENTS))
    if corpus is None:
        return Weights(dict.fromkeys(terms, 1.0))
    total, found = await corpus.frequencies(terms)
    crossing = {term for piece in pieces for before, term in pairwise(piece) if _crosses(before, term, found)}
    counts = {term: found.get(term, 0) for term in terms if term not in crossing}
    worth = {term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
    return Weights(worth, frozenset(term for term, count in counts.items() if not count))


def _crosses(before: str, term: str, found: dict[str, int]) -> bool:
    """Say whether a Chinese bigram that no document holds only joins a known word to whatever follows it."""
    is_bigram = len(term) == len(before) == 2 and CJK_CHARACTER.match(term) is not None
    return is_bigram and not found.get(term) and bool(found.get(before)) and before[1] == term[0]


def terms_of(*texts: str) -> set[str]:
    """Return the terms of several texts."""
    return {term for text in texts for term in analyze(text)}


def surface_words(question: str, terms: Iterable[str]) -> list[str]:
    """Return the words of a question behind these terms, as the asker spelled them, each once."""
    wanted = set(terms)
    spelled = [
        word for word in re.findall(r"[\w'-]+", question) if wanted.intersection(analyze(word)) and word.isascii()
    ]
    return list(dict.fromkeys([*spelled, *(term for term in terms if CJK_CHARACTER.match(term))]))


def document_relevance(title: str, text: str, weights: Weights) -> float:
    """Return how far a document is about the question, 0 to 1: by its title, by all it says, by its best paragraph."""
    paragraphs = (weights.share(analyze(paragraph)) for paragraph in text.split("\n\n"))
    return (weights.share(analyze(title)) + weights.share(analyze(text)) + max(paragraphs, default=0.0)) / 3
