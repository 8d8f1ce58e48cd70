# The public names, listed here and nowhere else: `__init__.py` imports each from its module when it is first used.

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
from deep_research.runner import research as research
from deep_research.runner import research_sync as research_sync
from deep_research.runner import resume_run as resume_run
from deep_research.runner import run_deep_research as run_deep_research
from deep_research.runs import cancel_run as cancel_run
from deep_research.runs import delete_run as delete_run
from deep_research.runs import list_runs as list_runs
from deep_research.runs import read_report as read_report
from deep_research.runs import read_run as read_run
from deep_research.settings import Settings as Settings
from deep_research.settings import load_settings as load_settings
from deep_research.store.port import RunRow as RunRow
from deep_research.verify.report import Verifier as Verifier

__version__: str
