"""Evidence whose figures a report does not tell: an editor gets to see the best of it."""

from collections.abc import Iterable, Sequence

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.verify.particulars import figures_of

# An editor works in a few figures, not all that were ever found.
_MOST = 5


def left_out(evidence: Sequence[Evidence], written: Iterable[Sentence]) -> tuple[Evidence, ...]:
    """Return the best evidence with figures of which no sentence tells any, in its order; dates are no figures."""
    stated = [figure for sentence in written for figure in figures_of(sentence.text)]
    untold = [
        piece
        for piece in evidence
        if piece.score > 0
        and (figures := figures_of(piece.quote))
        # A figure that lost its unit is not listed.
        and not any(other.value == one.value and one.unit in ("", other.unit) for one in figures for other in stated)
    ]
    best = {piece.id for piece in sorted(untold, key=lambda piece: -piece.score)[:_MOST]}
    return tuple(piece for piece in untold if piece.id in best)
