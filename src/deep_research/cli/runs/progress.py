"""What a run shows while it works, on stderr: bars on a terminal, plain lines elsewhere, nothing if asked."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from deep_research.cli.printing import tell
from deep_research.events import LiveText, RunEvent
from deep_research.service.runs.progress import ProgressCollector
from deep_research.service.runs.progress_lines import RESEARCH_STEPS, Data, ProgressLines
from deep_research.text.cleaning import clean_text
from deep_research.text.messages.words import Words


class Board(Progress):
    """Bars, and below them lines that are asked for whenever they are drawn; none is longer than the terminal."""

    def __init__(self, *columns: ProgressColumn, console: Console, below: Callable[[], Sequence[str]]) -> None:
        self._below = below
        super().__init__(*columns, console=console)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return what is drawn."""
        yield from super().get_renderables()
        for line in self._below():
            yield Text(clean_text(line), no_wrap=True, overflow="ellipsis")


_BAR = 8
_MAX_TITLE = 20


def section_lines(told: ProgressCollector) -> list[str]:
    """Return a line for each section that was searched for, in the order of the plan: how well it is covered."""
    begun = [title for title in told.sections if title in told.searched]
    width = min(_MAX_TITLE, max(map(cell_len, begun), default=0))
    return [f"  {_fitted(title, width)}  {bar_of(told.section(title).coverage)}" for title in begun]


def bar_of(share: float) -> str:
    """Return a share as a bar and in per cent."""
    filled = round(_BAR * min(max(share, 0.0), 1.0))
    return f"{'█' * filled}{'░' * (_BAR - filled)} {share:>4.0%}"


def _fitted(text: str, width: int) -> str:
    """Return a text of exactly so many cells, cut where it is longer."""
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


# Acts whose answers are long enough to be waited for, and the stage they belong to.
_WRITING = {"plan": "plan", "analyze": "analyze", "draft": "draft", "conclude": "write"}
_LETTER_OR_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?<![\u3400-\u9fff])")


class Display:
    """Shows a run's events as they come; this one shows nothing."""

    def show(self, event: RunEvent) -> None:
        """Show one event."""

    def on_live_text(self, live: LiveText) -> None:
        """Show that an answer is coming."""

    def pause(self) -> None:
        """Leave the terminal to a question; the next event takes it back."""

    def close(self) -> None:
        """Show nothing from now on."""


class ProgressPrinter(Display):
    """A line for each thing worth knowing: stages, the plan, thin sections, what failed."""

    def __init__(self, words: Words, *, is_verbose: bool = False) -> None:
        self._lines = ProgressLines(words, is_verbose=is_verbose)

    def show(self, event: RunEvent) -> None:
        for line in self._lines.of(event):
            tell(line.text)


class Bars(Display):
    """Stages with bars that move, and below them the sections: how well each is covered."""

    def __init__(self, words: Words, *, is_verbose: bool = False) -> None:
        self._words = words
        self._lines = ProgressLines(words, is_verbose=is_verbose)
        self._told = ProgressCollector()
        self._sources: set[str] = set()
        self._evidence = 0
        self._written: dict[str, Counter[str]] = {}
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        self._progress = Board(*columns, console=Console(stderr=True), below=lambda: section_lines(self._told))
        self._tasks: dict[str, TaskID] = {}

    def show(self, event: RunEvent) -> None:
        if self._is_closed:
            return
        self._progress.start()
        self._told.take(event)
        data: Data = event.data
        for line in self._lines.of(event):
            # Stages are bars here.
            if not line.is_stage:
                self._progress.console.print(clean_text(line.text), highlight=False, markup=False)
        if event.kind == "progress":
            self._stage(data["step"], data["status"])
        elif event.kind == "serp-query":
            self._grow("research", len(data["queries"]))
        elif event.kind == "search-task":
            self._progress.advance(self._task("research"))
        elif event.kind == "source":
            self._sources.add(data["document"])
            self._evidence += data["evidence"]
            note = self._words("shell.found", sources=len(self._sources), passages=self._evidence)
            self._progress.update(self._task("research"), note=note)
        elif event.kind == "run-status" and data["status"] != "running":
            self.pause()

    def on_live_text(self, live: LiveText) -> None:
        stage = _WRITING.get(live.act, "")
        if self._is_closed or stage not in self._tasks:
            return
        counted = self._written.setdefault(stage, Counter())
        counted[live.kind] += len(_LETTER_OR_WORD.findall(live.text))
        key = "shell.written" if counted["text"] else "shell.thinking"
        self._progress.update(self._tasks[stage], note=self._words(key, count=counted["text"] or counted["reasoning"]))

    def pause(self) -> None:
        """Stop drawing; the next event begins below what stands there then, so that no question is painted over."""
        self._progress.stop()
        self._begin()

    def close(self) -> None:
        self._is_closed = True
        self._progress.stop()

    def _stage(self, step: str, status: str) -> None:
        if step in RESEARCH_STEPS or step == "supervise":
            self._task("research")
            return
        task = self._task(step)
        if step == "analyze" and "research" in self._tasks:
            research = self._tasks["research"]
            total = self._progress.tasks[research].total or 1
            self._progress.update(research, total=total, completed=total)
        if status == "started":
            # Sections are written side by side: the stage is done when all are.
            self._grow(step, 1)
            return
        self._progress.advance(task)
        if status == "skipped":
            self._progress.update(task, note=self._words("shell.skipped"))

    def _task(self, name: str) -> TaskID:
        if name not in self._tasks:
            label = self._words(f"stage.{'harvest' if name == 'research' else name}")
            self._tasks[name] = self._progress.add_task(label, total=None, note="")
        return self._tasks[name]

    def _grow(self, name: str, more: int) -> None:
        task = self._task(name)
        # Tasks are numbered as they were added, and none is removed.
        total = self._progress.tasks[task].total or 0
        self._progress.update(task, total=total + more)


@contextmanager
def display(words: Words, *, is_quiet: bool, is_verbose: bool) -> Iterator[Display]:
    """Return what fits: nothing, bars on a terminal, lines elsewhere."""
    kind = Bars if sys.stderr.isatty() else ProgressPrinter
    shown = Display() if is_quiet else kind(words, is_verbose=is_verbose)
    try:
        yield shown
    finally:
        shown.close()
