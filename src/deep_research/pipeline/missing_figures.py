"""Figures that a section's evidence holds and its text left out: quoted, so that writing never loses a fact.

Measures the text by what quoting the same evidence would have shown. Dates are no figures, and rows of tables are set
as tables whatever was written.
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
_MAX_BEFORE = 2


def quotes_of(section: str, evidence: Sequence[Evidence]) -> tuple[Paragraph, ...]:
    """Return a section's evidence in the sources' own words, without its tables."""
    return paragraphs_of(section, [piece for piece in evidence if not piece.header])


def missing_figures(section: str, evidence: Sequence[Evidence], written: Iterable[Sentence]) -> tuple[Paragraph, ...]:
    """Return the source's own sentence for each figure that no sentence citing its evidence holds, as one table."""
    sentences = list(written)
    rows: list[Sentence] = []
    for piece in evidence:
        citing = [sentence for sentence in (*sentences, *rows) if piece.id in sentence.evidence]
        known = [figure for sentence in citing for figure in figures_of(sentence.text)]
        quotes = [sentence for paragraph in quotes_of(section, [piece]) for sentence in paragraph.sentences]
        stretches: list[range] = []
        for at, sentence in enumerate(quotes):
            figures = figures_of(sentence.text)
            if not all(_is_among(known, figure) for figure in figures):
                first = at
                # A sentence that leans on others is quoted with them.
                while first and at - first < _MAX_BEFORE and not stands_alone(quotes[first].text):
                    first -= 1
                if stretches and first in stretches[-1]:
                    first = stretches.pop().start
                stretches.append(range(first, at + 1))
                known += figures
        for stretch in stretches:
            own = quotes[stretch.start : stretch.stop]
            # Neighbours are one row, where the source holds them just so.
            whole = Sentence(text=joined([sentence.text for sentence in own]), evidence=(piece.id,))
            rows += [whole] if check_quote(whole, [piece]) else own
    return (Paragraph(section=section, kind="table", sentences=tuple(rows)),) if rows else ()


def left_out(evidence: Sequence[Evidence], written: Iterable[Sentence]) -> tuple[Evidence, ...]:
    """Return the evidence whose figures the sentences do not hold."""
    sentences = list(written)
    return tuple(piece for piece in evidence if missing_figures(piece.section, [piece], sentences))


def _is_among(known: Iterable[Quantity], figure: Quantity) -> bool:
    """Return whether a figure is known; one that lost its unit is not."""
    return any(other.value == figure.value and figure.unit in ("", other.unit) for other in known)
