"""How strong the evidence is: what others confirm, what they contradict, and what would change the picture.

Counts and compares, and writes nothing about the world: a statement is its source's, a remark is about the search.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from deep_research.reasoning.rules.quoting.selection import stands_alone
from deep_research.reasoning.rules.weighing.claims import NOWHERE, FigureClaim, agree, differ, ranked_claims, statement
from deep_research.reasoning.values import Findings, Paragraphs, SectionWork, Strings
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Backing, Paragraph, Sentence
from deep_research.report.sources.dating import days_of
from deep_research.text.messages.words import words_in
from deep_research.verify.particulars import dates_of, figures_of

# The best of each section first, then what others confirm or contradict.
_MAX_FIRST, _MAX_SHOWN = 4, 6
# A longer sentence makes no row.
_MAX_LENGTH, _MAX_CHINESE = 260, 110
_MAX_AGAINST = 2
_NO_STATEMENTS = frozenset(("", "s", "min", "h", "day", "week", "month", "year"))
# A source older than this says little about today.
_OLD_DAYS = 3 * 365


class Weighed(NamedTuple):
    """A claim, those of other documents that give the same figure, and those that give another."""

    claim: FigureClaim
    agreeing: tuple[FigureClaim, ...] = ()
    against: tuple[FigureClaim, ...] = ()

    @property
    def row(self) -> Sentence:
        return statement(self.claim)

    @property
    def documents(self) -> Strings:
        """Return the documents that give the figure, its own first."""
        return tuple(dict.fromkeys(claim.piece.document for claim in (self.claim, *self.agreeing)))


def weigh_tables(
    tables: Iterable[Paragraph], gathered: Sequence[Evidence], places: Mapping[str, str] = NOWHERE
) -> list[Weighed]:
    """Return the statements of tables, in order, with what of all that was gathered gives the same figure."""
    claims = ranked_claims(gathered, places)
    known = {statement(claim): claim for claim in claims}
    found = [known[row] for table in tables for row in table.sentences]
    return [Weighed(claim, tuple(other for other in claims if agree(claim, other))) for claim in found]


def weigh_findings(
    findings: Findings, gathered: Sequence[Evidence], places: Mapping[str, str] = NOWHERE
) -> list[Weighed]:
    """Return the main statements with a figure: the best of each section, then those that others tell as well."""
    claims = ranked_claims(gathered, places)
    shown = [_table_claims(work, findings.brief.language, places) for work in findings.sections]
    first_hand = [claim for own in shown for claim in own if not claim.is_hearsay]
    sections = [[_weighed(_at_first_hand(claim, first_hand), claims) for claim in own] for own in shown]
    first = [own[0] for own in sections if own][:_MAX_FIRST]
    rest = [one for own in sections for one in own if one.agreeing or one.against]
    rest.sort(key=lambda one: (not one.against, -len(one.agreeing), -one.claim.piece.score, one.claim.piece.id))
    chosen: list[Weighed] = []
    for one in (*first, *rest):
        if len(chosen) < _MAX_SHOWN and not any(_is_same(one, other) for other in chosen):
            chosen.append(one)
    return chosen


def strength_table(findings: Findings) -> Paragraphs:
    """Return the main statements as a table with what backs each; nothing where none holds a figure."""
    words = words_in(findings.brief.language)
    title, lead = words("report.analysis"), words("report.strength")
    table = Paragraph(section=title, kind="table", lead=lead, sentences=findings.strength)
    return (table,) if findings.strength else ()


def in_brief(row: Sentence) -> str:
    """Return a main statement's figure and what backs it, for a prompt."""
    backing = row.backing or Backing()
    others = "; ".join(figure for figure, _ in backing.against)
    dated = f"dated: {backing.oldest or 'unknown'} to {backing.newest or 'unknown'}"
    counted = f"independent origins: {backing.origins} | other figures given: {others or 'none'} | {dated}"
    return f"{row.lead} | {row.text} | {counted}"


def changes_of(findings: Findings) -> Strings:
    """Return what would change the picture: where figures contradict, where only one origin speaks, what is old."""
    words = words_in(findings.brief.language)
    title_of = {piece.id: work.section.title for work in findings.sections for piece in work.evidence}
    rows = [(row.backing or Backing(), title_of.get(row.evidence[0], "")) for row in findings.strength]
    titles = {
        "single": [title for backing, title in rows if backing.origins == 1 and not backing.against],
        "old": [title for backing, title in rows if _is_old(backing.newest, findings.brief.today)],
    }
    notes = [words("change.disputed")] if any(backing.against for backing, _ in rows) else []
    for key, own in titles.items():
        if plain := _plain(own):
            notes.append(words(f"change.{key}", titles=words.listed(plain)))
    return tuple(notes)


def _plain(titles: Iterable[str]) -> list[str]:
    """Return titles that hold no figure or date: a remark claims nothing."""
    return [title for title in dict.fromkeys(titles) if title and not figures_of(title) and not dates_of(title)]


def _is_old(newest: str, today: str) -> bool:
    then, now = days_of(newest), days_of(today)
    return then is not None and now is not None and (now[0] - then[1]).days > _OLD_DAYS


def _table_claims(work: SectionWork, language: str, places: Mapping[str, str]) -> list[FigureClaim]:
    """Return the figures of a section whose sentences can stand in a table.

    How long something took is seldom one, nor is a number of no unit.
    """
    return [
        claim
        for claim in ranked_claims([piece for piece in work.evidence if not piece.header], places)
        if claim.is_plain
        and claim.figure.unit not in _NO_STATEMENTS
        and len(claim.sentence) <= (_MAX_CHINESE if language.startswith("zh") else _MAX_LENGTH)
        and stands_alone(claim.sentence)
    ]


def _at_first_hand(claim: FigureClaim, known: Sequence[FigureClaim]) -> FigureClaim:
    """Return who says it, instead of who quotes them."""
    return next((other for other in known if agree(claim, other)), claim) if claim.is_hearsay else claim


def _weighed(claim: FigureClaim, claims: Sequence[FigureClaim]) -> Weighed:
    unit = claim.size[1]
    near = [other for other in claims if other.size[1] == unit]
    agreeing = tuple(other for other in near if agree(claim, other))
    same = (claim, *agreeing)
    against = {other.size: other for other in reversed(near) if any(differ(one, other) for one in same)}
    return Weighed(claim, agreeing, tuple(list(against.values())[::-1][:_MAX_AGAINST]))


def _is_same(one: Weighed, other: Weighed) -> bool:
    """Return whether two are about one figure, or share what confirms or contradicts it."""
    first, second = (
        {(claim.piece.id, claim.sentence) for claim in (each.claim, *each.agreeing, *each.against)}
        for each in (one, other)
    )
    return not first.isdisjoint(second)
