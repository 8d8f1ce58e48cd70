"""The run folder: files appear whole or not at all, and only while this process owns the run.

Only their owner may read them. The store keeps those of a finished run, for hosts that do not have its folder.
"""

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from deep_research.errors import CannotWrite
from deep_research.storage.private_files import make_folder, write_durably
from deep_research.storage.store.port import Lease, RunRow
from deep_research.storage.store.store import Store
from deep_research.text.in_thread import in_thread
from deep_research.value import canonical_json, json_of

# Folders of runs and copies of reports carry the names that `folder_of` and `report_copy_of` give.
_OF_RUNS = re.compile(r"\.?[^.]{1,8}_\d{8}T\d{6}Z(?:\.md.*)?")
_ANYTHING = re.compile(".*", re.DOTALL)
# They repeat the texts of documents, which the store has.
_REPEATED = re.compile(r"search_results\.json|resources\.md|segment_\d+\.md|\..*")
# Written when all others are there.
LAST_FILE = "stats.json"


@dataclass(frozen=True)
class RunFolder:
    """The files of one run, written as it goes."""

    path: Path
    store: Store
    lease: Lease

    async def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the run."""
        return await self.write_at(self.path / name, content)

    async def write_json(self, name: str, *records: object) -> Path:
        """Write a file of the run as JSON, one record a line."""
        return await self.write(name, "".join(canonical_json(record) + "\n" for record in records))

    async def write_at(self, target: Path, content: str | bytes) -> Path:
        """Write a file under a temporary name and rename it once the claim was found valid."""
        raw = content.encode() if isinstance(content, str) else content
        # The epoch in the name keeps a process that was overtaken from touching the new owner's half-written file.
        temporary = target.with_name(f".{target.name}.{self.lease.epoch}.tmp")
        try:
            if target.is_relative_to(self.path):
                _make_folders(self.path, target.parent)
            else:
                make_folder(target.parent, ours=_OF_RUNS)
            write_durably(temporary, raw)
            await self.store.while_owner(self.lease, lambda: os.replace(temporary, target))  # noqa: PTH105 - returns None
        except OSError as exc:
            raise CannotWrite(
                f"Cannot write {target}: {exc.strerror}. Free some space or choose another folder."
            ) from exc
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        return target

    async def keep(self) -> str:
        """Let the store keep the files, but for what it has anyway; return the content id of the list of them."""
        ids = {}
        for path in sorted(self.path.rglob("*")):
            if path.is_file() and not _REPEATED.fullmatch(path.name):
                ids[path.relative_to(self.path).as_posix()] = await self.store.put_blob(self.lease, path.read_bytes())
        return await self.store.put_blob(self.lease, canonical_json(ids).encode())


async def with_files(row: RunRow, store: Store, logs: Path) -> RunRow:
    """Return a run whose folder is on this host: where another one finished it, the store gives the files back.

    A folder in which the last file is missing was left by a process that did not finish the run.
    """
    listed = (row.result or {}).get("files")
    if not listed or (Path(row.folder) / LAST_FILE).is_file():
        return row
    folder = folder_of(logs, row.id, row.created_at)
    if not (folder / LAST_FILE).is_file():
        ids = json_of(await store.get_blob(str(listed)))
        assert isinstance(ids, dict)
        await in_thread(_restore, folder, {name: await store.get_blob(str(id_)) for name, id_ in ids.items()})
    return row.replace(folder=str(folder))


def _restore(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        for name in sorted(files, key=LAST_FILE.__eq__):
            target = folder / name
            _make_folders(folder, target.parent)
            temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
            write_durably(temporary, files[name])
            temporary.replace(target)
    except OSError as exc:
        raise CannotWrite(f"Cannot write {folder}: {exc.strerror}. Free some space or choose another folder.") from exc


def _make_folders(folder: Path, inner: Path) -> None:
    """Make a run's folder and one in it; the one above them may be the user's own."""
    make_folder(folder.parent, ours=_OF_RUNS)
    for own in dict.fromkeys((folder, inner)):
        make_folder(own, ours=_ANYTHING)


def folder_of(logs: Path, run: str, created_at: datetime) -> Path:
    """Return where a run's files lie."""
    return logs.absolute() / "research_data" / f"{run[:8]}_{created_at:%Y%m%dT%H%M%SZ}"


def report_copy_of(folder: Path) -> Path:
    """Return where the copy of a run's report lies."""
    return folder.parent.parent / "reports" / f"{folder.name}.md"
