"""How much of a question a text covers: terms weighted by how rare they are in the documents at hand."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from deep_research.documents.corpus.port import Corpus
from deep_research.reasoning.rules.question.material import topic_part
from deep_research.reasoning.rules.question.phrases import chinese_pieces, question_word_terms
from deep_research.reasoning.rules.question.sections import aspect_terms
from deep_research.text.analyzer import CJK_CHARACTER, analyze, content_terms
from deep_research.text.dates import find_dates, find_months
from deep_research.text.folding import to_simplified
from deep_research.text.stop_words import ENGLISH

_QUIET = 0.3
# What is told beside a part of a question counts so much.
BACKGROUND = 0.35


@dataclass(frozen=True)
class Weights:
    """The terms of a question and what each is worth; one that no document holds is `unknown` and worth most."""

    of: dict[str, float]
    unknown: frozenset[str] = frozenset()

    @cached_property
    def total(self) -> float:
        return sum(self.of.values())

    @cached_property
    def _singles(self) -> frozenset[str]:
        return frozenset(filter(_is_single, self.of))

    def share(self, terms: Iterable[str]) -> float:
        """Return which share of the question these terms cover, by worth; a question about nothing is covered."""
        if not self.of:
            return 0.0 if self.unknown else 1.0
        held = frozenset(terms)
        covered = self.of.keys() & held
        covered |= {term for term in self._singles - covered if _holds(held, term)}
        # In the question's order, so that the sum is the same to the last digit.
        return sum(worth for term, worth in self.of.items() if term in covered) / self.total

    def without_aspects(self) -> "Weights":
        """Return the weights of what the question is about: without words that name an aspect of it."""
        return self._only(lambda term: term not in aspect_terms())

    def without_question_words(self) -> "Weights":
        """Return the weights without words that questions are asked with; one made of nothing else is about them."""
        left = self._only(lambda term: term not in question_word_terms() and not term.isdigit())
        return left if left.of else self

    def without_seams(self) -> "Weights":
        """Return the weights without the Chinese pairs that stand across two words, each met no less often."""
        kept = {}
        terms = list(self.of)
        for before, term, after in zip(["", *terms], terms, [*terms[1:], ""], strict=False):
            is_inner = before in kept and before[-1:] == term[0] and term[-1] == after[:1] and len(term) == 2
            if not (is_inner and CJK_CHARACTER.match(term) and self.of[term] >= max(self.of[before], self.of[after])):
                kept[term] = self.of[term]
        return replace(self, of=kept)

    def with_quiet_question_words(self) -> "Weights":
        """Return the weights with little for words that questions are asked with."""
        words = question_word_terms()
        return replace(self, of={term: worth * (_QUIET if term in words else 1) for term, worth in self.of.items()})

    def focused(self, parts: Iterable[str]) -> "Weights":
        """Return the weights with less for what only stands beside the parts that ask."""
        own = frozenset(term for part in parts for term in content_terms(part))
        asked = {term: worth if term in own else BACKGROUND * worth for term, worth in self.of.items()}
        return replace(self, of=asked) if own else self

    def known(self) -> "Weights":
        """Return the weights of the terms that some document holds."""
        return self._only(lambda term: term not in self.unknown)

    def _only(self, is_kept: Callable[[str], bool]) -> "Weights":
        return replace(self, of={term: worth for term, worth in self.of.items() if is_kept(term)})

    def missing(self, terms: Iterable[str]) -> list[str]:
        """Return the question's terms that are not among these."""
        held = frozenset(terms)
        return [term for term in self.of if not _holds(held, term)]


def _holds(held: frozenset[str], term: str) -> bool:
    """Return whether a term is among others; a single Chinese character stands within the pairs a text is cut into."""
    return term in held or (_is_single(term) and any(term in other for other in held))


def _is_single(term: str) -> bool:
    return len(term) == 1 and CJK_CHARACTER.match(term) is not None


# Words about the documents themselves: "what do my files say", "the key points".
_ABOUT_DOCUMENTS = frozenset(analyze("document file source say tell summary summarise summarize key point main"))


async def weigh(question: str, corpus: Corpus | None) -> Weights:
    """Weigh a question's terms by how rare they are in the corpus; without one, all are worth the same."""
    question = topic_part(question)
    # What follows a date begins a word.
    for date in reversed(find_dates(question) or find_months(question)):
        question = f"{question[: date.end]} {question[date.end :]}"
    stretches = [question[start:end] for start, end in chinese_pieces(question)]
    pieces = [list(dict.fromkeys(content_terms(stretch))) for stretch in stretches]
    terms = list(dict.fromkeys(term for piece in pieces for term in piece if term not in _ABOUT_DOCUMENTS))
    if not corpus:
        return Weights(dict.fromkeys(terms, 1.0))
    total, found = await corpus.frequencies(terms)
    crossing = {term for piece in pieces for before, term in pairwise(piece) if _crosses(before, term, found)}
    counts = {term: found.get(term, 0) for term in terms if term not in crossing}
    # The index holds pairs of Chinese characters: a single one is looked for in texts, where it is all there is.
    counts = {term: count for term, count in counts.items() if not _is_single(term)} or dict.fromkeys(counts, total)
    worth = {term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
    return Weights(worth, frozenset(term for term, count in counts.items() if not count))


def _crosses(before: str, term: str, found: dict[str, int]) -> bool:
    """Return whether a Chinese bigram that no document holds only joins a known word to whatever follows it."""
    is_bigram = len(term) == len(before) == 2 and CJK_CHARACTER.match(term) is not None
    return is_bigram and not found.get(term) and bool(found.get(before)) and before[1] == term[0]


def terms_of(*texts: str) -> frozenset[str]:
    """Return the terms of several texts."""
    return frozenset(term for text in texts for term in analyze(text))


def surface_words(question: str, terms: Iterable[str], *, known: Iterable[str] = ()) -> list[str]:
    """Return the words of a question behind these terms, as the user spelled them, each once.

    Chinese ones are stretches of at least two characters, of which none belongs to a `known` term.
    """
    wanted = set(terms)
    spelled = [
        word for word in re.findall(r"[\w'-]+", question) if word.isascii() and wanted.intersection(analyze(word))
    ]
    simple = to_simplified(question)
    lost = _places(simple, wanted) - _places(simple, known)
    marked = "".join(letter if at in lost and letter.isalnum() else " " for at, letter in enumerate(question))
    return list(dict.fromkeys([*spelled, *(word for word in marked.split() if len(word) > 1)]))


# What is no noun by its end or its sense, and what stands before a noun.
_NO_NOUN = re.compile(
    r"(?i)(?:.{3,}(?:ed|ing|ly|able|ible|ful|less|ous|ive|ical?|ise|ize|ify|iest)|should|ought|better|worse|best|worst)$"
    r"|(?:应该|应当|必须|可能|能够|需要|值得|显著|明显|具体|详细|真正|提高|降低|增加|减少|导致|采取|实现|进行|存在|面临|评价|认为)+$"
    r"|[一个该这某其中年时着的所为因如可不位种门条场款岁].*|.*[何哪几什谁].*|.*(?:叫|于|时候|发生|使用|之一|的)$"
)
_AFTER_VERB = frozenset("the a an his her its their any me us them".split())
_BEFORE_NOUN = frozenset(
    """the a an of in on at for about with by from and or any no its his her their our my which what many these those
    this that between into against than per is are was were do does did has have""".split()
)


def is_subject(word: str, question: str) -> bool:
    """Return whether a word of a question may be what it is about: a name, or by its place and form a noun."""
    if _NO_NOUN.match(to_simplified(word)):
        return False
    if not word.isascii() or not word.islower():
        return True
    place = re.search(rf"(?:(\w+)\s+)?(?<![\w-]){re.escape(word)}(?![\w-])(?=\s*(\w*))", question)
    if not place:
        return False
    before, after = place[1] or "the", place[2]
    is_last = not question[place.end() :].startswith(" ") or (
        after not in _AFTER_VERB
        and (after in ENGLISH or _NO_NOUN.match(after) is not None or aspect_terms().issuperset(analyze(after)))
    )
    return is_last and (before.lower() in _BEFORE_NOUN or (word.endswith("s") and before not in ("it", "he", "she")))


def _places(text: str, terms: Iterable[str]) -> set[int]:
    """Return where the characters of Chinese terms stand in a text."""
    chinese = [re.escape(term) for term in terms if CJK_CHARACTER.match(term)]
    found = (match for term in chinese for match in re.finditer(f"(?={term})", text))
    return {at for match in found for at in (match.start(), match.start() + 1)}


def document_relevance(title: str, text: str, weights: Weights) -> float:
    """Return how far a document is about the question, 0 to 1: by its title, by all it says, by its best paragraph."""
    paragraphs = (weights.share(analyze(paragraph)) for paragraph in text.split("\n\n"))
    return (weights.share(analyze(title)) + weights.share(analyze(text)) + max(paragraphs, default=0.0)) / 3
