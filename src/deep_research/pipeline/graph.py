"""The graph: which node follows which. The nodes are in `nodes.py`, the work is in the stages."""

from itertools import pairwise
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from deep_research.pipeline.context import RunContext
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.nodes import Nodes, State
from deep_research.pipeline.outcome import SectionOutcome
from deep_research.pipeline.stage import Stage
from deep_research.pipeline.state import DeepResearchState, SectionOutput, SectionState, TaskOutput, TaskState
from deep_research.request import Depth

Graph = CompiledStateGraph[Any, Any, Any, Any]

# Supersteps outside the sections: intake with three rounds of questions, both pauses, two deals, the ending.
_TOP_STEPS = 30
# Supersteps a round of a section takes: queries, task, compress, reflect.
_ROUND_STEPS = 4


def build_graph(machine: StateMachine, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """Return the compiled graph of a run."""
    nodes = Nodes(machine)
    graph = StateGraph(DeepResearchState, context_schema=RunContext)
    _add_nodes(
        graph,
        intake=nodes.intake,
        verify_topic=nodes.verify_topic,
        ask=nodes.ask,
        plan=nodes.stage(Stage.PLAN),
        confirm=nodes.confirm,
        section=_section_graph(nodes),
        supervise=nodes.supervise,
    )
    ending = (Stage.ANALYZE, Stage.CHART, Stage.DRAFT, Stage.VERIFY, Stage.WRITE, Stage.AUDIT, Stage.CACHE)
    _add_nodes(graph, **{stage.value: nodes.stage(stage) for stage in ending})

    graph.add_edge(START, "intake")
    graph.add_conditional_edges("intake", _after_intake, ["verify_topic", "ask", "plan"])
    graph.add_edge("verify_topic", "intake")
    graph.add_edge("ask", "intake")
    graph.add_edge("plan", "confirm")
    graph.add_conditional_edges("confirm", _sections, ["section"])
    graph.add_edge("section", "supervise")
    graph.add_conditional_edges("supervise", _thin_sections_or_on, ["section", "analyze"])
    for stage, following in pairwise(ending):
        graph.add_edge(stage.value, following.value)
    graph.add_edge(ending[-1].value, END)
    return graph.compile(checkpointer=checkpointer)


def recursion_limit(depth: Depth) -> int:
    """Return how many supersteps a run of this depth can need."""
    return _TOP_STEPS + 2 * _ROUND_STEPS * depth.max_iterations


def _section_graph(nodes: Nodes) -> Graph:
    graph = StateGraph(SectionState, context_schema=RunContext, output_schema=SectionOutput)
    _add_nodes(graph, queries=nodes.queries, task=_task_graph(nodes), compress=nodes.compress, reflect=nodes.reflect)
    graph.add_edge(START, "queries")
    graph.add_conditional_edges("queries", _tasks, ["task", END])
    graph.add_edge("task", "compress")
    graph.add_edge("compress", "reflect")
    graph.add_conditional_edges("reflect", _again, ["queries", END])
    return graph.compile()


def _task_graph(nodes: Nodes) -> Graph:
    graph = StateGraph(TaskState, context_schema=RunContext, output_schema=TaskOutput)
    _add_nodes(graph, harvest=nodes.harvest, read=nodes.read)
    graph.add_edge(START, "harvest")
    graph.add_edge("harvest", "read")
    graph.add_edge("read", END)
    return graph.compile()


def _add_nodes(graph: StateGraph[Any, Any, Any, Any], **nodes: Any) -> None:
    for name, node in nodes.items():
        graph.add_node(name, node)


def _after_intake(state: State) -> str:
    action = state["assessment"]["next_action"]
    return {"VERIFY_TOPIC": "verify_topic", "NEED_CLARIFICATION": "ask"}.get(action, "plan")


def _sections(state: State) -> list[Send]:
    return [
        Send(
            "section",
            {
                "number": number,
                "section": section,
                "outline": [other["title"] for other in state["sections"]],
                "domains": state["plan"]["domains"],
                "brief": state["brief"],
                "round": 0,
                "grants": grant,
                "granted": sum(grant),
                "after": state["after"],
            },
        )
        for number, (section, grant) in enumerate(zip(state["sections"], state["grants"], strict=True), start=1)
    ]


def _thin_sections_or_on(state: State) -> list[Send] | str:
    """Go on with sections that got unused queries of others, from where they stood."""
    if state["dealt"] > 2 or not any(state["grants"]):
        return "analyze"
    outcomes = {outcome.number: outcome for outcome in map(SectionOutcome.from_json, state["outcomes"])}
    sends = []
    for number, (section, grant) in enumerate(zip(state["sections"], state["grants"], strict=True), start=1):
        if grant and number in outcomes:
            known = outcomes[number]
            sends.append(Send("section", _going_on(state, section, known, grant)))
    return sends or "analyze"


def _going_on(state: State, section: dict[str, Any], known: SectionOutcome, grant: list[int]) -> SectionState:
    return {
        "number": known.number,
        "section": section,
        "outline": [other["title"] for other in state["sections"]],
        "domains": state["plan"]["domains"],
        "brief": state["brief"],
        "round": known.rounds,
        "grants": grant,
        "granted": known.used + sum(grant),
        "queries": [dict(query) for query in known.next_queries],
        "asked": list(known.asked),
        "evidence": list(known.evidence),
        "synthesis": known.synthesis,
        "coverage": known.coverage,
        "is_sufficient": known.is_sufficient,
        "open_questions": list(known.open_questions),
        "after": list(known.after),
        "visited_sources": state.get("visited_sources", []),
    }


def _tasks(state: State) -> list[Send] | str:
    return [
        Send(
            "task",
            {
                "number": state["number"],
                "round": state["round"],
                "task": number,
                "section": state["section"],
                "outline": state["outline"],
                "brief": state["brief"],
                "query": query,
                "seen": state.get("visited_sources", []),
                "after": state["after"],
            },
        )
        for number, query in enumerate(state["queries"], start=1)
    ] or END


def _again(state: State) -> str:
    """Search again while evidence is thin, queries are left, and the last round still brought something."""
    is_exhausted = state["round"] > 1 and not state["fresh"]
    return END if state.get("is_sufficient") or is_exhausted or not any(state["grants"][:1]) else "queries"
