"""Large content outside the database: the port, and its adapter for a folder that hosts share; `s3.py` is another.

An object is written once, under a name that nobody else writes to, before the row that names it is committed, and is
deleted after the last row that named it is gone. So two processes never write or delete the same object: whoever keeps
the same content again at that moment writes an object of its own. A process that dies between the two steps leaves an
object that no row names; it takes space and does no harm.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from deep_research.errors import CannotWrite, StoreLocked
from deep_research.storage.private_files import make_folder, write_durably


class BlobStorage(Protocol):
    """Keeps bytes under names. Its methods wait, and may be called from several threads at once."""

    def put(self, name: str, raw: bytes) -> None:
        """Keep bytes; they are there for everybody once this returns."""

    def get(self, name: str) -> bytes | None:
        """Return the bytes of a name, None where there are none."""

    def delete(self, name: str) -> None:
        """Drop the bytes of a name, if there are any."""


def new_name(blob: str) -> str:
    """Return a name for a blob's content that nobody has used before."""
    return f"{blob[:2]}/{blob}.{uuid4().hex}"


@dataclass
class FolderBlobs:
    """Content as files of a folder; they appear whole or not at all."""

    folder: Path

    def put(self, name: str, raw: bytes) -> None:
        target = self.folder / name
        temporary = target.with_name(f".{target.name}.tmp")
        try:
            make_folder(target.parent)
            write_durably(temporary, raw)
            temporary.replace(target)
        except OSError as exc:
            with suppress(OSError):
                temporary.unlink()
            raise CannotWrite(f"Cannot write {target}: {exc.strerror}. Check the folder of `blobs`.") from exc

    def get(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            if self.folder.is_dir():
                return None
            raise StoreLocked(f"The folder of `blobs` is not there: {self.folder}. Mount it, and try again.") from None
        except OSError as exc:
            raise StoreLocked(f"Cannot read from the folder of `blobs`, {self.folder}: {exc.strerror}.") from exc

    def delete(self, name: str) -> None:
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as exc:
            raise CannotWrite(f"Cannot delete {self.folder / name}: {exc.strerror}.") from exc
