"""Reads folders of documents into the index in the background, few at a time, so that nobody waits for a long file."""

import asyncio
import logging
import math
import time
from contextlib import suppress
from pathlib import Path

from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.documents.corpus.index import IndexLocation
from deep_research.errors import DeepResearchError

_log = logging.getLogger(__name__)
_AT_ONCE = 2


class Indexing:
    """Refreshes of folders that are under way; one that changes meanwhile is read once more."""

    def __init__(self, index: IndexLocation) -> None:
        self._index = index
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._changed: set[Path] = set()
        self._begun: dict[Path, float] = {}

    def soon(self, folder: Path, *, unless_within_s: float = 0.0) -> None:
        """Have a folder read, unless that was begun within so many seconds."""
        now = time.monotonic()
        if now - self._begun.get(folder, -math.inf) < unless_within_s:
            return
        self._begun[folder] = now
        self._changed.add(folder)
        if folder not in self._tasks:
            task = self._tasks[folder] = asyncio.create_task(self._read(folder))
            task.add_done_callback(lambda _: self._tasks.pop(folder, None))

    def is_reading(self, folder: Path) -> bool:
        """Return whether a folder is being read or waits for it."""
        return folder in self._tasks

    async def end(self, folder: Path) -> None:
        """Stop reading a folder after the file at hand."""
        self._changed.discard(folder)
        self._begun.pop(folder, None)
        if (task := self._tasks.get(folder)) is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def stop(self) -> None:
        """Stop reading everything."""
        for folder in list(self._tasks):
            await self.end(folder)

    async def _read(self, folder: Path) -> None:
        async with self._slots:
            while folder in self._changed:
                self._changed.discard(folder)
                corpus = FolderCorpus(folder, index=self._index)
                try:
                    await corpus.refresh()
                except DeepResearchError as exc:
                    _log.warning("documents cannot be read: %s", exc)
                finally:
                    await corpus.close()
