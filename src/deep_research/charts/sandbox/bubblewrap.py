"""`Bubblewrap`: a sandbox out of the kernel's own namespaces, without a service and without rights.

The code inside has no network, no environment, no `/proc`, no devices but `/dev/null`, and of the file system only
libraries, fonts and Python, which it cannot change, and an empty `/tmp`. Outside it is never root: where we are,
`launch.py` first drops to a user that owns nothing.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from deep_research.charts.sandbox.launch import STAGE
from deep_research.charts.sandbox.process import SandboxLimits, Start, program, run_command

NOBODY = 65534
PACKAGES = ("matplotlib", "numpy", "pandas")
_NEEDED_VERSION = (0, 8)
# Shown inside as they are, where there are such folders.
_SYSTEM = """
    /lib /lib64 /usr/lib /usr/lib64 /etc/ld.so.cache /nix/store /usr/share/fonts /usr/local/share/fonts
""".split()
_INSIDE = "/sandbox"
_NAMESPACES = """
    --unshare-user --disable-userns --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try
    --die-with-parent --new-session --as-pid-1 --cap-drop ALL --hostname sandbox
""".split()


def packages_problem() -> str:
    """Return what charts need and this Python does not have."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    return f"Python lacks {', '.join(missing)}: pip install 'deep-research[charts]'" if missing else ""


class Bubblewrap:
    """Shuts code in with `bwrap`."""

    name = "bubblewrap"

    async def problem(self) -> str:
        if not sys.platform.startswith("linux"):
            return "it needs Linux"
        found = shutil.which("bwrap")
        if found is None:
            return "bwrap is not installed"
        _, said = await run_command([found, "--version"])
        version = re.search(r"(\d+)\.(\d+)", said)
        if version is None or tuple(map(int, version.groups())) < _NEEDED_VERSION:
            return f"{said or found} is too old: version 0.8 or newer is needed"
        return packages_problem() or self._folders_problem()

    def start(self, limits: SandboxLimits) -> Start:
        binary, folders = Path(getattr(sys, "_base_executable", sys.executable)).resolve(), _package_folders()
        libraries = [path for name in ("lib", "lib64") if (path := Path(sys.base_prefix).resolve() / name).is_dir()]
        inside = {
            binary: f"{_INSIDE}/python/bin/{binary.name}",
            **{path: f"{_INSIDE}/python/{path.name}" for path in libraries},
            **{path: f"{_INSIDE}/packages/{index}" for index, path in enumerate(folders)},
        }
        is_root = os.geteuid() == 0
        seen = [f"{STAGE}/{index}" if is_root else str(path) for index, path in enumerate(inside)]
        command = [
            str(shutil.which("bwrap")),
            *_NAMESPACES,
            *_each("--ro-bind-try", ((path, path) for path in _SYSTEM)),
            *_each("--ro-bind", zip(seen, inside.values(), strict=True)),
            *f"--dev-bind /dev/null /dev/null --size {limits.scratch_mb << 20} --tmpfs /tmp --remount-ro /".split(),
            *f"--chdir /tmp --setenv LD_LIBRARY_PATH {_INSIDE}/python/lib".split(),
            *(inside[binary], "-I", "-S", "-B", "-c", program("child.py")),
        ]
        if is_root:
            job = {"uid": NOBODY, "mounts": [str(path) for path in inside], "command": command}
            command = [sys.executable, "-I", "-S", "-c", program("launch.py"), json.dumps(job)]
        return Start(command, {}, [inside[path] for path in folders], user=NOBODY if is_root else None)

    def _folders_problem(self) -> str:
        odd = [str(folder) for folder in _package_folders() if folder.name not in ("site-packages", "dist-packages")]
        # It may hold anything else as well.
        return f"packages lie in {odd[0]}, which is no folder of packages alone" if odd else ""


def _package_folders() -> list[Path]:
    """Return the folders in which the packages of charts are installed."""
    specs = [find_spec(name) for name in PACKAGES]
    found = [Path(spec.origin).parents[1].resolve() for spec in specs if spec is not None and spec.origin]
    return list(dict.fromkeys(found))


def _each(option: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [word for pair in pairs for word in (option, *pair)]
