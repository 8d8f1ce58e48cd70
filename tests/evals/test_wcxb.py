"""The rules by which pages of many kinds are scored."""

from evals.wcxb import score

PAGE = {"text": "The old bridge is closed. The old one.", "has": ["Old bridge", "new bridge"], "has_not": ["Log in"]}


def test_words_count_as_often_as_they_stand_there_whatever_their_case() -> None:
    found = score("the OLD bridge, the pier", PAGE)
    assert (found.precision, found.recall) == (4 / 5, 4 / 8)
    assert found.f1 == 2 * 0.8 * 0.5 / 1.3


def test_snippets_are_looked_for_without_their_punctuation() -> None:
    found = score("An old-bridge. Log: in", PAGE)
    assert (found.has, found.has_not) == (0.5, 0.0)


def test_nothing_found_scores_nothing() -> None:
    assert score("", PAGE) == (0.0, 0.0, 0.0, 0.0, 1.0)
