"""An edition: a finished report in parts, with the passages that it cites; all an export needs but the pictures."""

from datetime import datetime
from functools import cached_property

from deep_research.report.citation import Citations
from deep_research.report.figure import Caption
from deep_research.report.layout import ReportLayout
from deep_research.request import Language
from deep_research.value import Value


class CitedPassage(Value):
    """A passage that a report cites, and the stored text around it.

    `start` and `end` are offsets in the document's text, as those of a verdict are. A row of a table has its header row
    in `header`.
    """

    id: str
    document: str
    start: int
    end: int
    quote: str
    before: str = ""
    after: str = ""
    place: str = ""
    header: str = ""


class Edition(Value):
    """A report as it was written by a run, with its numbered sources and their passages."""

    run: str
    question: str
    language: Language
    created_at: datetime
    code_version: str
    report: ReportLayout
    citations: Citations
    passages: tuple[CitedPassage, ...] = ()

    @cached_property
    def passage(self) -> dict[str, CitedPassage]:
        """Return the cited passages by evidence id."""
        return {passage.id: passage for passage in self.passages}

    def number_of(self, evidence: str) -> int:
        """Return the citation number of a piece of evidence."""
        return self.citations.number(self.passage[evidence].document)

    @property
    def captions(self) -> list[Caption]:
        """Return the figures in the order in which they are read."""
        return self.report.captions
