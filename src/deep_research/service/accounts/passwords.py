"""Passwords: hashed and checked with argon2, in threads, and only a few at a time, for each takes 64 MiB of memory."""

import asyncio
import unicodedata
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from deep_research.errors import TooManyTries, UsageError

MIN_CHARS = 10
MAX_CHARS = 512
_AT_ONCE = 2
_MAX_WAITING = 32


class Passwords:
    """Checks passwords in the same time whether or not there is an account."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="passwords")
        self._waiting = 0
        # What a password is held against where nobody has the name; nothing fits it.
        self._nobody: str | None = None

    async def hash(self, password: str) -> str:
        """Return what is kept of a new password."""
        if not MIN_CHARS <= len(password) <= MAX_CHARS:
            raise UsageError(f"A password has {MIN_CHARS} to {MAX_CHARS} characters.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hasher.hash, _spelled(password))

    async def is_right(self, hashed: str | None, password: str) -> bool:
        """Return whether a password is the one that was kept; None stands for an account that does not exist."""
        if self._waiting >= _MAX_WAITING:
            raise TooManyTries(retry_after_s=5)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._fits, hashed, password)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _fits(self, hashed: str | None, password: str) -> bool:
        self._nobody = self._nobody or self._hasher.hash("nobody")
        try:
            self._hasher.verify(hashed or self._nobody, _spelled(password[:MAX_CHARS]))
        except (VerificationError, InvalidHashError):
            return False
        return hashed is not None


def _spelled(password: str) -> bytes:
    """Return a password in the one spelling of its characters, whichever keyboard they were typed on."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
