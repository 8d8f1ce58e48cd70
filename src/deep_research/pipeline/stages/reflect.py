"""Reflect: from a round's evidence to the running synthesis, its coverage, and whether to search again."""

from deep_research.documents.corpus.search import CorpusSearch
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.outcome import section_work, stop_of
from deep_research.pipeline.stages.analyze import ResearchAnalyzer
from deep_research.pipeline.stages.plan import ResearchPlanner
from deep_research.pipeline.state import SectionState, Update
from deep_research.reasoning.values import SectionWork, SourceFacts
from deep_research.report.sources.source_quality import host_of
from deep_research.value import canonical_json, json_of


async def reflect(
    state: SectionState, context: StageContext, analyzer: ResearchAnalyzer, planner: ResearchPlanner
) -> Update:
    """Merge the round into the synthesis, judge it, and say why a section so judged is left as it is.

    Where nothing more can be searched for, or the round found nothing new, rules judge: a model's word would change
    nothing.
    """
    work = await section_work(state, context.records)
    is_all_read = await _is_all_read(context)
    is_over = is_all_read or not work.queries_left or not state.fresh
    judged = work.replace(sources=await _sources(work, context))
    if is_over:
        reflection = await context.adapters.fallback.reflect(judged)
    else:
        reflection = await planner.review_research_completeness(judged, context)
    synthesis = analyzer.intermediate_synthesis(reflection)
    update: Update = {
        "synthesis": await context.records.keep(synthesis),
        "coverage": synthesis.coverage,
        "is_sufficient": reflection.is_sufficient,
        "is_all_read": is_all_read,
        "open_questions": reflection.gaps,
        "queries": reflection.next_queries,
    }
    after = state.replace(**(update | {"grants": state.grants[1:]}))
    await context.emit(
        "section-coverage",
        {
            "section": work.section.title,
            "round": work.round,
            "coverage": synthesis.coverage,
            "score": reflection.overall_score,
            "dimensions": reflection.dimensions.model_dump(),
            "is_sufficient": reflection.is_sufficient,
            "gaps": [*reflection.gaps, *reflection.thin],
            "next_queries": [query.query for query in reflection.next_queries],
            "reason": reflection.reasoning,
            "stop": stop_of(after, context.request.depth),
        },
    )
    await context.run.rounds.write(context.run.folder)
    return update


async def _is_all_read(context: StageContext) -> bool:
    """Say whether all there is to search was read by then, for whichever section: a folder and nothing else.

    Of a small folder, everything that was found has been read.
    """
    adapters = context.adapters
    corpus = adapters.corpus
    if not corpus or not adapters.models or {engine.name for engine in adapters.engines} != {CorpusSearch.name}:
        return False

    async def lookup() -> str:
        is_all = len(await context.records.documents()) >= len(await corpus.contents())
        return "all" if is_all or await adapters.has_small_folder() else "some"

    return await context.decide("read", ("all", "some"), lookup) == "all"


async def _sources(work: SectionWork, context: StageContext) -> tuple[SourceFacts, ...]:
    """Return where a section's evidence comes from, and of when, as it was known when the round was first judged.

    Other sections may find the same page elsewhere or with another date meanwhile: that must not change what was asked.
    """
    wanted = list(dict.fromkeys(piece.document for piece in work.evidence))

    async def lookup() -> str:
        first = await context.records.documents()
        facts = []
        for document in wanted:
            host, read = host_of(first.get(document, "")), await context.records.document(document)
            facts.append(SourceFacts(document=document, host=host, published=read.published).to_json())
        return canonical_json(facts)

    known = json_of(await context.decide("sources", wanted, lookup)) if wanted else []
    return tuple(map(SourceFacts.from_json, known)) if isinstance(known, list) else ()
