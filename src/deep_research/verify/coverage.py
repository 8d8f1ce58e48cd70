"""How far passages seem to carry a sentence in other words, without a model: it can flag a sentence, never prove it."""

from collections.abc import Sequence
from typing import NamedTuple

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.text.analyzer import analyze, content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.script import are_foreign
from deep_research.verify.opposition import agreement, is_opposed
from deep_research.verify.particulars import figures_of, spell_negations
from deep_research.verify.quote import whole_sentences
from deep_research.verify.veto import veto

# A sentence may draw on several others, but a whole page holds the words of anything.
_SENTENCES_DRAWN_ON = 3
_DIRECTION_WEIGHT, _VETO_WEIGHT = 0.5, 0.2
# From here on passages rather carry a sentence than not: `evals/scifact_claims.py` and `evals/wice.py` measure it.
_LIKELY = 0.62


class Hint(NamedTuple):
    """What speaks for a paraphrase: how much the passages cover, whether they turn its way; a veto or the contrary."""

    covered: float
    direction: float
    is_vetoed: bool
    is_opposed: bool

    @property
    def score(self) -> float:
        """Return how far the passages seem to carry the sentence: 0 is another subject, 1 all of it or more."""
        return self.covered + _DIRECTION_WEIGHT * self.direction - _VETO_WEIGHT * self.is_vetoed

    @property
    def is_likely(self) -> bool:
        """Return whether the passages rather carry the sentence than not."""
        return not self.is_vetoed and not self.is_opposed and self.score >= _LIKELY


def support_hint(sentence: Sentence, passages: Sequence[Evidence]) -> Hint:
    """Compare a sentence with its passages by terms, direction and hard facts."""
    text = spell_negations(sentence.text)
    subject = frozenset(content_terms(text))
    quotes = [passage.quote for passage in passages]
    sentences = [quote[span.start : span.end] for quote in quotes for span in whole_sentences(quote)]
    analyzed = [analyze(spell_negations(each)) for each in sentences]
    return Hint(
        covered=_covered(subject, [subject.intersection(terms) for terms in analyzed]),
        direction=agreement(analyze(text), analyzed, subject),
        is_vetoed=veto(sentence, passages) is not None,
        is_opposed=is_opposed(sentence.text, sentences),
    )


def unchecked_reason(sentence: Sentence, passages: Sequence[Evidence]) -> str:
    """Return the reason code of a sentence that nobody could check: `likely`, `doubtful`, or `unproved`.

    Words cannot be compared where sentence and passages are in different languages: that is `unproved`.
    """
    if are_foreign([passage.quote for passage in passages], sentence.text):
        return "unproved"
    return "likely" if support_hint(sentence, passages).is_likely else "doubtful"


def _covered(subject: frozenset[str], shared: Sequence[frozenset[str]]) -> float:
    """Return the share of the subject's terms that the few sentences which cover most of it hold together."""
    covered: frozenset[str] = frozenset()
    for _ in range(_SENTENCES_DRAWN_ON):
        covered = max((covered | terms for terms in shared), key=len, default=covered)
    return len(covered) / len(subject) if subject else 0.0


def is_related(sentence: str, span: str) -> bool:
    """Return whether a span shares a term or a figure with a sentence; across languages that cannot be known."""
    return are_foreign([span], sentence) or not _told(sentence).isdisjoint(_told(span))


def _told(text: str) -> set[str | float]:
    return {*content_terms(to_simplified(text)), *(figure.value for figure in figures_of(text))}
