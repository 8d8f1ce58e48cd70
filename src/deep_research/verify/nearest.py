"""The sources of a report that somebody wrote, and the sentences in them that come nearest to a statement."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from deep_research.text.sentences import TextSpan
from deep_research.text.tables import find_tables
from deep_research.value import Value
from deep_research.verify.clauses import terms_of
from deep_research.verify.quote import whole_sentences

# Of a statement's words, what a sentence of a source must hold to speak of the same, to be near it, or to be it.
RELATED, NEAR, SAME = 0.45, 0.6, 0.75
# Of the words of both together, what they must share before one can contradict the other, or be its inversion.
ALIKE, REVERSED = 0.5, 0.7
# Fewer words than this are of every subject.
MIN_TERMS = 4
# So many sentences may carry a statement together, each with its neighbours.
_DRAWN_ON = 3


class CheckedSource(Value):
    """A document that a report may rest on."""

    address: str
    title: str
    text: str
    published: str = ""

    @property
    def about(self) -> str:
        """Return what is known of it beside its text."""
        return f"{self.title} {self.published[:10]}"

    @cached_property
    def sentences(self) -> list[tuple[TextSpan, frozenset[str], frozenset[str]]]:
        """Return its sentences with their terms and, for a row of a table, those of its header."""
        headers = {
            row.start: terms_of(" ".join(table.header.cells))
            for table in find_tables(self.text)
            for row in table.rows
            if table.header
        }
        spans = whole_sentences(self.text)
        return [
            (span, terms_of(self.text[span.start : span.end]), headers.get(span.start, frozenset())) for span in spans
        ]


class Near(NamedTuple):
    """A sentence of a source, it with its neighbours, what share of a statement's terms it holds, and how alike the two
    are, both ways.
    """

    source: CheckedSource
    text: str
    around: str
    share: float = 1.0
    alike: float = 1.0
    is_row: bool = False
    span: tuple[int, int] = (0, 0)

    @property
    def is_same_subject(self) -> bool:
        """Return whether it speaks of just what the statement speaks of, so that another figure contradicts it."""
        return self.alike >= ALIKE or (self.is_row and self.share >= NEAR)


# Stands for the nearest sentence where none is near.
NOTHING_NEAR = Near(CheckedSource(address="", title="", text=""), "", "", share=0.0, alike=0.0)


def nearest(text: str, sources: Iterable[CheckedSource]) -> list[Near]:
    """Return the few sentences that hold most of a statement's words, the best first."""
    wanted = terms_of(text)
    found: list[Near] = []
    for source in sources:
        found += sorted(_sharing(wanted, source), key=_rank, reverse=True)[:_DRAWN_ON]
    found.sort(key=_rank, reverse=True)
    # The rows beside the one that is meant hold figures of others.
    return [each for each in found if not each.is_row or each.share == found[0].share]


def _sharing(wanted: frozenset[str], source: CheckedSource) -> Iterator[Near]:
    for at, (span, terms, header) in enumerate(source.sentences):
        if shared := len(wanted & (terms | header)):
            spans = [span] if header else [each[0] for each in source.sentences[max(0, at - 1) : at + 2]]
            around = source.text[spans[0].start : spans[-1].end]
            quote = " ".join(source.text[span.start : span.end].split())
            alike = len(wanted & terms) / len(wanted | terms)
            yield Near(source, quote, around, shared / len(wanted), alike, bool(header), span)


def _rank(near: Near) -> tuple[float, float]:
    return near.share, near.alike
