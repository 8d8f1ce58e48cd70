"""Figures that a section's evidence holds and its text left out: quoted, so that writing never loses a fact.

Measures the text by what quoting the same evidence would have told. Dates are no figures, and rows of tables are set as
tables whatever was written.
"""

from collections.abc import Iterable, Sequence

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.quoting.drafting import joined, paragraphs_of
from deep_research.reasoning.rules.quoting.selection import stands_alone
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.text.quantities import Quantity
from deep_research.verify.particulars import figures_of
from deep_research.verify.quote import check_quote

# A sentence that leans on another is quoted with at most so many before it.
_MOST_BEFORE = 2


def quotes_of(section: str, evidence: Sequence[Evidence]) -> tuple[Paragraph, ...]:
    """Return a section's evidence in the sources' own words, tables aside."""
    return paragraphs_of(section, [piece for piece in evidence if not piece.header])


def untold(section: str, evidence: Sequence[Evidence], told: Iterable[Sentence]) -> tuple[Paragraph, ...]:
    """Return the source's own sentence for each figure that no sentence citing its evidence tells, as one table."""
    sentences = list(told)
    rows: list[Sentence] = []
    for piece in evidence:
        known = [figure for sentence in (*sentences, *rows) for figure in _figures(sentence, piece)]
        quotes = [sentence for paragraph in quotes_of(section, [piece]) for sentence in paragraph.sentences]
        stretches: list[range] = []
        for at, sentence in enumerate(quotes):
            figures = figures_of(sentence.text)
            if any(not _tells(known, figure) for figure in figures):
                first = _first(quotes, at)
                if stretches and first in stretches[-1]:
                    first = stretches.pop().start
                stretches.append(range(first, at + 1))
                known += figures
        rows += [row for stretch in stretches for row in _rows([quotes[at] for at in stretch], piece)]
    return (Paragraph(section=section, kind="table", sentences=tuple(rows)),) if rows else ()


def left_out(evidence: Sequence[Evidence], told: Iterable[Sentence]) -> tuple[Evidence, ...]:
    """Return the evidence whose figures the sentences do not tell."""
    sentences = list(told)
    return tuple(piece for piece in evidence if untold(piece.section, [piece], sentences))


def _figures(sentence: Sentence, piece: Evidence) -> Sequence[Quantity]:
    return figures_of(sentence.text) if piece.id in sentence.evidence else []


def _tells(known: Iterable[Quantity], figure: Quantity) -> bool:
    """Say whether a figure is told; one that lost its unit is not."""
    return any(other.value == figure.value and figure.unit in ("", other.unit) for other in known)


def _first(sentences: Sequence[Sentence], at: int) -> int:
    """Return where to begin quoting, so that a sentence stands with those it leans on."""
    first = at
    while first and at - first < _MOST_BEFORE and not stands_alone(sentences[first].text):
        first -= 1
    return first


def _rows(sentences: Sequence[Sentence], piece: Evidence) -> Sequence[Sentence]:
    """Return neighbouring sentences as one row, where the source holds them just so."""
    whole = Sentence(text=joined([sentence.text for sentence in sentences]), evidence=(piece.id,))
    return [whole] if check_quote(whole, [piece]) else sentences
