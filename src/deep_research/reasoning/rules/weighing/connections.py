"""Figures of two documents that belong together: one thing at two times, a plan and its result, a part and its whole.

They are offered to whoever writes, with the sum done; whether they can be compared is for a reader to say.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import fsum, log
from typing import NamedTuple

from deep_research.reasoning.rules.weighing.claims import FigureClaim, ranked_claims
from deep_research.reasoning.values import Findings
from deep_research.verify.particulars import figures_of

_MOST, _MAX_CLAIMS = 8, 160
# A share may be of anything: more words must be the same.
_MIN_SHARED, _MIN_SHARED_OF_SHARES = 3, 5
# Of two figures that are nearer to each other nothing can be said that both do not say; further apart they are hardly
# of one thing.
_NEAR, _FAR = 1.02, 200.0


class Connection(NamedTuple):
    """Two pieces of evidence, a figure of each, and what lies between the two."""

    evidence: tuple[str, str]
    figures: tuple[str, str]
    between: str


def connections_of(findings: Findings) -> list[Connection]:
    """Return the pairs that share the most telling words, each piece of evidence in one pair."""
    places = {id_: f"{each.title} › {each.headings}" for id_, each in findings.contexts.items()}
    pieces = [piece for piece in findings.evidence if piece.score and figures_of(piece.quote)]
    claims = [claim for claim in ranked_claims(pieces, places) if claim.is_plain][:_MAX_CLAIMS]
    counts = Counter(term for claim in claims for term in claim.about | claim.names)
    pairs = [pair for pair in combinations(claims, 2) if pair[0].piece.document != pair[1].piece.document]
    ranked = sorted(((_worth(*pair, counts, len(claims)), at) for at, pair in enumerate(pairs)), reverse=True)
    found: list[Connection] = []
    used: set[str] = set()
    for worth, at in ranked:
        one, other = pairs[at]
        ids = (one.piece.id, other.piece.id)
        if not worth or len(found) == _MOST:
            break
        if used.isdisjoint(ids):
            used.update(ids)
            found.append(Connection(ids, (_told(one), _told(other)), _between(one, other)))
    return found


def _worth(one: FigureClaim, other: FigureClaim, counts: Counter[str], total: int) -> float:
    (value, unit), (other_value, other_unit) = one.size, other.size
    if unit != other_unit or not unit or min(value, other_value) <= 0:
        return 0.0
    ratio = max(value, other_value) / min(value, other_value)
    shared = (one.about | one.names) & (other.about | other.names)
    least = _MIN_SHARED_OF_SHARES if unit == "%" else _MIN_SHARED
    if not _NEAR <= ratio <= _FAR or len(shared) < least:
        return 0.0
    return fsum(log(1 + total / counts[term]) for term in shared)


def _told(claim: FigureClaim) -> str:
    return " ".join(filter(None, (claim.figure.raw.strip(), _listed(claim.dates))))


def _listed(dates: Iterable[str]) -> str:
    shown = ", ".join(dates)
    return f"({shown})" if shown else ""


def _between(one: FigureClaim, other: FigureClaim) -> str:
    (value, unit), (other_value, _) = one.size, other.size
    if unit == "%":
        return f"{abs(value - other_value):.3g} points apart"
    return f"the second is {other_value / value:.3g} times the first"


def in_words(connections: Sequence[Connection], labels: dict[str, str]) -> list[str]:
    """Return the pairs of which both are shown, by their labels."""
    return [
        f"{labels[one]}: {figure} / {labels[other]}: {second}; {between}"
        for (one, other), (figure, second), between in connections
        if one in labels and other in labels
    ]
