"""Which sections are thin, and why they are searched for again: one line a section, drawn anew after each round."""

from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len, set_cell_size

from deep_research.events import RunEvent
from deep_research.messages.words import Words

_BAR = 8
_MOST_TITLE = 20
_STOPS = ("sufficient", "budget", "iterations", "exhausted")


@dataclass
class SectionLines:
    """The sections of a run as its events tell of them, in the order of the plan."""

    said: Words
    _known: dict[str, dict[str, Any]] = field(default_factory=dict)
    _round: dict[str, int] = field(default_factory=dict)

    def show(self, event: RunEvent) -> None:
        """Take note of an event about a section."""
        data: dict[str, Any] = event.data
        if event.kind == "report-plan":
            self._known = {str(section["title"]): {} for section in data["sections"]}
        elif event.kind == "serp-query":
            self._round[data["section"]] = data["round"]
        elif event.kind == "section-coverage":
            self._known[data["section"]] = data

    def lines(self) -> list[str]:
        """Return a line for each section that was searched for."""
        begun = [title for title in self._known if title in self._round]
        width = min(_MOST_TITLE, max(map(cell_len, begun), default=0))
        return [f"  {_fitted(title, width)}  {self._line(title)}" for title in begun]

    def _line(self, title: str) -> str:
        data, round_ = self._known[title], self._round[title]
        share, reasons = bar_of(data.get("coverage", 0.0)), _reasons(data)[:1]
        if data.get("round") != round_:
            return f"{share}  {' · '.join((self.said('coverage.searching', round=round_), *reasons))}"
        # What does not fit the terminal is cut off at the end.
        return f"{share}  {' · '.join((_score(data, self.said), *reasons, _follows(data, self.said)))}"


def coverage_line(data: dict[str, Any], said: Words) -> str:
    """Return what is said of a section after a round, where lines do not move."""
    head = said("page.coverage", title=data["section"], round=data["round"], share=round(100 * data["coverage"]))
    return " · ".join((head, _score(data, said), _follows(data, said), *_reasons(data)))


def bar_of(share: float) -> str:
    """Return a share as a bar and in per cent."""
    filled = round(_BAR * min(max(share, 0.0), 1.0))
    return f"{'█' * filled}{'░' * (_BAR - filled)} {share:>4.0%}"


def _follows(data: dict[str, Any], said: Words) -> str:
    """Say what follows from the judgement: another search, or why there is none."""
    stop = str(data.get("stop", ""))
    # A run of an earlier version does not say why it stopped.
    return said(f"coverage.{stop if stop in _STOPS else 'sufficient' if data['is_sufficient'] else 'again'}")


def _reasons(data: dict[str, Any]) -> list[str]:
    """Return what a section lacks, what matters most first; one that has enough lacks nothing."""
    return [] if data.get("is_sufficient") else [str(gap).rstrip(".。") for gap in data.get("gaps", [])]


def _score(data: dict[str, Any], said: Words) -> str:
    """Return how good the evidence is, and its weakest dimension, unless all are alike."""
    scores: dict[str, int] = data.get("dimensions") or {}
    if len(set(scores.values())) < 2:
        return f"{data['score']}/10"
    name = min(scores, key=lambda name: scores[name])
    return said("coverage.weakest", total=data["score"], dimension=said(f"dimension.{name}"), score=scores[name])


def _fitted(text: str, width: int) -> str:
    """Return a text of exactly so many cells, cut where it is longer."""
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
