"""A passage of a stored document and the finding it carries; ids come from content alone."""

from deep_research.value import Value, digest

# 64 bits: with a million passages in a store, two of them collide with a chance of three in a hundred million.
EVIDENCE_ID_LENGTH = 16


class Passage(Value):
    """A stretch of a document's text, by offsets in characters."""

    document: str
    start: int
    end: int

    @property
    def id(self) -> str:
        """Return the content id."""
        return digest(self.document, self.start, self.end)[:EVIDENCE_ID_LENGTH]


class Evidence(Value):
    """A verbatim passage, the finding it carries, the section it was gathered for, and what speaks for it there.

    A row of a table names in `header` the evidence that its header row is.
    """

    id: str
    document: str
    start: int
    end: int
    quote: str
    finding: str
    section: str
    score: float = 0.0
    header: str = ""


def evidence_from(
    passage: Passage, *, text: str, finding: str, section: str, score: float = 0.0, header: str = ""
) -> Evidence:
    """Return the evidence that a passage of `text` gives a section."""
    return Evidence(
        id=passage.id,
        **dict(passage),
        quote=text[passage.start : passage.end],
        finding=finding,
        section=section,
        score=score,
        header=header,
    )
