"""Bars of `rich` with lines below them that move too."""

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, RenderableType
from rich.progress import Progress, ProgressColumn
from rich.text import Text

from deep_research.text.cleaning import clean_text


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
