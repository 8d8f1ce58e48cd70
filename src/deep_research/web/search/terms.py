"""What a query is about, for services that look for every word they are given or cannot search at all."""

import re

from deep_research.report.sources.dating import may_be_within
from deep_research.text.analyzer import content_terms
from deep_research.web.search.cleaning import iso_date
from deep_research.web.search.engine import PageQuery, SearchResult

_WORD = re.compile(r"[^\W_]+(?:[-'’.+#][^\W_]+)*")


def subject_words(query: PageQuery) -> list[str]:
    """Return the words of a query in order and each once, without stop words unless there are no others."""
    words = list(dict.fromkeys(_WORD.findall(query.words)))
    return [word for word in words if content_terms(word)] or words


def is_timely(query: PageQuery, found: SearchResult) -> bool:
    """Return whether a result may be of the query's time, for lists that cannot be searched."""
    return may_be_within(iso_date(found.published), query.since, query.until)


def shared_terms(query: PageQuery, text: str) -> float:
    """Return the share of a query's terms that a text holds, for lists that cannot be searched."""
    wanted = set(content_terms(query.query))
    return len(wanted.intersection(content_terms(text))) / len(wanted) if wanted else 0.0
