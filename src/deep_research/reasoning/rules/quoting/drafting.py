"""Putting quoted sentences and rows into paragraphs, tables, an abstract and a conclusion."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.question.analysis import is_topic
from deep_research.reasoning.rules.question.sections import Aspect, aspects_named
from deep_research.reasoning.rules.quoting.answer import (
    MIN_STEPS,
    STEPS,
    TABLE_KINDS,
    AnswerSought,
    Place,
    Subjects,
    opening_dates,
    opening_terms,
)
from deep_research.reasoning.rules.quoting.selection import (
    best_first,
    by_document,
    choose,
    shown_of,
    trimmed,
)
from deep_research.reasoning.rules.quoting.table_answer import summary_of
from deep_research.reasoning.rules.quoting.units import MAX_SENTENCES, Unit, as_sentence, cells_of, states_nothing
from deep_research.reasoning.values import PRECISE_KINDS, Brief, Conclusion, Context, Draft, Paragraphs
from deep_research.report.paragraph import TABLE_ROWS, Paragraph, Sentence, row
from deep_research.text.analyzer import CJK, CJK_CHARACTER, analyze
from deep_research.text.folding import to_simplified
from deep_research.text.sentences import STAMPED, TextSpan, split_sentences

# A line break inside a sentence: after no stop, and before no item, row, heading, blank line or line of a log.
_WRAP = re.compile(rf"(?<=[^\s.!?。！？…:：;；])[ \t]*\n(?=[^\s|#>])(?!(?:[-*+•]|\d{{1,3}}[.)、])\s|{STAMPED.pattern})")
_STEP = re.compile(r"(?m)^\s*(?:[-*•]|[(（]?(?:\d{1,2}|[一二三四五六七八九十]{1,2})[.)、）])")
_WIDE_WRAP = re.compile(f"(?<=[{CJK}，、])\\n(?=[{CJK}])")
Worth = Callable[[str], float]
# An abstract has 100 to 200 words, or characters of Chinese.
_ABSTRACT_LENGTH, _MAX_ABSTRACT_LENGTH = 120, 200


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


def abstract_of(draft: Draft, worths: Sequence[Worth]) -> Paragraphs:
    """Return the passages that say most: first one for each part of the question, then the best of all."""
    scores = {piece.id: piece.score for piece in draft.evidence}
    told = [paragraph for paragraph in draft.paragraphs if paragraph.kind == "claim"]

    def rank(paragraph: Paragraph, worth: Worth) -> float:
        return max(map(worth, _texts(paragraph))) + max(scores.get(id_, 0.0) for id_ in paragraph.cite_ids)

    ranked = sorted(told, key=lambda paragraph: -max(rank(paragraph, worth) for worth in worths))
    first = [max(told, key=lambda paragraph: rank(paragraph, worth)) for worth in worths if told]
    chosen: list[Paragraph] = []
    length = 0
    for paragraph in dict.fromkeys((*first, *ranked)):
        own = paragraph.sentences[:MAX_SENTENCES]
        more = sum(_length(sentence.text) for sentence in own)
        if length < _ABSTRACT_LENGTH and length + more <= _MAX_ABSTRACT_LENGTH:
            chosen.append(Paragraph(section="abstract", sentences=own))
            length += more
    # What stands in one document is told in its order; of how things stand, the newest first.
    pieces = {piece.id: piece for piece in draft.evidence}
    cited = [pieces[id_] for paragraph in chosen for id_ in paragraph.cite_ids if id_ in pieces]
    if is_topic(draft.brief):
        places = _places(draft)
        cited.sort(key=lambda piece: next(iter(places[piece.id].dated), places[piece.id].published), reverse=True)
    order = [piece.id for piece in by_document(cited)]
    return tuple(sorted(chosen, key=lambda paragraph: [order.index(id_) for id_ in paragraph.cite_ids if id_ in order]))


def _texts(paragraph: Paragraph) -> list[str]:
    return [sentence.text for sentence in paragraph.sentences]


# What stands beside the best of an answer is nearly as good.
_BESIDE, _TABLE = 0.85, 0.75
_OVERVIEW_PIECES = 10
# What a word of the aspect that a part asks for counts.
_HIT = 0.4
# So much is shown of what comes nearest to an answer.
_NEAREST = 3
_MAX_PIECES = {"fact": 2, "yes_no": 2, "who_when_where": 2, "extreme": 2, "trend": 3}


# Beside the answer, a report shows so many sentences at most, none much worse than the best.
_SUPPORT = {"short": 1, "standard": 3, "long": 10}
_OVERVIEW_SUPPORT = {"short": 6, "standard": 24, "long": 48}
_MAX_ROWS = 60
_SUPPORTS, _OVERVIEW_SUPPORTS = 0.6, 0.4


def supporting(ranked: Sequence[Evidence], brief: Brief) -> list[Evidence]:
    """Return what of the evidence a report shows: the rows of the table that answers, and the best sentences."""
    if not ranked:
        return []
    kind, best = brief.analysis.kind, ranked[0].score
    is_table = kind in TABLE_KINDS
    room = (_OVERVIEW_SUPPORT if kind == "overview" else _SUPPORT)[brief.length]
    room += _MAX_PIECES.get(kind, 4) + STEPS * (kind == "procedure")
    least = (_OVERVIEW_SUPPORTS if kind == "overview" else _SUPPORTS) * best
    prose = [piece for piece in ranked if not piece.header and piece.score >= least]
    if kind == "procedure":
        prose = _steps_first([piece for piece in ranked if not piece.header])
    rows = [piece for piece in ranked if piece.header and piece.score >= _SUPPORTS * best]
    if is_table and rows:
        rows = [piece for piece in rows if piece.header == rows[0].header]
    return best_first([*choose(prose, room=room), *rows[: _MAX_ROWS if is_table else 2]])


def _steps_first(ranked: Sequence[Evidence]) -> list[Evidence]:
    """Return the best passage that is a list of steps first, if there is one that is nearly as good as others."""
    least = _SUPPORTS * ranked[0].score if ranked else 0.0
    steps = [piece for piece in ranked if len(_STEP.findall(piece.quote)) >= MIN_STEPS and piece.score >= least][:1]
    return [*steps, *(piece for piece in ranked if piece not in steps)]


def answer_of(draft: Draft, parts: Sequence[AnswerSought], beside: Sequence[str] = ()) -> Conclusion:
    """Return the answer: for each part of the question the best sentences, or the table that holds it.

    Only a question for something that is there or is not can be found not to be answered. `beside` are names that
    stand in one column: of shops, towns or customers.
    """
    places = _places(draft)
    units = {piece.id: _unit(piece) for piece in draft.evidence}
    labels = (label for piece in draft.evidence if piece.header for label, _ in cells_of(piece.finding))
    question = to_simplified(draft.brief.question).lower()
    subjects = Subjects(
        frozenset(analyze(" ".join(labels))).union(*(place.headed for place in places.values())),
        tuple(name for name in beside if name in question),
        tuple(name for name in beside if name not in question),
    )
    wanted = (piece for piece in draft.evidence if not parts[0].is_excluded(units[piece.id], places[piece.id].around))
    ranked = best_first(wanted)
    if not ranked:
        return Conclusion(is_answered=False)
    kind = draft.brief.analysis.kind
    met = {piece.id for piece in ranked for part in parts if part.is_met(units[piece.id], places[piece.id], subjects)}
    shown: list[Evidence] = []
    if kind in PRECISE_KINDS:
        if not met:
            nearest = sorted(
                ranked, key=lambda piece: -max(part.nearness(units[piece.id], places[piece.id]) for part in parts)
            )
            # The nearest stands first, also where it is a row.
            near = (*_shown(nearest[:1], draft.brief), *_shown(nearest[1:_NEAREST], draft.brief))
            return Conclusion(abstract=near, is_answered=False)
        shown = [piece for piece in ranked if piece.id in met or piece.score >= _TABLE * ranked[0].score]
        ranked = [piece for piece in ranked if piece.id in met]
    best = ranked[0].score
    rows = [piece for piece in ranked if piece.header and piece.score >= _TABLE * best]
    chosen: list[Evidence] = []
    if kind == "overview":
        own = [piece for piece in ranked if piece.document == ranked[0].document and not piece.header]
        decided = [piece for piece in own if parts[0].has_sort(units[piece.id], places[piece.id].around)]
        best_own = (decided if len(decided) > 1 else own)[:_OVERVIEW_PIECES]
        chosen = sorted(best_own, key=lambda piece: piece.start)
        shown = [piece for piece in own if not states_nothing(piece.quote)]
    elif kind == "procedure":
        chosen = _steps_first(ranked)[:1]
    elif rows and (ranked[0].header or kind in TABLE_KINDS):
        chosen = [piece for piece in rows if piece.header == rows[0].header]
    else:
        for part in parts:
            own = sorted(ranked, key=lambda piece: -part.score(units[piece.id], places[piece.id]) - piece.score)
            chosen += [piece for piece in own[:1] if piece not in chosen]
        more = [piece for piece in ranked if piece.score >= _BESIDE * best and piece not in chosen]
        chosen += more[: max(0, _MAX_PIECES.get(kind, 4) - len(chosen))]
    return Conclusion(abstract=_shown(chosen, draft.brief), support=tuple(piece.id for piece in shown))


def _shown(chosen: Sequence[Evidence], brief: Brief) -> Paragraphs:
    return tuple(_with_summary(paragraph, brief) for paragraph in paragraphs_of("abstract", chosen))


def _places(draft: Draft) -> dict[str, Place]:
    """Return where each piece of evidence stands."""
    places: dict[str, Place] = {}
    headed: dict[str, frozenset[str]] = {}
    for piece in draft.evidence:
        context = draft.contexts.get(piece.id, Context())
        around = f"{context.title} {context.headings}"
        headed[piece.document] = headed.get(piece.document, frozenset()) | frozenset(analyze(around))
        places[piece.id] = Place(
            around,
            neighbours=frozenset(analyze(context.near)),
            published=context.published,
            opening=opening_terms(context.opening),
            dated=opening_dates(context.title, context.opening),
        )
    return {piece.id: places[piece.id]._replace(headed=headed[piece.document]) for piece in draft.evidence}


def _unit(piece: Evidence) -> Unit:
    header = TextSpan(0, 0) if piece.header else None
    return Unit((as_sentence(piece.finding if piece.header else piece.quote),), "", header)


def _with_summary(paragraph: Paragraph, brief: Brief) -> Paragraph:
    """Return a table under what it comes to, where an extreme or a trend is asked for."""
    if paragraph.kind != "table":
        return paragraph
    lead = summary_of([row.cells for row in paragraph.sentences], brief.question, brief.analysis)
    return paragraph.model_copy(update={"lead": lead})


def worths_for(draft: Draft, parts: Sequence[AnswerSought]) -> list[Worth]:
    """Return for each part of the question how well a sentence of a report answers it."""
    cited = {sentence.text: sentence.evidence for paragraph in draft.paragraphs for sentence in paragraph.sentences}
    places = _places(draft)

    def worth(text: str, part: AnswerSought, asked: Sequence[Aspect]) -> float:
        place = next((places[id_] for id_ in cited.get(text, ()) if id_ in places), Place(""))
        return part.score(Unit((as_sentence(text),), ""), place) + _HIT * shown_of(asked, text)

    told = draft.brief.analysis.parts if 1 < len(parts) == len(draft.brief.analysis.parts) else [""] * len(parts)
    return [partial(worth, part=part, asked=aspects_named(text)) for part, text in zip(parts, told, strict=True)]


def _length(text: str) -> int:
    """Return a text's length as an abstract's is counted: words, or characters of Chinese."""
    han = len(CJK_CHARACTER.findall(text))
    return han if han > len(text) / 4 else len(text.split())
