"""What is configured, for whoever asks over a network: no secret, no path and no address of this machine."""

from collections.abc import Callable
from importlib.metadata import version
from typing import get_args

from deep_research.errors import DeepResearchError
from deep_research.export.formats import FORMATS, missing_extra
from deep_research.request import Budget, ClarifyMode, DepthName, Language, ReportLength, SearchKind
from deep_research.service.public_text import public_message
from deep_research.service.runs.new_run import MAX_QUESTION_CHARS
from deep_research.settings import Settings
from deep_research.text.messages.language import LANGUAGES
from deep_research.value import Strings, Value
from deep_research.wiring.models import chosen_models
from deep_research.wiring.search import chosen_engines


class PublicSettings(Value):
    """What a server has to work with, and what a run does unless its asker says otherwise.

    `models` are none where rules research alone; `problem` says what keeps a model or a source from being used. Where
    `depth` or `length` is null, the question decides.
    """

    version: str
    models: Strings = ()
    problem: str = ""
    engines: Strings = ()
    has_documents: bool = False
    offline: bool = False
    strategy: SearchKind
    depth: DepthName | None = None
    length: ReportLength | None = None
    clarify: ClarifyMode
    language: Language | None = None
    budget: Budget = Budget()
    confirm_above_usd: float
    charts: bool = False
    cache: bool = False
    runs_at_once: int
    formats: Strings = ()
    max_question_characters: int = MAX_QUESTION_CHARS
    languages: tuple[Language, ...] = LANGUAGES
    strategies: tuple[SearchKind, ...] = get_args(SearchKind)
    depths: tuple[DepthName, ...] = get_args(DepthName)
    lengths: tuple[ReportLength, ...] = get_args(ReportLength)


def public_settings(settings: Settings) -> PublicSettings:
    """Return what is configured."""
    models, no_models = _tried(chosen_models, settings)
    engines, no_engines = _tried(chosen_engines, settings)
    same = ("offline", "strategy", "depth", "length", "clarify", "language", "confirm_above_usd", "charts", "cache")
    return PublicSettings(
        version=version("deep-research"),
        models=models,
        problem=no_models or no_engines,
        engines=engines,
        has_documents=settings.docs is not None,
        budget=settings.budget(),
        runs_at_once=settings.server_runs_at_once,
        formats=tuple(name for name in FORMATS if not missing_extra(name)),
        **{name: getattr(settings, name) for name in same},
    )


def _tried(choose: Callable[[Settings], Strings], settings: Settings) -> tuple[Strings, str]:
    try:
        return choose(settings), ""
    except DeepResearchError as exc:
        return (), public_message(str(exc))
