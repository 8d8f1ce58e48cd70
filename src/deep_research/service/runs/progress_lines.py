"""What a run's events say to a person, a line each: the same on a terminal, in an answer and in a notification."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deep_research.events import RunEvent
from deep_research.text.messages.words import Words

Data = dict[str, Any]

# The stages of a round come again in each and are over when the ending begins: one line, whose bar counts search tasks.
RESEARCH_STEPS = frozenset({"harvest", "fetch", "extract", "compress", "reflect"})
# A section that is covered so far is not thin, even where its judge would have liked more.
LOW_COVERAGE = 0.7


class Line(NamedTuple):
    """One line; `is_stage` says that a stage begins with it."""

    text: str
    is_stage: bool = False


@dataclass
class ProgressLines:
    """A line for each thing worth knowing: stages, the plan as it is written, each round, thin sections, what failed;
    each thing once.

    With `is_verbose`, also each query and each source that was read.
    """

    words: Words
    is_verbose: bool = False
    _shown: set[str] = field(default_factory=set)
    _low_coverage: dict[str, float] = field(default_factory=dict)
    # Stages that get no line any more, or never.
    _passed: frozenset[str] = RESEARCH_STEPS - {"harvest"}

    def of(self, event: RunEvent) -> list[Line]:
        """Return the lines of an event, most often none."""
        line, data = self._line(event), event.data
        lines = [Line(f"  {line}")] if line and line not in self._shown else []
        self._shown.add(line)
        if event.kind == "progress" and data["status"] == "started" and data["step"] not in self._passed:
            self._passed |= {str(data["step"])}
            lines.append(Line(f"{self.words('stage.' + str(data['step']))} …", is_stage=True))
        return lines

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
        if event.kind == "research-map":
            return map_line(data, self.words) if data["is_judged"] or data["stop"] else ""
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
        return self.words(key, sections=self.words.listed(sections))


def map_line(told: Data, words: Words) -> str:
    """Return where all that is looked for stands after a round, and why nothing more is searched for."""
    statuses = [entry["status"] for entry in told["entries"] if entry["status"] != "set_aside"]
    shared = {"round": told["round"], "pages": told["pages"], "left": told["queries"]}
    counts = {"found": statuses.count("found"), "count": len(statuses), "new": told["new"]}
    line = words("map.round", **shared, **counts) if statuses else words("map.bare", **shared)
    return " · ".join((line, *([words(f"coverage.{told['stop']}")] if told["stop"] else [])))
