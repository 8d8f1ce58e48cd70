"""What the pipeline asks of a fetcher: the bytes behind an address."""

from typing import Protocol

from pydantic import Field

from deep_research.value import Value


class Validators(Value):
    """By what a page that is known already is asked for: its server answers "not changed" if it is still the same."""

    etag: str = ""
    last_modified: str = ""


class Fetched(Value):
    """The bytes behind an address, as they came; `address` is where they stood in the end.

    With status 304 there are none: the page is as it was when its validators were given.
    """

    address: str
    media_type: str
    raw: bytes
    title: str = ""
    published: str = ""
    status: int = 200
    headers: dict[str, str] = Field(default_factory=dict)
    # In UTC, as ISO; empty where a fetcher does not say.
    fetched_at: str = ""
    validators: Validators = Validators()


class Fetcher(Protocol):
    """Gets what stands at an address."""

    @property
    def timeout_s(self) -> float:
        """The time after which a fetch gives up."""
        ...

    async def fetch(self, address: str) -> Fetched:
        """Return the bytes behind the address, or raise `NetworkError` or `SourceError`."""
        ...
