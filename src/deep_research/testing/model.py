"""A model with declared prices and answers that say nothing, and a log of every call that was really made."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deep_research.errors import CallFailed
from deep_research.llm.port import ModelReply, ModelRequest, OnDelta
from deep_research.request import Spend


class CallLog:
    """One line for each outside call that was begun or ended, in a file that several processes share."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.lines: list[dict[str, object]] = []

    def write(self, event: str, kind: str, what: str) -> None:
        """Add a line; a single write to a file opened for appending is whole even if the process dies after it."""
        line = {"event": event, "kind": kind, "what": what, "pid": os.getpid()}
        self.lines.append(line)
        if self._path is not None:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, (json.dumps(line) + "\n").encode())
            finally:
                os.close(descriptor)

    @staticmethod
    def read(path: Path) -> list[dict[str, object]]:
        """Return all lines of a shared log."""
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class ActPrice:
    """What one act costs: at most, really, and in time."""

    tokens: int = 0
    max_tokens: int | None = None
    usd: float = 0.0
    max_usd: float | None = None
    delay_s: float = 0.0
    timeout_s: float = 60.0


@dataclass
class ScriptedModel:
    """A chat model that costs what it is told to, waits as long as it is told to, and fails when it is told to.

    `failures` gives, for an act, the errors of its first calls in this process.
    """

    prices: Mapping[str, ActPrice] = field(default_factory=dict)
    default: ActPrice = field(default_factory=ActPrice)
    failures: Mapping[str, Sequence[CallFailed]] = field(default_factory=dict)
    log: CallLog = field(default_factory=CallLog)
    calls: Counter[str] = field(default_factory=Counter)

    name: str = "scripted:model"
    unpriced: tuple[str, ...] = ()

    def _price(self, act: str) -> ActPrice:
        return self.prices.get(act, self.default)

    def estimate(self, request: ModelRequest) -> Spend:
        """Return the declared maximum of the act."""
        price = self._price(request.act)
        return Spend(
            tokens=price.tokens if price.max_tokens is None else price.max_tokens,
            usd=price.usd if price.max_usd is None else price.max_usd,
            seconds=price.timeout_s,
        )

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:  # noqa: ARG002 - nothing to stream
        """Spend what the act costs, or fail as scripted."""
        price, number = self._price(request.act), self.calls[request.act]
        self.calls[request.act] += 1
        self.log.write("begin", "llm", f"{request.act} {request.prompt}")
        await asyncio.sleep(price.delay_s)
        failures = self.failures.get(request.act, ())
        if number < len(failures):
            self.log.write("fail", "llm", f"{request.act} {request.prompt}")
            raise failures[number]
        self.log.write("end", "llm", f"{request.act} {request.prompt}")
        return ModelReply(text="", model=self.name, tokens_in=0, tokens_out=price.tokens, usd=price.usd)
