"""The run folder (SPEC R4): files appear whole or not at all, and only while this process owns the run."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from deep_research.errors import CannotWrite
from deep_research.store.port import Claim, Store


class RunFolder:
    """The files of one run, written as it goes."""

    def __init__(self, path: Path, *, store: Store, claim: Claim) -> None:
        self.path = path
        self._store = store
        self._claim = claim

    async def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the run."""
        return await self.write_at(self.path / name, content)

    async def write_at(self, target: Path, content: str | bytes) -> Path:
        """Write a file under a temporary name and rename it once the claim was found valid."""
        raw = content.encode() if isinstance(content, str) else content
        # The epoch in the name keeps a process that was overtaken from touching the new owner's half-written file.
        temporary = target.with_name(f".{target.name}.{self._claim.epoch}.tmp")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            await self._store.while_owner(self._claim, lambda: os.replace(temporary, target))  # noqa: PTH105 - returns None
        except OSError as exc:
            raise CannotWrite(
                f"Cannot write {target}: {exc.strerror}. Free some space or choose another folder."
            ) from exc
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        return target


def folder_of(logs: Path, run: str, created_at: datetime) -> Path:
    """Return where a run's files lie."""
    return logs.absolute() / "research_data" / f"{run[:8]}_{created_at:%Y%m%dT%H%M%SZ}"


def report_copy_of(folder: Path) -> Path:
    """Return where the copy of a run's report lies."""
    return folder.parent.parent / "reports" / f"{folder.name}.md"
