"""What the pipeline asks of a sandbox: run chart code, give back figures."""

from typing import Protocol

from deep_research.value import Value


class Execution(Value):
    """What a piece of code printed and drew; figures are PNG in base64."""

    stdout: str
    figures: tuple[str, ...]


class Sandbox(Protocol):
    """Runs code that is not trusted."""

    @property
    def timeout_s(self) -> float:
        """The time after which code is stopped."""
        ...

    async def execute(self, code: str) -> Execution:
        """Run the code, or raise `SourceError` with what it printed."""
        ...
