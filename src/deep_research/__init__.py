"""Deep research you can check: durable runs, and reports in which every claim can be held against a stored passage.

Names are imported when they are first used, so that `import deep_research` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.errors import DeepResearchError, ErrorCategory, ErrorClassifier
    from deep_research.events import RunEvent
    from deep_research.pipeline.machine import StateMachine
    from deep_research.pipeline.processor import DeepResearchProcessor, Result
    from deep_research.pipeline.runtime import AgentRuntime
    from deep_research.pipeline.state import DeepResearchState, RunState, Stage
    from deep_research.pipeline.workflow import WorkflowState
    from deep_research.request import Budget, Depth, ResearchRequest, SearchEngineConfig
    from deep_research.runner import build_deep_research_graph, research, research_sync, run_deep_research
    from deep_research.settings import Settings, load_settings

_HOME = {
    "AgentRuntime": "pipeline.runtime",
    "Budget": "request",
    "DeepResearchError": "errors",
    "DeepResearchProcessor": "pipeline.processor",
    "DeepResearchState": "pipeline.state",
    "Depth": "request",
    "ErrorCategory": "errors",
    "ErrorClassifier": "errors",
    "ResearchRequest": "request",
    "Result": "pipeline.processor",
    "RunEvent": "events",
    "RunState": "pipeline.state",
    "SearchEngineConfig": "request",
    "Settings": "settings",
    "Stage": "pipeline.state",
    "StateMachine": "pipeline.machine",
    "WorkflowState": "pipeline.workflow",
    "build_deep_research_graph": "runner",
    "load_settings": "settings",
    "research": "runner",
    "research_sync": "runner",
    "run_deep_research": "runner",
}

__all__ = [
    "AgentRuntime",
    "Budget",
    "DeepResearchError",
    "DeepResearchProcessor",
    "DeepResearchState",
    "Depth",
    "ErrorCategory",
    "ErrorClassifier",
    "ResearchRequest",
    "Result",
    "RunEvent",
    "RunState",
    "SearchEngineConfig",
    "Settings",
    "Stage",
    "StateMachine",
    "WorkflowState",
    "build_deep_research_graph",
    "load_settings",
    "research",
    "research_sync",
    "run_deep_research",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("deep-research")
    if name not in _HOME:
        raise AttributeError(f"module 'deep_research' has no attribute {name!r}")
    return getattr(import_module(f"deep_research.{_HOME[name]}"), name)
