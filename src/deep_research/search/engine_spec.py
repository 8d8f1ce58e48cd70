"""What is known of an engine before it is loaded."""

from dataclasses import dataclass

from deep_research.request import SearchKind
from deep_research.search.pacing import RateLimit
from deep_research.sources.hit import Priority


@dataclass(frozen=True)
class EngineSpec:
    """An engine: who it is, what it needs, and when it is asked.

    `key_setting` and `address_setting` name fields of the settings; `key_variable` is where users put the key.
    `tier` is the place in the fallback chain of SPEC H3 from 1 on, 0 for an engine outside it. A specialist is asked
    beside the chain. `is_model_search` marks a model that searches by itself; `model` is the one to ask where
    `model_setting` names no other. An engine that `needs_sites` only answers queries that name some. `about` says in a
    few words what it holds. `limit` is how often its service lets itself be searched, where it says so, with
    `limit_with_key` and `limit_with_mail` where a key or a contact's mail address allows more; `shared_service` is what
    engines of one service have in common.
    """

    name: str
    title: str
    module: str
    kinds: frozenset[SearchKind]
    about: str = ""
    priority: Priority = "low"
    key_setting: str = ""
    key_variable: str = ""
    is_key_optional: bool = False
    address_setting: str = ""
    default_address: str = ""
    is_specialist: bool = False
    tier: int = 0
    is_model_search: bool = False
    model: str = ""
    model_setting: str = ""
    needs_sites: bool = False
    limit: RateLimit | None = None
    limit_with_key: RateLimit | None = None
    limit_with_mail: RateLimit | None = None
    shared_service: str = ""

    @property
    def service(self) -> str:
        """Return the name of the service behind the engine."""
        return self.shared_service or self.title

    def limit_at(self, address: str, key: str, mail: str = "") -> RateLimit | None:
        """Return how often it may be searched; what stands at another address than its own sets its own limits."""
        if address != self.default_address:
            return None
        more = (self.limit_with_key if key else None) or (self.limit_with_mail if mail else None)
        return more or self.limit

    @property
    def needs_key(self) -> bool:
        """Say whether the engine can only be asked with a key."""
        return bool(self.key_setting) and not self.is_key_optional
