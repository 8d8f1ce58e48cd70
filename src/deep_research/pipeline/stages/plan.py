"""Plan: from a brief to a title, sections and the queries each of them may use."""

from collections.abc import Awaitable, Sequence

from deep_research.errors import InputError
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.earlier import Earlier
from deep_research.pipeline.fan_out import fan_out, isolated
from deep_research.pipeline.plan_text import MAX_SECTIONS
from deep_research.pipeline.research_map import is_wanted, query_of
from deep_research.pipeline.stages.harvest import SearchExecutor
from deep_research.pipeline.state import DeepResearchState, SectionState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.values import (
    Brief,
    Plan,
    QueryRequest,
    Reflection,
    RelatedText,
    SectionPlan,
    SectionWork,
    Strings,
)
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import Depth, ResearchRequest
from deep_research.value import digest


class ResearchPlanner:
    """Plans what to search for, and judges when to stop."""

    async def write_report_plan(self, brief: Brief, context: StageContext) -> Plan:
        """Cut the question into sections, as a model did for the same brief a while ago, or anew."""
        adapters = context.adapters
        key = digest(
            brief.to_json(),
            [model.name for model in adapters.models],
            sorted(adapters.specs),
            context.run.row.code_version,
        )
        if (saved := await context.kept_plan(key)) is not None:
            return Plan.from_json(saved)
        known = len(context.gaps)
        plan = await context.reason(Reasoner.plan, brief)
        # What rules drew up in a model's place is not worth keeping.
        if adapters.models and len(context.gaps) == known:
            await context.keep_plan(key, plan.to_json())
        return plan

    def identify_research_domains(self, plan: Plan) -> Strings:
        """Return the fields of knowledge that the plan touches; they diversify the queries."""
        return plan.domains

    async def generate_serp_queries(self, request: QueryRequest, context: StageContext) -> list[SearchQuery]:
        """Write the first round's queries of a section; what others ask need not be asked again."""
        queries = await context.reason(Reasoner.queries, request)
        fresh = {query.query: query for query in queries if query.query.strip() and query.query not in request.asked}
        return list(fresh.values())[: request.count]

    async def generate_followup_queries(
        self, request: QueryRequest, context: StageContext, *, offered: Sequence[SearchQuery]
    ) -> list[SearchQuery]:
        """Write the queries of a later round from the gaps, where the reflection offered none."""
        # Who judged the last round and named neither a gap nor a query wants no more.
        if offered or (request.round > 1 and not request.gaps):
            return list(offered)
        return await self.generate_serp_queries(request, context)

    async def review_research_completeness(self, work: SectionWork, context: StageContext) -> Reflection:
        """Judge whether a section's evidence suffices."""
        return await context.reason(Reasoner.reflect, work)


# So many queries look around before a model plans, and so many of their hits are shown to it.
_SCOUTING, _SHOWN_HITS = 2, 12


async def plan(
    state: DeepResearchState, context: StageContext, planner: ResearchPlanner, executor: SearchExecutor
) -> Update:
    """Write the plan; more sections than a report can carry are left out and named.

    A model first gets to see what the web has. Without a model queries cost nothing, so that those of the first round
    stand in the plan.
    """
    brief, followed = state.brief, state.earlier
    if context.request.update:
        return {"plan": Plan.from_json(context.request.update.plan), "scouted": {}}
    first_hits = {} if followed else await _first_searches(brief, executor, context)
    hits = list({hit.address: hit for own in first_hits.values() for hit in own}.values())[:_SHOWN_HITS]
    seen = tuple(RelatedText(title=hit.title, text=hit.snippet, published=hit.published) for hit in hits)
    if followed:
        # What was answered before is what there is to look at.
        earlier = await context.records.load(Earlier, followed)
        seen = (earlier.as_related_text, *earlier.passages)
    drawn = by_own_focus(await planner.write_report_plan(brief.replace(found=seen), context), brief)
    for dropped in drawn.sections[MAX_SECTIONS:]:
        await context.lost("section", dropped.title, f"a report has {MAX_SECTIONS} sections")
    drawn = drawn.replace(sections=drawn.sections[:MAX_SECTIONS])
    if drawn.sections and not any(section.search_queries for section in drawn.sections):
        drawn = await _with_queries(drawn, brief, planner, context)
    saved = {query: await context.records.keep(own) for query, own in first_hits.items() if own}
    return {"plan": _asking(drawn, tuple(saved)), "scouted": saved}


async def _first_searches(brief: Brief, executor: SearchExecutor, context: StageContext) -> dict[str, list[Hit]]:
    """Return what a few queries find on the web before a model plans; nothing where the user approves plans."""
    adapters = context.adapters
    if not adapters.models or not adapters.has_web or context.request.confirm_plan:
        return {}
    request = QueryRequest(brief=brief, section=SectionPlan(title=brief.question), count=_SCOUTING)
    queries = await adapters.fallback.queries(request)

    def lookup(query: SearchQuery, at: StageContext) -> Awaitable[list[Hit]]:
        return isolated(executor.execute(query, at), [], "search", query.query, at)

    found = await fan_out("scout", queries, lookup, context)
    return {query.query: hits for query, hits in zip(queries, found, strict=True)}


def _asking(drawn: Plan, first_hits: Sequence[str]) -> Plan:
    """Return a plan whose first section asks what was asked already: its hits are at hand."""
    if not first_hits or not drawn.sections:
        return drawn
    first, *others = drawn.sections
    known = tuple(SearchQuery(query=query) for query in first_hits)
    first = first.replace(search_queries=(*known, *first.search_queries))
    return drawn.replace(sections=(first, *others))


async def _with_queries(drawn: Plan, brief: Brief, planner: ResearchPlanner, context: StageContext) -> Plan:
    sections: list[SectionPlan] = []
    for section, count in zip(drawn.sections, _shares(drawn, as_settled(context.request, brief)), strict=True):
        asked = tuple(query.query for before in sections for query in before.search_queries)
        request = QueryRequest(brief=brief, section=section, domains=drawn.domains, asked=asked, count=count)
        queries = await planner.generate_serp_queries(request, context)
        sections.append(section.replace(search_queries=tuple(queries)))
    return drawn.replace(sections=tuple(sections))


def by_own_focus(drawn: Plan, brief: Brief) -> Plan:
    """Return the plan with the user's own focuses as its sections, whatever the planner made of them."""
    titles = tuple(section.title for section in drawn.sections)
    if not brief.has_own_focus or titles == brief.focus:
        return drawn
    by_title = {section.title.casefold(): section for section in drawn.sections}
    others = drawn.sections if len(titles) == len(brief.focus) else [SectionPlan(title=focus) for focus in brief.focus]
    sections = (
        by_title.get(focus.casefold(), other).replace(title=focus)
        for focus, other in zip(brief.focus, others, strict=True)
    )
    return drawn.replace(sections=tuple(sections))


def as_settled(request: ResearchRequest, brief: Brief) -> ResearchRequest:
    """Return the request with the depth and the length that its research has."""
    return request.replace(depth=brief.depth, length=brief.length)


def _shares(plan: Plan, request: ResearchRequest) -> list[int]:
    """Share the queries of the first round out to the sections in plan order."""
    if not plan.sections:
        raise InputError("The plan has no section: give at least one.")
    each, over = divmod(next(iter(queries_by_round(request)), 0), len(plan.sections))
    return [each + (number < over) for number in range(len(plan.sections))]


def queries_by_round(request: ResearchRequest) -> list[int]:
    """Return how many queries each round of a run may use: its depth, within its budget."""
    depth = request.deepest
    limits = (depth.max_total_queries, request.budget.queries)
    changes = {"max_total_queries": min(limit for limit in limits if limit is not None)}
    if request.follow:
        # The documents of the run before it are its first round.
        changes["queries_first_iteration"] = depth.queries_followup_iteration
    return depth.replace(**changes).rounds()


def later_rounds(queries: int, depth: Depth, *, after: int) -> list[int]:
    """Return how many queries each round after this one may use: what one leaves unused, others may."""
    share = depth.queries_followup_iteration
    counts = [min(share, queries - at) for at in range(0, queries, share)]
    return counts[: max(depth.max_iterations - after, 0)]


def as_allocated(plan: Plan, request: ResearchRequest) -> Plan:
    """Return the plan with no more queries than its sections may use in the first round."""
    sections = (
        section.replace(search_queries=section.search_queries[:count])
        for section, count in zip(plan.sections, _shares(plan, request), strict=True)
    )
    return plan.replace(sections=tuple(sections))


def offered_queries(state: SectionState) -> list[SearchQuery]:
    """Return what may be asked in the coming round: what readers added, was planned or proposed, then the entries."""
    planned = state.queries or (() if state.round > 1 else state.section.search_queries)
    still_open = [entry for entry in state.entries if entry.status == "open" and not entry.queries]
    # What a reader added comes first.
    still_open.sort(key=lambda entry: not entry.is_wanted)
    own = [SearchQuery(query=query_of(entry), section=entry.section) for entry in still_open]
    first = sum(entry.is_wanted for entry in still_open)
    offered = (*own[:first], *planned, *own[first:])
    fresh = {query.query: query for query in offered if query.query not in state.asked}
    return [query for query in fresh.values() if is_wanted(query, state.entries)][: state.grant]


async def next_queries(
    state: SectionState,
    offered: Sequence[SearchQuery],
    *,
    grant: int,
    planner: ResearchPlanner,
    context: StageContext,
) -> list[SearchQuery]:
    """Return the queries of the coming round: the plan's or the reflection's own first, then new ones.

    A plan that was made without a model had them all, and who left one out does not want it back. A follow-up looks for
    what the documents of the run before it lack.
    """
    if grant == 0:
        return []
    request = QueryRequest(
        brief=state.brief,
        section=state.section,
        domains=state.plan.domains,
        round=state.round,
        gaps=state.open_questions,
        asked=state.asked,
        count=grant,
    )
    if state.round > 1 or state.earlier:
        return await planner.generate_followup_queries(request, context, offered=offered)
    if len(offered) == grant or (offered and not context.adapters.models):
        return list(offered)
    asked = tuple(query.query for query in offered)
    request = request.replace(asked=asked, count=grant - len(offered))
    return [*offered, *await planner.generate_serp_queries(request, context)]
