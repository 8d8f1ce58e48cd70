"""Before anybody says that no source holds something, the stored texts are searched for it."""

import time

import pytest

from deep_research.verify.audit import stretches_about

ENGLISH = {
    "a": "The retrofit was finished in 2025. The opening date of the tunnel is 4 May 2026. The mayor was pleased.",
    "b": "The choir sings on Wednesdays.",
}
SIMPLIFIED = {"a": "改造工程已于2025年完工。隧道的通车日期是2026年5月4日。市长很满意。", "b": "合唱团每周三排练。"}
TRADITIONAL = {"a": "改造工程已於2025年完工。隧道的通車日期是2026年5月4日。市長很滿意。", "b": "合唱團每週三排練。"}


@pytest.mark.parametrize(
    ("basis", "documents", "held"),
    [
        ("opening date tunnel", ENGLISH, "4 May 2026"),
        ("tunnels opening dates", ENGLISH, "4 May 2026"),
        ("inauguration day | opening date", ENGLISH, "4 May 2026"),
        ("隧道 通车日期", SIMPLIFIED, "2026年5月4日"),
        ("启用时间；通车日期", SIMPLIFIED, "2026年5月4日"),
        ("隧道 通車日期", TRADITIONAL, "2026年5月4日"),
        ("隧道 通车日期", TRADITIONAL, "2026年5月4日"),
    ],
)
def test_what_a_source_holds_in_these_words_is_found_whole(basis: str, documents: dict[str, str], held: str) -> None:
    best = stretches_about(basis, "Nobody says it.", documents)[0]
    assert best.share == 1.0
    assert best.is_it
    assert held in documents[best.document][best.start : best.end]


@pytest.mark.parametrize(
    ("basis", "documents"),
    [
        ("mayor pleased", ENGLISH),
        ("tunnel", ENGLISH),
        ("市长 满意", SIMPLIFIED),
        ("市長 滿意", TRADITIONAL),
    ],
)
def test_a_single_word_or_words_without_a_figure_are_for_a_judge_to_see(basis: str, documents: dict[str, str]) -> None:
    best = stretches_about(basis, "Nobody says it.", documents)[0]
    assert (best.share, best.is_it) == (1.0, False)


@pytest.mark.parametrize(
    ("basis", "documents"),
    [
        ("toll motorists", ENGLISH),
        ("收费标准", SIMPLIFIED),
        ("收費標準", TRADITIONAL),
    ],
)
def test_what_no_source_holds_is_not_found(basis: str, documents: dict[str, str]) -> None:
    assert stretches_about(basis, "Nobody says it.", documents) == []


def test_what_comes_near_is_shown_to_whoever_judges_the_nearest_first() -> None:
    near = stretches_about("tunnel opening toll", "Nobody says it.", ENGLISH)
    assert [(one.document, one.share < 1.0) for one in near] == [("a", True)]


def test_without_words_the_sentence_itself_is_looked_for() -> None:
    near = stretches_about("", "No source gives the opening date of the tunnel.", ENGLISH)
    assert "4 May 2026" in ENGLISH["a"][near[0].start : near[0].end]


def test_at_most_a_handful_is_shown_and_long_texts_are_soon_searched() -> None:
    documents = {f"d{number}": "The opening date of the tunnel was moved. " * 2_000 for number in range(10)}
    begin = time.process_time()
    assert len(stretches_about("tunnel opening toll", "x", documents)) == 5
    assert time.process_time() - begin < 20
