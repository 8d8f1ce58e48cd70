"""`RunState`: the frozen record of a run that stages receive."""

from dataclasses import dataclass, field
from typing import Any

from deep_research.pipeline.context import Ports
from deep_research.pipeline.stage import Stage
from deep_research.store.port import RunRow


@dataclass(frozen=True)
class RunState:
    """A run as `runs show` reads it; a stage's copy also carries the stage, its scope, input and ports."""

    run: RunRow
    stage: Stage | None = None
    scope: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    bound: Ports | None = None

    @property
    def ports(self) -> Ports:
        """Return what the stage may touch."""
        if self.bound is None:
            raise RuntimeError("a run's record has ports only inside a stage")
        return self.bound
