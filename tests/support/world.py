"""A whole scripted world, ready to run: `wiring = "tests.support.world:build"`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from deep_research.llm.port import ChatModel
from deep_research.pipeline.adapters import Adapters
from deep_research.reasoning.model.prompting import PromptOptions, Prompts
from deep_research.reasoning.model.reasoner import ModelReasoner
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.report.sources.hit import Hit
from deep_research.settings import Settings
from deep_research.testing import ActPrice, CallLog, MemoryFetcher, ScriptedModel, StaticSearch
from deep_research.wiring import build as build_real
from tests.support.reasoner import CostedReasoner, ScriptedReasoner

# With this behind it a page is too long to be read whole.
LONGER = "\n\n" + " ".join(
    f"On {day} the choir of the town sings at the {place}, and many people listen to it from the wall."
    for place in (
        *("old pier", "market", "lighthouse", "town hall", "new pier", "school", "station", "ferry", "museum"),
        *("theatre", "lido", "castle", "mill"),
    )
    for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
)


# Of pages of some hundred words a model is asked what matters.
NARROW = PromptOptions(window=12_000)


@dataclass(frozen=True)
class World:
    """Declared prices, delays and failures for every part of a run."""

    log: CallLog = field(default_factory=CallLog)
    pages: int = 24
    act: ActPrice = ActPrice(tokens=100, usd=0.001)
    long_act: ActPrice = ActPrice(tokens=400, usd=0.004)
    search_s: float = 0.0
    page_s: float = 0.0
    reasoner: Reasoner = field(default_factory=ScriptedReasoner)

    def model(self) -> ScriptedModel:
        """Return the model with its prices."""
        long_acts = dict.fromkeys(("plan", "draft", "conclude"), self.long_act)
        return ScriptedModel(prices=long_acts, default=self.act, log=self.log)

    def adapters(self, settings: Settings) -> Adapters:
        """Return the parts of a run in this world, over the real store."""
        hits, texts = numbered_pages(self.pages)
        reasoner: Callable[[ChatModel], Reasoner] = lambda model: CostedReasoner(model, inner=self.reasoner)  # noqa: E731 - typed
        return replace(
            build_real(settings.with_changes(engines=("none",))),
            models=(self.model(),),
            model_tries=1,
            reasoner=reasoner,
            fallback=ExtractiveReasoner(),
            engines=(StaticSearch(hits, delay_s=self.search_s, log=self.log),),
            fetcher=MemoryFetcher(texts, delay_s=self.page_s, log=self.log),
        )


def with_models(adapters: Adapters, *models: ChatModel, options: PromptOptions | None = None) -> Adapters:
    """Return the parts with a model's reasoner over these models, as wiring builds it."""
    fallback = adapters.fallback
    assert isinstance(fallback, ExtractiveReasoner)
    prompts = Prompts()

    def reasoner(model: ChatModel) -> Reasoner:
        return ModelReasoner(model, prompts=prompts, options=options or PromptOptions(), fallback=fallback)

    return replace(adapters, models=models, reasoner=reasoner, window=(options or PromptOptions()).window)


def with_long_pages(adapters: Adapters) -> Adapters:
    """Return the parts with pages of which a model is asked what matters."""
    fetcher = adapters.fetcher
    assert isinstance(fetcher, MemoryFetcher)
    pages = {address: text + LONGER for address, text in fetcher.pages.items()}
    return replace(adapters, fetcher=replace(fetcher, pages=pages))


def build(settings: Settings) -> Adapters:
    """Return the parts of a scripted run that takes a moment for each call, so that it can be watched and killed."""
    slow = World(act=ActPrice(tokens=100, usd=0.001, delay_s=0.1), search_s=0.1, page_s=0.05)
    return replace(slow, long_act=ActPrice(tokens=400, usd=0.004, delay_s=0.3)).adapters(settings)


def numbered_pages(count: int) -> tuple[list[Hit], dict[str, str]]:
    """Return that many pages about costs and results, as hits and as texts."""
    hits, texts = [], {}
    for number in range(1, count + 1):
        address = f"https://example.test/page/{number}"
        title = f"Report {number}"
        texts[address] = (
            f"{title}\n\nThe costs of project {number} came to {number * 7} million euros in 20{10 + number % 15}. "
            f"The results of project {number} were measured for {number + 2} years. "
            f"Nobody disputes the costs and results of project {number}.\n"
        )
        hits.append(
            Hit(address=address, title=title, snippet=f"Costs and results of project {number}", engine="static")
        )
    return hits, texts
