"""The self-test, run inside a sandbox like any chart: it tries what must not be possible, and prints what was."""

import contextlib
import os
import socket
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _signal() -> bool:
    os.kill(1, 0)
    return True


# Each gives something that counts as true where it gets through; nothing is changed.
_TRIED: dict[str, Callable[[], object]] = {
    "a password file can be read": lambda: os.open("/etc/shadow", os.O_RDONLY),
    "the environment of the first process can be read": lambda: os.open("/proc/1/environ", os.O_RDONLY),
    "settings of the kernel can be written": lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY),
    "its root folder can be written": lambda: os.access("/", os.W_OK),
    "its libraries can be written": lambda: os.access(Path(contextlib.__file__).parent, os.W_OK),
    "a network socket can be opened": lambda: socket.socket(socket.AF_INET),
    "a socket to programs of this machine can be opened": lambda: socket.socket(socket.AF_UNIX),
    "processes can be started": lambda: os.fork() or os._exit(0),
    "signals can be sent": _signal,
}


def main(plt: Any) -> None:
    """Print one line for each thing that should have failed, then draw."""
    if os.getuid() == 0:
        sys.stdout.write("the code is root\n")
    if set(os.environ) - {"MPLCONFIGDIR", "MPLBACKEND", "OPENBLAS_NUM_THREADS", "HOME", "LC_CTYPE"}:
        sys.stdout.write("it has an environment\n")
    for problem, attempt in _TRIED.items():
        with contextlib.suppress(OSError):
            if attempt():
                sys.stdout.write(f"{problem}\n")
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        plt.bar(["中文", "標題", "日本語"], [1, 2, 3])
        plt.gcf().canvas.draw()
    if any("Glyph" in str(each.message) for each in noticed):
        sys.stdout.write("no font for Chinese and Japanese was found: install fonts-noto-cjk\n")


if __name__ == "__main__":
    main(globals()["plt"])
