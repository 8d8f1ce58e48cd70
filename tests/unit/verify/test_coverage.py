"""A paraphrase is told to be likely or not by its words, their direction and hard facts, in both languages."""

import pytest

from deep_research.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.verify.coverage import Hint, support_hint, unchecked_reason
from deep_research.verify.particulars import spell_negations
from tests.unit.verify.corruptions import in_traditional

PASSAGE = (
    "The city replaced two boilers in 2024. Seawater heat pumps reduced heating costs of connected households by 12 "
    "per cent. The pilot did not affect rents. Complaints about noise increased after the second pump was started."
)
PASSAGE_ZH = (
    "青岚市在2024年更换了两台锅炉。海水热泵使接入居民的供暖费用降低12%。试点没有影响租金。"
    "第二台热泵启动后，噪声投诉增加。"
)


def passages_of(*quotes: str) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(id=f"e{n}", document="d", start=0, end=len(quote), quote=quote, finding="", section="")
        for n, quote in enumerate(quotes)
    )


def hint(sentence: str, *quotes: str) -> Hint:
    return support_hint(Sentence(text=sentence), passages_of(*quotes))


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Households connected to seawater heat pumps saw heating costs reduced by 12%.", PASSAGE),
        ("There were increased complaints about noise once the second pump had started.", PASSAGE),
        ("Rents were not affected by the pilot.", PASSAGE),
        ("接入海水热泵的居民供暖费用降低了12%。", PASSAGE_ZH),
        ("第二台热泵启动后噪声投诉有所增加。", PASSAGE_ZH),
        ("试点没有影响租金水平。", PASSAGE_ZH),
    ],
)
def test_faithful_paraphrase_is_likely_in_either_script(sentence, passage):
    assert hint(sentence, passage).is_likely
    assert hint(in_traditional(sentence), passage) == hint(sentence, in_traditional(passage)) == hint(sentence, passage)


@pytest.mark.parametrize(
    ("faithful", "turned", "passage"),
    [
        (
            "Heat pumps reduced heating costs of households.",
            "Heat pumps increased heating costs of households.",
            PASSAGE,
        ),
        ("Complaints about noise increased.", "Complaints about noise declined.", PASSAGE),
        ("The pilot did not affect rents.", "The pilot did affect rents.", PASSAGE),
        ("热泵使居民的供暖费用降低。", "热泵使居民的供暖费用提高。", PASSAGE_ZH),
        ("噪声投诉增加。", "噪声投诉没有增加。", PASSAGE_ZH),
        ("试点没有影响租金。", "试点影响租金。", PASSAGE_ZH),
    ],
)
def test_turned_sentence_scores_lower_and_is_not_likely(faithful, turned, passage):
    right, wrong = hint(faithful, passage), hint(turned, passage)
    assert right.direction > 0 > wrong.direction
    assert right.score > wrong.score
    assert not wrong.is_likely


def test_known_objection_counts_against_a_sentence():
    right = hint("Heat pumps reduced heating costs by 12 per cent.", PASSAGE)
    wrong = hint("Heat pumps reduced heating costs by 15 per cent.", PASSAGE)
    assert (right.is_vetoed, wrong.is_vetoed) == (False, True)
    assert right.score > wrong.score
    assert (right.is_likely, wrong.is_likely) == (True, False)


def test_other_subject_or_nothing_cited_is_not_likely():
    assert not hint("The harbour museum opens at noon.", PASSAGE).is_likely
    assert not hint("博物馆中午开放。", PASSAGE_ZH).is_likely
    assert not hint("Heat pumps reduced costs.").is_likely
    assert not hint("", PASSAGE).is_likely


def test_words_scattered_over_a_long_text_cover_less_than_those_of_few_sentences():
    words = "Seawater pumps reduced heating costs of connected households".split()
    scattered = " ".join(f"Somebody mentioned {word}." for word in words)
    assert hint(" ".join(words), PASSAGE).covered > 0.9
    assert hint(" ".join(words), scattered).covered < 0.6


def test_several_passages_may_carry_a_sentence_together():
    first, second = "The pump cost five million euros.", "It was built by Kettle Works."
    together = hint("Kettle Works built the pump that cost five million euros.", first, second)
    assert together.covered > hint("Kettle Works built the pump that cost five million euros.", first).covered
    assert together.is_likely


@pytest.mark.parametrize(
    ("sentence", "quotes", "reason"),
    [
        ("Rents were not affected by the pilot.", (PASSAGE,), "likely"),
        ("Rents were not affected by the pilot.", (PASSAGE_ZH, PASSAGE), "likely"),
        ("Rents were affected by the weather.", (PASSAGE,), "doubtful"),
        ("试点没有影响租金水平。", (in_traditional(PASSAGE_ZH),), "likely"),
        ("天气影响租金水平。", (PASSAGE_ZH,), "doubtful"),
        ("Rents were not affected by the pilot.", (PASSAGE_ZH,), "unproved"),
        ("试点没有影响租金水平。", (PASSAGE,), "unproved"),
        ("Rents were not affected by the pilot.", (), "unproved"),
    ],
)
def test_reader_is_told_what_words_say_where_they_can_be_compared(sentence, quotes, reason):
    assert unchecked_reason(Sentence(text=sentence), passages_of(*quotes)) == reason


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("It isn't safe and never was.", "it is not safe and not was."),
        ("不仅没有增加", "不仅 not 有增加"),
        ("該廠並不安全", "该厂并 not 安全"),
        ("Not only cheap, 无锡", "not only cheap, 无锡"),
    ],
)
def test_negations_are_spelled_alike_and_words_that_only_look_like_them_stay(text, spelled):
    assert spell_negations(text).replace("  ", " ") == spelled
