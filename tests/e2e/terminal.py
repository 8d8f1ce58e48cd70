"""A person at a terminal of their own: a process that believes it, and what it shows."""

import os
import select
import subprocess
import time
from contextlib import suppress
from typing import Self

from tests.e2e.harness import User
from tests.support.waiting import HANG_S

CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    """One command with a terminal as its standard input and error; use it in a `with` statement.

    With `has_output`, the terminal shows its standard output too.
    """

    def __init__(self, user: User, *arguments: str, has_output: bool = False, **extra: str) -> None:
        self._ours, theirs = os.openpty()
        self.shown = ""
        self._process = user.fork(
            *arguments,
            cwd=user.folder,
            env=user.environment(TERM="xterm", COLUMNS="110", **extra),
            stdin=theirs,
            stderr=theirs,
            stdout=theirs if has_output else subprocess.DEVNULL,
            terminal=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def until(self, text: str) -> str:
        """Read on until the text is shown; return what was shown since the last call, without it."""
        end = time.monotonic() + HANG_S
        while text not in self.shown:
            assert self._read(end - time.monotonic()), f"{text!r} was not shown:\n{self.shown}"
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, text: str) -> None:
        """Type a line, or a control key."""
        os.write(self._ours, (text if text in (CTRL_C, CTRL_D) else text + "\n").encode())

    def end(self) -> int:
        """Read to the end and return the exit code."""
        while self._read(HANG_S):
            pass
        return self._process.wait(HANG_S)

    def _read(self, timeout_s: float) -> bool:
        if not select.select([self._ours], [], [], max(0.0, timeout_s))[0]:
            return False
        data = b""
        with suppress(OSError):  # Linux reports an error where the other end was closed.
            data = os.read(self._ours, 65_536)
        self.shown += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
