"""What a question may take, before anything is spent on it."""

from collections.abc import Sequence

from pydantic import ConfigDict

from deep_research.llm.port import ChatModel
from deep_research.pipeline.approval import Forecast, effort_of, forecast
from deep_research.request import ResearchRequest
from deep_research.value import Value


class Estimate(Value):
    """The most queries, pages and rounds; tokens and money that are likely; `most_usd` is None without known prices."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"queries": 20, "pages": 60, "rounds": 4, "tokens": 168000, "usd": 0.21, "most_usd": 0.9},
            ]
        }
    )

    queries: int
    pages: int
    rounds: int
    tokens: int
    usd: float
    most_usd: float | None


def estimate_of(request: ResearchRequest, models: Sequence[ChatModel]) -> Estimate:
    """Return what a request may take with these models, of which the first does the work."""
    effort = effort_of(request)
    typical = _forecast("comparison", request, models)
    most = _forecast("field", request, models)
    return Estimate(
        queries=effort.queries,
        pages=effort.pages,
        rounds=effort.rounds,
        tokens=typical.tokens,
        usd=typical.usd,
        most_usd=most.most_usd,
    )


def _forecast(breadth: str, request: ResearchRequest, models: Sequence[ChatModel]) -> Forecast:
    depth, length = request.extent(breadth, has_model=bool(models))
    return forecast(request.replace(depth=depth, length=length), models)
