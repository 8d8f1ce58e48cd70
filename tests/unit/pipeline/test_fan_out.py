"""Work on several items at once: results in order, a scope and a trail for each, nothing left running."""

import asyncio
import errno
from typing import Any, cast

import pytest

from deep_research.errors import CannotWrite, StageFailed
from deep_research.pipeline.context import RunContext, StageContext
from deep_research.pipeline.fan_out import fan_out, isolated, out_of_files
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.journal import Dependencies
from deep_research.pipeline.scope import Scope


def _context() -> StageContext:
    return StageContext(
        run=cast("RunContext", None),
        scope=Scope("read"),
        phase="research",
        dependencies=Dependencies(("start",)),
        is_branch=False,
    )


async def test_results_come_in_the_order_of_the_items_whoever_is_first():
    async def work(item: int, context: StageContext) -> str:
        for _ in range(10 - item):
            await asyncio.sleep(0)
        return f"{item} at {context.scope}"

    assert await fan_out("page", [1, 5, 9], work, context=_context()) == [
        "1 at read/page/1",
        "5 at read/page/2",
        "9 at read/page/3",
    ]


async def test_trails_fork_and_join():
    context = _context()

    async def work(item: str, branch: StageContext) -> None:
        assert branch.is_branch
        assert branch.dependencies.heads == ("start",)
        if item:
            branch.dependencies.follow(item)

    await fan_out("page", ["b", "a", ""], work, context=context)
    assert context.dependencies.heads == ("a", "b", "start")


async def test_what_branches_lose_is_handed_up():
    context = _context()

    async def work(item: str, branch: StageContext) -> None:
        branch.gaps.append(Gap(kind="page", scope=branch.scope, subject=item, reason="gone"))

    await fan_out("page", ["a", "b"], work, context=context)
    assert sorted(gap.subject for gap in context.gaps) == ["a", "b"]


async def test_nothing_to_do_changes_nothing():
    context = _context()

    async def work(item: Any, branch: StageContext) -> None:
        raise AssertionError

    assert await fan_out("page", [], work, context=context) == []
    assert context.dependencies.heads == ("start",)


async def test_an_error_ends_the_other_branches_before_it_goes_on():
    ended: list[str] = []

    async def work(item: str, branch: StageContext) -> None:
        if item == "bad":
            raise StageFailed("bad")
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append(item)

    with pytest.raises(StageFailed):
        await fan_out("page", ["good", "bad", "fine"], work, context=_context())
    assert sorted(ended) == ["fine", "good"]


async def test_a_caller_that_is_cancelled_leaves_nothing_running():
    ended: list[int] = []

    async def work(item: int, branch: StageContext) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(item)

    task = asyncio.ensure_future(fan_out("page", [1, 2], work, context=_context()))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(ended) == [1, 2]


async def test_a_full_table_of_files_stops_a_run_like_a_full_disk_and_costs_it_nothing():
    async def work() -> None:
        try:
            raise OSError(errno.EMFILE, "Too many open files")
        except OSError as exc:
            raise RuntimeError from exc

    with pytest.raises(CannotWrite, match="Too many files are open"):
        await isolated(work(), None, "page", "a", _context())
    assert out_of_files(OSError(errno.EACCES, "")) is None
