"""The only place that builds adapters: settings in, the parts of a run out.

What only a run needs is imported when one is built, so that `runs list` stays quick.
"""

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from deep_research.errors import ConfigurationError
from deep_research.settings import Settings
from deep_research.wiring.models import known_window, models_from, reasoner_from
from deep_research.wiring.stores import open_store, shared_limiter
from deep_research.wiring.traces import observers_from

if TYPE_CHECKING:
    from deep_research.pipeline.adapters import Adapters


def build(settings: Settings) -> "Adapters":
    """Return the parts of a run; without a model rules judge."""
    from deep_research.charts import drawing
    from deep_research.documents.corpus.search import CorpusSearch
    from deep_research.pipeline.adapters import Adapters
    from deep_research.pipeline.journalled import JournalledCorpus
    from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
    from deep_research.web.fetch.routes import RoutedFetcher
    from deep_research.wiring.documents import documents_from
    from deep_research.wiring.sandbox import sandbox_from
    from deep_research.wiring.search import open_web

    own = documents_from(settings)
    corpus = None if own is None else JournalledCorpus(own.corpus)
    fallback = ExtractiveReasoner(corpus)
    models = models_from(settings)
    web = open_web(settings)
    limiter = shared_limiter(settings)
    sandbox, drawer = sandbox_from(settings) if settings.charts else None, drawing.Drawer()
    return Adapters(
        open_store=lambda: open_store(settings),
        logs=settings.logs,
        fallback=fallback,
        reasoner=reasoner_from(settings, fallback, web.specs.values()) if models.chain else None,
        models=models.chain,
        window=known_window(settings) if models.chain else Adapters.window,
        model_tries=settings.model_tries,
        corpus=corpus,
        engines=(*(() if corpus is None else (CorpusSearch(corpus.corpus),)), *web.engines),
        specs=web.specs,
        fetcher=RoutedFetcher(web=web.fetcher, files=None if own is None else own.fetcher),
        max_chart_failures=settings.sandbox_max_chart_failures,
        draw=drawer.draw if settings.charts and not drawing.missing() else None,
        no_drawing=drawing.missing() if settings.charts else "",
        sandbox=sandbox,
        cache=web.cache,
        # Whoever changes the prompts wants to see what they do.
        plan_cache_s=0.0 if settings.prompts else settings.plan_cache_s,
        on_close=tuple(
            close
            for close in (
                models.close,
                web.close,
                drawer.close,
                sandbox and sandbox.close,
                limiter and limiter.close,
            )
            if close
        ),
        lease_s=settings.lease_s,
        confirm_above_usd=settings.confirm_above_usd,
        tracing=settings.tracing,
    )


def adapters_for(settings: Settings, name: str) -> "Adapters":
    """Build the parts with the named function (`module:function`); a run's own row names the one it began with."""
    from deep_research.pipeline.adapters import Adapters

    module, _, function = name.partition(":")
    try:
        builder = getattr(import_module(module), function)
    except (ImportError, AttributeError) as exc:
        raise ConfigurationError(
            f"The wiring {name!r} cannot be found ({exc}); give module:function, by default deep_research.wiring:build."
        ) from exc
    adapters = builder(settings)
    if not isinstance(adapters, Adapters):
        raise ConfigurationError(f"The wiring {name!r} returned {type(adapters).__name__}, not Adapters.")
    return replace(adapters, observers=(*adapters.observers, *observers_from(settings)))
