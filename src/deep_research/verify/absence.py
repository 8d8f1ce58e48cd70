"""Does no source say something: the stored texts are searched for it before anybody claims so."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from deep_research.text.analyzer import content_terms
from deep_research.text.sentences import split_sentences
from deep_research.verify.particulars import dates_of, figures_of

# So many stretches are shown to whoever judges.
_SHOWN = 5
# A stretch must hold so much of what was looked for to be worth a look.
_MIN_SHARE = 0.5
# So many words together with a figure say it; fewer, or without one, may say something else.
_TELLING = 2
_ALTERNATIVES = re.compile(r"\s*[|｜;；]\s*|\s+or\s+")


class SourceStretch(NamedTuple):
    """A sentence of a stored text that has to do with what is said to be absent.

    `is_it` if it holds all the words looked for and a figure or a date.
    """

    document: str
    start: int
    end: int
    share: float
    is_it: bool


def stretches_about(basis: str, text: str, documents: Mapping[str, str]) -> list[SourceStretch]:
    """Return the sentences of the documents that hold most of the words looked for, the best first.

    `basis` are the words that a source would use; where there are none, those of the sentence itself are looked for.
    """
    wanted = [frozenset(content_terms(part)) for part in _ALTERNATIVES.split(basis)]
    wanted = [terms for terms in wanted if terms] or [frozenset(content_terms(text))]
    found = [stretch for document, stored in documents.items() for stretch in _in_document(document, stored, wanted)]
    return sorted(found, key=lambda each: (-each.share, each.document, each.start))[:_SHOWN]


def _in_document(document: str, text: str, wanted: Iterable[frozenset[str]]) -> Iterable[SourceStretch]:
    known = frozenset(content_terms(text))
    near = [terms for terms in wanted if len(terms & known) >= _MIN_SHARE * len(terms)]
    for start, end in split_sentences(text) if near else ():
        terms_here = frozenset(content_terms(text[start:end]))
        share = max(len(terms & terms_here) / len(terms) for terms in near)
        if share >= _MIN_SHARE:
            is_counted = bool(figures_of(text[start:end]) or dates_of(text[start:end]))
            is_it = is_counted and any(len(terms) >= _TELLING and terms <= terms_here for terms in near)
            yield SourceStretch(document, start, end, share, is_it)
