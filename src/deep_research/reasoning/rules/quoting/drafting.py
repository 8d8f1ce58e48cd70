"""Putting quoted sentences and rows into paragraphs, tables, an abstract and a conclusion."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.question.sections import aspects
from deep_research.reasoning.rules.quoting.relevance import CJK_CHARACTER
from deep_research.reasoning.rules.quoting.selection import stands_alone, trimmed
from deep_research.reasoning.rules.quoting.units import cells_of
from deep_research.reasoning.values import Draft, Paragraphs
from deep_research.report.paragraph import TABLE_ROWS, Paragraph, Sentence, row
from deep_research.text.analyzer import CJK
from deep_research.text.sentences import split_sentences

# A line break inside a sentence: after no stop, and before no item, row, heading or blank line.
_WRAP = re.compile(r"(?<=[^\s.!?。！？…:：;；])[ \t]*\n(?=[^\s|#>])(?!(?:[-*+•]|\d{1,3}[.)、])\s)")
_WIDE_WRAP = re.compile(f"(?<=[{CJK}，、])\\n(?=[{CJK}])")
Worth = Callable[[str], float]
# An abstract has 100 to 200 words, or characters of Chinese.
_ABSTRACT_LENGTH, _MAX_ABSTRACT_LENGTH = 120, 200
# Of each section at most so many sentences may stand in the abstract.
_LEADS = 2
_CONCLUSION_SENTENCES = range(2, 5)


def paragraphs_of(section: str, evidence: Sequence[Evidence]) -> Paragraphs:
    """Return a section: each piece of prose a paragraph, the rows of tables below."""
    prose = [Paragraph(section=section, sentences=quoted(piece)) for piece in evidence if not piece.header]
    return (*prose, *_tables(section, [piece for piece in evidence if piece.header]))


def quoted(piece: Evidence) -> tuple[Sentence, ...]:
    """Return the sentences of a piece of evidence as the report quotes them."""
    # A passage may begin in mid-line, so that how wide its lines were is not known: they are joined again first.
    text = _WRAP.sub(" ", _WIDE_WRAP.sub("", piece.quote))
    return tuple(Sentence(text=trimmed(text[start:end]), evidence=(piece.id,)) for start, end in split_sentences(text))


def joined(sentences: Sequence[str]) -> str:
    """Return sentences as one text; Chinese ones need no blank between them."""
    text = ""
    for sentence in sentences:
        text += (" " if text and not CJK_CHARACTER.search(text[-2:]) else "") + sentence
    return text


def _tables(section: str, rows: Sequence[Evidence]) -> list[Paragraph]:
    """Return the rows of each header as a table of their own where they are many, and all others as one table."""
    own = [header for header, count in Counter(piece.header for piece in rows).items() if count >= TABLE_ROWS]
    groups = [[piece for piece in rows if piece.header == header] for header in own]
    groups.append([piece for piece in rows if piece.header not in own])
    ordered = [sorted(group, key=lambda piece: (piece.document, piece.start)) for group in groups if group]
    return [Paragraph(section=section, kind="table", sentences=tuple(map(row_of, group))) for group in ordered]


def row_of(piece: Evidence) -> Sentence:
    """Return a row with the label of each cell."""
    return row(cells_of(piece.finding), (piece.id, piece.header))


def abstract_of(draft: Draft, worth: Worth) -> Paragraphs:
    """Return the sentences that say most, a few of each section, in the order of the sections."""
    leads: dict[str, list[Sentence]] = {}
    for paragraph in draft.paragraphs:
        if paragraph.kind == "claim":
            leads.setdefault(paragraph.section, []).append(_lead(paragraph, worth))
    best = [sorted(own, key=lambda sentence: -worth(sentence.text))[:_LEADS] for own in leads.values()]
    order = [sentence for own in best for sentence in own]
    chosen: list[Sentence] = []
    for sentence in sorted(order, key=lambda sentence: -worth(sentence.text)):
        length = sum(_length(other.text) for other in chosen)
        if length < _ABSTRACT_LENGTH and length + _length(sentence.text) <= _MAX_ABSTRACT_LENGTH:
            chosen.append(sentence)
    return (Paragraph(section="abstract", sentences=tuple(sorted(chosen, key=order.index))),) if chosen else ()


def _lead(paragraph: Paragraph, worth: Worth) -> Sentence:
    """Return the sentence of a paragraph that says most and can stand alone."""
    alone = [sentence for sentence in paragraph.sentences if stands_alone(sentence.text)]
    return max(alone or paragraph.sentences, key=lambda sentence: worth(sentence.text))


def conclusion_of(draft: Draft, abstract: Sequence[Paragraph]) -> Paragraphs:
    """Return what the sources plan or advise, where they do; it is not said twice at the report's ends."""
    aspect = next(aspect for aspect in aspects() if aspect.key == "outlook")
    known = {sentence.text for paragraph in abstract for sentence in paragraph.sentences}
    advice = [
        sentence
        for paragraph in draft.paragraphs
        for sentence in paragraph.sentences
        if paragraph.kind == "claim" and aspect.hits(sentence.text) and stands_alone(sentence.text)
    ]
    fresh = [sentence for sentence in advice if sentence.text not in known]
    best = sorted(fresh, key=lambda sentence: -aspect.hits(sentence.text))[: _CONCLUSION_SENTENCES.stop - 1]
    if len(best) < _CONCLUSION_SENTENCES.start:
        return ()
    return (Paragraph(section="conclusion", sentences=tuple(sorted(best, key=fresh.index))),)


def _length(text: str) -> int:
    """Return a text's length as an abstract's is counted: words, or characters of Chinese."""
    han = len(CJK_CHARACTER.findall(text))
    return han if han > len(text) / 4 else len(text.split())
