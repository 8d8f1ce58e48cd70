"""A report before it is numbered: paragraphs of sentences that carry evidence ids and, once checked, verdicts."""

from typing import Literal

from deep_research.value import Value

ParagraphKind = Literal["claim", "note", "table", "caption"]
VerdictKind = Literal["supported", "partly", "not_found", "contradicted", "not_checked"]


class Verdict(Value):
    """What checking a sentence against its passages showed, and the passage that carries it (SPEC V2)."""

    kind: VerdictKind
    reason: str = ""
    evidence: str = ""
    start: int = -1
    end: int = -1


class Sentence(Value):
    """One sentence with the ids of the evidence it rests on."""

    text: str
    evidence: tuple[str, ...] = ()
    verdict: Verdict | None = None


class Paragraph(Value):
    """A paragraph of one section; `note` paragraphs hold no claim about the world (SPEC V1)."""

    section: str
    kind: ParagraphKind = "claim"
    sentences: tuple[Sentence, ...] = ()

    @property
    def cite_ids(self) -> tuple[str, ...]:
        """Return the evidence ids in order of first use."""
        return tuple(dict.fromkeys(id_ for sentence in self.sentences for id_ in sentence.evidence))


def note(section: str, text: str) -> Paragraph:
    """Return a paragraph about the research itself."""
    return Paragraph(section=section, kind="note", sentences=(Sentence(text=text),))
