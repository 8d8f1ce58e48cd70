"""What the pipeline asks of a fetcher: the bytes behind an address."""

from typing import Protocol

from deep_research.value import Value


class Fetched(Value):
    """The bytes behind an address, as they came."""

    address: str
    media_type: str
    raw: bytes
    title: str = ""
    published: str = ""


class Fetcher(Protocol):
    """Gets what stands at an address."""

    @property
    def timeout_s(self) -> float:
        """The time after which a fetch gives up."""
        ...

    async def fetch(self, address: str) -> Fetched:
        """Return the bytes behind the address, or raise `NetworkError` or `SourceError`."""
        ...
