"""Work on several items at once: results in the order of the items, separate dependencies, nothing left running."""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from deep_research.errors import CannotWrite, DeepResearchError
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.gap import GapKind
from deep_research.text.masking import masked

Item = TypeVar("Item")
One = TypeVar("One")
Other = TypeVar("Other")
Result = TypeVar("Result")


async def fan_out(
    label: str, items: Sequence[Item], work: Callable[[Item, StageContext], Awaitable[Result]], context: StageContext
) -> list[Result]:
    """Run `work` on every item at once, each at `scope/label/number`, and join their dependencies.

    A branch returns its failures as values; what it raises stops the run, and the other branches with it.
    """
    branches = [replace(context.at(label, number), is_branch=True) for number in range(1, len(items) + 1)]
    results = await together([work(item, branch) for item, branch in zip(items, branches, strict=True)])
    context.dependencies.join([branch.dependencies for branch in branches])
    return results


async def isolated(
    work: Awaitable[Result], otherwise: Result, kind: GapKind, subject: str, context: StageContext
) -> Result:
    """The edge of a fan-out branch: an unforeseen error is put on record, and does not cancel the other branches."""
    try:
        return await work
    except DeepResearchError:
        raise
    except Exception as exc:  # One part may break in ways nobody foresaw; the others go on.
        if stop := out_of_files(exc):
            raise stop from exc
        await context.lost(kind, subject, describe_error(exc))
        return otherwise


def out_of_files(exc: BaseException | None) -> CannotWrite | None:
    """Return what stops a run for now where too many files are open: it goes on later, as on a full disk."""
    while exc is not None:
        if isinstance(exc, OSError) and exc.errno in (errno.EMFILE, errno.ENFILE):
            return CannotWrite("Too many files are open: end what holds them, or raise the limit (ulimit -n).")
        exc = exc.__cause__ or exc.__context__
    return None


def describe_error(exc: Exception) -> str:
    """Return what is said of an error: not the message of one that nobody foresaw, which may hold page content."""
    return masked(str(exc)) if isinstance(exc, DeepResearchError) else f"unexpected {type(exc).__name__}"


async def together(work: Sequence[Awaitable[Result]]) -> list[Result]:
    """Wait for all; what one of them raises stops the others."""
    tasks = [asyncio.ensure_future(piece) for piece in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def both(one: Awaitable[One], other: Awaitable[Other]) -> tuple[One, Other]:
    """Wait for two things that do not need each other."""
    pieces: list[Awaitable[Any]] = [one, other]
    first, second = await together(pieces)
    return first, second
