"""Plan: from a brief to a title, sections and the queries each of them may use."""

from deep_research.errors import InputError
from deep_research.pipeline.budget import deal
from deep_research.pipeline.context import Ports
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.planner import ResearchPlanner
from deep_research.reasoning.values import Brief, Plan, SectionWork
from deep_research.sources.hit import SearchQuery
from deep_research.value import Json, json_of

MAX_SECTIONS = 5
# What an asker may answer to a plan that waits for approval; anything else is an edited plan in JSON.
APPROVALS = frozenset({"", "approve", "approved", "yes", "y", "ok", "同意", "批准", "确认", "確認", "可以"})


async def plan(brief: Brief, *, planner: ResearchPlanner, ports: Ports) -> Plan:
    """Write the plan; more sections than a report can carry are left out and named."""
    drawn = await planner.write_report_plan(brief, ports=ports)
    for dropped in drawn.sections[MAX_SECTIONS:]:
        await ports.lost(
            Gap(
                kind="section", scope=ports.scope, subject=dropped.title, reason=f"a report has {MAX_SECTIONS} sections"
            )
        )
    return drawn.model_copy(update={"sections": drawn.sections[:MAX_SECTIONS]})


def edited(plan: Plan, answer: Json) -> Plan | None:
    """Return the plan as the asker wants it: approved as it is, or given anew; None if the answer is neither."""
    if isinstance(answer, str):
        if answer.strip().strip(".!。！").lower() in APPROVALS:
            return plan
        try:
            answer = json_of(answer)
        except ValueError:
            return None
    try:
        wanted = Plan.from_json(answer)
    except ValueError:
        return None
    return wanted if wanted.sections else None


def grants(plan: Plan, *, ports: Ports) -> list[list[int]]:
    """Deal the run's queries to the sections in plan order (SPEC H5); a query budget cuts the rounds short."""
    if not plan.sections:
        raise InputError("The plan has no section: give at least one.")
    depth = ports.request.depth
    allowed = [limit for limit in (depth.max_total_queries, ports.request.budget.queries) if limit is not None]
    return deal(depth.model_copy(update={"max_total_queries": min(allowed)}).rounds(), len(plan.sections))


async def next_queries(
    work: SectionWork,
    *,
    grant: int,
    domains: tuple[str, ...],
    open_questions: tuple[str, ...],
    offered: tuple[SearchQuery, ...],
    planner: ResearchPlanner,
    ports: Ports,
) -> list[SearchQuery]:
    """Return the queries of a section's coming round: the plan's or the reflection's own if they fill the grant."""
    if grant == 0:
        return []
    if work.round > 1:
        return await planner.generate_followup_queries(
            work, gaps=open_questions, offered=offered, count=grant, ports=ports
        )
    planned = list(work.section.search_queries)[:grant]
    if len(planned) == grant:
        return planned
    return await planner.generate_serp_queries(work.brief, work.section, domains=domains, count=grant, ports=ports)
