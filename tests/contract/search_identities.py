"""Services that tell numbers or names in place of addresses, and how the suite of the search port reads them."""

from abc import abstractmethod
from typing import ClassVar

from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.web.search.cleaning import web_address
from tests.support.search_formats import Result
from tests.support.search_server import Answer, Asked, Script
from tests.support.search_suite import QUERY, SearchConformance, Voice


class IdentityVoice(Voice):
    """Gives each address of the suite an identity of the service's own; what is no web address gets none."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self.identities: dict[str, str] = {}

    @abstractmethod
    def identity(self, number: int, result: Result) -> str:
        """Return the identity of the result with a number, counted from 1."""

    @abstractmethod
    def built(self, identity: str) -> str:
        """Return how the address ends that the adapter makes of an identity."""

    def identify(self, result: Result) -> str:
        if not web_address(result.address):
            return ""
        known = canonical_address(result.address)
        identity = self.identities.setdefault(known, self.identity(len(self.identities) + 1, result))
        self.given.setdefault(self.built(identity), result.address)
        return identity


class IdentityConformance(SearchConformance):
    """The suite, with the addresses that were made turned back into those that it gave."""

    voice: ClassVar[IdentityVoice]

    async def ask(
        self, script: Script | Answer, query: SearchQuery = QUERY, *, limit: int = 3, timeout_s: float = 60.0
    ) -> tuple[list[Hit], list[Asked]]:
        hits, asked = await super().ask(script, query, limit=limit, timeout_s=timeout_s)
        return [hit.model_copy(update={"address": self._given(hit.address)}) for hit in hits], asked

    def _given(self, address: str) -> str:
        return next(given for built, given in self.voice.given.items() if address.endswith(built))
