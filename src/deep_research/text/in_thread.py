"""Runs work that needs the processor in a thread, so that the event loop goes on with everything else meanwhile."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _ThreadPool:
    """The threads of this process. A forked process has none of its parent's, and starts its own."""

    def __init__(self) -> None:
        self.begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        # Python's threads share one processor; more of them than cores only make the event loop wait.
        self.pool = ThreadPoolExecutor(max(2, os.cpu_count() or 1), thread_name_prefix="in_thread")


_threads = _ThreadPool()


async def in_thread(work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Return what some work gives that needs the processor and waits for nothing."""
    return await asyncio.get_running_loop().run_in_executor(_threads.pool, partial(work, *args, **kwargs))
