"""Names for uploaded files: what somebody called a file, made into a name that is safe in any folder.

The name stays readable in any script; nothing of it can lead out of the folder, hide the file or pass for another.
"""

import re
import unicodedata
from collections.abc import Collection
from pathlib import PurePosixPath

from deep_research.documents.readers.registry import FileFormat

_MAX_BYTES = 255
# Space for the number that distinguishes two files of one name.
_NUMBER_BYTES = 8
# Control, format (bidirectional marks, zero width), surrogate, private, unassigned, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Words of Persian and emoji are spelled with them; `corpus.address` shows them too.
_JOINERS = "\u200c\u200d"
_NOT_IN_NAMES = re.compile(r'[<>:"|?*]')
_RESERVED = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_EMPTY = "document"


def safe_name(sent_name: str, file_format: FileFormat) -> str:
    """Return a file name for what somebody called a file; it ends in a way that its format's readers know."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", sent_name))[-1]
    seen = "".join(
        each for each in " ".join(last.split()) if each in _JOINERS or unicodedata.category(each) not in _UNSEEN
    )
    # A leading dot or "~$" would hide the file from the readers.
    name = _NOT_IN_NAMES.sub("_", " ".join(seen.split())).lstrip(".~$ ").rstrip(". ")
    suffix = PurePosixPath(name).suffix
    if suffix.lower() not in file_format.suffixes:
        suffix = file_format.suffixes[0]
    stem = name.removesuffix(suffix).rstrip(". ") or _EMPTY
    if _RESERVED.fullmatch(stem):
        stem = f"_{stem}"
    return f"{_cut(stem, _MAX_BYTES - _NUMBER_BYTES - len(suffix.encode()))}{suffix}"


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, or one with a number where the folder has it already; large and small letters are the same."""
    folded = {each.casefold() for each in taken}
    path = PurePosixPath(name)
    names = (name if number == 1 else f"{path.stem} ({number}){path.suffix}" for number in range(1, len(folded) + 2))
    return next(each for each in names if each.casefold() not in folded)


def _cut(stem: str, max_bytes: int) -> str:
    """Return as much of a name as fits, no letter of it in parts."""
    raw = stem.encode()
    if len(raw) <= max_bytes:
        return stem
    return raw[:max_bytes].decode(errors="ignore").rstrip(" .") or _EMPTY
