"""Questions over paragraphs, by rules: `python -m evals.reading [--data FOLDER]`.

Each paragraph is a document by itself, and some forty neighbouring ones make up the corpus that tells which words are
rare. A question is answered right where the first sentence or row of the answer holds one of the known answers; one
without an answer where the report says so. Chinese questions without an answer are questions about another paragraph
of the same subject.
"""

import argparse
import asyncio
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, cast

from deep_research.documents.corpus.port import Corpus, Listed, PassageHit
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.question.analysis import analyze_question, outline_of_answer
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Brief, Context, Draft, Plan, ReadingRequest, SectionPlan
from deep_research.report.evidence.passage import Passage, evidence_from
from deep_research.report.sources.document import Document, text_id
from deep_research.request import Language
from deep_research.text.analyzer import analyze
from deep_research.text.folding import to_simplified
from evals import shared

SETS: dict[str, Language] = {"squad2": "en", "cmrc": "zh-Hans", "drcd": "zh-Hant"}
_FOLDER = 40
_NEAR = 400


class Neighbours:
    """The paragraphs around one, as a corpus: what reading asks of it, and no more."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._counts = Counter(term for each in documents for term in set(analyze(f"{each.title} {each.text}")))

    async def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        return len(self._documents), {term: self._counts[term] for term in terms if self._counts[term]}

    async def contents(self) -> list[Listed]:
        return [Listed(title=each.title, language=each.language) for each in self._documents]

    async def search(self, query: str, *, limit: int) -> list[PassageHit]:  # noqa: ARG002 - the port's signature
        return []


def cases(path: Path, language: Language) -> Iterator[dict[str, Any]]:
    """Yield the questions of a set, in Chinese also those whose paragraph was exchanged for one that has no answer."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    yield from found
    if language != "en":
        subjects: dict[str, dict[str, None]] = {}
        for each in found:
            subjects.setdefault(each["title"], {})[each["context"]] = None
        for each in found:
            others = [text for text in subjects[each["title"]] if not any(answer in text for answer in each["answers"])]
            if others:
                yield each | {"context": others[0], "answers": [], "answerable": False}


def document_of(title: str, text: str) -> Document:
    """Return a paragraph as a document."""
    return Document(
        id=text_id("eval", text), snapshot="", title=title, text=text, media_type="text/plain", extractor="eval"
    )


async def answer(reasoner: Reasoner, question: str, document: Document, language: Language) -> tuple[bool, str]:
    """Return whether a question is answered from a document, and what its answer begins with."""
    section = SectionPlan(title=outline_of_answer(language)[0])
    analysis = analyze_question(question)
    brief = Brief(question=question, original=question, language=language, analysis=analysis)
    plan = Plan(research_title=question, sections=(section,))
    request = ReadingRequest(
        brief=brief,
        section=section,
        documents=(document,),
        outline=plan.titles,
    )
    evidence = tuple(
        evidence_from(
            Passage(document=document.id, start=found.start, end=found.end),
            text=document.text,
            finding=found.finding,
            section=section.title,
            score=found.score,
        )
        for found in await reasoner.extract(request)
    )
    if not evidence:
        return False, ""
    context = Context(title=document.title, opening=document.text[:_NEAR], near=document.text)
    contexts = {
        each.id: context.model_copy(update={"near": document.text[max(0, each.start - _NEAR) : each.end + _NEAR]})
        for each in evidence
    }
    draft = Draft(brief=brief, plan=plan, paragraphs=(), evidence=evidence, contexts=contexts)
    found = await reasoner.conclude(draft)
    first = found.abstract[0].sentences[0].text if found.abstract else ""
    return found.is_answered, first


def run_folder(asked: Sequence[dict[str, Any]], language: Language) -> Counter[str]:
    """Answer the questions over neighbouring paragraphs; return how many of which kind went how."""
    texts = {each["context"]: each["title"] for each in asked}
    documents = {text: document_of(title, text) for text, title in texts.items()}
    reasoner = ExtractiveReasoner(cast(Corpus, Neighbours(list(documents.values()))))
    counts: Counter[str] = Counter()
    for each in asked:
        is_answered, first = asyncio.run(answer(reasoner, each["question"], documents[each["context"]], language))
        held = any(to_simplified(known).lower() in to_simplified(first).lower() for known in each["answers"])
        if each["answerable"]:
            counts.update(answerable=1, held=held, answered=is_answered and held, refused=not is_answered)
        else:
            counts.update(without=1, refused_rightly=not is_answered)
    return counts


def run_set(path: Path, language: Language, *, every: int = 1, jobs: int = 2) -> dict[str, float]:
    """Answer every so many of a set's questions."""
    paragraphs: dict[str, list[dict[str, Any]]] = {}
    for each in cases(path, language):
        paragraphs.setdefault(each["context"], []).append(each)
    own = list(paragraphs.values())
    folders = [list(chain.from_iterable(own[at : at + _FOLDER])) for at in range(0, len(own), _FOLDER)]
    with ProcessPoolExecutor(jobs) as pool:
        counts = sum(pool.map(partial(run_folder, language=language), shared.sample(folders, every)), Counter[str]())
    found = {
        "first sentence holds the answer": counts["held"] / counts["answerable"],
        "so, and not refused": counts["answered"] / counts["answerable"],
        "wrongly refused": counts["refused"] / counts["answerable"],
    }
    if counts["without"]:
        found["refused where there is no answer"] = counts["refused_rightly"] / counts["without"]
    return {f"{language}: {label}": figure for label, figure in found.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared.add_data_argument(parser)
    shared.add_sample_argument(parser)
    given = parser.parse_args(arguments)
    folder = shared.require(given.data, "reading")
    figures: dict[str, float] = {}
    for name, language in SETS.items():
        figures |= run_set(folder / f"{name}.jsonl.gz", language, every=given.every)
    return shared.report(shared.sample_name("reading", given.every), figures)


if __name__ == "__main__":
    sys.exit(main())
