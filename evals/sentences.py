"""Whether true sentences pass the checks and false ones do not: `python -m evals.sentences [--model ADDRESS]`.

`sentences.jsonl` holds 80 true and 80 false sentences on passages of the answer folders, `absences.jsonl` 60 statements
that something is in no source, half of them false. People who had not seen the checks wrote them. Without a model only
what code refuses is counted: whatever it lets pass goes to a judge. `--model` is the address of an OpenAI-compatible
server whose model judges, with as many statements in one prompt as in a run.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from deep_research.documents.readers import read
from deep_research.llm.chat import ModelLimits, connect
from deep_research.llm.registry import model_named
from deep_research.llm.tokens import tokens_at_most
from deep_research.pipeline.absences import likely_stretches
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.passages import contexts_of
from deep_research.pipeline.stages.verify import CheckedSources, judged
from deep_research.reasoning.model.prompting import PromptOptions, Prompts
from deep_research.reasoning.model.reasoner import ModelReasoner
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Brief, Judgement, Stretch, Support
from deep_research.report.evidence.passage import Evidence, Passage, evidence_from
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.report.sources.document import Document
from deep_research.text.script import detect_language
from deep_research.text.tables import find_tables
from evals import shared

SENTENCES = Path(__file__).with_name("sentences.jsonl")
ABSENCES = Path(__file__).with_name("absences.jsonl")
FOLDERS = Path(__file__).with_name("answer_folders")
# A section of a report has about so many.
TOGETHER = 10
_PATIENCE_S = 1_500.0
# So many characters of a passage stand in one stretch.
_BEGINNING = 20


class Records:
    """The documents of one folder as a run's records give them, and the few things that a stage does with them."""

    def __init__(self, folder: str, ask: Callable[..., Any]) -> None:
        self.documents_by_id = {document.id: document for document in documents_of(folder)}
        self.pieces: dict[str, Evidence] = {}
        self.store = self.run = self.dependencies = self.records = self
        self.lease, self.adapters, self._ask = None, SimpleNamespace(models=("judge",)), ask

    async def documents(self) -> dict[str, str]:
        return {id_: document.title for id_, document in self.documents_by_id.items()}

    async def document(self, id_: str) -> Document:
        return self.documents_by_id[id_]

    async def evidence(self, ids: Iterable[str]) -> list[Evidence]:
        return [self.pieces[id_] for id_ in ids]

    async def put_evidence(self, lease: object, pieces: Iterable[Evidence]) -> None:  # noqa: ARG002 - as a store has it
        self.pieces |= {piece.id: piece for piece in pieces}

    async def emit(self, *event: object) -> None:
        pass

    async def reason(self, method: Callable[..., Any], asked: Any, *, on_failure: Callable[..., Any]) -> Any:  # noqa: ARG002
        return await self._ask(method.__name__, asked)

    def branch(self, *path: object) -> "Records":  # noqa: ARG002 - all at one place
        return self

    def join(self, others: object) -> None:
        pass

    def cited(self, file: str, quote: str) -> tuple[str, ...]:
        """Return the evidence that a passage of a file is, with the header of the table that it is a row of."""
        document = self.documents_by_id[file]
        start = document.text.index(quote)
        end, header = start + len(quote), ""
        for table in find_tables(document.text):
            if table.header and table.header.end <= start < table.rows[-1].end:
                header = self._keep(document, table.header.start, table.header.end)
        return (self._keep(document, start, end, header), *([header] if header else []))

    def _keep(self, document: Document, start: int, end: int, header: str = "") -> str:
        passage = Passage(document=document.id, start=start, end=end)
        piece = evidence_from(passage, text=document.text, finding=document.text[start:end], section="", header=header)
        self.pieces[piece.id] = piece
        return piece.id


@cache
def documents_of(folder: str) -> list[Document]:
    """Return what a folder holds, each document known by its path."""
    (root,) = (path for path in FOLDERS.rglob("documents") if path.parent.name == folder)
    found = []
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        reading = read(path.read_bytes(), name=path.name)
        name = str(path.relative_to(root))
        found.append(
            Document(
                id=name,
                snapshot=name,
                title=reading.title or path.stem,
                text=reading.text,
                media_type="text/plain",
                extractor="eval",
                author=reading.author,
                published=reading.published,
                places=reading.places,
            )
        )
    return found


async def supported(act: str, asked: Any) -> tuple[Judgement, ...]:
    """Stand in for a judge who lets everything pass: what is refused then was refused by code."""
    if act != "judge":
        return ()
    support: Support = asked
    passages = {piece.id: piece for piece in support.passages}
    sentences = [each for one in support.paragraphs for each in one.sentences]
    return tuple(
        Judgement(
            number=number,
            verdict="follows" if each.kind == "conclusion" else "supported",
            span=passages[each.evidence[0]].quote,
            premises=each.evidence,
        )
        for number, each in enumerate(sentences, start=1)
        if not each.verdict
    )


def judge_at(address: str) -> Callable[..., Any]:
    limits = ModelLimits(timeout_s=_PATIENCE_S, idle_timeout_s=_PATIENCE_S)
    model = connect(model_named("openai-compatible:judge"), address=address, limits=limits)
    reasoner = ModelReasoner(model, prompts=Prompts(), options=PromptOptions(), fallback=ExtractiveReasoner())

    async def ask(act: str, asked: Any) -> Any:
        return await getattr(reasoner, act)(asked)

    return ask


def groups_of(items: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for folder, own in groupby(sorted(items, key=lambda item: str(item["folder"])), key=lambda item: item["folder"]):
        every = list(own)
        for at in range(0, len(every), TOGETHER):
            yield folder, every[at : at + TOGETHER]


async def checked(folder: str, items: Sequence[dict[str, Any]], ask: Callable[..., Any]) -> list[Sentence]:
    """Return the items as sentences of one report, with their verdicts."""
    records = Records(folder, ask)
    sentences = []
    for item in items:
        if "looked_for" in item:
            sentences.append(Sentence(text=item["sentence"], kind="absence", basis=item["looked_for"]))
        else:
            cited = [id_ for one in item["passages"] for id_ in records.cited(one["file"], one["quote"])]
            sentences.append(Sentence(text=item["sentence"], kind=item["kind"], evidence=tuple(dict.fromkeys(cited))))
    asked = " ".join(dict.fromkeys(str(item["question"]) for item in items))
    detected = detect_language(asked)
    language = detected if detected in ("zh-Hans", "zh-Hant") else "en"
    brief = Brief(question=asked, original=asked, language=cast(Any, language))
    evidence = tuple(records.pieces.values())
    context = cast(StageContext, records)
    sources = CheckedSources(brief, evidence, await contexts_of(evidence, brief.language, context.records))
    paragraphs = [Paragraph(section="Findings", sentences=(each,)) for each in sentences]
    done = await judged(paragraphs, sources, context)
    return [each for one in done for each in one.sentences]


async def verdicts_of(items: Sequence[dict[str, Any]], ask: Callable[..., Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    groups = list(groups_of(items))
    results = await asyncio.gather(*(checked(folder, own, ask) for folder, own in groups))
    for (_, own), sentences in zip(groups, results, strict=True):
        for item, sentence in zip(own, sentences, strict=True):
            verdict = sentence.verdict
            found[item["id"]] = f"{verdict.kind}: {verdict.reason}" if verdict else "none"
    return found


_SOUND = ("supported", "follows", "computed", "not_in_sources")
_REFUSED = ("not_found", "goes_beyond", "contradicted", "contradicts", "wrong", "false")


def shares(items: Sequence[dict[str, Any]], found: dict[str, str], *, key: str) -> dict[str, float]:
    """Return how many of the true ones are refused, and how many of the false ones pass."""
    true, false = (
        [found[item["id"]].partition(":")[0] for item in items if item[key] is side] for side in (True, False)
    )
    return {
        "true ones refused": sum(kind in _REFUSED for kind in true) / len(true),
        "false ones passed": sum(kind in _SOUND for kind in false) / len(false),
    }


def held_in_reach(items: Sequence[dict[str, Any]], tokens: int) -> float:
    """Return the share of false absences whose refuting passage is among what a model is shown of a folder."""
    reached = [
        _stands_in(item["holds"]["quote"], item["holds"]["file"], _shown(own, folder, tokens))
        for folder, own in groups_of(items)
        for item in own
        if item["holds"]
    ]
    return sum(reached) / len(reached)


def _shown(items: Sequence[dict[str, Any]], folder: str, tokens: int) -> list[Stretch]:
    sentences = [Sentence(text=item["sentence"], kind="absence", basis=item["looked_for"]) for item in items]
    stretches = likely_stretches(sentences, documents_of(folder))
    sizes = accumulate(tokens_at_most(each.text) for each in stretches)
    return [each for each, size in zip(stretches, sizes, strict=True) if size <= tokens]


def _stands_in(quote: str, file: str, stretches: Sequence[Stretch]) -> bool:
    return any(each.document == file and quote[:_BEGINNING] in each.text for each in stretches)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="the address of a server whose model judges")
    address = parser.parse_args(arguments).model
    sentences, absences = shared.read_json_lines(SENTENCES), shared.read_json_lines(ABSENCES)
    ask = judge_at(address) if address else supported
    found = asyncio.run(verdicts_of(sentences, ask))
    name = "sentences, judged" if address else "sentences"
    figures = {f"sentences: {label}": figure for label, figure in shares(sentences, found, key="is_true").items()}
    figures["absences: refuting stretch within 10,000 tokens"] = held_in_reach(absences, 10_000)
    if address:
        found |= asyncio.run(verdicts_of(absences, ask))
        figures |= {f"absences: {label}": figure for label, figure in shares(absences, found, key="is_absent").items()}
    return shared.report(name, figures, details=found)


if __name__ == "__main__":
    sys.exit(main())
