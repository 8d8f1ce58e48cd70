"""How well code without a model tells supported claims from others: what `scifact_claims` and `wice` share.

The product's threshold is fixed in `deep_research.verify.coverage`. Beside it stand thresholds chosen by five-fold
cross-validation, where no document is in both parts, for the product's score and for plain word overlap.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.verify.coverage import Hint, support_hint
from evals import shared

FOLDS = 5


class Claim(NamedTuple):
    """A claim with the sentences it is held against; `document` keeps claims about one text in one fold."""

    text: str
    sentences: Sequence[str]
    label: str
    is_supported: bool
    document: str


def hint_of(claim: Claim) -> Hint:
    quote = "\n\n".join(claim.sentences)
    piece = Evidence(id="e", document="d", start=0, end=len(quote), quote=quote, finding="", section="")
    return support_hint(Sentence(text=claim.text), (piece,))


def run(name: str, claims: Sequence[Claim], *, floor: float, three_way: Callable[[Hint], str] | None = None) -> int:
    """Measure, print beside the floor of the evaluation data's README, and keep as JSON."""
    hints = [hint_of(claim) for claim in claims]
    truth = [claim.is_supported for claim in claims]
    folds = [int(hashlib.sha256(claim.document.encode()).hexdigest(), 16) % FOLDS for claim in claims]
    score, overlap = [hint.score for hint in hints], [hint.covered for hint in hints]
    likely = [hint.is_likely for hint in hints]
    figures = {
        "floor: balanced accuracy": floor,
        **_figures("overlap", truth, overlap, {"CV threshold": chosen(truth, overlap, folds)}),
        **_figures("score", truth, score, {"CV threshold": chosen(truth, score, folds), "shipped": likely}),
    }
    if three_way:
        guesses = [three_way(hint) for hint in hints]
        figures["score: macro-F1, three labels"] = macro_f1([claim.label for claim in claims], guesses)
    supported = sum(truth)
    print(f"{len(claims)} claims, {supported} supported against {len(claims) - supported} that are not\n")
    return shared.report(name, figures)


def _figures(
    name: str, truth: Sequence[bool], scores: Sequence[float], guesses: dict[str, list[bool]]
) -> dict[str, float]:
    figures = {f"{name}: AUC": area_under_curve(truth, scores)}
    for threshold, guessed in guesses.items():
        figures[f"{name}: balanced accuracy, {threshold}"] = balanced_accuracy(truth, guessed)
        figures[f"{name}: macro-F1, {threshold}"] = macro_f1(truth, guessed)
    return figures


def chosen(truth: Sequence[bool], scores: Sequence[float], folds: Sequence[int]) -> list[bool]:
    """Guess each fold with the threshold that is best on the others."""
    guesses = [False] * len(truth)
    for fold in range(FOLDS):
        known = [at for at, own in enumerate(folds) if own != fold]
        threshold = best_threshold([truth[at] for at in known], [scores[at] for at in known])
        for at, own in enumerate(folds):
            guesses[at] = scores[at] >= threshold if own == fold else guesses[at]
    return guesses


def best_threshold(truth: Sequence[bool], scores: Sequence[float]) -> float:
    return max(set(scores), key=lambda threshold: balanced_accuracy(truth, [score >= threshold for score in scores]))


def area_under_curve(truth: Sequence[bool], scores: Sequence[float]) -> float:
    """Return how often a supported claim scores higher than another; a tie counts half."""
    supported = [score for score, is_true in zip(scores, truth, strict=True) if is_true]
    others = [score for score, is_true in zip(scores, truth, strict=True) if not is_true]
    wins = sum((high > low) + (high == low) / 2 for high in supported for low in others)
    return wins / (len(supported) * len(others))


def balanced_accuracy(truth: Sequence[bool], guesses: Sequence[bool]) -> float:
    hits = [[guess == is_true for guess, is_true in zip(guesses, truth, strict=True) if is_true == side]
            for side in (True, False)]  # fmt: skip
    return sum(sum(side) / len(side) for side in hits) / len(hits)


def macro_f1(truth: Sequence[object], guesses: Sequence[object]) -> float:
    """Return the mean F1 over the labels."""
    labels = set(truth)
    pairs = list(zip(truth, guesses, strict=True))
    shares = [2 * pairs.count((label, label)) / (list(truth).count(label) + list(guesses).count(label) or 1)
              for label in labels]  # fmt: skip
    return sum(shares) / len(labels)
