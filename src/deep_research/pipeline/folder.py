"""The run folder: files appear whole or not at all, and only while this process owns the run.

Only their owner may read them.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from deep_research.errors import CannotWrite
from deep_research.private_files import make_folder, opener
from deep_research.store.port import Claim, Store

# Folders of runs and copies of reports carry the names that `folder_of` and `report_copy_of` give.
_OF_RUNS = re.compile(r"\.?[^.]{1,8}_\d{8}T\d{6}Z(?:\.md.*)?")
_ANYTHING = re.compile(".*", re.DOTALL)


@dataclass(frozen=True)
class RunFolder:
    """The files of one run, written as it goes."""

    path: Path
    store: Store
    claim: Claim

    async def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the run."""
        return await self.write_at(self.path / name, content)

    async def write_at(self, target: Path, content: str | bytes) -> Path:
        """Write a file under a temporary name and rename it once the claim was found valid."""
        raw = content.encode() if isinstance(content, str) else content
        # The epoch in the name keeps a process that was overtaken from touching the new owner's half-written file.
        temporary = target.with_name(f".{target.name}.{self.claim.epoch}.tmp")
        try:
            self._make_folder(target.parent)
            _write(temporary, raw)
            await self.store.while_owner(self.claim, lambda: os.replace(temporary, target))  # noqa: PTH105 - returns None
        except OSError as exc:
            raise CannotWrite(
                f"Cannot write {target}: {exc.strerror}. Free some space or choose another folder."
            ) from exc
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        return target

    def _make_folder(self, folder: Path) -> None:
        """Make a folder of the run, or the one of the reports; the one above them may be the user's own."""
        if not folder.is_relative_to(self.path):
            make_folder(folder, ours=_OF_RUNS)
            return
        make_folder(self.path.parent, ours=_OF_RUNS)
        for own in dict.fromkeys((self.path, folder)):
            make_folder(own, ours=_ANYTHING)


def _write(path: Path, raw: bytes) -> None:
    with open(path, "wb", opener=opener) as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def folder_of(logs: Path, run: str, created_at: datetime) -> Path:
    """Return where a run's files lie."""
    return logs.absolute() / "research_data" / f"{run[:8]}_{created_at:%Y%m%dT%H%M%SZ}"


def report_copy_of(folder: Path) -> Path:
    """Return where the copy of a run's report lies."""
    return folder.parent.parent / "reports" / f"{folder.name}.md"
