"""A report before it is numbered: paragraphs of sentences that carry evidence ids and, once checked, verdicts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from deep_research.value import Strings as Strings
from deep_research.value import Value

ParagraphKind = Literal["claim", "note", "table", "caption"]
# So many rows of one kind make a table with their own columns; fewer are shown as records, one as a line.
TABLE_ROWS = 3
# What a sentence is: said by its passages; concluded from them; computed from their figures; the statement that no
# source says something; or a lead-over, which claims nothing.
SentenceKind = Literal["finding", "conclusion", "calculation", "absence", "link"]
FindingVerdict = Literal["supported", "partly", "not_found", "contradicted", "not_checked"]
VerdictKind = Literal[
    FindingVerdict, "follows", "goes_beyond", "contradicts", "computed", "wrong", "not_in_sources", "false"
]
# A sentence with such a verdict may stand as it is.
SOUND: frozenset[VerdictKind] = frozenset({"supported", "follows", "computed", "not_in_sources"})
# A sentence with such a verdict does not stand in a report.
REFUSED: frozenset[VerdictKind] = frozenset(
    {"not_found", "contradicted", "goes_beyond", "contradicts", "wrong", "false"}
)
# What a paragraph is part of: nothing, a list, or a table of the writer's own, which keeps its columns however few rows
# are left.
ListMark = Literal["", "number", "bullet", "table"]


class Verdict(Value):
    """What checking a sentence against its passages showed, and the passage that carries it."""

    kind: VerdictKind
    reason: str = ""
    evidence: str = ""
    start: int = -1
    end: int = -1


class Backing(Value):
    """How well a statement's figure is backed: by how many independent origins, and of which days.

    `published` is the day of its own source, `oldest` and `newest` are those of all that give the figure, "" where
    none is known. `also` is their evidence; `against` are other figures for the same thing, each with its evidence.
    """

    origins: int = 1
    published: str = ""
    oldest: str = ""
    newest: str = ""
    also: Strings = ()
    against: tuple[tuple[str, str], ...] = ()

    @property
    def cite_ids(self) -> Strings:
        """Return the evidence that agrees or contradicts."""
        return (*self.also, *(id_ for _, id_ in self.against))


class Sentence(Value):
    """One sentence with the ids of the evidence it rests on.

    `premises` are what a judge says a conclusion relies on. `basis` is what a calculation computes, such as
    "40 / 8 = 5", or the words that an absence says no source holds.
    A table row has `cells`: label and value of each; its text is made of them. `lead` is the part of a sentence that a
    table sets before it, such as the figure that others dispute; `backing` says how well that figure is backed.
    `revised_from` is what was written before an editor changed it.
    """

    text: str
    kind: SentenceKind = "finding"
    evidence: Strings = ()
    premises: Strings = ()
    basis: str = ""
    verdict: Verdict | None = None
    cells: tuple[tuple[str, str], ...] = ()
    lead: str = ""
    backing: Backing | None = None
    revised_from: str = ""

    @property
    def is_sound(self) -> bool:
        """Return whether a check showed that the sentence may stand as it is."""
        return self.verdict is not None and self.verdict.kind in SOUND

    @property
    def is_refused(self) -> bool:
        """Return whether a check showed that the sentence cannot stand."""
        return self.verdict is not None and self.verdict.kind in REFUSED


class Refusal(Value):
    """A written sentence that was kept out of the report, and why."""

    section: str
    text: str
    evidence: Strings = ()
    kind: VerdictKind = "not_found"
    reason: str = ""


class Paragraph(Value):
    """A paragraph of one section; `note` paragraphs hold no claim about the world.

    `lead` is the small heading that it stands under; that of a list item stands in its line.
    """

    section: str
    kind: ParagraphKind = "claim"
    lead: str = ""
    mark: ListMark = ""
    sentences: tuple[Sentence, ...] = ()

    @property
    def text(self) -> str:
        """Return all that it says."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def is_item(self) -> bool:
        """Return whether it is an item of a list."""
        return self.mark in ("number", "bullet")

    @property
    def cite_ids(self) -> Strings:
        """Return the evidence ids in order of first use."""
        backings = [sentence.backing for sentence in self.sentences if sentence.backing]
        own = (id_ for sentence in self.sentences for id_ in sentence.evidence)
        return tuple(dict.fromkeys((*own, *(id_ for backing in backings for id_ in backing.cite_ids))))


# The reasons of verdicts on a source's own words.
_QUOTED = frozenset({"verbatim", "trimmed"})


def is_quoted(sentence: Sentence) -> bool:
    """Say whether a sentence is its source's own."""
    return sentence.verdict is not None and sentence.verdict.reason in _QUOTED


def sentences_of(paragraphs: Iterable[Paragraph]) -> Iterator[Sentence]:
    """Return the sentences of a text in order."""
    return (sentence for paragraph in paragraphs for sentence in paragraph.sentences)


def numbered_sentences(paragraphs: Sequence[Paragraph]) -> list[tuple[int, Sentence]]:
    """Return the sentences of a text in order, with their numbers from 1."""
    return list(enumerate(sentences_of(paragraphs), start=1))


def row(cells: tuple[tuple[str, str], ...], evidence: Strings) -> Sentence:
    """Return a table row as a sentence."""
    parts = (f"{label}: {value}" if label else value for label, value in cells)
    return Sentence(text="; ".join(parts), evidence=evidence, cells=cells)


def note(section: str, text: str) -> Paragraph:
    """Return a paragraph about the research itself."""
    return Paragraph(section=section, kind="note", sentences=(Sentence(text=text),))
