"""Reflect: from a round's evidence to the running synthesis, its coverage, and whether to search again."""

from collections.abc import Sequence

from deep_research.events import SectionCoverage
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.frontier import UnreadPage, pool_of
from deep_research.pipeline.outcome import section_work, stop_of
from deep_research.pipeline.passages import contexts_of
from deep_research.pipeline.research_map import found_in
from deep_research.pipeline.round_log import write_rounds
from deep_research.pipeline.scope import Scope
from deep_research.pipeline.search_round import tell_map
from deep_research.pipeline.stages.analyze import ResearchAnalyzer
from deep_research.pipeline.stages.plan import ResearchPlanner
from deep_research.pipeline.state import SectionState, Update
from deep_research.pipeline.streaming import Emitter
from deep_research.reasoning.rules.question.shared_names import name_key, shared_names
from deep_research.reasoning.values import MapEntry, SectionWork, SourceFacts
from deep_research.report.sources.source_quality import host_of
from deep_research.request import Depth
from deep_research.text.in_thread import in_thread
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
    is_over = is_all_read or state.is_ended or not work.queries_left or not state.fresh
    candidates = await _candidates(state, context)
    texts = await _texts_read(state, work, context)
    work = await _of_round(state, work, candidates, context)
    if not context.adapters.models and context.adapters.has_web:
        work = await _with_shared_names(state, work, context)
    work = work.replace(entries=tuple(found_in(entry, texts) for entry in work.entries))
    # With a model, rules judge what is over: nothing is asked any more, whatever is left.
    judged = work.replace(sources=await _sources(work, context), queries_left=0 if is_all_read else work.queries_left)
    if is_over:
        reflection = await context.adapters.fallback.reflect(judged)
        if work.synthesis and context.adapters.models:
            # Rules would write another account in the place of the model's own.
            reflection = reflection.replace(synthesis=work.synthesis)
    else:
        reflection = await planner.review_research_completeness(judged, context)
    synthesis = analyzer.intermediate_synthesis(reflection)
    # What is new may be in what was read before.
    entries = tuple(found_in(entry, texts) for entry in reflection.entries or work.entries)
    # A wide field is searched as long as that finds something, whatever a judge calls enough.
    is_wide = work.brief.depth.max_pages > Depth().max_pages
    is_new = is_wide and state.newly_found(entries) > 0
    update: Update = {
        "synthesis": await context.records.keep(synthesis),
        "is_sufficient": reflection.is_sufficient and not is_new,
        "is_all_read": is_all_read,
        "open_questions": reflection.gaps,
        "queries": reflection.next_queries,
        "entries": entries,
        "picked": tuple(candidates[number - 1].hit.address for number in reflection.pages),
    }
    after = state.replace(**(update | {"grants": state.grants[1:]}))
    told: SectionCoverage = {
        "section": work.section.title,
        "round": work.round,
        "coverage": synthesis.coverage,
        "score": reflection.overall_score,
        "dimensions": reflection.dimensions.model_dump(),
        "is_sufficient": after.is_sufficient,
        "gaps": [*reflection.gaps, *reflection.thin],
        "next_queries": [query.query for query in reflection.next_queries],
        "reason": reflection.reasoning,
        "stop": stop_of(after),
    }
    for number, title in enumerate(state.outline, start=state.number):
        own = [entry.status for entry in after.entries if entry.section == title]
        share = own.count("found") / len(own) if own else synthesis.coverage
        emit = Emitter(context.run.streaming, Scope.of("section", number, "round", state.round, "reflect"))
        await emit("section-coverage", told | {"section": title, "coverage": round(share, 2)})
    await tell_map(after, context, before=state)
    await write_rounds(context.run.folder)
    return update


# A model is shown so many of the pages that could be read next.
_SHOWN_PAGES = 60


async def _candidates(state: SectionState, context: StageContext) -> list[UnreadPage]:
    """Return the pages most worth reading that were not read, best first."""
    pool = pool_of(await context.records.load_all(UnreadPage, state.pool))
    seen = {*state.visited_sources}
    unread = [(-each.worth, address) for address, each in pool.items() if address not in seen]
    return [pool[address] for _, address in sorted(unread)[:_SHOWN_PAGES]]


async def _of_round(
    state: SectionState, work: SectionWork, candidates: Sequence[UnreadPage], context: StageContext
) -> SectionWork:
    """Return what is known of all sections as one: what the round found, and what is looked for."""
    records = context.records
    ids = [id_ for task in state.tasks_of_round for id_ in task.evidence]
    pieces = await records.evidence(list(dict.fromkeys(ids)), sections=state.outline)
    return work.replace(
        fresh=tuple(piece.id for piece in pieces),
        contexts=await contexts_of(pieces, state.brief.language, records),
        pages=tuple(each.hit.title or each.hit.address for each in candidates),
    )


async def _texts_read(state: SectionState, work: SectionWork, context: StageContext) -> dict[str, str]:
    """Return what is known of each document that was read: its title, and the passages that were kept."""
    texts = {id_: (await context.records.document(id_)).title for id_ in state.read}
    for piece in work.evidence:
        texts[piece.document] = f"{texts.get(piece.document, '')}\n{piece.quote}"
    return texts


async def _with_shared_names(state: SectionState, work: SectionWork, context: StageContext) -> SectionWork:
    """Look for the names that several of the documents read share, where no model says what an expert would name."""
    texts = [(await context.records.document(id_)).text for id_ in state.read]
    known = {name_key(entry.name) for entry in work.entries}
    fresh = [MapEntry(name=name) for name in await in_thread(shared_names, texts) if name_key(name) not in known]
    return work.replace(entries=(*work.entries, *fresh))


async def _is_all_read(context: StageContext) -> bool:
    """Say whether all there is to search was read by then, for whichever section: a folder and nothing else.

    Of a small folder, everything that was found has been read.
    """
    adapters = context.adapters
    corpus = adapters.corpus
    if not corpus or not adapters.models or adapters.has_web:
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
