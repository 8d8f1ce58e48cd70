"""Files and folders that only their owner may read, whatever the umask; where a system has no such rights, as it does.

What is ours is tightened when it is met; a folder that holds anything else is left as its owner made it.
"""

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_FOLDER_RIGHTS = 0o700
_FILE_RIGHTS = 0o600
_OTHERS = 0o077
_HAS_RIGHTS = os.name == "posix"
# Everything that is kept in the home; what was damaged is put aside under a longer name.
HOME_FILES = re.compile(r"(?:config\.toml|(?:store|checkpoints|cache|index|server)\.db(?:[-.].*)?|uploads)")


def make_folder(path: Path, *, ours: re.Pattern[str] | None = None) -> None:
    """Make a folder, and those above it that are missing, for the owner only.

    One that was there is closed to others if all that it holds has one of `ours` names; without names never.
    """
    try:
        path.mkdir(mode=_FOLDER_RIGHTS)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_folder(path.parent)
        make_folder(path, ours=ours)
    except FileExistsError:
        if not path.is_dir():
            raise
        if ours is not None:
            _tighten_folder(path, ours)
    else:
        # The umask may have taken something from the owner.
        _set_rights(path, _FOLDER_RIGHTS)


def tighten_files(paths: Iterable[Path]) -> None:
    """Let only the owner read files of ours; one that is not there, or belongs to somebody else, is passed over."""
    for path in paths:
        with suppress(OSError):
            if _is_loose(path):
                _set_rights(path, _FILE_RIGHTS)


def opener(path: str, flags: int) -> int:
    """Open a file, for `open(…, opener=…)`, so that only its owner can read it."""
    descriptor = os.open(path, flags, _FILE_RIGHTS)
    if _HAS_RIGHTS:
        with suppress(OSError):
            os.fchmod(descriptor, _FILE_RIGHTS)
    return descriptor


def write_durably(path: Path, raw: bytes) -> None:
    """Write a file that only its owner can read; it is on the disk when this returns."""
    with open(path, "wb", opener=opener) as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def is_open_to_others(path: Path) -> bool:
    """Return whether others than its owner may look into a folder or a file."""
    try:
        return _HAS_RIGHTS and bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def _tighten_folder(path: Path, ours: re.Pattern[str]) -> None:
    with suppress(OSError):
        if _is_loose(path) and all(ours.fullmatch(entry.name) for entry in path.iterdir()):
            _set_rights(path, _FOLDER_RIGHTS)


def _is_loose(path: Path) -> bool:
    """Return whether others may look into what belongs to this user; what all users share (/tmp) is not one's own."""
    if not _HAS_RIGHTS:
        return False
    status = path.stat()
    return bool(status.st_mode & _OTHERS) and not status.st_mode & stat.S_ISVTX and status.st_uid == os.geteuid()


def _set_rights(path: Path, rights: int) -> None:
    if _HAS_RIGHTS:
        path.chmod(rights)
