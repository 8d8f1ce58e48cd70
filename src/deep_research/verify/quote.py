"""Finds a sentence in the passages it cites. One that is not there word for word is left undecided, never guessed."""

from collections.abc import Sequence

from deep_research.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Verdict
from deep_research.text.folding import fold_typography


def check_quote(sentence: Sentence, passages: Sequence[Evidence]) -> Verdict | None:
    """Return `supported` and where if a cited passage holds the sentence, `not_found` if none is cited, else None."""
    if not passages:
        return Verdict(kind="not_found", reason="the sentence cites no stored passage")
    wanted = fold_typography(sentence.text).text.strip()
    for passage in passages:
        span = fold_typography(passage.quote).find(wanted)
        if span is not None:
            start, end = passage.start + span[0], passage.start + span[1]
            return Verdict(kind="supported", reason="verbatim", evidence=passage.id, start=start, end=end)
    return None
