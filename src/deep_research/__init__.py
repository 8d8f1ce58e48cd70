"""Deep Research you can check: durable runs, and reports in which every claim can be held against a stored passage.

The public names are those that are imported below for type checkers, listed there and nowhere else. Each is imported
when it is first used, so that `import deep_research` costs nothing.
"""

import re
from importlib import import_module
from pkgutil import get_data
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.errors import AnswerNeeded as AnswerNeeded
    from deep_research.errors import ClarificationFailed as ClarificationFailed
    from deep_research.errors import DeepResearchError as DeepResearchError
    from deep_research.errors import ErrorCategory as ErrorCategory
    from deep_research.errors import ErrorClassifier as ErrorClassifier
    from deep_research.errors import InputError as InputError
    from deep_research.errors import UsageError as UsageError
    from deep_research.events import RunEvent as RunEvent
    from deep_research.pipeline.machine import StateMachine as StateMachine
    from deep_research.pipeline.result import Result as Result
    from deep_research.pipeline.runtime import AgentRuntime as AgentRuntime
    from deep_research.pipeline.runtime import DeepResearchProcessor as DeepResearchProcessor
    from deep_research.pipeline.runtime import retry_with_backoff as retry_with_backoff
    from deep_research.pipeline.stages.analyze import ResearchAnalyzer as ResearchAnalyzer
    from deep_research.pipeline.stages.chart import ComputationEngine as ComputationEngine
    from deep_research.pipeline.stages.harvest import SearchExecutor as SearchExecutor
    from deep_research.pipeline.stages.plan import ResearchPlanner as ResearchPlanner
    from deep_research.pipeline.stages.write import ReportGenerator as ReportGenerator
    from deep_research.pipeline.state import DeepResearchState as DeepResearchState
    from deep_research.pipeline.state import RunState as RunState
    from deep_research.pipeline.state import Stage as Stage
    from deep_research.pipeline.streaming import StreamingManager as StreamingManager
    from deep_research.pipeline.workflow import WorkflowState as WorkflowState
    from deep_research.reasoning.rules.question.clarifier import Clarifier as Clarifier
    from deep_research.reasoning.values import ClarificationQuestion as ClarificationQuestion
    from deep_research.request import Budget as Budget
    from deep_research.request import Depth as Depth
    from deep_research.request import ResearchRequest as ResearchRequest
    from deep_research.request import SearchEngineConfig as SearchEngineConfig
    from deep_research.runner import answer_run as answer_run
    from deep_research.runner import build_deep_research_graph as build_deep_research_graph
    from deep_research.runner import replay_run as replay_run
    from deep_research.runner import research as research
    from deep_research.runner import research_sync as research_sync
    from deep_research.runner import resume_run as resume_run
    from deep_research.runner import run_deep_research as run_deep_research
    from deep_research.runner import update_run as update_run
    from deep_research.service.runs.runs import cancel_run as cancel_run
    from deep_research.service.runs.runs import delete_run as delete_run
    from deep_research.service.runs.runs import list_runs as list_runs
    from deep_research.service.runs.runs import read_report as read_report
    from deep_research.settings import Settings as Settings
    from deep_research.settings import load_settings as load_settings
    from deep_research.storage.store.port import RunRow as RunRow
    from deep_research.verify.report import Verifier as Verifier
    from deep_research.wiring.stores import read_run as read_run

    __version__: str
else:
    _IMPORT = re.compile(r"^    from (\S+) import \w+ as (\w+)$", re.MULTILINE)
    _MODULES = {name: module for module, name in _IMPORT.findall((get_data(__name__, "__init__.py") or b"").decode())}

    __all__ = sorted(_MODULES)

    def __dir__() -> list[str]:
        return [*__all__, "__version__"]

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("deep-research")
        if name not in _MODULES:
            raise AttributeError(f"module 'deep_research' has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
