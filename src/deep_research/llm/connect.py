"""From plain values to a chat model. Calls nobody."""

from importlib import import_module

from deep_research.llm.chat import Limits, VendorChat
from deep_research.llm.prices import PriceTable, load_prices, price_of
from deep_research.llm.readiness import require_ready
from deep_research.llm.registry import ModelName
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
    require_ready(name, address=address, key=key)
    endpoint = Endpoint(provider, name.model, address.rstrip("/"), key, window)
    vendor = import_module(f"{__package__}.{provider.module}").VENDOR(endpoint)
    table = load_prices() if prices is None else prices
    return VendorChat(vendor, endpoint, price=price_of(name, address, table), limits=limits or Limits())
