"""From plain values to a search engine. Loads the engine's module, and calls nobody."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from urllib.parse import urlsplit

from deep_research.errors import ConfigurationError
from deep_research.net.contact import PROJECT_ADDRESS
from deep_research.net.refusal import Setup
from deep_research.search.engine import Endpoint
from deep_research.search.port import ServiceEngine
from deep_research.search.registry import EngineSpec


def connect(
    spec: EngineSpec,
    *,
    address: str = "",
    key: str = "",
    timeout_s: float = 20.0,
    model: str = "",
    contact: str = PROJECT_ADDRESS,
    pace: Callable[[], Awaitable[None]] | None = None,
) -> ServiceEngine:
    """Return an engine, at its own address where none is given; raise `ConfigurationError` for what is missing."""
    address = address or spec.default_address
    if spec.needs_key and not key:
        raise ConfigurationError(f"{spec.title} needs a key; set {spec.key_variable}.")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"{spec.title} needs an address such as https://search.example.org; set {spec.address_setting}."
        )
    # Who gave no key has none to check.
    setup = Setup(spec.key_variable if key else "", spec.model_setting, spec.address_setting)
    endpoint = Endpoint(
        spec.name,
        spec.title,
        address,
        timeout_s,
        key=key,
        model=model or spec.model,
        contact=contact,
        setup=setup,
        pace=pace,
    )
    engine: ServiceEngine = import_module(f"{__package__}.{spec.module}").ENGINE(endpoint)
    return engine
