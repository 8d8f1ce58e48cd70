"""What a model's tokens cost: the prices that come along, and a user's own laid over them."""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from deep_research.errors import ConfigurationError
from deep_research.llm.address import is_local
from deep_research.llm.registry import PROVIDERS, ModelName
from deep_research.value import Value

_MILLION = 1_000_000
# What may follow a family's name without making it another model: a date, a number of an issue, a word for its state.
_ISSUE = re.compile(r"(-(\d{2,8}|latest|preview|exp|stable))*")


# No call has more; a larger number is no count.
_MAX_TOKENS = 1_000_000_000
Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Usage(Value):
    """The tokens of a call: `read` counts all that went in, `cached` and `cache_written` are parts of it."""

    read: int = 0
    cached: int = 0
    cache_written: int = 0
    written: int = 0

    @classmethod
    def of(cls, **reported: object) -> "Usage | None":
        """Return what a server reported, None where it counts nothing; what is no count is taken for 0."""
        usage = cls(**{name: number_of(count) for name, count in reported.items()})
        return usage if usage.read or usage.written else None

    def joined(self, later: "Usage") -> "Usage":
        """Return this report and a later one of the same call; counts only grow, and either may leave some out."""
        return Usage(**{name: max(count, getattr(later, name)) for name, count in self})


def number_of(value: object) -> int:
    """Return a count of tokens that a server reported, 0 where it is none."""
    return value if isinstance(value, int) and 0 < value <= _MAX_TOKENS else 0


class Price(Value):
    """US dollars per million tokens; `is_shipped` where it is a provider's public price and no user's own."""

    usd_in: Usd = Field(alias="in")
    usd_cached: Usd | None = Field(default=None, alias="cached")
    usd_out: Usd = Field(alias="out")
    usd_cache_write: Usd | None = Field(default=None, alias="cache_write")
    is_shipped: bool = False

    def cost(self, usage: Usage) -> float:
        """Return what a call cost."""
        cached = self.usd_in if self.usd_cached is None else self.usd_cached
        written = self.usd_in if self.usd_cache_write is None else self.usd_cache_write
        fresh = max(0, usage.read - usage.cached - usage.cache_written)
        total = fresh * self.usd_in + usage.cached * cached + usage.cache_written * written
        return round((total + usage.written * self.usd_out) / _MILLION, 10)

    def most(self, read: int, written: int) -> float:
        """Return the most that so many tokens can cost."""
        highest = max(self.usd_in, self.usd_cache_write or 0.0)
        return round((read * highest + written * self.usd_out) / _MILLION, 10)


FREE = Price.model_validate({"in": 0, "out": 0})
PriceTable = Mapping[str, Mapping[str, Price]]
_TABLE = TypeAdapter(dict[str, dict[str, Price]])


def load_prices(own: Path | None = None) -> PriceTable:
    """Return the prices by provider and model; a user's file adds to the ones that come along and corrects them."""
    shipped = _TABLE.validate_python(tomllib.loads(files(__package__).joinpath("prices.toml").read_text("utf-8")))
    table = {name: {of: price.replace(is_shipped=True) for of, price in each.items()} for name, each in shipped.items()}
    for provider, prices in (_read(own) if own else {}).items():
        table[provider] = table.get(provider, {}) | prices
    return table


def price_of(name: ModelName, address: str, table: PriceTable) -> Price | None:
    """Return a model's price, None where it is not known.

    What runs on this machine costs nothing by any name, unless its user says otherwise: behind a local address may be a
    door to a paid one.
    """
    prices, is_here = table.get(name.provider.name, {}), is_local(address)
    families = [
        family for family in prices if name.model.startswith(family) and _ISSUE.fullmatch(name.model, len(family))
    ]
    known = prices[max(families, key=len)] if families else None
    if known is not None and not (known.is_shipped and is_here):
        return known
    return FREE if is_here or name.provider.is_local else None


def _read(path: Path) -> dict[str, dict[str, Price]]:
    try:
        table = _TABLE.validate_python(tomllib.loads(path.read_bytes().decode("utf-8-sig")))
    except OSError as exc:
        raise ConfigurationError(f"The file of prices {path} cannot be read: {exc.strerror}.") from exc
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise ConfigurationError(f"The file of prices {path} is not valid TOML: {exc}.") from exc
    except ValidationError as exc:
        position = ".".join(map(str, exc.errors(include_url=False)[0]["loc"]))
        raise ConfigurationError(
            f"The file of prices {path} does not fit at {position}; "
            'write [openai] and below it "gpt-4o" = { in = 2.5, cached = 1.25, out = 10 }.'
        ) from exc
    unknown = sorted(set(table) - set(PROVIDERS))
    if unknown:
        raise ConfigurationError(
            f"The file of prices {path} names the provider {unknown[0]!r}; the providers are {', '.join(PROVIDERS)}."
        )
    return table
