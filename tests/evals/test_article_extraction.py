"""The rules by which the text of a page is scored."""

from evals.article_extraction import read_page, score, shingles

TEXT = "the old bridge will be closed for eight months from May"


def test_the_same_text_scores_full_whatever_its_punctuation() -> None:
    assert score("The old bridge: will be closed.", "The old bridge will be closed") == (1.0, 1.0)


def test_what_is_left_out_costs_recall_and_what_is_added_precision() -> None:
    assert score(TEXT, TEXT + " until January of next year") == (1.0, 8 / 13)
    assert score(TEXT + " until January of next year", TEXT) == (8 / 13, 1.0)


def test_a_shingle_counts_as_often_as_it_stands_there() -> None:
    assert score(f"{TEXT}. {TEXT}", TEXT).precision < 0.5
    assert shingles("two words").total() == 1


def test_nothing_found_scores_nothing() -> None:
    assert score("", TEXT) == (0.0, 0.0)
    assert score("", "") == (1.0, 1.0)


def test_the_marks_of_blocks_are_no_words() -> None:
    page = b"<html><body><h2>Bridge</h2><ul><li>Closed in May</li></ul></body></html>"
    assert read_page(page, "a.html") == "Bridge\n\nClosed in May"
    assert read_page(b"<html><body></body></html>", "a.html") == ""
