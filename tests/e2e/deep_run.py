"""What a deep run in a scripted world emitted, kept and called."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from deep_research.events import RunEvent
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.report.escaping import unescape
from deep_research.request import Depth, ResearchRequest
from deep_research.settings import Settings
from deep_research.storage.store.port import JournalRow
from deep_research.testing import CallLog
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import Words, words_in
from tests.e2e.deep_world import DeepWorld
from tests.e2e.harness import User

# Many rounds of few queries, and so few pages that a model chooses what of each is read.
DEEP = Depth(
    max_iterations=8,
    queries_first_iteration=12,
    queries_followup_iteration=4,
    max_total_queries=40,
    urls_per_query=4,
    max_pages=100,
)


def ask(
    folder: Path,
    world: DeepWorld,
    *,
    change: Callable[[Adapters], Adapters] = lambda adapters: adapters,
    machine: StateMachine | None = None,
    **given_request: Any,
) -> "DeepRun":
    """Run the world's question to its end."""
    user = User(folder)
    world = replace(world, log=CallLog(user.call_log))
    adapters = change(world.adapters(Settings(home=user.home, logs=folder / "logs", charts=False)))
    given: dict[str, Any] = {"depth": DEEP, "clarify": "off", "length": "short"} | given_request
    request = ResearchRequest(question=world.script.question, **given)
    row = asyncio.run(DeepResearchProcessor(adapters, machine=machine).process(request))
    assert row.status == "done", row.error
    return DeepRun(world, user)


@dataclass
class DeepRun:
    """What a finished run left behind."""

    world: DeepWorld
    user: User

    @cached_property
    def events(self) -> list[RunEvent]:
        return self.user.events()

    @cached_property
    def journal(self) -> list[JournalRow]:
        return self.user.journal()

    @cached_property
    def folder(self) -> Path:
        return Path(self.user.only_run().folder)

    @cached_property
    def rounds(self) -> list[dict[str, Any]]:
        text = (self.folder / "rounds.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @cached_property
    def report(self) -> str:
        return unescape((self.folder / "report.md").read_text(encoding="utf-8"))

    @cached_property
    def check(self) -> dict[str, Any]:
        check: dict[str, Any] = json.loads((self.folder / "verify.json").read_text(encoding="utf-8"))
        return check

    def of(self, kind: str, section: str) -> list[RunEvent]:
        """Return a section's events of one kind."""
        return [event for event in self.events if event.kind == kind and event.data.get("section") == section]

    def stops(self) -> dict[str, list[str]]:
        """Return what each section's rounds ended with, in order."""
        return {
            title: [str(event.data["stop"]) for event in self.of("section-coverage", title)]
            for title in self.world.script.titles
        }

    def last_stops(self) -> dict[str, str]:
        """Return why each section was left as it is, by the run folder."""
        return {line["section"]: line["stop"] for line in self.rounds}

    @property
    def limits(self) -> list[str]:
        """Return the lines of the report's limits."""
        _, _, rest = self.report.partition(f"\n## {self.say('report.about')}\n")
        return [line[2:] for line in rest.partition("\n## ")[0].splitlines() if line.startswith("- ")]

    @property
    def say(self) -> Words:
        return words_in(report_language(self.world.script.question, None))

    def scopes(self, kind: str) -> set[str]:
        """Return the places of the journal's calls of one kind."""
        return {row.scope for row in self.journal if row.kind == kind}

    def asked(self, section: str) -> list[str]:
        """Return the queries of a section that were searched for."""
        return [str(event.data["query"]) for event in self.of("search-task", section)]

    def begun(self, kind: str) -> list[str]:
        """Return what was really called, in order."""
        return [line["what"] for line in self.user.logged("begin") if line["kind"] == kind]
