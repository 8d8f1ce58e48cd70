"""From plain values to a chat model. Loads the vendor's library, and calls nobody."""

from importlib import import_module
from importlib.util import find_spec
from urllib.parse import urlsplit

from deep_research.errors import ConfigurationError
from deep_research.llm.chat import Limits, VendorChat
from deep_research.llm.prices import PriceTable, load_prices, price_of
from deep_research.llm.registry import ModelName, Provider
from deep_research.llm.vendor import Endpoint


def connect(
    name: ModelName,
    *,
    address: str,
    key: str = "",
    window: int = 16_000,
    prices: PriceTable | None = None,
    limits: Limits | None = None,
) -> VendorChat:
    """Return the model of a name at an address; raise `ConfigurationError` where something for it is missing."""
    provider = name.provider
    if not name.model:
        raise ConfigurationError(f"Name a model of {provider.name}, as {provider.name}:model, in thinking_model.")
    if provider.needs_key and not key:
        raise ConfigurationError(f"The provider {provider.name} needs a key; set {provider.key_variable}.")
    _check_address(address, provider)
    _check_extra(provider)
    endpoint = Endpoint(provider, name.model, address.rstrip("/"), key, window)
    vendor = import_module(f"{__package__}.{provider.module}").VENDOR(endpoint)
    table = load_prices() if prices is None else prices
    return VendorChat(vendor, endpoint, price=price_of(name, address, table), limits=limits or Limits())


def _check_address(address: str, provider: Provider) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"The setting {provider.setting}_address must be an address such as http://127.0.0.1:8000/v1."
        )


def _check_extra(provider: Provider) -> None:
    if find_spec(provider.package) is None:
        extra = f"[{provider.extra}]" if provider.extra else ""
        raise ConfigurationError(
            f"Models of {provider.name} need a library that is not installed: pip install 'deep-research{extra}'"
        )
