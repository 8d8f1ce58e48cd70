"""Work for the processor, done aside from the event loop, which goes on with everything else meanwhile."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

# Python's threads take turns at the processor; more of them than cores only make the event loop wait for its own.
_WORKERS = ThreadPoolExecutor(max(2, os.cpu_count() or 1), thread_name_prefix="aside")


async def aside(work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Return what some work gives that needs the processor and waits for nothing."""
    return await asyncio.get_running_loop().run_in_executor(_WORKERS, partial(work, *args, **kwargs))
