"""How many independent origins stand behind a statement, and of which days: over all that a run has gathered."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.outcome import findings_from
from deep_research.pipeline.passages import contexts_of
from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.question.signals import asks_for_judgement
from deep_research.reasoning.rules.weighing.claims import find_disagreements
from deep_research.reasoning.rules.weighing.strength import Weighed, weigh_findings, weigh_tables
from deep_research.reasoning.values import Analysis, Findings, Reflection, Synthesis
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Backing, Paragraph, Sentence
from deep_research.report.sources.copies import ComparedText, group_copies
from deep_research.report.sources.dating import day_of
from deep_research.report.sources.source_quality import host_of, is_archive
from deep_research.text.headings import headings_above
from deep_research.text.in_thread import in_thread
from deep_research.text.messages.words import words_in


class _DatedSource(NamedTuple):
    """Who a document is from, and of which day."""

    publisher: str
    day: str


async def disagreements(findings: Findings, state: DeepResearchState, records: RunRecords) -> list[Paragraph]:
    """Return a table for each matter on which sources give different figures, each figure with what backs it."""
    # What nobody chose is the frame of a message or leads to something else.
    cited = [piece for work in findings.sections for piece in work.evidence if piece.score]
    evidence = [piece for piece in await _evidence(findings, state, records) if piece.score]
    contexts = await _context_by_id(evidence, records)
    title = words_in(findings.brief.language)("report.disagreements")
    tables = await in_thread(find_disagreements, cited, section=title, gathered=evidence, places=contexts)
    rows = iter(
        await _backed(await in_thread(weigh_tables, tables, evidence, contexts), state, records) if tables else ()
    )
    return [table.replace(sentences=tuple(islice(rows, len(table.sentences)))) for table in tables]


async def _evidence(findings: Findings, state: DeepResearchState, records: RunRecords) -> list[Evidence]:
    """Return all that was gathered: what sections leave out because it repeats something is what confirms it."""
    own = {piece.id: piece for work in findings.sections for piece in work.evidence}
    others = [id_ for id_ in state.gathered_info if id_ not in own]
    found, copies = await records.evidence(others), state.copies
    documents = {piece.document for piece in own.values()}
    # Of copies and their original, those that are cited count.
    repeated = copies.keys() | {copies.get(document, document) for document in documents}
    return [*own.values(), *(piece for piece in found if piece.document in documents or piece.document not in repeated)]


async def _context_by_id(evidence: Sequence[Evidence], records: RunRecords) -> dict[str, str]:
    """Return the title and the headings above each passage."""
    found = {}
    for piece in sorted(evidence, key=lambda piece: piece.document):
        document = await records.document(piece.document)
        found[piece.id] = f"{document.title} › {headings_above(document.text, piece.start)}"
    return found


async def _backed(weighed: Sequence[Weighed], state: DeepResearchState, records: RunRecords) -> list[Sentence]:
    documents = [document for one in weighed for document in one.documents]
    # Whose text a copy is counts, whether or not the original is cited.
    originals = (state.copies[document] for document in documents if document in state.copies)
    sources = await _sources(dict.fromkeys([*documents, *originals]), records)
    return [one.row.replace(backing=_backing(one, sources)) for one in weighed]


def _backing(weighed: Weighed, sources: Mapping[str, _DatedSource]) -> Backing:
    """Count origins: a copy, another page of the same site, and who names another as the one that says so add none."""
    own = sources[weighed.claim.piece.document]
    named, counted = {own.publisher}, set() if weighed.claim.is_hearsay else {own.publisher}
    also = []
    days = [own.day]
    for claim in weighed.agreeing:
        source = sources[claim.piece.document]
        counted |= set() if claim.is_hearsay else {source.publisher}
        if source.publisher not in named:
            named.add(source.publisher)
            also.append(claim.piece.id)
            days.append(source.day)
    known = sorted(filter(None, days)) or [""]
    return Backing(
        origins=max(1, len(counted)),
        published=own.day,
        oldest=known[0],
        newest=known[-1],
        also=tuple(also),
        against=tuple((claim.figure.raw.strip(), claim.piece.id) for claim in weighed.against),
    )


async def _sources(documents: Iterable[str], records: RunRecords) -> dict[str, _DatedSource]:
    first = await records.documents()
    texts = {}
    for document in documents:
        read, address = await records.document(document), first.get(document, "")
        day = day_of(read.published, read.text, is_page=bool(host_of(address)))
        texts[document] = ComparedText(text=read.text, published=day, address=address)
    leaders = await in_thread(group_copies, texts) if len(texts) > 1 else dict.fromkeys(texts, "")
    sources = {}
    for document, text in texts.items():
        leader = leaders[document] or document
        address = texts[leader].address
        # An origin is a site, or a document where it is a file or one of many in an archive.
        publisher = leader if is_archive(address) else host_of(address) or leader
        sources[document] = _DatedSource(publisher, text.published)
    return sources


class ResearchAnalyzer:
    """Brings findings together."""

    def intermediate_synthesis(self, reflection: Reflection) -> Synthesis:
        """Return what is known about a section after a round."""
        return Synthesis(text=reflection.synthesis, coverage=reflection.coverage)

    async def critical_analysis_stage(
        self, findings: Findings, state: DeepResearchState, context: StageContext
    ) -> Analysis:
        """Look at the findings from several sides, knowing how well their main statements are backed."""
        evidence = await _evidence(findings, state, context.records)
        contexts = await _context_by_id(evidence, context.records)
        statements = await _backed(
            await in_thread(weigh_findings, findings, evidence, contexts), state, context.records
        )
        return await context.reason(Reasoner.analyze, findings.replace(strength=tuple(statements)))


async def for_writer(findings: Findings, state: DeepResearchState, context: StageContext) -> Findings:
    """Return findings as a model needs them to write: with where passages stand, and where sources disagree."""
    contexts = await contexts_of(findings.evidence, findings.brief.language, context.records)
    disputed = tuple(await disagreements(findings, state, context.records))
    return findings.replace(contexts=contexts, disputed=disputed)


async def analyze(state: DeepResearchState, context: StageContext, analyzer: ResearchAnalyzer) -> Update:
    """Return the analysis, or nothing with the reason on record."""
    findings = await findings_from(state, context.records)
    if not asks_for_judgement(findings.brief.original):
        context.skip("the question does not ask for an analysis")
        return {}
    analysis = await analyzer.critical_analysis_stage(findings, state, context)
    if analysis == Analysis():
        context.skip("nothing was found that could be weighed")
        return {}
    return {"analysis": await context.records.keep(analysis)}
