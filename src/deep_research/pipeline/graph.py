"""The graph: which node follows which. The nodes are in `nodes.py`, the work is in the stages."""

from functools import lru_cache, partial
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from deep_research.pipeline.context import RunContext
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.nodes import Nodes
from deep_research.pipeline.state import DeepResearchState, SectionState, Stage, TaskState

Graph = CompiledStateGraph[Any, Any, Any, Any]

# Supersteps outside the sections: intake with three rounds of questions, both pauses, two allocations, other focuses
# some twenty times, the ending.
_TOP_STEPS = 120
# Supersteps a round takes: queries, task, compress, reflect.
_ROUND_STEPS = 4
# The most that a run can need, with ten rounds: how deep it goes is known only after intake.
RECURSION_LIMIT = _TOP_STEPS + 2 * _ROUND_STEPS * 10


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
        research=_research_graph(nodes),
        refocus=nodes.refocus,
        supervise=nodes.supervise,
        analyze=partial(nodes.whole, Stage.ANALYZE),
        text=nodes.text,
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
    graph.add_conditional_edges("confirm", _after_plan, ["intake", "research"])
    graph.add_edge("research", "supervise")
    graph.add_conditional_edges("supervise", _after_supervise, ["refocus", "analyze"])
    graph.add_conditional_edges("refocus", _after_plan, ["research"])
    graph.add_edge("analyze", "text")
    graph.add_edge("analyze", "chart")
    graph.add_edge(["text", "chart"], "write")
    graph.add_edge("write", "audit")
    graph.add_edge("audit", "cache")
    graph.add_edge("cache", END)
    return graph.compile()


def _research_graph(nodes: Nodes) -> Graph:
    """Return the graph of rounds: queries, what is chosen to be read of all that they found, and judgement."""
    graph = StateGraph(SectionState, context_schema=RunContext)
    _add_nodes(
        graph,
        reread=nodes.reread,
        queries=nodes.queries,
        search=nodes.search,
        choose=nodes.choose,
        batch=nodes.read_batch,
        compress=nodes.compress,
        reflect=nodes.reflect,
    )
    graph.add_conditional_edges(START, _first, ["reread", "queries"])
    graph.add_edge("reread", "compress")
    graph.add_conditional_edges("queries", _searches, ["search", "choose", END])
    graph.add_edge("search", "choose")
    graph.add_conditional_edges("choose", _batches, ["batch", "compress"])
    graph.add_edge("batch", "compress")
    graph.add_edge("compress", "reflect")
    graph.add_conditional_edges("reflect", _again, ["queries", END])
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
    research = SectionState(
        brief=state.brief,
        plan=state.plan,
        number=state.number,
        scouted=state.scouted,
        earlier=state.earlier,
        focus_followed=state.focus_followed,
        map_followed=state.map_followed,
        # The round over the documents of an earlier run searches for nothing.
        grants=(*((0,) if state.earlier else ()), *state.grants),
        entries=state.plan.entries,
        after=state.after,
    )
    return [Send("research", research)]


def _after_supervise(state: DeepResearchState) -> str:
    """Plan anew for other focuses, or write all there is."""
    return "refocus" if state.focus_wanted else "analyze"


def _first(state: SectionState) -> str:
    """Ask the documents of an earlier run before anything is searched for."""
    return "reread" if state.earlier else "queries"


def _searches(state: SectionState) -> list[Send] | str:
    """Search for the round's queries; where there are none left, links may still lead on."""
    sends = [
        Send("search", TaskState(**dict(state), task=number, query=query))
        for number, query in enumerate(state.queries, start=1)
    ]
    return sends or (END if state.stop else "choose")


def _batches(state: SectionState) -> list[Send] | str:
    sends = [
        Send("batch", TaskState(**dict(state), task=number, hits=hits, wanted=wanted))
        for number, (hits, wanted) in enumerate(state.batches, start=1)
    ]
    return sends or "compress"


def _again(state: SectionState) -> str:
    """Search again while nothing speaks against it."""
    return END if state.stop else "queries"
