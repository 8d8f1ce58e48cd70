"""A run that is killed in the middle and resumed: how many of its finished calls are paid for again."""

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks.child import measure, start
from benchmarks.recorded import calls_done, only_run
from benchmarks.world_calls import JOURNAL_KINDS, KINDS, Call
from benchmarks.world_process import WorldProcess


class PaidAgain(NamedTuple):
    """Calls finished before the kill, those asked again after it, and those of them that the journal had as done."""

    finished: int
    asked_again: int
    paid_again: int


def kill_and_resume(world: WorldProcess, folder: Path, question: str, *, after_s: float) -> PaidAgain:
    """Kill a run after so many seconds, resume it, and compare the world's log with the journal."""
    world.plan()
    settings = world.settings(folder)
    with tempfile.TemporaryFile() as output:
        process = start(["-m", "deep_research", "ask", question], settings, folder, output)
        time.sleep(after_s)
        process.kill()
        process.wait()
    before = [call for call in world.calls() if call.kind in KINDS]
    recorded = calls_done(folder / "home")
    world.plan()
    measure(["-m", "deep_research", "runs", "resume", only_run(folder / "home")], settings, folder)
    return _compare(before, world.calls(), recorded)


def _compare(before: list[Call], after: list[Call], recorded: Counter[str]) -> PaidAgain:
    """An answer that was sent but not yet on record may be asked for again; those are the difference of the counts."""
    finished = [call for call in before if call.is_answered]
    answered = Counter(JOURNAL_KINDS[call.kind] for call in finished)
    asked = {call.digest for call in after}
    again = Counter(JOURNAL_KINDS[call.kind] for call in finished if call.digest in asked)
    paid = sum(max(0, again[kind] - (answered[kind] - recorded[kind])) for kind in again)
    return PaidAgain(len(finished), again.total(), paid)
