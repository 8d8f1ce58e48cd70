"""`ResearchPlanner` (document 000): the plan, its domains, the queries, and whether the research is complete."""

from deep_research.pipeline.context import Ports
from deep_research.reasoning.values import Brief, Plan, QueryWish, Reflection, SectionPlan, SectionWork
from deep_research.sources.hit import SearchQuery
from deep_research.value import digest


class ResearchPlanner:
    """Plans what to search for, and judges when to stop."""

    async def write_report_plan(self, brief: Brief, *, ports: Ports) -> Plan:
        """Cut the question into sections, as a model did for the same brief a while ago, or anew."""
        parts = ports.run.parts
        key = digest(brief.to_json(), [model.name for model in parts.models], sorted(parts.specs), ports.code_version)
        if (kept := await ports.kept("plan", key)) is not None:
            return Plan.from_json(kept)
        known = len(ports.gaps)
        plan = await ports.reason("plan", lambda reasoner: reasoner.plan(brief))
        # What rules drew up in a model's place is not worth keeping.
        if parts.models and len(ports.gaps) == known:
            await ports.keep_for_others("plan", key, plan.to_json(), seconds=parts.plan_cache_s)
        return plan

    def identify_research_domains(self, plan: Plan) -> tuple[str, ...]:
        """Return the fields of knowledge that the plan touches; they diversify the queries."""
        return plan.domains

    async def generate_serp_queries(
        self,
        brief: Brief,
        section: SectionPlan,
        *,
        domains: tuple[str, ...],
        count: int,
        asked: tuple[str, ...] = (),
        ports: Ports,
    ) -> list[SearchQuery]:
        """Write the first round's queries of a section; what others ask need not be asked again."""
        wish = QueryWish(brief=brief, section=section, domains=domains, asked=asked, count=count)
        return await self._queries(wish, ports=ports)

    async def generate_followup_queries(
        self,
        work: SectionWork,
        *,
        gaps: tuple[str, ...],
        offered: tuple[SearchQuery, ...],
        count: int,
        ports: Ports,
    ) -> list[SearchQuery]:
        """Write the queries of round `work.round` from the gaps; those the reflection offered come first."""
        fresh = [query for query in offered if query.query not in work.asked][:count]
        if fresh:
            return fresh
        wish = QueryWish(
            brief=work.brief, section=work.section, round=work.round, gaps=gaps, asked=work.asked, count=count
        )
        return await self._queries(wish, ports=ports)

    async def review_research_completeness(self, work: SectionWork, *, ports: Ports) -> Reflection:
        """Judge whether a section's evidence suffices."""
        return await ports.reason("reflect", lambda reasoner: reasoner.reflect(work))

    async def _queries(self, wish: QueryWish, *, ports: Ports) -> list[SearchQuery]:
        queries = await ports.reason("queries", lambda reasoner: reasoner.queries(wish))
        fresh = {query.query: query for query in queries if query.query.strip() and query.query not in wish.asked}
        return list(fresh.values())[: wish.count]
