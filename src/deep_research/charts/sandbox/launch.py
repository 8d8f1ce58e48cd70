"""The program that starts bubblewrap where we are root: first it gives up being root. It stands alone.

What bubblewrap shows to the code inside may lie in folders that only root may enter. So these are first mounted
elsewhere, in a view of the file system that only this process has. It gets JSON: the uid, the folders, the command.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

_NEW_MOUNTS = 0x00020000
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
# Covered, for this process alone, by a file system in memory that holds the mounts; no program lies below it.
STAGE = "/sys"


def main() -> None:
    """Mount, drop to the unprivileged user, and become the command."""
    job = json.loads(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments) != 0:
            sys.exit(f"root may not prepare the sandbox here ({name}: {os.strerror(ctypes.get_errno())})")

    def mount(source: str, target: str, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
        call("mount", source.encode(), target.encode(), kind, ctypes.c_ulong(flags), options)

    call("unshare", _NEW_MOUNTS)
    mount("none", "/", None, _RECURSIVE | _PRIVATE)
    sources = [os.open(path, os.O_PATH) for path in job["mounts"]]
    mount("none", STAGE, b"tmpfs", 0, b"mode=755")
    for index, source in enumerate(sources):
        opened, target = Path(f"/proc/self/fd/{source}"), Path(STAGE, str(index))
        if opened.is_dir():
            target.mkdir()
        else:
            target.touch()
        mount(str(opened), str(target), None, _BIND)
        os.close(source)
    try:
        os.setgroups([])
        uid = job["uid"]
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError as exc:
        sys.exit(f"there is no user to drop to from root ({exc.strerror})")
    os.chdir("/")
    os.execve(job["command"][0], job["command"], {})


if __name__ == "__main__":
    main()
