# The public names, listed here and nowhere else: `__init__.py` imports each from its module when it is first used.

from deep_research.errors import DeepResearchError as DeepResearchError
from deep_research.errors import ErrorCategory as ErrorCategory
from deep_research.errors import ErrorClassifier as ErrorClassifier
from deep_research.events import RunEvent as RunEvent
from deep_research.pipeline.machine import StateMachine as StateMachine
from deep_research.pipeline.runtime import AgentRuntime as AgentRuntime
from deep_research.pipeline.runtime import DeepResearchProcessor as DeepResearchProcessor
from deep_research.pipeline.runtime import Result as Result
from deep_research.pipeline.state import DeepResearchState as DeepResearchState
from deep_research.pipeline.state import RunState as RunState
from deep_research.pipeline.state import Stage as Stage
from deep_research.pipeline.workflow import WorkflowState as WorkflowState
from deep_research.request import Budget as Budget
from deep_research.request import Depth as Depth
from deep_research.request import ResearchRequest as ResearchRequest
from deep_research.request import SearchEngineConfig as SearchEngineConfig
from deep_research.runner import build_deep_research_graph as build_deep_research_graph
from deep_research.runner import research as research
from deep_research.runner import research_sync as research_sync
from deep_research.runner import run_deep_research as run_deep_research
from deep_research.settings import Settings as Settings
from deep_research.settings import load_settings as load_settings

__version__: str
