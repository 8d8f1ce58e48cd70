"""Statements that no source says something: the stored texts are searched before one of them may stand."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from math import fsum, log

from deep_research.errors import CallFailed
from deep_research.pipeline.context import StageContext
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.values import AbsenceCheck, Brief, Stretch
from deep_research.report.evidence.passage import Passage, evidence_from
from deep_research.report.paragraph import Paragraph, Sentence, Verdict, sentences_of
from deep_research.report.sources.document import Document
from deep_research.text.analyzer import content_terms
from deep_research.text.in_thread import in_thread
from deep_research.text.tables import find_tables
from deep_research.verify.quote import find_span

_SHOWN_CHARS = 200
_STRETCH_CHARS = 500


async def with_absences_checked(
    paragraphs: Sequence[Paragraph], brief: Brief, context: StageContext
) -> list[Paragraph]:
    """Return paragraphs whose statements of absence have their verdicts.

    A model reads the stretches of all texts that could hold what is missing; rules write none.
    """
    wanted = {id(each): each for each in sentences_of(paragraphs) if each.kind == "absence" and not each.verdict}
    if not wanted:
        return list(paragraphs)
    failures: list[CallFailed] = []
    documents = [await context.records.document(id_) for id_ in await context.records.documents()]
    sentences = list(wanted.values())
    stretches = await in_thread(likely_stretches, sentences, documents)
    check = AbsenceCheck(brief=brief, statements=tuple(map(_told, sentences)), stretches=tuple(stretches))
    held = await context.reason(Reasoner.find_held, check, on_failure=failures.append)
    other = Verdict(kind="not_checked", reason="failed") if failures else Verdict(kind="not_in_sources")
    verdicts = [other] * len(sentences)
    for one in held:
        verdicts[one.number - 1] = await _held(one.stretch, one.span, context)
    done = dict(zip(wanted, verdicts, strict=True))
    return [
        one.replace(
            sentences=tuple(
                each.replace(verdict=done[id(each)]) if id(each) in done else each for each in one.sentences
            )
        )
        for one in paragraphs
    ]


def _told(sentence: Sentence) -> str:
    return f"{sentence.text} ({sentence.basis})" if sentence.basis else sentence.text


async def _held(stretch: Stretch, span: str, context: StageContext) -> Verdict:
    """Return that a statement is false, with the passage on record; without words that stand there, nobody knows."""
    found = find_span(span, stretch.text)
    if not found:
        return Verdict(kind="not_checked", reason="unproved")
    text = (await context.records.document(stretch.document)).text
    first, last = stretch.start + found[0], stretch.start + found[1]
    end = text.find("\n", last) if "\n" in text[last:] else len(text)
    passage = Passage(document=stretch.document, start=text.rfind("\n", 0, first) + 1, end=end)
    piece = evidence_from(passage, text=text, finding=text[passage.start : passage.end], section="")
    await context.run.store.put_evidence(context.run.lease, [piece])
    shown = " ".join(text[first:last].split())[:_SHOWN_CHARS]
    return Verdict(kind="false", reason=f"held: {shown}", evidence=piece.id, start=first, end=last)


def likely_stretches(sentences: Sequence[Sentence], documents: Sequence[Document]) -> list[Stretch]:
    """Return the stretches of all documents, by turns those that have most in common with each of the statements."""
    units = list(chain.from_iterable(map(_stretches, documents)))
    terms = [frozenset(content_terms(f"{each.title} {each.headings} {each.text}")) for each in units]
    counts = Counter(term for own in terms for term in own)
    rankings = []
    for sentence in sentences:
        basis, said = frozenset(content_terms(sentence.basis)), frozenset(content_terms(sentence.text))
        weights = {
            term: (1 + (term in basis)) * log(1 + len(units) / counts[term]) for term in basis | said if term in counts
        }
        # A set has another order in each process: the sum is the same to the last digit.
        scores = [fsum(weights[term] for term in weights.keys() & own) for own in terms]
        rankings.append(sorted(range(len(units)), key=lambda at: -scores[at]))
    return [units[at] for at in dict.fromkeys(at for best in zip(*rankings, strict=True) for at in best)]


def _stretches(document: Document) -> Iterator[Stretch]:
    """Yield all that a document says in stretches of a few lines; those of a long table have its header above."""
    text, tables = document.text, find_tables(document.text)
    start = 0
    while start < len(text):
        end = min(len(text), start + _STRETCH_CHARS)
        if end < len(text):
            ends = [text.rfind(mark, start + _STRETCH_CHARS // 3, end) + len(mark) for mark in ("\n", "。", ". ")]
            end = next((at for at in ends if at > start + 1), end)
        table = next((each for each in tables if each.header and each.header.end <= start < each.rows[-1].end), None)
        header = text[table.header.start : table.header.end] if table and table.header else ""
        yield Stretch(
            document=document.id, title=document.title, headings=header, start=start, end=end, text=text[start:end]
        )
        start = end
