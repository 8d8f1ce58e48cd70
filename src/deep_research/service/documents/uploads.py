"""Files on their way in: written piece by piece to a private folder, from where a collection takes them whole.

Knows nothing of HTTP and of collections. What is not taken is gone when the upload ends, however it ends; what a killed
process left is removed by the next one.
"""

import asyncio
import hashlib
import math
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, ParamSpec, TypeVar
from uuid import uuid4

from deep_research.errors import CannotWrite, TooLarge
from deep_research.storage.private_files import make_folder, opener
from deep_research.storage.store.lease import Owner, current_owner, holds_lease
from deep_research.value import Value, json_of

_PREFIX = ".incoming-"
_OWNER = "owner.json"
# A folder without an owner is being made, unless it is older.
_BEING_MADE_S = 60.0
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class UploadLimits(Value):
    """How much one upload may bring: bytes of a file, files, and bytes of all that is sent."""

    file_bytes: int
    files: int
    sent_bytes: int


class IncomingFile:
    """One file of an upload; `is_too_large` says that the rest of it was dropped."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.bytes = 0
        self.is_too_large = False
        self._digest = hashlib.sha256()
        self._file: BinaryIO = open(path, "xb", opener=opener)  # noqa: SIM115 - closed by `close`, many writes later

    @property
    def digest(self) -> str:
        """The SHA-256 of its content."""
        return self._digest.hexdigest()

    def write(self, data: bytes, limit: int) -> None:
        """Add to it, unless it grows over the limit: then nothing of it stays on disk."""
        self.bytes += len(data)
        if self.bytes > limit:
            self.is_too_large = True
            self._file.truncate(0)
            return
        self._digest.update(data)
        self._file.write(data)

    def close(self) -> None:
        """Have it on disk."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()


@dataclass
class Upload:
    """One upload: `begin` a file, `write` to it, and so on; `files` are those that came whole."""

    folder: Path
    limits: UploadLimits
    files: list[IncomingFile] = field(default_factory=list)
    _current: IncomingFile | None = None

    async def begin(self, name: str) -> None:
        """Begin with the next file."""
        if len(self.files) >= self.limits.files:
            raise TooLarge().with_message("fault.upload_too_many", count=self.limits.files)
        self._current = await _on_disk(IncomingFile, name, self.folder / str(len(self.files)))
        self.files.append(self._current)

    async def write(self, data: bytes) -> None:
        """Add to the file that was begun last."""
        if self._current is not None and not self._current.is_too_large:
            await _on_disk(self._current.write, data, self.limits.file_bytes)

    async def end(self) -> None:
        """End the file that was begun last."""
        if self._current is not None:
            await _on_disk(self._current.close)
            self._current = None

    async def close(self) -> None:
        """Remove everything that was not taken."""
        with suppress(CannotWrite):
            await self.end()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


class IncomingFolder:
    """Where uploads of this process are written to, in a hidden folder below that of all collections."""

    def __init__(self, uploads: Path) -> None:
        self._uploads = uploads
        self._own = uploads / f"{_PREFIX}{uuid4().hex}"

    @asynccontextmanager
    async def upload(self, limits: UploadLimits) -> AsyncIterator[Upload]:
        """Give an upload; when it ends, what nobody took is removed."""
        upload = Upload(await _on_disk(self._made), limits)
        try:
            yield upload
        finally:
            await upload.close()

    def remove_left(self) -> None:
        """Remove what uploads of killed processes left."""
        for folder in self._uploads.glob(f"{_PREFIX}*"):
            if folder != self._own and not _is_used(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._own, ignore_errors=True)

    def _made(self) -> Path:
        if not self._own.exists():
            make_folder(self._own)
            with open(self._own / _OWNER, "w", encoding="utf-8", opener=opener) as file:
                file.write(current_owner().model_dump_json())
        folder = self._own / uuid4().hex
        make_folder(folder)
        return folder


def _is_used(folder: Path) -> bool:
    is_new = False
    try:
        is_new = time.time() - folder.stat().st_mtime < _BEING_MADE_S
        owner = Owner.from_json(json_of((folder / _OWNER).read_bytes()))
    except FileNotFoundError:
        return is_new
    except (OSError, ValueError):
        return False
    # As long as its process lives.
    return holds_lease(owner, current_owner(), lease_s=math.inf)


async def _on_disk(work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except OSError as exc:
        raise CannotWrite().with_message("fault.upload_not_kept", reason=exc.strerror) from exc
