"""What the pipeline asks of a sandbox: run chart code over rows of data, give back figures."""

from typing import Protocol

from deep_research.value import Json, Value


class Execution(Value):
    """What a piece of code printed and drew.

    Figures are PNG in base64; `svgs` are the same figures as SVG. `plotted` are the values that each figure shows, read
    from its axes.
    """

    stdout: str
    figures: tuple[str, ...]
    svgs: tuple[str, ...] = ()
    plotted: tuple[tuple[float, ...], ...] = ()


class Sandbox(Protocol):
    """Runs code that is not trusted."""

    @property
    def timeout_s(self) -> float:
        """The time after which code is stopped."""

    async def execute(self, code: str, data: Json = None) -> Execution:
        """Run the code, which finds its rows in `data`, or raise `SourceError` with what it printed.

        `SourceRefused` says that no code can be run here.
        """

    async def check(self) -> str:
        """Return the name of what runs code here, or raise `SourceRefused` with why nothing can."""
