"""A paraphrase is told to be likely or not by its words, their direction and hard facts, in both languages."""

import time

import pytest

from deep_research.report.evidence.passage import Evidence
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


TOLD = (
    "Aspirin causes bleeding in older patients, the review says. The northern plant opened before the bridge. Output "
    "of the eastern mine was higher than output of the coastal quarry. The council supported the tunnel in May. "
    "Dogs were bitten by cats near the harbour. Sales in Halden grew by two thirds."
)
TOLD_ZH = (
    "该药物导致老年患者出血。北部工厂在大桥之前开工。东部矿山的产量高于沿海采石场的产量。议会在五月支持隧道方案。"
    "暴雨导致山区道路中断。"
)


@pytest.mark.parametrize(
    ("faithful", "turned", "passage"),
    [
        ("Aspirin causes bleeding in older patients.", "Bleeding in older patients causes aspirin.", TOLD),
        ("The northern plant opened before the bridge.", "The northern plant opened after the bridge.", TOLD),
        (
            "Output of the eastern mine was higher than output of the coastal quarry.",
            "Output of the coastal quarry was higher than output of the eastern mine.",
            TOLD,
        ),
        (
            "Output of the eastern mine was higher than output of the coastal quarry.",
            "Output of the eastern mine was lower than output of the coastal quarry.",
            TOLD,
        ),
        ("The council supported the tunnel in May.", "The council opposed the tunnel in May.", TOLD),
        ("The council supported the tunnel in May.", "The council never supported the tunnel in May.", TOLD),
        ("东部矿山的产量高于沿海采石场的产量。", "沿海采石场的产量高于东部矿山的产量。", TOLD_ZH),
        ("东部矿山的产量高于沿海采石场的产量。", "东部矿山的产量低于沿海采石场的产量。", TOLD_ZH),
        ("暴雨导致山区道路中断。", "山区道路中断导致暴雨。", TOLD_ZH),
        ("北部工厂在大桥之前开工。", "北部工厂在大桥之后开工。", TOLD_ZH),
        ("议会在五月支持隧道方案。", "议会在五月未支持隧道方案。", TOLD_ZH),
    ],
)
def test_a_claim_whose_direction_is_turned_round_is_never_likely(faithful, turned, passage):
    assert hint(faithful, passage).is_likely
    assert not hint(turned, passage).is_likely
    assert not hint(in_traditional(turned), passage).is_likely


def test_another_voice_is_not_another_direction():
    assert hint("Cats bit dogs near the harbour.", "Dogs were bit by cats near the harbour.").is_likely
    assert hint("The bridge replaced the ferry.", "The ferry was replaced by the bridge in May.").is_likely
    assert not hint("The ferry replaced the bridge.", "The ferry was replaced by the bridge in May.").is_likely


def test_a_negation_elsewhere_in_the_passage_turns_nothing():
    passage = "The pilot did not affect rents, but it reduced noise. Not only tenants said so."
    assert hint("The pilot reduced noise.", passage).is_likely
    assert not hint("The pilot did not reduce noise.", passage).is_likely


def test_a_sentence_without_end_is_compared_in_no_more_than_bounded_time():
    words = "Costs were not higher than rents before they fell by more. "
    started = time.process_time()
    hint(words, words.replace(".", "") * 400)
    assert time.process_time() - started < 20


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
