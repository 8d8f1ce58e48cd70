"""Who asks: an account and what it may do."""

from typing import Literal

from deep_research.value import Value

# What a token may be allowed: read runs and documents, start and steer runs, change documents, everything.
Scope = Literal["read", "research", "documents", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "research", "documents", "admin")
# Whoever sits at this machine, where no accounts are set up.
LOCAL_USER = "local"


class Identity(Value):
    """An account as a request sees it; without accounts there is one, which may do everything and sees all runs.

    `user` is the account's id, `address` where the request came from.
    """

    user: str = LOCAL_USER
    name: str = ""
    scopes: frozenset[Scope] = frozenset(SCOPES)
    address: str = ""

    @property
    def sees_all(self) -> bool:
        """Whether runs of others, and of the command line, are shown too."""
        return self.user == LOCAL_USER


LOCAL = Identity()
