"""How good a section's evidence is on five counts, by rules, and in words what it lacks."""

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from deep_research.reasoning.rules.weighing.claims import find_disagreements
from deep_research.reasoning.values import Dimensions, SectionWork, SourceFacts, Strings
from deep_research.report.sources.dating import days_of
from deep_research.text.dates import find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import Words, words_in
from deep_research.text.quantities import find_quantities
from deep_research.text.sentences import split_sentences

# So much evidence goes into detail: passages with a figure, and sentences, which are alike long in every language.
_ENOUGH_FIGURES, _ENOUGH_SENTENCES = 8, 20
# So many independent sources let nobody wish for another; a second document of one site is worth less than a new site.
_ENOUGH_ORIGINS, _SAME_SITE = 6, 0.25
# What cannot be judged is neither good nor bad.
_NEUTRAL = 5
# A dimension of so much or less is a weakness worth naming.
_WEAK = 4
# So many words that nothing was found on stand in one query.
_AIMED_WORDS = 4
# Years since publication, and what a source of that age is worth; where the newest is asked for, years count double.
_WORTH_OF_AGE = ((1, 10), (2, 8), (3, 7), (5, 5), (10, 3))
_ASKS_FOR_NEWS = re.compile(
    r"(?i)\b(?:latest|newest|current(?:ly)?|recent(?:ly)?|today|now(?:adays)?|this (?:year|month)|up to date|news)\b"
    r"|最新|最近|近期|目前|当前|现在|如今|今年|本月|近年|新闻|现状"
)


class Appraisal(NamedTuple):
    """The five dimensions, the weakest first what is weak in them, and words that a query for it would hold."""

    dimensions: Dimensions
    thin: Strings = ()
    aims: Strings = ()


def appraise(work: SectionWork, *, missing: Sequence[str] = ()) -> Appraisal:
    """Judge a section's evidence; `missing` are the question's words that no passage holds."""
    if not work.evidence:
        return Appraisal(
            Dimensions.from_json(dict.fromkeys(Dimensions.model_fields, 1)),
            (words_in(work.brief.language)("nothing.section"),),
        )
    figures = sum(bool(find_quantities(piece.quote)) for piece in work.evidence)
    sentences = sum(len(split_sentences(piece.quote)) for piece in work.evidence)
    # Rows say little without the title and headings of their document, which are not at hand here.
    prose = [piece for piece in work.evidence if not piece.header]
    tables = find_disagreements(prose, section=work.section.title)
    disputed = {id_ for table in tables for id_ in table.cite_ids}
    documents = dict.fromkeys(piece.document for piece in work.evidence)
    sources = work.sources or [SourceFacts(document=id_) for id_ in documents]
    # A single source cannot contradict another.
    agreement = _NEUTRAL if len(sources) == 1 else _score(1 - len(disputed) / len(work.evidence))
    dimensions = Dimensions(
        coverage=_score(work.coverage),
        depth=_score((min(1.0, figures / _ENOUGH_FIGURES) + min(1.0, sentences / _ENOUGH_SENTENCES)) / 2),
        diversity=_score(_origins(sources) / _ENOUGH_ORIGINS),
        consistency=agreement,
        recency=_recency(sources, work),
    )
    remarks = _remarks(work, sources, missing, has_figures=bool(figures))
    scores = {name: getattr(dimensions, name) for name in remarks}
    weak = sorted((name for name, score in scores.items() if score <= _WEAK), key=lambda name: scores[name])
    aims = {"coverage": " ".join(missing[:_AIMED_WORDS]), "recency": work.brief.today[:4]}
    return Appraisal(
        dimensions, tuple(remarks[name] for name in weak), tuple(aims[name] for name in weak if name in aims)
    )


def _remarks(
    work: SectionWork, sources: Sequence[SourceFacts], missing: Sequence[str], *, has_figures: bool
) -> dict[str, str]:
    """Return what would be said of each dimension, if it is weak; what nothing can be said of is left out."""
    words = words_in(work.brief.language)
    years = [days[1].year for source in sources if (days := days_of(source.published))]
    remarks = {
        "depth": words("thin.short", count=len(work.evidence)) if has_figures else words("thin.no_figures"),
        "diversity": _few(sources, words),
        "consistency": words("thin.disputed"),
    }
    if missing:
        remarks["coverage"] = words("thin.missing", words=words.listed(missing))
    if years:
        remarks["recency"] = words("thin.old", year=max(years))
    return remarks


def _few(sources: Sequence[SourceFacts], words: Words) -> str:
    if len(sources) == 1:
        return words("thin.one_source")
    hosts = {source.host for source in sources}
    if len(hosts) == 1 and "" not in hosts:
        return words("thin.one_site", host=hosts.pop())
    return words("thin.few_sources", count=len(sources))


def _score(share: float) -> int:
    return max(1, min(10, round(10 * share)))


def _origins(sources: Sequence[SourceFacts]) -> float:
    """Return how many independent sources there are; a document of one's own is one, and says what others do not.

    Passages that only repeat others are left out before, so that a copy counts only with what it adds.
    """
    hosts = {source.host for source in sources if source.host}
    own = sum(not source.host for source in sources)
    return len(hosts) + own + _SAME_SITE * (len(sources) - own - len(hosts))


def _recency(sources: Sequence[SourceFacts], work: SectionWork) -> int:
    """Return how recent the newer half of the dated sources is; undated ones are neither new nor old."""
    today = days_of(work.brief.today)
    worths = sorted(
        (
            _worth(days[1], today[1], work.brief.question)
            for source in sources
            if today and (days := days_of(source.published))
        ),
        reverse=True,
    )
    newer = worths[: (len(worths) + 1) // 2]
    undated = len(sources) - len(worths)
    dated = sum(newer) / len(newer) * len(worths) if newer else 0.0
    return max(1, round((dated + _NEUTRAL * undated) / len(sources)))


def _worth(published: date, today: date, question: str) -> int:
    """Return what a source's date is worth for a question: one that names a time is served by what came after it."""
    years = [int(mention.iso[:4]) for mention in find_dates(question)]
    if years and max(years) < today.year:
        return 10 if published.year >= max(years) else 3
    age = max(0, (today - published).days) / 365
    if _ASKS_FOR_NEWS.search(to_simplified(question)):
        age *= 2
    return next((worth for most, worth in _WORTH_OF_AGE if age <= most), 1)
