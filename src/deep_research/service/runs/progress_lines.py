"""What a run's events say to a person, a line each: the same on a terminal, in an answer and in a notification."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deep_research.events import RunEvent
from deep_research.pipeline.outcome import LOW_COVERAGE
from deep_research.service.runs.progress import SectionProgress, judged_section
from deep_research.text.messages.words import Words

Data = dict[str, Any]

_STOPS = ("sufficient", "budget", "iterations", "exhausted")
# The stages that a section goes through side by side are one line; its bar counts search tasks.
RESEARCH_STEPS = frozenset({"harvest", "fetch", "extract", "compress", "reflect"})


@dataclass
class EventLines:
    """What a run's events say to a person: the plan as it is written, thin sections, what failed; each thing once.

    With `is_verbose`, also each query and each source that was read.
    """

    words: Words
    is_verbose: bool = False
    _shown: set[str] = field(default_factory=set)
    _low_coverage: dict[str, float] = field(default_factory=dict)

    def of(self, event: RunEvent) -> str:
        """Return the event's line, or "" where it has none or said the same before."""
        line = self._line(event)
        if not line or line in self._shown:
            return ""
        self._shown.add(line)
        return f"  {line}"

    def _line(self, event: RunEvent) -> str:
        data: Data = event.data
        if event.kind == "message" and event.key.startswith("message:plan:"):
            return f"· {data['text']}"
        if event.kind == "report-plan":
            return self._listed("shell.plan", [section["title"] for section in data["sections"]])
        if event.kind == "section-coverage":
            self._low_coverage.pop(data["section"], None)
            if not data["is_sufficient"] and data["coverage"] < LOW_COVERAGE:
                self._low_coverage[data["section"]] = data["coverage"]
        if event.kind == "progress" and data["step"] == "analyze" and self._low_coverage:
            # Only now is it certain that nothing more is searched for them.
            sections = [
                self.words("shell.thin_section", title=title, share=round(100 * covered))
                for title, covered in self._low_coverage.items()
            ]
            return self._listed("shell.thin_sections", sections)
        if event.kind == "progress" and data["step"] == "supervise":
            shares = (data.get("data") or {}).get("dealt", {})
            sections = [self.words("shell.dealt_section", title=title, count=shares[title]) for title in shares]
            return self._listed("shell.dealt", sections) if sections else ""
        if self.is_verbose and event.kind == "serp-query":
            queries = self.words("report.value_separator").join(query["query"] for query in data["queries"])
            return f"? {data['section']}{self.words('report.colon')}{queries}"
        if self.is_verbose and event.kind == "source":
            return f"+ {data['title']} - {data['address']}"
        if event.kind == "budget":
            return self.words("shell.budget", kind=data["kind"], left_out=data["left_out"])
        if event.kind == "error" and "retry_count" in data:
            # What failed is said at the end, if trying again does not help.
            return self.words("shell.trying_again", retry=data["retry_count"])
        return f"! {data['message']}" if event.kind == "error" else ""

    def _listed(self, key: str, sections: list[str]) -> str:
        return self.words(key, sections=self.words("report.list_separator").join(sections))


class Line(NamedTuple):
    """One line; `is_stage` says that a stage begins with it."""

    text: str
    is_stage: bool = False


class ProgressLines:
    """A line for each thing worth knowing: stages, the plan, thin sections, what failed."""

    def __init__(self, words: Words, *, is_verbose: bool = False) -> None:
        self._words = words
        self._news = EventLines(words, is_verbose=is_verbose)
        # Stages that get no line any more, or never.
        self._passed = set(RESEARCH_STEPS - {"harvest"})

    def of(self, event: RunEvent) -> list[Line]:
        """Return the lines of an event, most often none."""
        data: Data = event.data
        news = self._news.of(event)
        if event.kind == "section-coverage":
            news = f"  {coverage_line(judged_section(data['section'], data), self._words)}"
        lines = [Line(news)] if news else []
        if event.kind == "progress" and data["status"] == "started" and data["step"] not in self._passed:
            self._passed.add(data["step"])
            lines.append(Line(f"{self._words('stage.' + data['step'])} …", is_stage=True))
        return lines


def coverage_line(section: SectionProgress, words: Words) -> str:
    """Return what is said of a section after a round, where lines do not move."""
    share = round(100 * section.coverage)
    head = words("page.coverage", title=section.title, round=section.round, share=share)
    return " · ".join((head, score_line(section, words), what_follows(section, words), *what_is_missing(section)))


def what_follows(section: SectionProgress, words: Words) -> str:
    """Return what follows from the judgement: another search, or why there is none."""
    # A run of an earlier version does not say why it stopped.
    otherwise = "sufficient" if section.is_sufficient else "again"
    return words(f"coverage.{section.stop if section.stop in _STOPS else otherwise}")


def what_is_missing(section: SectionProgress) -> list[str]:
    """Return what a section lacks, what matters most first; one that has enough lacks nothing."""
    return [] if section.is_sufficient else [gap.rstrip(".。") for gap in section.gaps]


def score_line(section: SectionProgress, words: Words) -> str:
    """Return how good the evidence is, and its weakest dimension, unless all are alike."""
    scores = section.dimensions
    if len(set(scores.values())) < 2:
        return f"{section.score}/10"
    name = min(scores, key=lambda name: scores[name])
    return words("coverage.weakest", total=section.score, dimension=words(f"dimension.{name}"), score=scores[name])
