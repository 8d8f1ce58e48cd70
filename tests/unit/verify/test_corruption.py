"""Faithful sentences of the example documents are accepted, and none that says something else is."""

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.documents.readers import read
from deep_research.errors import SourceError
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.text.folding import fold_typography
from deep_research.text.sentences import split_sentences
from deep_research.verify.quote import check_quote
from deep_research.verify.veto import veto
from tests.unit.verify.corruptions import CORRUPTIONS, in_traditional, is_chinese, words_of

TRIED_A_KIND = 600
# Of corrupted numbers, how many may pass the veto: the sentence may hold the same number elsewhere.
SHARE_PASSED, TRIED_BY_VETO = 0.08, 120
DOCUMENTS = Path(__file__).parents[3] / "examples" / "documents"


def _texts() -> list[str]:
    texts = []
    for path in sorted(DOCUMENTS.iterdir()):
        try:
            texts.append(read(path.read_bytes(), name=path.name).text)
        except SourceError:
            continue
    return texts


TEXTS = _texts()
FAITHFUL = [(text[span.start : span.end], text) for text in TEXTS for span in split_sentences(text)]
PROSE = [(sentence, text) for sentence, text in FAITHFUL if sentence[-1] in ".。" and len(words_of(sentence)) > 8]
# Most Chinese documents among the examples are in simplified characters: the same sentences stand for the others.
TRADITIONAL = [(in_traditional(sentence), in_traditional(text)) for sentence, text in PROSE if is_chinese(sentence)]
SCRIPTS = {
    "en": [(sentence, text) for sentence, text in PROSE if not is_chinese(sentence)],
    "zh-Hans": [(sentence, text) for sentence, text in PROSE if is_chinese(sentence)],
    "zh-Hant": TRADITIONAL,
}


def passage(quote: str, start: int = 0) -> Evidence:
    return Evidence(id="e1", document="d1", start=start, end=start + len(quote), quote=quote, finding="", section="")


def is_accepted(sentence: str, quote: str) -> bool:
    verdict = check_quote(Sentence(text=sentence, evidence=("e1",)), (passage(quote),))
    return verdict is not None and verdict.kind == "supported"


def test_there_is_enough_of_both_languages_to_judge_by():
    chinese = sum(is_chinese(sentence) for sentence, _ in PROSE)
    assert chinese > 100
    assert len(PROSE) - chinese > 150


def test_every_sentence_is_found_in_itself_and_nearly_every_one_in_its_whole_document():
    faithful = [*FAITHFUL, *TRADITIONAL]
    assert all(is_accepted(sentence, sentence) for sentence, _ in faithful)
    found = sum(is_accepted(sentence, text) for sentence, text in faithful)
    assert found / len(faithful) >= 0.99


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("However, {lowered}", "然而，{sentence}"),
        ("In addition, {lowered}", "此外，{sentence}"),
        ("{body} (see Figure 3).", "{body}（见图3）。"),
        ("{body} (Smith et al., 2020; Okafor et al., 2021a).", "{body}（参见表2）。"),
        ("{body}.[12]", "{body}。[12]"),
        ("Therefore, {lowered_body} [3].", "因此，{body}[3]。"),
    ],
)
def test_trimmed_sentences_are_accepted(english, chinese):
    missed = []
    unnumbered = [sentence for sentence, _ in (*PROSE, *TRADITIONAL) if not sentence[0].isdigit()]
    for sentence in unnumbered:
        lowered = sentence[:1].lower() + sentence[1:]
        template = chinese if is_chinese(sentence) else english
        template = in_traditional(template) if in_traditional(sentence) == sentence else template
        source = template.format(sentence=sentence, body=sentence[:-1], lowered=lowered, lowered_body=lowered[:-1])
        if not is_accepted(sentence, source):
            missed.append(source)
    assert len(missed) <= len(unnumbered) / 100, missed


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_no_corrupted_sentence_is_accepted(name, script):
    """A sample of what all of them give; the whole of it takes a minute and accepts as little."""
    pairs = [
        (said, held, text) for sentence, text in SCRIPTS[script] for said, held in CORRUPTIONS[name](sentence, sentence)
    ]
    sample = random.Random(name).sample(pairs, min(len(pairs), TRIED_A_KIND))
    tried = [each for each in sample if _differ(*each[:2]) and not _is_trimmed(*each[:2])]
    assert len(tried) > 30
    assert [said for said, held, _ in tried if is_accepted(said, held)] == []
    # In its whole document a sentence has neighbours that it might be taken for.
    unchanged = [(said, text) for said, held, text in tried if held in text]
    assert [said for said, text in unchanged if is_accepted(said, text)] == []


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("name", ["number word changed", "number word made up"])
def test_a_changed_or_made_up_number_is_refused_before_a_judge_looks(name, script):
    pairs = [pair for sentence, _ in SCRIPTS[script] for pair in CORRUPTIONS[name](sentence, sentence)]
    sample = random.Random(name).sample(pairs, min(len(pairs), TRIED_BY_VETO))
    passed = [
        said for said, held in sample if _differ(said, held) and veto(Sentence(text=said), (passage(held),)) is None
    ]
    assert len(passed) <= SHARE_PASSED * len(sample), passed


@given(data=st.data())
def test_corruptions_in_a_row_do_not_heal_each_other(data):
    sentence, text = data.draw(st.sampled_from([*PROSE, *TRADITIONAL]))
    said = sentence
    for name in data.draw(st.lists(st.sampled_from(sorted(CORRUPTIONS)), min_size=1, max_size=3)):
        corrupted = [changed for changed, held in CORRUPTIONS[name](said, said) if held == said]
        said = data.draw(st.sampled_from(corrupted)) if corrupted else said
    if _differ(said, sentence) and not _is_trimmed(said, sentence):
        assert not is_accepted(said, sentence)
        assert said in text or not is_accepted(said, text)


def test_no_joined_halves_are_accepted():
    accepted = []
    for (first, text), (second, _) in pairwise(PROSE):
        one, two = words_of(first), words_of(second)
        joined = "".join(one[: len(one) // 2] + two[len(two) // 2 :])
        if is_accepted(joined, text) or is_accepted(joined, f"{first} {second}"):
            accepted.append(joined)
    assert accepted == []


@given(data=st.data())
def test_a_random_edit_is_never_accepted(data):
    sentence, text = data.draw(st.sampled_from(PROSE))
    words = words_of(sentence)
    solid = [index for index, word in enumerate(words) if word.strip()]
    edited = list(words)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(solid))
        edited[at] = data.draw(st.sampled_from(["", "not", "不", "9", "(US)", words[solid[0]], "may", "，", "million"]))
    said = "".join(edited)
    if _differ(said, sentence):
        assert not is_accepted(said, text)
        assert not is_accepted(said, sentence)


def test_several_neighbours_may_be_quoted_at_once():
    pairs = [(text[a.start : b.end], text) for text in TEXTS for a, b in pairwise(split_sentences(text))]
    prose = [(said, text) for said, text in pairs if "\n" not in said and said[-1] in ".。"]
    assert len(prose) > 100
    assert sum(is_accepted(said, text) for said, text in prose) / len(prose) >= 0.99


def _differ(said: str, held: str) -> bool:
    """Say whether two texts differ in more than white space and typography, and the first still says anything."""
    plain, other = ("".join(fold_typography(text).text.split()) for text in (said, held))
    return plain not in ("", other)


def _is_trimmed(said: str, held: str) -> bool:
    """Say whether only the connective is missing with which one of the documents' sentences begins."""
    return held.startswith(f"但是，{said}")
