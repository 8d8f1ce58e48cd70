"""A report before it is numbered: paragraphs of sentences that carry evidence ids and, once checked, verdicts."""

from typing import Literal

from deep_research.value import Value

ParagraphKind = Literal["claim", "note", "table", "caption"]
# So many rows of one kind make a table with their own columns; fewer are told as records.
TABLE_ROWS = 3
VerdictKind = Literal["supported", "partly", "not_found", "contradicted", "not_checked"]


class Verdict(Value):
    """What checking a sentence against its passages showed, and the passage that carries it (SPEC V2)."""

    kind: VerdictKind
    reason: str = ""
    evidence: str = ""
    start: int = -1
    end: int = -1


class Sentence(Value):
    """One sentence with the ids of the evidence it rests on.

    A table row has `cells`: label and value of each; its text is made of them. `lead` is the part of a sentence that a
    table sets before it, such as the figure that others dispute. `revised_from` is what was written before it was
    weakened to what its passages carry.
    """

    text: str
    evidence: tuple[str, ...] = ()
    verdict: Verdict | None = None
    cells: tuple[tuple[str, str], ...] = ()
    lead: str = ""
    revised_from: str = ""


class Refusal(Value):
    """A written sentence that was kept out of the report, and why; `revision` is what was tried in vain to mend it."""

    section: str
    text: str
    evidence: tuple[str, ...] = ()
    kind: VerdictKind = "not_found"
    reason: str = ""
    revision: str = ""


class Paragraph(Value):
    """A paragraph of one section; `note` paragraphs hold no claim about the world (SPEC V1)."""

    section: str
    kind: ParagraphKind = "claim"
    sentences: tuple[Sentence, ...] = ()

    @property
    def cite_ids(self) -> tuple[str, ...]:
        """Return the evidence ids in order of first use."""
        return tuple(dict.fromkeys(id_ for sentence in self.sentences for id_ in sentence.evidence))


def row(cells: tuple[tuple[str, str], ...], evidence: tuple[str, ...]) -> Sentence:
    """Return a table row as a sentence."""
    told = (f"{label}: {value}" if label else value for label, value in cells)
    return Sentence(text="; ".join(told), evidence=evidence, cells=cells)


def note(section: str, text: str) -> Paragraph:
    """Return a paragraph about the research itself."""
    return Paragraph(section=section, kind="note", sentences=(Sentence(text=text),))
