"""A checkpoint saver whose writes are not cut off: a cancelled one would keep its lock on the file."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

Result = TypeVar("Result")
# The runs of one process write in turn: with a hundred of them on a busy machine, some waited for
# SQLite's lock, which knows no order, longer than they may.
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Path, asyncio.Lock]] = WeakKeyDictionary()


class UncutSaver(AsyncSqliteSaver):
    """LangGraph's saver, with every write in a task of its own that outlives the branch that asked for it.

    `our_errors` raises what is wrong with its file as one of our errors.
    """

    def __init__(
        self,
        connection: aiosqlite.Connection,
        path: Path,
        our_errors: Callable[[Path], AbstractContextManager[None]],
    ) -> None:
        super().__init__(connection)
        self.path = path
        self._our_errors = our_errors
        self._begun: set[asyncio.Task[Any]] = set()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint."""
        with self._our_errors(self.path):
            return await super().aget_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint whole."""
        return await self._uncut(super().aput(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write a task's results whole."""
        await self._uncut(super().aput_writes(config, writes, task_id, task_path))

    async def settle(self) -> None:
        """Wait until everything that was begun is written."""
        await asyncio.gather(*self._begun, return_exceptions=True)

    async def _uncut(self, write: Coroutine[Any, Any, Result]) -> Result:
        task = asyncio.create_task(self._in_turn(write))
        self._begun.add(task)
        task.add_done_callback(self._ended)
        with self._our_errors(self.path):
            return await asyncio.shield(task)

    async def _in_turn(self, write: Coroutine[Any, Any, Result]) -> Result:
        turns = _turns.setdefault(asyncio.get_running_loop(), {})
        async with turns.setdefault(self.path, asyncio.Lock()):
            return await write

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._begun.discard(task)
        if not task.cancelled():
            task.exception()  # Marks it as seen: the branch that waited for it may be gone.
