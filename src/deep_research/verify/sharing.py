"""What a sentence and a passage have in common: it can show that they speak of the same, never that one proves it."""

from deep_research.text.analyzer import content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.script import detect_language
from deep_research.verify.particulars import figures_of

# A further passage carries part of a sentence if it holds so much of what the first one leaves open.
_SHARE_OF_THE_REST = 0.5
# One word more is chance, such as "reported".
_LEAST_TERMS = 2


def is_related(sentence: str, span: str) -> bool:
    """Say whether a span shares a term or a figure with a sentence; across languages that cannot be told."""
    if detect_language(sentence)[:2] != detect_language(span)[:2]:
        return True
    return bool(_terms(sentence) & _terms(span)) or bool(_figures(sentence) & _figures(span))


def adds_to(sentence: str, passage: str, proof: str) -> bool:
    """Say whether a passage holds part of a sentence that its proof does not."""
    if (_figures(sentence) - _figures(proof)) & _figures(passage):
        return True
    rest = _terms(sentence) - _terms(proof)
    return len(rest & _terms(passage)) >= max(_LEAST_TERMS, _SHARE_OF_THE_REST * len(rest))


def _terms(text: str) -> set[str]:
    return set(content_terms(to_simplified(text)))


def _figures(text: str) -> set[float]:
    return {figure.value for figure in figures_of(text)}
