"""Putting quoted sentences and rows into paragraphs, tables, an abstract and a conclusion."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from math import exp
from typing import TypeAlias

from deep_research.reasoning.rules.question.analysis import is_answered_first, is_short_answer, is_topic
from deep_research.reasoning.rules.question.sections import Aspect, aspect_of, aspects_named
from deep_research.reasoning.rules.quoting.answer import (
    MAX_MET,
    MIN_STEPS,
    STEPS,
    AnswerSought,
    Subjects,
    UnitContext,
    anywhere_in,
)
from deep_research.reasoning.rules.quoting.selection import (
    MAX_SECTION_SHARE,
    best_first,
    by_document,
    choose,
    share_room,
    shown_of,
    stands_alone,
    trimmed,
)
from deep_research.reasoning.rules.quoting.table_answer import ShownRows, is_computed
from deep_research.reasoning.rules.quoting.units import MAX_SENTENCES, Unit, as_sentence, cells_of, states_nothing
from deep_research.reasoning.values import (
    PRECISE_KINDS,
    TABLE_KINDS,
    Brief,
    Conclusion,
    Context,
    Draft,
    Findings,
    Paragraphs,
    Strings,
)
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import TABLE_ROWS, Paragraph, Sentence, row
from deep_research.text.analyzer import CJK, CJK_CHARACTER, analyze
from deep_research.text.dates import find_dates
from deep_research.text.learned import read_learned
from deep_research.text.quantities import find_quantities
from deep_research.text.sentences import STAMPED, TextSpan, split_sentences

# A line break inside a sentence: after no stop, and before no item, row, heading, blank line or line of a log.
_WRAP = re.compile(rf"(?<=[^\s.!?。！？…:：;；])[ \t]*\n(?=[^\s|#>])(?!(?:[-*+•]|\d{{1,3}}[.)、])\s|{STAMPED.pattern})")
_STEP = re.compile(r"(?m)^\s*(?:[-*•]|[(（]?(?:\d{1,2}|[一二三四五六七八九十]{1,2})[.)、）])")
_WIDE_WRAP = re.compile(f"(?<=[{CJK}，、])\\n(?=[{CJK}])")
Worth = Callable[[str], float]
# Pieces of evidence by id, each as a unit and where it stands.
_Placed: TypeAlias = Mapping[str, tuple[Unit, UnitContext]]
# An abstract has 100 to 200 words, or characters of Chinese.
_A_PART = 2
_ABSTRACT_LENGTH, MAX_ABSTRACT_LENGTH = 120, 200


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
    """Return the passages that say most: of several parts the best sentences of each, else the best of all."""
    asked = draft.brief.analysis.parts
    scores = {piece.id: piece.score for piece in draft.evidence}
    told = [paragraph for paragraph in draft.paragraphs if paragraph.kind == "claim"]

    def rank(paragraph: Paragraph, worth: Worth) -> float:
        return max(map(worth, _texts(paragraph))) + max(scores.get(id_, 0.0) for id_ in paragraph.cite_ids)

    if len(worths) == len(asked) > 1 and len(draft.plan.sections) > 1:
        return _in_parts(told, asked, worths, draft.evidence)
    ranked = sorted(told, key=lambda paragraph: -max(rank(paragraph, worth) for worth in worths))
    first = [max(told, key=lambda paragraph: rank(paragraph, worth)) for worth in worths if told]
    chosen = []
    length = 0
    for paragraph in dict.fromkeys((*first, *ranked)):
        own = paragraph.sentences[:MAX_SENTENCES]
        more = sum(abstract_length(sentence.text) for sentence in own)
        if length < _ABSTRACT_LENGTH and length + more <= MAX_ABSTRACT_LENGTH:
            chosen.append(Paragraph(section="abstract", sentences=own))
            length += more
    # What stands in one document is told in its order; of how things stand, the newest first.
    pieces = {piece.id: piece for piece in draft.evidence}
    cited = [pieces[id_] for paragraph in chosen for id_ in paragraph.cite_ids if id_ in pieces]
    if is_topic(draft.brief):
        places = _places(draft)
        cited.sort(key=lambda piece: next(iter(places[piece.id].dated), places[piece.id].published), reverse=True)
    order = [piece.id for piece in by_document(cited)]
    ordered = sorted(chosen, key=lambda paragraph: [order.index(id_) for id_ in paragraph.cite_ids if id_ in order])
    return _better_given_first(tuple(ordered), draft.evidence)


def _in_parts(
    told: Sequence[Paragraph], asked: Sequence[str], worths: Sequence[Worth], evidence: Sequence[Evidence]
) -> Paragraphs:
    """Return for each part of a question the two sentences of its section that answer best, in the parts' order.

    A figure that several documents give stands before one that is given once.
    """
    chosen = []
    figures: set[tuple[float, str]] = set()
    given = _times_given(evidence)
    counts = {
        each.text: max((given[figure] for figure in _figures(each.text)), default=0)
        for paragraph in told
        for each in paragraph.sentences
    }
    for part, worth in zip(asked, worths, strict=True):
        keys = {aspect.key for aspect in aspects_named(part)}
        own = [paragraph for paragraph in told if aspect_of(paragraph.section).key in keys] or told
        alone = [each for paragraph in own for each in paragraph.sentences if stands_alone(each.text)]
        left = _A_PART
        for sentence in sorted(alone, key=lambda each: -worth(each.text) - _GIVEN * counts[each.text]):
            found = _figures(sentence.text)
            # What has a figure that was told already tells that again.
            if left and not found & figures:
                chosen.append(sentence)
                figures |= found
                left -= 1
    return tuple(Paragraph(section="abstract", sentences=(sentence,)) for sentence in chosen)


def _times_given(evidence: Sequence[Evidence]) -> Counter[tuple[float, str]]:
    """Return how many documents give each figure."""
    return Counter(
        figure for _, figure in {(each.document, figure) for each in evidence for figure in _figures(each.quote)}
    )


def _figures(text: str) -> set[tuple[float, str]]:
    return {(each.value, each.unit) for each in find_quantities(text)}


def best_of_sections(draft: Draft) -> Strings:
    """Return the evidence that a short report shows beside its abstract: the best, or of each focus the best."""
    own = [
        {id_ for each in draft.paragraphs if each.section == title for id_ in each.cite_ids}
        for title in draft.plan.titles
    ]
    groups = own if draft.brief.has_own_focus else [set().union(*own)]
    ranked = best_first(draft.evidence)
    return tuple(next(piece.id for piece in ranked if piece.id in group) for group in groups if group)


def _texts(paragraph: Paragraph) -> list[str]:
    return [sentence.text for sentence in paragraph.sentences]


# What stands beside the best of an answer is nearly as good.
_BESIDE, _TABLE, _TABLE_OF_EXTREME = 0.85, 0.75, 0.5
# A meeting is told by the document with most decisions: so much counts each of the first ones.
_DECISION, _DECISIONS = 0.2, 4
# So many passages that meet the question are as good as more.
_ENOUGH_MET = 4
_OVERVIEW_PIECES = 10
# Of these sorts, a newer figure replaces an older one: in passages so near in score, and in the question's words.
_SUPERSEDED = frozenset({"money", "count", "share", "duration", "date"})
_RIVAL, _ABOUT_THE_SAME_SHARE, _STAMP = 0.7, 0.75, 24
# What a word of the aspect that a part asks for counts.
_HIT = 0.4
# Two figures of one unit beside such a word tell how something changed.
_CHANGE = 0.6
# What each document that gives its figure counts for a sentence.
_GIVEN = 0.1
# Two sentences that share so much of the shorter one are about the same.
_ABOUT_THE_SAME = 0.5
# So much is shown of what comes nearest to an answer.
_NEAREST = 3
_MAX_PIECES = {"fact": 2, "yes_no": 2, "who_when_where": 2, "extreme": 2, "trend": 3}


# Pieces of evidence that each section has room for, however well the others do.
_MIN_PIECES = 2
# So many sentences of its sources a report without sections has room for, and each section of another.
_SENTENCES = {"short": (12, 12), "standard": (40, 12), "long": (90, 30), "deep": (140, 46)}
# Beside the answer, a report shows so many sentences at most, none much worse than the best.
_SUPPORT = {"short": 1, "standard": 3, "long": 10, "deep": 15}
_OVERVIEW_SUPPORT = {"short": 6, "standard": 24, "long": 48, "deep": 75}
_MAX_ROWS = 60
_SUPPORTS, _OVERVIEW_SUPPORTS = 0.6, 0.4


def within_room(findings: Findings) -> list[list[Evidence]]:
    """Return what of each section's evidence a report that quotes has room for.

    A question that a few sentences answer gets those, and what supports them.
    """
    brief, count = findings.brief, len(findings.sections)
    if is_short_answer(findings) and is_answered_first(brief):
        return [supporting(best_first(work.evidence), work.brief) for work in findings.sections]
    alone, each = _SENTENCES[brief.length]
    room = alone if count == 1 else min(each * count, brief.evidence_limit)
    gathered = [work.evidence for work in findings.sections]
    return share_room(gathered, room=room, least=_MIN_PIECES, largest=MAX_SECTION_SHARE if count > 1 else 1.0)


def supporting(ranked: Sequence[Evidence], brief: Brief) -> list[Evidence]:
    """Return what of the evidence a report shows: the rows of the table that answers, and the best sentences."""
    if not ranked:
        return []
    kind, best = brief.analysis.kind, ranked[0].score
    is_table = kind in TABLE_KINDS or is_computed(brief.question)
    room = (_OVERVIEW_SUPPORT if kind == "overview" else _SUPPORT)[brief.length]
    room += _MAX_PIECES.get(kind, 4) + STEPS * (kind == "procedure")
    least = (_OVERVIEW_SUPPORTS if kind == "overview" else _SUPPORTS) * best
    prose = [piece for piece in ranked if not piece.header and piece.score >= least]
    if kind == "procedure":
        prose = _steps_first([piece for piece in ranked if not piece.header])
    rows = [piece for piece in ranked if piece.header and piece.score >= _SUPPORTS * best]
    if is_table and rows:
        rows = [piece for piece in rows if piece.header == rows[0].header]
    return best_first([*choose(prose, room=room), *rows[: _MAX_ROWS if is_table else MAX_MET]])


def _steps_first(ranked: Sequence[Evidence]) -> list[Evidence]:
    """Return the best passage that is a list of steps first, if there is one that is nearly as good as others."""
    least = _SUPPORTS * ranked[0].score if ranked else 0.0
    steps = [piece for piece in ranked if len(_STEP.findall(piece.quote)) >= MIN_STEPS and piece.score >= least][:1]
    return [*steps, *(piece for piece in ranked if piece not in steps)]


def answer_of(draft: Draft, parts: Sequence[AnswerSought], beside: tuple[Strings, Strings]) -> Conclusion:
    """Return the answer: for each part of the question the best sentences, or the table that holds it.

    Only a question for something that is there or is not can be found not to be answered. `beside` are names of shops,
    towns or customers that stand in one column: those asked about, and the others.
    """
    places = _places(draft)
    placed = {piece.id: (_unit(piece), places[piece.id]) for piece in draft.evidence}
    labels = (label for piece in draft.evidence if piece.header for label, _ in cells_of(piece.finding))
    headed = (place.headed for place in places.values())
    subjects = Subjects(frozenset(analyze(" ".join(labels))).union(*headed), *beside)
    wanted = [
        piece for piece in draft.evidence if not parts[0].is_excluded(placed[piece.id][0], places[piece.id].around)
    ]
    ranked = best_first(wanted)
    if not ranked:
        return Conclusion(is_answered=False)
    kind = draft.brief.analysis.kind
    met = {piece.id for piece in ranked for part in parts if part.is_met(*placed[piece.id], subjects)}
    shown: list[Evidence] = []
    is_table = kind in TABLE_KINDS or is_computed(draft.brief.question)
    # What code chose by the columns that the question names needs no more of its words.
    nearly = (_TABLE_OF_EXTREME if kind == "extreme" else _TABLE) * ranked[0].score
    headers = [piece.header for piece in ranked if piece.header and piece.score >= nearly]
    table = [piece for piece in ranked if is_table and piece.header in headers[:1]]
    cells = [cells_of(piece.finding) for piece in table]
    are_sure = bool(table) and ShownRows(cells, draft.brief.question, draft.brief.analysis).are_sure
    if are_sure:
        met.update(piece.id for piece in table)
    if kind in PRECISE_KINDS:
        if not met:
            nearest = sorted(ranked, key=lambda piece: -max(part.nearness(*placed[piece.id]) for part in parts))
            # The nearest stands first, also where it is a row.
            near = (*_shown(nearest[:1], draft.brief), *_shown(nearest[1:_NEAREST], draft.brief))
            return Conclusion(abstract=near, is_answered=False)
        shown = [piece for piece in ranked if piece.id in met or piece.score >= _TABLE * ranked[0].score]
        ranked = [piece for piece in ranked if piece.id in met]
    best = ranked[0].score
    nearly = (_TABLE_OF_EXTREME if kind == "extreme" else _TABLE) * best
    rows = [piece for piece in ranked if piece.header and piece.score >= nearly]
    chosen: list[Evidence] = []
    if kind == "overview":
        prose = [piece for piece in ranked if not piece.header]
        settled = [piece for piece in prose if parts[0].has_sort(placed[piece.id][0], places[piece.id].around)]
        count = Counter(piece.document for piece in settled)
        told = max(prose, key=lambda each: each.score + _DECISION * min(count[each.document], _DECISIONS), default=None)
        own = [piece for piece in prose if told and piece.document == told.document]
        decided = [piece for piece in settled if piece in own]
        best_own = (decided if len(decided) > 1 else own)[:_OVERVIEW_PIECES]
        chosen = sorted(best_own, key=lambda piece: piece.start)
        shown = [piece for piece in own if not states_nothing(piece.quote)]
    elif kind == "procedure":
        chosen = _steps_first(ranked)[:1]
    elif rows and (ranked[0].header or kind in TABLE_KINDS):
        chosen = [piece for piece in (wanted if is_table else rows) if piece.header == rows[0].header]
    elif beside_each_other := _compared(ranked, parts, placed, draft.brief):
        return Conclusion(abstract=beside_each_other, support=tuple(piece.id for piece in shown))
    else:
        for part in parts:
            own = sorted(ranked, key=lambda piece: -part.score(*placed[piece.id]) - piece.score)
            chosen += [piece for piece in own[:1] if piece not in chosen]
        more = [piece for piece in ranked if piece.score >= _BESIDE * best and piece not in chosen]
        chosen += more[: max(0, _MAX_PIECES.get(kind, 4) - len(chosen))]
        chosen = _newest_first(chosen, ranked, parts[0], placed)
    answer = _better_given_first(_shown(chosen, draft.brief), draft.evidence)
    likelihood = 1.0
    if kind in PRECISE_KINDS and chosen:
        first = chosen[0]
        others = [piece.score for piece in ranked if piece.document != first.document]
        signs = signs_of(parts[0], *placed[first.id]) | {
            "score": first.score,
            "margin": first.score - max(others, default=0.0),
            "met": min(len(met), _ENOUGH_MET) / _ENOUGH_MET,
            "chosen by columns": float(are_sure),
        }
        likelihood = likelihood_of(signs)
    return Conclusion(abstract=answer, support=tuple(piece.id for piece in shown), likelihood=likelihood)


def signs_of(sought: AnswerSought, unit: Unit, place: UnitContext) -> dict[str, float]:
    """Return what tells of the leading passage of an answer whether it is the one that was asked for."""
    own = sought.weights.share(unit.terms)
    known, unknown = len(sought.weights.of), len(sought.unknown)
    return {
        "any": 1.0,
        "own": own,
        "around": sought.weights.share(unit.terms | frozenset(analyze(place.around)) | place.neighbours) - own,
        "unknown": unknown / max(1, known + unknown),
        "few words": 1 / (1 + known),
        "row": float(unit.header is not None),
        "holds the sort": float(sought.has_sort(unit)),
        "states nothing": float(unit.header is None and states_nothing(unit.text)),
        f"asks for {sought.analysis.kind}": 1.0,
        f"asks for {sought.analysis.asks_for}": 1.0,
    }


def likelihood_of(signs: Mapping[str, float]) -> float:
    """Return how likely an answer with these signs is right, by weights that `tools/train_answers.py` writes."""
    worth: Mapping[str, float] = read_learned(__package__, "learned_doubt.bin")[0]["worth"]
    return 1 / (1 + exp(-sum(worth.get(name, 0.0) * value for name, value in signs.items())))


def _newest_first(
    chosen: list[Evidence], ranked: Sequence[Evidence], sought: AnswerSought, placed: _Placed
) -> list[Evidence]:
    """Return an answer that begins with the newest of the passages that give another figure for about the same."""
    first = chosen[0]
    least = _ABOUT_THE_SAME_SHARE * sought.weights.share(placed[first.id][0].terms)

    def date(piece: Evidence) -> str:
        stamped = find_dates(piece.quote[:_STAMP]) if STAMPED.match(piece.quote) else []
        _, place = placed[piece.id]
        return stamped[0].iso if stamped else next(iter(place.dated), place.published)

    def disagrees(piece: Evidence) -> bool:
        own, other = _figures(piece.quote), _figures(first.quote)
        is_other = own.isdisjoint(other) and {unit for _, unit in own} & {unit for _, unit in other}
        is_near = piece.score >= _RIVAL * first.score and sought.weights.share(placed[piece.id][0].terms) >= least
        return bool(is_other) and is_near and not piece.header

    if first.header or sought.analysis.asks_for not in _SUPERSEDED:
        return chosen
    rivals = [piece for piece in ranked if disagrees(piece)]
    newest = max([first, *rivals], key=date)
    if not date(first) or date(newest) == date(first):
        return chosen
    return [newest, *(piece for piece in chosen if piece not in (first, newest) and piece not in rivals)]


def _better_given_first(told: Paragraphs, evidence: Sequence[Evidence]) -> Paragraphs:
    """Return an answer that begins with the figure that most documents give, where its first is given by fewer.

    Only another figure of the same unit in a sentence that says about the same counts.
    """
    given = _times_given(evidence)

    def given_first(paragraph: Paragraph) -> tuple[int, str, frozenset[str]]:
        text = paragraph.sentences[0].text
        found = [(figure.value, figure.unit) for figure in find_quantities(text)]
        count, unit = max(((given[figure], figure[1]) for figure in found), default=(0, ""))
        return count, unit, frozenset(analyze(text))

    claims = [paragraph for paragraph in told if paragraph.kind == "claim"]
    if len(claims) < _A_PART or told[0].kind != "claim":
        return told
    count, unit, terms = given_first(claims[0])
    for paragraph in claims[1:]:
        others, other_unit, other_terms = given_first(paragraph)
        shared = len(terms & other_terms) / max(1, min(len(terms), len(other_terms)))
        if count and others > count and other_unit == unit and shared >= _ABOUT_THE_SAME:
            return (paragraph, *(each for each in told if each is not paragraph))
    return told


def _compared(ranked: Sequence[Evidence], parts: Sequence[AnswerSought], placed: _Placed, brief: Brief) -> Paragraphs:
    """Return the best on each of the things that are compared, under its name; nothing where one is not told of."""
    told: list[Paragraph] = []
    for part in parts if brief.analysis.kind == "comparison" and len(parts) > 1 else ():
        # What names one of them alone speaks of it.
        others = [name for other in parts if other is not part for name in other.names]
        own = [
            piece
            for piece in ranked
            if all(name <= placed[piece.id][0].terms for name in part.names)
            and not any(name <= placed[piece.id][0].terms for name in others)
        ]
        own.sort(key=lambda piece: -part.score(*placed[piece.id]))
        if not own or not part.names:
            return ()
        # A label has no stop.
        lead = part.analysis.names[0].removeprefix("the ").replace(".", "")
        told += (each.replace(lead=lead) for each in paragraphs_of("abstract", own[:_A_PART]))
    return tuple(told)


def _shown(chosen: Sequence[Evidence], brief: Brief) -> Paragraphs:
    return tuple(chain.from_iterable(_with_summary(each, brief) for each in paragraphs_of("abstract", chosen)))


def _places(draft: Draft) -> dict[str, UnitContext]:
    """Return where each piece of evidence stands."""
    places = {}
    headed: dict[str, frozenset[str]] = {}
    for piece in draft.evidence:
        context = draft.contexts.get(piece.id, Context())
        around = f"{context.title} {context.headings}"
        headed[piece.document] = headed.get(piece.document, frozenset()) | frozenset(analyze(around))
        anywhere = anywhere_in(context.title, context.opening, context.published)
        places[piece.id] = anywhere._replace(around=around, neighbours=frozenset(analyze(context.near)))
    return {piece.id: places[piece.id]._replace(headed=headed[piece.document]) for piece in draft.evidence}


def _unit(piece: Evidence) -> Unit:
    header = TextSpan(0, 0) if piece.header else None
    return Unit((as_sentence(piece.finding if piece.header else piece.quote),), "", header)


def _with_summary(paragraph: Paragraph, brief: Brief) -> Iterator[Paragraph]:
    """Yield a table under what it comes to: what is computed from it, or its extreme or trend."""
    if paragraph.kind != "table":
        yield paragraph
        return
    shown = ShownRows([row.cells for row in paragraph.sentences], brief.question, brief.analysis)
    if found := shown.computed:
        text, basis = found
        computed = Sentence(text=text, kind="calculation", evidence=paragraph.cite_ids, basis=basis)
        yield Paragraph(section=paragraph.section, sentences=(computed,))
    yield paragraph.replace(lead=shown.summary)


def worths_for(draft: Draft, parts: Sequence[AnswerSought]) -> list[Worth]:
    """Return for each part of the question how well a sentence of a report answers it."""
    cited = {sentence.text: sentence.evidence for paragraph in draft.paragraphs for sentence in paragraph.sentences}
    places = _places(draft)

    def worth(text: str, part: AnswerSought, asked: Sequence[Aspect]) -> float:
        place = next((places[id_] for id_ in cited.get(text, ()) if id_ in places), UnitContext(""))
        hits, units = shown_of(asked, text), Counter(each.unit for each in find_quantities(text))
        is_change = hits and max(units.values(), default=0) > 1
        return part.score(Unit((as_sentence(text),), ""), place) + _HIT * hits + _CHANGE * is_change

    told = draft.brief.analysis.parts if 1 < len(parts) == len(draft.brief.analysis.parts) else [""] * len(parts)
    return [partial(worth, part=part, asked=aspects_named(text)) for part, text in zip(parts, told, strict=True)]


def abstract_length(text: str) -> int:
    """Return a text's length as an abstract's is counted: words, or characters of Chinese."""
    han = len(CJK_CHARACTER.findall(text))
    return han if han > len(text) / 4 else len(text.split())
