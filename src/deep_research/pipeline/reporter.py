"""`ReportGenerator` (document 000): from checked paragraphs to the numbered report and the files that prove it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deep_research.evidence.passage import Evidence
from deep_research.messages.words import Words, words
from deep_research.pipeline.context import Ports
from deep_research.pipeline.health import Health, account_of, health_of, notice_of
from deep_research.pipeline.limits import limits_of
from deep_research.pipeline.verify import CheckedBody
from deep_research.pipeline.wording import is_quoted, models_that_wrote, wording_of
from deep_research.readers import ORDERS_FOUND, place_of
from deep_research.reasoning.units import count_orders
from deep_research.reasoning.values import Conclusion, Findings
from deep_research.report.citation import Citations, Source, number_sources
from deep_research.report.markdown import Chapter, Report, render
from deep_research.report.paragraph import Paragraph, note
from deep_research.value import JsonObject, canonical_json


@dataclass(frozen=True)
class WrittenReport:
    """The report and what its citations rest on."""

    title: str
    text: str
    paragraphs: list[Paragraph]
    citations: Citations
    evidence: list[Evidence]
    places: dict[str, str]
    health: Health

    def proof(self, piece: Evidence) -> JsonObject:
        """Return a line of `evidence.jsonl` (SPEC W2)."""
        address = next(source.address for source in self.citations.cited if source.document == piece.document)
        return piece.to_json() | {"source": address, "place": self.places.get(piece.id, "")}


class ReportGenerator:
    """Assembles the report; the words are the reasoner's or the sources', the order and the numbers are ours."""

    async def write_final_report(
        self,
        findings: Findings,
        body: CheckedBody,
        conclusion: Conclusion,
        state: dict[str, Any],
        *,
        knowledge: str = "",
        disagreements: Sequence[Paragraph] = (),
        ports: Ports,
    ) -> WrittenReport:
        """Return the report with its citations numbered."""
        said = words(findings.brief.language)
        report = self._report(findings, body, conclusion, state, said, ports=ports)
        report = report.model_copy(update={"disagreements": _whole(disagreements), "knowledge": knowledge})
        cited = list(dict.fromkeys(id_ for paragraph in report.paragraphs for id_ in paragraph.cite_ids))
        evidence = await ports.store.get_evidence(ports.run.row.id, cited)
        document_of = {piece.id: piece.document for piece in evidence}
        sources, places = await _sources(evidence, said, ports=ports)
        citations = number_sources(report.paragraphs, document_of=document_of, sources=sources)
        models = await models_that_wrote(ports)
        writing = wording_of(report.paragraphs, models, said)
        foreign = _foreign(_quoted(report.paragraphs, document_of), citations, said, has_model=bool(models))
        limits = (*report.limits, *foreign, *await _noticed(citations, said, ports=ports))
        cited_snapshots = [(await ports.store.get_document(source.document)).snapshot for source in citations.cited]
        health = await health_of(cited_snapshots, ports=ports)
        account, notes = account_of(health, ports.request, ports.run.parts.specs, said)
        report = report.model_copy(
            update={
                "notice": notice_of(health, ports.run.parts.specs, said),
                "limits": limits,
                "writing": writing,
                "account": tuple(map(tuple, account)) if health.engines else (),
                "account_notes": tuple(notes),
            }
        )
        text = render(report, citations, number_of=lambda id_: citations.number(document_of[id_]), words=said)
        return WrittenReport(report.title, text, report.paragraphs, citations, evidence, places, health)

    def _report(
        self,
        findings: Findings,
        body: CheckedBody,
        conclusion: Conclusion,
        state: dict[str, Any],
        said: Words,
        *,
        ports: Ports,
    ) -> Report:
        chapters = [
            Chapter(title=section.title, paragraphs=own)
            for section in findings.plan.sections
            if (own := tuple(paragraph for paragraph in body.paragraphs if paragraph.section == section.title))
        ]
        abstract = conclusion.abstract
        if not chapters:
            abstract = (note("abstract", said("nothing.report")),)
        elif not conclusion.is_answered:
            # What the sources hold instead is shown, not spread out as if it were an answer.
            abstract = (note("abstract", said("nothing.answer")),)
            nearest = tuple(paragraph for chapter in chapters for paragraph in chapter.paragraphs[:1])
            chapters = [Chapter(title=said("report.nearest"), paragraphs=nearest)]
        else:
            closings = {"analysis": body.analysis, "conclusion": conclusion.conclusion, "outlook": conclusion.outlook}
            chapters += [Chapter(title=said(f"report.{key}"), paragraphs=own) for key, own in closings.items() if own]
        row = ports.run.row
        return Report(
            title=findings.plan.research_title,
            assumptions=findings.brief.assumptions,
            abstract=abstract,
            chapters=tuple(chapters),
            gaps=conclusion.unanswered,
            limits=limits_of(
                [*state.get("gaps", []), *(gap.to_json() for gap in ports.gaps)],
                budget=ports.request.budget,
                words=said,
            ),
            run_line=said("report.run_line", run=row.id, started=f"{row.created_at:%Y-%m-%d %H:%M:%S} UTC"),
        )

    async def write_files(self, written: WrittenReport, *, ports: Ports) -> None:
        """Write the report and its proofs to the run folder (SPEC W2, R4)."""
        folder = ports.run.folder
        numbers = {
            str(number): source.to_json()
            for number, source in enumerate((*written.citations.cited, *written.citations.additional), start=1)
        }
        lines = [
            {
                "id": f"p{number}",
                "section": paragraph.section,
                "kind": paragraph.kind,
                "text": " ".join(sentence.text for sentence in paragraph.sentences),
                "cite_ids": list(paragraph.cite_ids),
                "sentences": [sentence.to_json() for sentence in paragraph.sentences],
            }
            for number, paragraph in enumerate(written.paragraphs, start=1)
        ]
        await folder.write("paragraphs.jsonl", _json_lines(lines))
        await folder.write("evidence.jsonl", _json_lines([written.proof(piece) for piece in written.evidence]))
        await folder.write("citations.json", canonical_json(numbers) + "\n")
        await folder.write("retrieval.json", canonical_json(written.health.to_json()) + "\n")
        await folder.write("report.md", written.text)


def _whole(disagreements: Sequence[Paragraph]) -> tuple[Paragraph, ...]:
    """Return the disagreements of which verification left both sides."""
    return tuple(table for table in disagreements if len(table.sentences) > 1)


async def _sources(cited: list[Evidence], said: Words, *, ports: Ports) -> tuple[list[Source], dict[str, str]]:
    """Return everything that was read, by its first address, and where in it each cited passage stands."""
    addresses = await ports.store.list_addresses(ports.run.row.id)
    first: dict[str, str] = {}
    for address, document in addresses.items():
        first.setdefault(document, address)
    sources: list[Source] = []
    places: dict[str, str] = {}
    for id_, address in first.items():
        read = await ports.store.get_document(id_)
        own: dict[str, str] = {}
        for piece in sorted((piece for piece in cited if piece.document == id_), key=lambda piece: piece.start):
            place = place_of(read.places, piece.start, piece.end, text=read.text)
            if place is not None:
                own[piece.id] = said(f"place.{place.kind}", label=place.label)
        places |= own
        named = tuple(dict.fromkeys(own.values()))
        sources.append(
            Source(
                document=id_,
                title=read.title,
                address=address,
                places=named,
                language=read.language,
                published=read.published,
                warnings=read.warnings,
            )
        )
    return sources, places


def _quoted(paragraphs: Sequence[Paragraph], document_of: Mapping[str, str]) -> set[str]:
    """Return the documents whose own words stand in the report."""
    sentences = (sentence for paragraph in paragraphs for sentence in paragraph.sentences)
    return {document_of[id_] for sentence in sentences if is_quoted(sentence) for id_ in sentence.evidence}


def _foreign(quoted: set[str], citations: Citations, said: Words, *, has_model: bool) -> list[str]:
    """Say which sources are quoted in another language than the report's (SPEC P6)."""
    own = said.language[:2]
    quotes = [source for source in citations.cited if source.document in quoted]
    titles = [source.title for source in quotes if source.language and source.language[:2] != own]
    key = "limits.quoted_languages" if has_model else "limits.languages"
    return [said(key, titles=said("report.list_separator").join(titles))] if titles else []


async def _noticed(citations: Citations, said: Words, *, ports: Ports) -> list[str]:
    """Say what readers noticed about the cited sources, and which of all that were read hold orders to an assistant."""
    remarks = [
        said("limits.noticed", address=source.address, remark=remark)
        for source in citations.cited
        for remark in source.warnings
        if remark != ORDERS_FOUND
    ]
    for source in (*citations.cited, *citations.additional):
        text = (await ports.store.get_document(source.document)).text if ORDERS_FOUND in source.warnings else ""
        if count := count_orders(text) or count_orders(source.title):
            remarks.append(said("limits.quarantined", address=source.address, count=count))
    return remarks


def _json_lines(records: list[Any]) -> str:
    return "".join(canonical_json(record) + "\n" for record in records)


def result_of(written: WrittenReport, *, report: str) -> JsonObject:
    """Return what the run's row keeps of its report; the text lies in the store under its content id."""
    return {
        "title": written.title,
        "report": report,
        "sources": [source.to_json() for source in (*written.citations.cited, *written.citations.additional)],
        "learnings": [piece.finding for piece in written.evidence],
        "images": [],
    }
