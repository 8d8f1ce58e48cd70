"""Which models a run uses, from the settings: what is named, what has a key, what is missing."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from deep_research.errors import ConfigurationError
from deep_research.llm.address import is_local
from deep_research.llm.registry import OWN_WINDOW, PROVIDERS, ModelName, Provider, is_provider, model_named
from deep_research.settings import Settings, variable_of
from deep_research.wiring.stores import shared_limiter

if TYPE_CHECKING:
    from deep_research.llm.chat import VendorChat
    from deep_research.llm.port import ChatModel
    from deep_research.reasoning.port import Reasoner
    from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
    from deep_research.storage.store.port import JournalRow, RunRow
    from deep_research.web.search.registry import EngineSpec

NO_MODELS = ("none",)


def chosen_models(settings: Settings) -> tuple[str, ...]:
    """Return the thinking model, the task model and those to fall back on, as `provider:model`; empty without a model.

    Of several providers whose keys are set, the first in the registry is taken; the others, by their names alone, are
    fallen back on, unless the user named a provider or models. A local server must be named. What the chosen pair lacks
    is raised; a model to fall back on that lacks something is left out.
    """
    pair = _chosen_pair(settings)
    for name in (*pair, *_judge(settings, pair)):
        _require(name, settings)
    fallbacks = (name for name, problem in _fallbacks(settings) if problem is None) if pair else ()
    return tuple(map(str, (*pair, *fallbacks)))


def models_left_out(settings: Settings) -> dict[str, ConfigurationError]:
    """Return the models to fall back on that cannot be used, and why."""
    if not _chosen_pair(settings):
        return {}
    return {str(name): problem for name, problem in _fallbacks(settings) if problem is not None}


def key_unused_offline(settings: Settings) -> str:
    """Return the variable of a key that would be used, were it not for `offline`; "" where there is none."""
    if not settings.offline or settings.provider != "auto" or settings.thinking_model is not None:
        return ""
    return next((provider.key_variable for provider in _with_key(settings)), "")


def address_of(name: ModelName, settings: Settings) -> str:
    """Return where a model is reached; "" where that is not set."""
    return getattr(settings, f"{name.provider.setting}_address") or ""


def window_of(models: Sequence[str], settings: Settings) -> int | None:
    """Return the smallest window that the servers of the user's own models tell, None where none does."""
    from deep_research.llm.window import told_window

    names = [name for name in map(model_named, models) if name.provider.is_own_server]
    told = [
        told_window(name, address_of(name, settings), _key(name.provider, settings)) for name in dict.fromkeys(names)
    ]
    return min(filter(None, told), default=None)


def unpriced_models(names: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """Return those of the models without a known price."""
    from deep_research.llm.prices import load_prices, price_of

    prices = load_prices(settings.prices)
    models = dict.fromkeys(name for text in names for name in model_named(text).by_role)
    return tuple(str(name) for name in models if price_of(name, address_of(name, settings), prices) is None)


def unpriced_in(row: "RunRow", calls: "Iterable[JournalRow]", settings: Settings) -> tuple[str, ...]:
    """Return the models of a run whose price nobody knows, where it used them."""
    # A call with a price costs something, and one on this machine has a price of nothing.
    is_unpaid = any(call.kind == "llm" and call.spend.tokens and not call.spend.usd for call in calls)
    return unpriced_models(row.request.models, settings) if is_unpaid else ()


def _chosen_pair(settings: Settings) -> tuple[ModelName, ...]:
    """Return the thinking model and the task model, whether or not they can be used; empty without a model."""
    if settings.provider == "none":
        return ()
    own = None if settings.provider == "auto" else model_named(settings.provider)
    if settings.thinking_model is not None:
        thinking, task = _named(settings.thinking_model, own), None
    elif own is not None and own.model:
        thinking, task = own, None
    else:
        found = [] if settings.offline else _with_key(settings)
        provider = own.provider if own else next(iter(found), None)
        if provider is None:
            return ()
        thinking, task = ModelName(provider, "").by_role
    if settings.task_model is not None:
        task = _named(settings.task_model, thinking)
    return thinking, task or thinking


def _judge(settings: Settings, pair: Sequence[ModelName]) -> list[ModelName]:
    """Return the model that judges, where it is another one."""
    return [_named(settings.judge_model, pair[0])] if pair and settings.judge_model else []


def _fallbacks(settings: Settings) -> list[tuple[ModelName, ConfigurationError | None]]:
    """Return the models to fall back on, in order, each with what it lacks."""

    def problem(name: ModelName) -> ConfigurationError | None:
        try:
            for model in name.by_role:
                _require(model, settings)
        except ConfigurationError as exc:
            return exc
        return None

    names: list[ModelName] = []
    if settings.fallback_models not in ((), NO_MODELS):
        names = [_named(text, None) for text in settings.fallback_models]
    elif not settings.fallback_models and settings.provider == "auto" and settings.thinking_model is None:
        names = [ModelName(provider, "") for provider in _with_key(settings)[1:]]
    return [(name, problem(name)) for name in names]


def _named(text: str, near: ModelName | None) -> ModelName:
    """Return the model of a name; without a provider it is one of the provider at hand."""
    if near is not None and not is_provider(text.partition(":")[0]):
        return ModelName(near.provider, text.strip())
    return model_named(text)


def _with_key(settings: Settings) -> list[Provider]:
    """Return the providers whose keys are set and that have models of their own choice, in the registry's order."""
    return [provider for provider in PROVIDERS.values() if provider.default_thinking and _key(provider, settings)]


def _key(provider: Provider, settings: Settings) -> str:
    secret = getattr(settings, f"{provider.setting}_api_key", None)
    return secret.get_secret_value() if secret else ""


def _require(name: ModelName, settings: Settings) -> None:
    """Raise `ConfigurationError` where a model lacks something, or may not be asked."""
    from deep_research.llm.readiness import require_ready

    provider, address = name.provider, address_of(name, settings)
    if not address:
        variable = variable_of(f"{provider.setting}_address")
        raise ConfigurationError().with_message("fault.no_address", provider=provider.name, variable=variable)
    if settings.offline and not is_local(address):
        raise ConfigurationError().with_message("fault.not_offline", model=name)
    require_ready(name, address=address, key=_key(provider, settings))


class Models(NamedTuple):
    """The chain of models, and what lets go of their connections."""

    chain: "tuple[ChatModel, ...]" = ()
    close: Callable[[], Awaitable[None]] | None = None


def models_from(settings: Settings) -> Models:
    """Return the chain of models: the chosen pair for the two roles, then each fallback for both."""
    names = chosen_models(settings)
    if not names:
        return Models()
    from deep_research.llm.chat import ModelLimits, connect
    from deep_research.llm.prices import load_prices
    from deep_research.llm.roles import RoleModels

    prices = load_prices(settings.prices)
    limits = ModelLimits(
        settings.model_timeout_s,
        settings.model_idle_timeout_s,
        settings.model_calls_in_flight,
        shared=shared_limiter(settings),
    )

    def model(name: ModelName) -> "VendorChat":
        address, key = address_of(name, settings), _key(name.provider, settings)
        window = settings.model_window or name.provider.window
        return connect(name, address=address, key=key, window=window, prices=prices, limits=limits)

    thinking, task, *fallbacks = map(model_named, names)
    judge = _judge(settings, (thinking,))
    pairs = [tuple(map(model, pair)) for pair in ((thinking, task, *judge), *(name.by_role for name in fallbacks))]

    async def close() -> None:
        for pair in pairs:
            for chat in pair:
                await chat.close()

    return Models(tuple(RoleModels(*pair) for pair in pairs), close)


def known_window(settings: Settings) -> int:
    """Return how many tokens the chosen models hold: as is set, else what each has at least; one's own is not known."""
    windows = [model_named(name).provider.window for name in chosen_models(settings)]
    return settings.model_window or min(windows, default=OWN_WINDOW)


def reasoner_from(
    settings: Settings, fallback: "ExtractiveReasoner", engines: "Iterable[EngineSpec]"
) -> "Callable[[ChatModel], Reasoner]":
    """Return what makes a reasoner of a model; it may choose among the special ones of the engines."""
    from deep_research.reasoning.model.prompting import PromptOptions, Prompts
    from deep_research.reasoning.model.reasoner import ModelReasoner
    from deep_research.reasoning.rules.special_sources import describe

    prompts = Prompts(settings.prompts)
    prompts.check()
    options = PromptOptions(
        stable_prefix=settings.stable_prefix,
        todo_recitation=settings.todo_recitation,
        error_preservation=settings.error_preservation,
        tool_mask=settings.tool_mask,
        window=known_window(settings),
    )
    at_hand = list(engines)
    sources = describe([spec for spec in at_hand if spec.is_specialist])
    return lambda model: ModelReasoner(
        model, prompts=prompts, options=options, fallback=fallback, sources=sources, has_web=bool(at_hand)
    )
