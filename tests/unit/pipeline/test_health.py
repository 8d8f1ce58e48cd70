"""The note that the general web could not be searched: only where that is so."""

from collections import Counter

import pytest

from deep_research.pipeline.retrieval import EngineHealth, RetrievalHealth, SearchSummary
from deep_research.report.sources.ranking import LOCAL
from deep_research.text.messages.words import words_in
from deep_research.web.search.registry import ENGINES

WIKIPEDIA = EngineHealth("wikipedia", asked=4, results=9, read=3)
CHALLENGED = EngineHealth("duckduckgo", asked=2, failures=Counter({"a challenge": 2}), skipped=2)
WITHOUT_KEY = EngineHealth("tavily", asked=1, failures=Counter({"no key": 1}))
WORKING = EngineHealth("serper", asked=4, results=20, read=5)
EMPTY = EngineHealth("brave", asked=4, empty=4)
UNSURE = EngineHealth("duckduckgo", asked=5, failures=Counter({"a challenge": 4}), empty=1)
OWN = EngineHealth(LOCAL, asked=4, results=4, read=1)


@pytest.mark.parametrize(
    ("engines", "is_told"),
    [
        ((CHALLENGED,), True),
        ((CHALLENGED, WIKIPEDIA), True),
        ((CHALLENGED, WITHOUT_KEY, WIKIPEDIA, OWN), True),
        ((UNSURE, WIKIPEDIA), True),
        ((EngineHealth("duckduckgo", skipped=3), WIKIPEDIA), True),
        ((CHALLENGED, WORKING), False),
        ((CHALLENGED, EMPTY), False),
        ((EMPTY, WIKIPEDIA), False),
        ((WIKIPEDIA, OWN), False),
        ((), False),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_a_general_web_that_could_not_be_searched_is_told(engines, is_told, language):
    lines = SearchSummary(RetrievalHealth(engines, 0, 0, {}), ENGINES, words_in(language)).notice()
    others = [one for one in engines if one.read]
    assert len(lines) == (1 + bool(others) if is_told else 0)
    if is_told:
        assert "DuckDuckGo" in lines[0]


def test_counts_and_sources_are_those_of_the_run():
    lost, rests = SearchSummary(
        RetrievalHealth((OWN, WIKIPEDIA, CHALLENGED, WITHOUT_KEY), 0, 0, {}), ENGINES, words_in("en")
    ).notice()
    assert "of 5 queries to DuckDuckGo, Tavily, 5 failed" in lost
    assert rests == "This report rests on: Your documents, Wikipedia."
