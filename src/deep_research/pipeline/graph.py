"""The graph: which node follows which. The nodes are in `nodes.py`, the work is in the stages."""

from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from deep_research.pipeline.context import RunContext
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.nodes import Nodes
from deep_research.pipeline.state import (
    DeepResearchState,
    SectionOutput,
    SectionState,
    Stage,
    TaskOutput,
    TaskState,
    TextOutput,
    merge_unique,
)
from deep_research.request import Depth

Graph = CompiledStateGraph[Any, Any, Any, Any]

# Supersteps outside the sections: intake with three rounds of questions, both pauses, two allocations, other focuses
# some twenty times, the ending.
_TOP_STEPS = 120
# Supersteps a round of a section takes: queries, task, compress, reflect.
_ROUND_STEPS = 4


@lru_cache(maxsize=4)
def build_graph(machine: StateMachine) -> Graph:
    """Return the compiled graph of a run, made once for a machine; it keeps nothing."""
    nodes = Nodes(machine)
    graph = StateGraph(DeepResearchState, context_schema=RunContext)
    _add_nodes(
        graph,
        intake=nodes.intake,
        verify_topic=nodes.verify_topic,
        ask=nodes.ask,
        plan=partial(nodes.whole, Stage.PLAN),
        confirm=nodes.confirm,
        section=_section_graph(nodes),
        refocus=nodes.refocus,
        supervise=nodes.supervise,
        analyze=partial(nodes.whole, Stage.ANALYZE),
        # In a graph of its own: in one with the charts, the check of the text would wait for them.
        text=_chain_graph(
            DeepResearchState,
            TextOutput,
            draft=partial(nodes.whole, Stage.DRAFT),
            verify=partial(nodes.whole, Stage.VERIFY),
        ),
        chart=nodes.chart,
        write=nodes.write,
        audit=partial(nodes.whole, Stage.AUDIT),
        cache=partial(nodes.whole, Stage.CACHE),
    )

    graph.add_edge(START, "intake")
    graph.add_conditional_edges("intake", _after_intake, ["verify_topic", "ask", "plan"])
    graph.add_edge("verify_topic", "intake")
    graph.add_edge("ask", "intake")
    graph.add_edge("plan", "confirm")
    graph.add_conditional_edges("confirm", _after_plan, ["intake", "section"])
    graph.add_edge("section", "supervise")
    graph.add_conditional_edges("supervise", _after_supervise, ["section", "refocus", "analyze"])
    graph.add_conditional_edges("refocus", _after_plan, ["section"])
    graph.add_edge("analyze", "text")
    graph.add_edge("analyze", "chart")
    graph.add_edge(["text", "chart"], "write")
    graph.add_edge("write", "audit")
    graph.add_edge("audit", "cache")
    graph.add_edge("cache", END)
    return graph.compile()


def recursion_limit(depth: Depth) -> int:
    """Return how many supersteps a run of this depth can need."""
    return _TOP_STEPS + 2 * _ROUND_STEPS * depth.max_iterations


def _section_graph(nodes: Nodes) -> Graph:
    graph = StateGraph(SectionState, context_schema=RunContext, output_schema=SectionOutput)
    _add_nodes(
        graph,
        reread=nodes.reread,
        queries=nodes.queries,
        task=_chain_graph(TaskState, TaskOutput, harvest=nodes.harvest, read=nodes.read),
        compress=nodes.compress,
        reflect=nodes.reflect,
    )
    graph.add_conditional_edges(START, _first, ["reread", "queries"])
    graph.add_edge("reread", "compress")
    graph.add_conditional_edges("queries", _tasks, ["task", END])
    graph.add_edge("task", "compress")
    graph.add_edge("compress", "reflect")
    graph.add_conditional_edges("reflect", _again, ["queries", END])
    return graph.compile()


def _chain_graph(state: Any, output: Any, **nodes: Any) -> Graph:
    """Return a graph of nodes that follow one another."""
    graph = StateGraph(state, context_schema=RunContext, output_schema=output)
    _add_nodes(graph, **nodes)
    for before, after in pairwise((START, *nodes, END)):
        graph.add_edge(before, after)
    return graph.compile()


def _add_nodes(graph: StateGraph[Any, Any, Any, Any], **nodes: Any) -> None:
    for name, node in nodes.items():
        graph.add_node(name, node)


def _after_intake(state: DeepResearchState) -> str:
    return {"VERIFY_TOPIC": "verify_topic", "NEED_CLARIFICATION": "ask"}.get(state.assessment.next_action, "plan")


def _after_plan(state: DeepResearchState) -> str | list[Send]:
    """Begin again where the user corrected the question when the plan was shown."""
    if state.is_corrected:
        return "intake"
    sections = state.plan.sections
    sends = []
    for number, (own, grant) in enumerate(zip(sections, state.grants, strict=True), start=state.sections_before + 1):
        section = SectionState(
            number=number,
            focus_followed=state.focus_followed,
            elsewhere=tuple(query.query for other in sections if other != own for query in other.search_queries),
            section=own,
            outline=state.plan.titles,
            domains=state.plan.domains,
            scouted=state.scouted,
            earlier=state.earlier,
            is_reread=bool(state.earlier),
            brief=state.brief,
            # The round over the documents of an earlier run searches for nothing.
            grants=(0, *grant) if state.earlier else grant,
            granted=sum(grant),
            after=state.after,
        )
        sends.append(Send("section", section))
    return sends


def _after_supervise(state: DeepResearchState) -> list[Send | str]:
    """Plan anew for other focuses, go on with sections that got unused queries of others, or write all there is."""
    if state.focus_wanted:
        return ["refocus"]
    if not any(state.grants):
        return ["analyze"]
    sends: list[Send | str] = []
    for known in state.outcomes:
        if grant := state.grants[known.number - 1]:
            again = known.replace(
                grants=grant,
                granted=len(known.asked) + sum(grant),
                evidence=merge_unique(known.evidence, state.shared.get(known.section.title, ())),
                visited_sources=state.visited_sources,
            )
            sends.append(Send("section", again))
    return sends


def _first(state: SectionState) -> str:
    """Ask the documents of an earlier run before anything is searched for, once for each section."""
    return "reread" if state.is_reread else "queries"


def _tasks(state: SectionState) -> list[Send] | str:
    # What other tasks did and lost is not this one's.
    shared = {**dict(state), "tasks": (), "gaps": (), "gathered_info": ()}
    tasks = enumerate(state.queries, start=1)
    return [Send("task", TaskState(**shared, task=number, query=query)) for number, query in tasks] or END


def _again(state: SectionState) -> str:
    """Search again while nothing speaks against it."""
    return END if state.stop else "queries"
