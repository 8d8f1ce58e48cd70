"""How much of an answer is the abstract: first sentences, cut where each part can stand; lists stay whole."""

from collections.abc import Sequence

from deep_research.pipeline import abstract
from deep_research.report.paragraph import ListMark, Paragraph, Sentence, note

LONG = "Harbour number {} was deepened at great cost " + "and with much care " * 8 + "again."


def bounded(answer: Sequence[Paragraph]) -> tuple[Sequence[Paragraph], Sequence[Paragraph]]:
    return abstract.bounded(answer, "en", has_chapters=False)


def told(*texts: str, mark: ListMark = "", evidence: tuple[str, ...] = ("e1",)) -> Paragraph:
    sentences = tuple(Sentence(text=text, evidence=evidence) for text in texts)
    return Paragraph(section="abstract", mark=mark, sentences=sentences)


def texts(paragraphs: Sequence[Paragraph]) -> list[str]:
    return [each.text for paragraph in paragraphs for each in paragraph.sentences]


def test_a_short_answer_stays_as_it_is() -> None:
    answer = (told("It cost much."), told("Wait.", mark="number"))
    assert bounded(answer) == (answer, ())


def test_a_long_answer_is_cut_at_the_end_of_a_sentence_and_nothing_is_lost() -> None:
    lines = [LONG.format(number) for number in range(1, 12)]
    kept, rest = bounded([told(*lines)])
    assert texts(kept) == lines[:4], "each has 41 words"
    assert texts(rest) == lines[4:]
    kept, rest = bounded([told(*lines[:3]), told(*lines[3:])])
    assert texts(kept) == lines[:3], "a second paragraph is not torn apart"
    assert texts(rest) == lines[3:]


def test_chinese_is_counted_in_characters() -> None:
    lines = [f"第{number}座港口" + "疏浚" * 30 + "。" for number in range(1, 6)]
    kept, rest = bounded([told(*lines)])
    assert (len(texts(kept)), len(texts(rest))) == (3, 2)


def test_before_chapters_it_may_have_300_words_or_600_characters() -> None:
    lines = [LONG.format(number) for number in range(1, 12)]
    for language, own, in_one_piece, before_chapters in (
        ("en", lines, 4, 7),
        ("zh-Hans", [f"第{number}座港口" + "疏浚" * 30 + "。" for number in range(1, 12)], 3, 9),
    ):
        counts = [len(texts(abstract.bounded([told(*own)], language, has_chapters=has)[0])) for has in (False, True)]
        assert counts == [in_one_piece, before_chapters]


def test_no_part_begins_with_what_leans_on_the_other_or_ends_without_a_citation() -> None:
    lines = [*(LONG.format(number) for number in (1, 2, 3)), LONG.format(4)[:-1] + ":", "This made them proud. " + LONG]
    kept, rest = bounded([told(*lines)])
    assert texts(kept) == lines[:3]
    assert texts(rest) == lines[3:]
    kept, _ = bounded([told(*lines[:2]), told(*lines[:3], evidence=())])
    assert texts(kept) == lines[:2]


def test_one_long_sentence_stays_for_it_is_the_answer() -> None:
    answer = (told("It cost much, " * 150 + "and that is all."),)
    assert bounded(answer) == (answer, ())


def test_a_list_is_not_torn_apart_and_takes_along_what_leads_to_it() -> None:
    items = tuple(told(LONG.format(number), mark="number") for number in range(1, 7))
    assert bounded(items)[0] == items
    first, leading = told("Six harbours were deepened."), note("abstract", "These are:")
    assert bounded([first, leading, *items]) == ((first,), (leading, *items))
    assert bounded([leading, *items]) == ((leading, *items), ())
