"""Choosing sentences that can stand on their own, say something new, and belong to their section."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.aspects import Lens, lens_of
from deep_research.reasoning.relevance import Weights
from deep_research.text.analyzer import CJK, analyze, content_terms
from deep_research.text.quantities import find_quantities
from deep_research.text.sentences import line_kind, split_sentences
from deep_research.verify.trimming import possible_cuts

_ENGLISH_WORDS = range(7, 61)
_CHINESE_CHARACTERS = range(14, 181)
# In a document that does not cover the whole topic, a sentence's title and paragraph must hold this much of it:
# otherwise the sentence is about the document's other subject.
_WHOLE_SHARE, _CONTEXT_SHARE = 0.9, 0.35
_REPEATED_SHARE = 0.55
_CJK = re.compile(f"[{CJK}]")

# A sentence that begins so leans on the one before it, which is not quoted with it.
_LEANING = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|He|She|His|Her|Such|Both|Another|Neither|Either|Then|There|Here|"
    r"So|But|And|Or|Yet|Nor|Also|First|Second|Third|Firstly|Secondly|Finally|The (?:former|latter|same|other|rest))\b"
    r"|\d{1,2}[.)、]\s"
    r"|(?:它|他|她|其|该|該|这|這|那|此|上述|前者|后者|後者|同样|同樣|另外|再者|但|而|并|並|也|还|還|第[一二三四五六]，|首先|其次|最后|最後)"
)
# A definite noun that only an earlier sentence explains.
_ABOVE = re.compile(
    r"\bthe (?:decrease|increase|difference|remaining|remainder|reduction|rise|fall|shortfall|latter|former)\b"
    r"|\bthat (?:amount|sum|year|figure)\b|\bboth (?:items|sides|cases)\b"
    r"|\bthis reason\b|\btherefore\b|\b(?:days|weeks|months|years) later\b"
    r"|因此|为此|為此|其余|其餘|上述|前述|以上|如下",
    re.IGNORECASE,
)
# Bylines, datelines, shouted titles and office hours end in a stop, too.
_DATELINE = re.compile(
    r"\b(?:updated|published|presented|printed|issued) on \d{1,2} \w+ \d{4}\.$|^(?:Opinion|Report) by\b"
    r"|(?:\b[A-Z]{3,}\b\W+){3}"
    r"|\d{1,2}:\d{2}\s*(?:to|[-–—至])\s*\d{1,2}:\d{2}"
)
# What would be, not what is.
_SUPPOSED = re.compile(r"\bwould\b|^If\b|如果|假如|若(?=每|不|能)")
_ASKING = re.compile(r"[?？][\"”’』」]?$")
_FINISHED = re.compile(r"[.!。！…][\"”’』」)）]?(?:\[\d+\])*$")
# A personal voice has no place among findings unless it is quoted as somebody's.
_PERSONAL = re.compile(r"\b(?:I|we|our|my|you|your)\b|我们|我們|您|大家", re.IGNORECASE)


@dataclass(frozen=True)
class Candidate:
    """A sentence of a document with what speaks for it."""

    start: int
    end: int
    text: str
    score: float


def candidates(
    text: str, *, title: str, section: str, outline: Sequence[str], weights: Weights, document_share: float
) -> list[Candidate]:
    """Return the sentences of a document that belong to a section, best first."""
    lenses = [lens_of(other) for other in outline] or [lens_of(section)]
    own, found = lens_of(section), []
    about, topic = set(analyze(title)), weights.without_sides().known()
    for span in split_sentences(text):
        sentence = text[span.start : span.end]
        if line_kind(text, span.start) in ("heading", "row") or not stands_alone(sentence):
            continue
        if document_share < _WHOLE_SHARE and topic.share(about | _terms_around(text, span.start)) < _CONTEXT_SHARE:
            continue
        if fits(sentence, own, lenses):
            score = worth(sentence, own, weights) + 0.2 * weights.share(about) + 0.15 * document_share
            found.append(Candidate(span.start, span.end, sentence, round(score, 6)))
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.start))


def _terms_around(text: str, offset: int) -> set[str]:
    """Return the terms of the paragraph around an offset."""
    begin, end = text.rfind("\n\n", 0, offset), text.find("\n\n", offset)
    return set(analyze(text[max(begin, 0) : end if end >= 0 else len(text)]))


def fits(sentence: str, own: Lens, lenses: Sequence[Lens]) -> bool:
    """Say whether a sentence belongs to this section: no other one, and no earlier one as much, holds its words."""
    hits = own.hits(sentence)
    before = lenses.index(own) if own in lenses else len(lenses)
    return hits > 0 and not any(
        other.hits(sentence) > hits or (position < before and other.hits(sentence) == hits)
        for position, other in enumerate(lenses)
        if other is not own
    )


def worth(sentence: str, own: Lens, weights: Weights) -> float:
    """Return what speaks for a sentence by itself: what it covers of question and section, and a figure in it."""
    has_figure = bool(find_quantities(sentence))
    covered = weights.without_sides(own).share(analyze(sentence))
    is_supposed = bool(_SUPPOSED.search(sentence))
    return 0.4 * covered + 0.4 * min(1.0, own.hits(sentence) / 4) + 0.15 * has_figure - 0.15 * is_supposed


def stands_alone(sentence: str) -> bool:
    """Say whether a sentence is whole, is no question, and makes sense without its neighbours."""
    if _LEANING.match(sentence) or _ASKING.search(sentence) or not _FINISHED.search(sentence):
        return False
    if _PERSONAL.search(sentence) or _ABOVE.search(sentence) or _DATELINE.search(sentence):
        return False
    han = len(_CJK.findall(sentence))
    if han > len(sentence) / 4:
        return han in _CHINESE_CHARACTERS
    return len(sentence.split()) in _ENGLISH_WORDS


def trimmed(sentence: str) -> str:
    """Return the sentence as the report quotes it: without a leading connective, bare citations and line breaks."""
    kept, starts_anew = sentence, False
    for cut in reversed(possible_cuts(sentence)):
        kept = kept[: cut.start] + kept[cut.end :]
        starts_anew = starts_anew or cut.is_connective
    kept = " ".join(kept.split())
    return kept[:1].upper() + kept[1:] if starts_anew else kept


def repeats(one: str, other: str) -> bool:
    """Say whether two sentences tell the same: most of the shorter one's content, and no figure of its own.

    Sentences that agree in words and differ in figures are no repetition: they disagree.
    """
    first, second = set(content_terms(one)), set(content_terms(other))
    if not first or not second or len(first & second) <= _REPEATED_SHARE * min(len(first), len(second)):
        return False
    figures, others = _figures(one), _figures(other)
    return figures <= others or others <= figures


def _figures(sentence: str) -> set[tuple[float, str]]:
    return {(quantity.value, quantity.unit) for quantity in find_quantities(sentence)}


def choose(ranked: Sequence[Evidence], *, most: int, most_a_document: int) -> list[Evidence]:
    """Take evidence from the top, passing over what repeats and what would let one source speak too much."""
    chosen: list[Evidence] = []
    for piece in ranked:
        if len(chosen) == most:
            break
        if sum(other.document == piece.document for other in chosen) >= most_a_document:
            continue
        if any(repeats(piece.quote, other.quote) for other in chosen):
            continue
        chosen.append(piece)
    return chosen


def grouped(pieces: Sequence[Evidence], *, size: int) -> list[list[Evidence]]:
    """Put sentences that share their subject into one paragraph; the best sentence opens it."""
    left, groups = list(pieces), []
    while left:
        group = [left.pop(0)]
        while left and len(group) < size:
            terms = {term for piece in group for term in analyze(piece.quote)}
            best = max(left, key=lambda piece: (len(terms.intersection(analyze(piece.quote))), -left.index(piece)))
            left.remove(best)
            group.append(best)
        groups.append(group)
    return groups
