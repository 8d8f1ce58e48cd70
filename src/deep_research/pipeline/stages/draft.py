"""Draft: from everything that was found to paragraphs that carry evidence ids. Judges nothing: what is written is
checked by `verify`, which puts every refusal on record.
"""

from collections.abc import Iterable, Sequence

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.fan_out import fan_out
from deep_research.pipeline.outcome import findings_from
from deep_research.pipeline.research_map import found_in
from deep_research.pipeline.stages.analyze import for_writer
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.question.analysis import is_short_answer
from deep_research.reasoning.rules.quoting.offering import states_of
from deep_research.reasoning.values import Analysis, ChapterPlan, Draft, Findings, Paragraphs, SectionPlan, SectionWork
from deep_research.report.paragraph import Paragraph
from deep_research.request import BUDGET_KINDS, REPORT_WORDS
from deep_research.text.in_thread import in_thread

# One thing is told in few.
_PRECISE_WORDS = 200
# Up to so many words a report is written in one piece; the answer of a longer one has about so many.
MOST_IN_ONE_PIECE, ANSWER_WORDS = 1_800, 250
# The chapter that says what to do is so much longer than others.
_LAST_SHARE = 1.5
# With little material it is shorter: so many words, and so many for each passage.
_FIRST_WORDS, _WORDS_A_PASSAGE = 150, 30
# What writing, checking and editing a word takes: 4,500 words took 330,000 tokens.
_TOKENS_A_WORD = 75


async def draft(state: DeepResearchState, context: StageContext) -> Update:
    """Write the report from all evidence, with where it stands and how well it is backed."""
    findings = await findings_from(state, context.records)
    analysis = await context.records.load(Analysis, state.analysis) if state.analysis else Analysis()
    if context.adapters.models:
        findings = (await for_writer(findings, state, context)).replace(
            strength=tuple(row for table in analysis.paragraphs for row in table.sentences),
            asks_for_analysis=bool(state.analysis) and not is_short_answer(findings),
            words=await _affordable(words_wanted(findings), context),
        )
    if findings.words > MOST_IN_ONE_PIECE and findings.contexts:
        written = await _in_chapters(findings, context)
    else:
        written = as_claims(await context.reason(Reasoner.draft, findings))
    return {"draft": await context.records.keep(written), "words": findings.words or words_wanted(findings)}


async def _in_chapters(findings: Findings, context: StageContext) -> Paragraphs:
    """Return a long report: chapters that are written at the same time, the last one, which says what to do, from what
    they say, and the answer that all lead to.
    """
    chapters = await context.reason(Reasoner.outline, findings)
    share = int((findings.words - ANSWER_WORDS) / (len(chapters) - 1 + _LAST_SHARE))
    all_ = findings.replace(chapters=chapters, words=share)
    *parts, last = await in_thread(_parts_of, all_)
    last = last.replace(words=int(_LAST_SHARE * share))
    written = await fan_out("chapter", parts, lambda own, at: at.reason(Reasoner.draft, own), context)
    before = _titled(chapters[:-1], written)
    after = await context.at("chapter", len(chapters)).reason(Reasoner.draft, _following(last, before, findings))
    body = as_claims((*before, *_titled(chapters[-1:], [after])))
    told = {paragraph.section: " ".join(each.text for each in paragraph.sentences) for paragraph in body}
    draft = Draft(
        brief=findings.brief,
        plan=findings.plan,
        paragraphs=body,
        evidence=findings.evidence,
        gaps=tuple(one.name for one in findings.entries if one.status == "missing" and found_in(one, told) == one),
    )
    answer = as_claims(await context.reason(Reasoner.answer, draft))
    first = tuple(paragraph for paragraph in answer if paragraph.section == "abstract")
    return (*first, *body, *(paragraph for paragraph in answer if paragraph not in first))


def _titled(chapters: Sequence[ChapterPlan], written: Sequence[Paragraphs]) -> Paragraphs:
    """Return the paragraphs of chapters with the titles that these have in the outline."""
    pairs = zip(chapters, written, strict=True)
    return tuple(paragraph.replace(section=chapter.title) for chapter, own in pairs for paragraph in own)


def _following(findings: Findings, before: Paragraphs, whole: Findings) -> Findings:
    """Return what the last chapter is written from: its own passages, and what the others say and cite."""
    cited = {id_ for paragraph in before for id_ in paragraph.cite_ids} - {piece.id for piece in findings.evidence}
    return findings.replace(written=before, cited=tuple(piece for piece in whole.evidence if piece.id in cited))


def _parts_of(findings: Findings) -> list[Findings]:
    return [chapter_of(findings, number) for number in range(1, len(findings.chapters) + 1)]


def chapter_of(findings: Findings, number: int) -> Findings:
    """Return what one chapter is written from: its documents, and what others tell of where its things stand."""
    chapter = findings.chapters[number - 1]
    wanted = {piece.id for piece in findings.evidence if piece.document in {*chapter.documents}}
    wanted.update(piece.id for piece in states_of(chapter.entries, findings.evidence, findings.contexts))
    pieces = tuple(piece for piece in findings.evidence if piece.id in wanted)
    section = SectionPlan(title=chapter.title, description=chapter.settles)
    work = SectionWork(brief=findings.brief, section=section, evidence=pieces)
    plan = findings.plan.replace(sections=(section,))
    return findings.replace(plan=plan, sections=(work,), chapter=number, strength=(), asks_for_analysis=False)


def words_wanted(findings: Findings) -> int:
    """Return how long the report should be: as is asked for, and as its material deserves."""
    if is_short_answer(findings):
        return _PRECISE_WORDS
    return min(REPORT_WORDS[findings.brief.length], _FIRST_WORDS + _WORDS_A_PASSAGE * len(findings.evidence))


async def _affordable(words: int, context: StageContext) -> int:
    """Return how many words the budget has room for: a report that is told shorter is better than half of one."""
    ledger = context.run.journal.ledger

    async def lookup() -> str:
        spent, most = ledger.spent, float(words)
        for kind in BUDGET_KINDS[:2]:
            limit = ledger.cap(kind, "ending")
            if limit is not None and spent.of(kind):
                left = (limit - spent.of(kind)) * spent.tokens / spent.of(kind)
                most = min(most, left / _TOKENS_A_WORD)
        return str(max(int(most), min(words, _PRECISE_WORDS)))

    return int(await context.decide("words", [], lookup))


def as_claims(paragraphs: Iterable[Paragraph]) -> Paragraphs:
    """Return what a reasoner wrote as claims to be checked: it does not call its own words a note or a caption."""
    claims = []
    for paragraph in paragraphs:
        is_table = paragraph.kind == "table" and all(row.cells or row.backing for row in paragraph.sentences)
        if paragraph.sentences:
            claims.append(paragraph.replace(kind="table" if is_table else "claim"))
    return tuple(claims)
