"""Where sources disagree: the same thing measured in the same unit for the same time, with figures that differ."""

from collections import defaultdict
from collections.abc import Sequence

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.claims import Claim, claims_of, differ
from deep_research.reasoning.rules.selection import trimmed
from deep_research.report.paragraph import Paragraph, Sentence

_MOST_SHOWN = 4


def find_disagreements(
    evidence: Sequence[Evidence], *, section: str, gathered: Sequence[Evidence] = ()
) -> tuple[Paragraph, ...]:
    """Return a table for each matter on which documents give different figures, the best evidence first.

    One side is told in the report; the other may be anything that was gathered.
    """
    claims, known = _ranked(evidence), {piece.id for piece in evidence}
    others = [*claims, *_ranked([piece for piece in gathered if piece.id not in known])]
    told: set[str] = set()
    tables = []
    alike: dict[object, list[tuple[int, Claim]]] = defaultdict(list)
    for place, claim in enumerate(others):
        alike[claim.figure.unit, claim.kinds].append((place, claim))
    for at, one in enumerate(claims):
        near = alike[one.figure.unit, one.kinds]
        other = next((claim for place, claim in near if place > at and differ(one, claim)), None)
        if other is not None and not {one.sentence, other.sentence} & told:
            pair = sorted((one, other), key=lambda claim: claim.figure.value)
            told |= {one.sentence, other.sentence}
            tables.append(Paragraph(section=section, kind="table", sentences=tuple(map(statement, pair))))
    return tuple(tables[:_MOST_SHOWN])


def _ranked(evidence: Sequence[Evidence]) -> list[Claim]:
    return list(claims_of(sorted(evidence, key=lambda piece: (-piece.score, piece.id))))


def statement(claim: Claim) -> Sentence:
    """Return a claim as a row of a table: its figure, and its source's own sentence."""
    return Sentence(text=trimmed(claim.sentence), evidence=(claim.piece.id,), lead=claim.figure.raw.strip())
