"""Evidence as a prompt shows it: labelled, fenced, in a stable order, and never more than the window holds."""

from collections.abc import Sequence
from typing import NamedTuple

from deep_research.evidence.passage import Evidence
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.prompting import SOURCE_TAG, fenced
from deep_research.reasoning.model.prose import LABEL

# A passage is a few sentences; what is longer is a line that nobody broke.
_MOST_CHARS = 1_500
_CUT = " […]"


class Material(NamedTuple):
    """Pieces of evidence as text; `labels` maps their labels to their ids, `left_out` counts what did not fit."""

    blocks: tuple[str, ...]
    labels: dict[str, str]
    left_out: int

    @property
    def text(self) -> str:
        """Return all blocks."""
        return "\n\n".join(self.blocks)


def show_evidence(evidence: Sequence[Evidence], *, room: int, first: int = 1) -> Material:
    """Return the evidence in its order, labelled from `first` on; where room is short, the weakest pieces go."""
    shown = [_shown(piece, number) for number, piece in enumerate(evidence, start=first)]
    sizes = [tokens_at_most(block) for block in shown]
    kept = set(range(len(evidence)))
    total = sum(sizes)
    for place in sorted(kept, key=lambda place: (evidence[place].score, -place)):
        if total <= room:
            break
        kept.discard(place)
        total -= sizes[place]
    places = sorted(kept)
    return Material(
        blocks=tuple(shown[place] for place in places),
        labels={f"{LABEL}{place + first}": evidence[place].id for place in places},
        left_out=len(evidence) - len(kept),
    )


def fit(text: str, room: int) -> tuple[str, bool]:
    """Return as much of a text as fits, whole paragraphs where it has any, and whether something was cut."""
    if tokens_at_most(text) <= room:
        return text, False
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_at_most(text[:middle]) + 2 <= room else (low, middle - 1)
    end = text.rfind("\n\n", low // 2, low)
    return text[: end if end > 0 else low] + _CUT, True


def _shown(piece: Evidence, number: int) -> str:
    text = piece.finding if piece.header else piece.quote
    cut = text if len(text) <= _MOST_CHARS else text[:_MOST_CHARS] + _CUT
    return fenced(SOURCE_TAG, cut, id=f"{LABEL}{number}")
