"""Evidence as the pipeline makes it of a text, and a corpus of fixed answers, for tests of what is done with them."""

from collections.abc import Sequence

from deep_research.documents.corpus.port import Listed, OnProgress, PassageHit, Survey
from deep_research.reasoning.rules.quoting.units import Unit, units_of
from deep_research.reasoning.values import Brief, QuestionAnalysis, QuestionKind
from deep_research.report.evidence.passage import Evidence, Passage, evidence_from
from deep_research.request import Language


def brief(question: str, language: Language = "en", kind: QuestionKind = "open") -> Brief:
    """Return a brief; what is to be assessed gets sections, whatever the question."""
    analysis = QuestionAnalysis(kind=kind, parts=("Assess it.",) if kind == "open" else ())
    return Brief(question=question, original=question, language=language, analysis=analysis)


def piece(quote: str, document: str = "a", *, start: int = 0, score: float = 0.0) -> Evidence:
    """Return prose of a document."""
    passage = Passage(document=document, start=start, end=start + len(quote))
    return evidence_from(passage, text=" " * start + quote, finding=quote, section="s", score=score)


def prose_of(text: str) -> list[Unit]:
    return [unit for unit in units_of(text) if unit.header is None]


def table(header: list[str], *rows: list[str]) -> str:
    """Return a pipe table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def rows_of(text: str, document: str = "a") -> list[tuple[Evidence, Evidence]]:
    """Return each row of a text's tables as evidence, with the evidence that its header is."""
    found = []
    for unit in units_of(text):
        if unit.header is None:
            continue
        above = Passage(document=document, start=unit.header.start, end=unit.header.end)
        header = evidence_from(above, text=text, finding=text[above.start : above.end], section="s")
        own = Passage(document=document, start=unit.start, end=unit.end)
        found.append((evidence_from(own, text=text, finding=unit.text, section="s", header=header.id), header))
    return found


class FixedCorpus:
    """A corpus that finds the same stretches of one text whatever is asked, and knows how many passages hold a term."""

    def __init__(self, text: str = "", *spans: tuple[int, int], total: int = 0, **counts: int) -> None:
        self._total, self._counts = total, counts
        self._hits = [
            PassageHit(address="a", title="t", start=start, end=end, text=text[start:end], score=1.0)
            for start, end in spans
        ]

    async def refresh(self, on_progress: OnProgress | None = None) -> Survey:
        return Survey(files=1, indexed=1)

    async def search(self, query: str, *, limit: int) -> list[PassageHit]:
        return self._hits[:limit]

    async def contents(self) -> list[Listed]:
        return []

    async def passages(self, address: str) -> list[PassageHit]:
        return self._hits

    async def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        return self._total, {term: self._counts.get(term, 0) for term in terms}

    async def spelled_like(self, term: str) -> str:
        return ""

    async def close(self) -> None:
        return None
