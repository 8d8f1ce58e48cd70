"""What is left of a checked text: what is absent cites the nearest, and points of lists say nothing new."""

from dataclasses import replace

import pytest

from deep_research.pipeline.stages.verify import CheckedSources, accepted
from deep_research.reasoning.values import Brief
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Paragraph, Sentence, SentenceKind, Verdict, VerdictKind

QUOTES = {"e1": "The tank cost €11.7 million in 2024.", "e2": "The pumps run since 31 May 2023.", "e3": "Nine agreed."}
EVIDENCE = tuple(
    Evidence(id=id_, document="d", start=0, end=len(quote), quote=quote, finding=quote, section="")
    for id_, quote in QUOTES.items()
)
QUESTION = "What should be done until 2027?"
SOURCES = CheckedSources(Brief(question=QUESTION, original=QUESTION, language="en"), EVIDENCE)
SOUND: dict[SentenceKind, VerdictKind] = {"conclusion": "follows", "absence": "not_in_sources"}


def said(text: str, *evidence: str, kind: SentenceKind = "finding") -> Sentence:
    return Sentence(text=text, kind=kind, evidence=evidence, verdict=Verdict(kind=SOUND.get(kind, "supported")))


def absent(*evidence: str) -> Sentence:
    return said("No source names the builder.", *evidence, kind="absence")


def kept(*sentences: Sentence) -> Paragraph:
    (paragraph,) = accepted([Paragraph(section="abstract", sentences=sentences)], SOURCES).paragraphs
    return paragraph


TANK, PUMPS = said("The tank is dear.", "e1"), said("The pumps run.", "e2", "e3")


@pytest.mark.parametrize(
    ("sentences", "nearest"),
    [
        ((TANK, absent("e3")), ("e3",)),
        ((TANK, PUMPS, absent()), ("e2", "e3")),
        ((TANK, absent(), absent()), ("e1",)),
        ((said("We recommend to wait.", "e1", kind="conclusion"), absent()), ("e1",)),
    ],
)
def test_what_is_absent_at_the_end_of_others_cites_what_comes_nearest(
    sentences: tuple[Sentence, ...], nearest: tuple[str, ...]
) -> None:
    paragraph = kept(*sentences)
    assert paragraph.kind == "claim"
    assert paragraph.sentences[-1].evidence == nearest
    assert paragraph.sentences[:-1] == sentences[:-1]


@pytest.mark.parametrize(
    "sentences",
    [(absent(),), (absent("e1"),), (absent("e1"), absent("e2")), (said("What is open?", kind="link"), absent("e1"))],
)
def test_what_only_says_what_is_absent_cites_nothing_and_is_a_note(sentences: tuple[Sentence, ...]) -> None:
    paragraph = kept(*sentences)
    assert paragraph.kind == "note"
    assert paragraph.cite_ids == ()
    assert [each.text for each in paragraph.sentences] == [each.text for each in sentences]


def test_what_is_absent_in_the_middle_stays_as_it_is() -> None:
    assert kept(absent(), TANK).sentences == (absent(), TANK)


def test_what_stays_of_a_paragraph_whose_other_sentences_were_refused_is_a_note() -> None:
    refused = TANK.model_copy(update={"verdict": Verdict(kind="not_found", reason="absent")})
    paragraph = kept(refused, absent("e1"))
    assert (paragraph.kind, paragraph.cite_ids) == ("note", ())


@pytest.mark.parametrize(
    ("point", "is_kept"),
    [
        ("Wait and see", True),
        ("Finish by 2027", True),
        ("Repeat the success of 2024", True),
        ("Do as in May 2023", True),
        ("Save €11.7 million again", True),
        ("Reach 42 homes", True),
        ("Finish by 2031", False),
        ("Save €37 million", False),
        ("Do as in June 2023", False),
        ("See www.evil.example", False),
        ("重复2024年的成功", True),
        ("重複2024年的成功", True),
        ("到2031年完成", False),
        ("節省37億元", False),
    ],
)
def test_the_point_of_an_item_may_name_what_is_told_anywhere_in_the_report(point: str, is_kept: bool) -> None:
    elsewhere = Paragraph(section="abstract", sentences=(TANK, PUMPS, said("It heats 42 homes.", "e3")))
    item = Paragraph(section="Steps", mark="number", lead=point, sentences=(said("This pays.", "e3"),))
    checked = accepted([elsewhere, item], SOURCES)
    assert [each.lead for each in checked.paragraphs] == ["", point if is_kept else ""]
    assert checked.paragraphs[1].sentences == item.sentences


@pytest.mark.parametrize(
    ("point", "kept_part"),
    [
        ("Bring the pilot of the boilers forward to June 2031", "Bring the pilot of the boilers forward"),
        ("先扩建三座泵站，2031年完工", "先扩建三座泵站"),
    ],
)
def test_the_point_of_an_item_loses_only_what_it_claims(point: str, kept_part: str) -> None:
    item = Paragraph(section="Steps", mark="number", lead=point, sentences=(said("This pays.", "e3"),))
    assert accepted([item], SOURCES).paragraphs[0].lead == kept_part


REFUSED = Verdict(kind="wrong", reason="result")


@pytest.mark.parametrize(
    "chain",
    [
        (
            "每降低1个百分点，甲县需要投入300万元。",
            "同样计算，乙县需要投入450万元。",
            "丙县则需要投入600万元。",
        ),
        ("每降低1個百分點，甲縣需要300萬元。", "以此類推，乙縣需要450萬元。", "丙縣則需要600萬元。"),
        (
            "Each point less costs Ashby €3 million.",
            "By the same calculation, Brigg pays €4.5 million.",
            "Corby, in turn, pays €6 million.",
        ),
        (
            "Each point less costs Ashby €3 million.",
            "In the same way Brigg pays €4.5 million.",
            "Likewise, Corby pays.",
        ),
    ],
)
def test_what_goes_on_with_a_refused_calculation_goes_with_it(chain: tuple[str, ...]) -> None:
    first, *rest = (said(text, "e1", kind="calculation") for text in chain)
    alone = said("The pumps run since 31 May 2023.", "e2")
    checked = accepted(
        [Paragraph(section="Costs", sentences=(first.model_copy(update={"verdict": REFUSED}), *rest, alone))], SOURCES
    )
    assert [each.text for paragraph in checked.paragraphs for each in paragraph.sentences] == [alone.text]
    assert [each.reason for each in checked.dropped] == ["result", "leaning", "leaning"]
    whole = accepted([Paragraph(section="Costs", sentences=(first, *rest, alone))], SOURCES)
    assert whole.dropped == ()


@pytest.mark.parametrize(
    ("computed", "concluded"),
    [
        ("Each point less costs Ashby €3 million.", "So we would not pay €3 million for a point."),
        ("每降低1个百分点，甲县需要投入300万元。", "因此，我们认为300万元偏高。"),
    ],
)
def test_a_conclusion_with_the_result_of_a_refused_calculation_goes_with_it(computed: str, concluded: str) -> None:
    sum_, between = said(computed, "e1", kind="calculation"), said("The pumps run since 31 May 2023.", "e2")
    conclusion, other = (said(text, "e1", kind="conclusion") for text in (concluded, "So we would wait."))
    refused = accepted(
        [
            Paragraph(section="Costs", sentences=(sum_.model_copy(update={"verdict": REFUSED}), between)),
            Paragraph(section="Costs", sentences=(other, conclusion)),
        ],
        SOURCES,
    )
    assert [each.text for paragraph in refused.paragraphs for each in paragraph.sentences] == [between.text, other.text]
    assert [each.reason for each in refused.dropped] == ["result", "leaning"]
    assert accepted([Paragraph(section="Costs", sentences=(sum_, between, other, conclusion))], SOURCES).dropped == ()


def test_a_figure_of_the_question_stays_though_a_refused_calculation_gave_it_too() -> None:
    question = "We have €500 million. What should be done?"
    sources = CheckedSources(Brief(question=question, original=question, language="en"), EVIDENCE)
    sum_ = said("Of €500 million, €400 million are left.", "e1", kind="calculation")
    conclusion = said("So we would not spend €500 million.", "e1", kind="conclusion")
    refused = sum_.model_copy(update={"verdict": REFUSED})
    checked = accepted([Paragraph(section="Costs", sentences=(refused, conclusion))], sources)
    assert [each.text for paragraph in checked.paragraphs for each in paragraph.sentences] == [conclusion.text]


@pytest.mark.parametrize(
    "text",
    ["Corby pays €6 million.", "丙县需要投入600万元。", "如果水位下降，则需要投入600万元。", "本规则自2024年起施行。"],
)
def test_what_begins_anew_stays_after_a_refused_sentence(text: str) -> None:
    refused = said("Each point less costs Ashby €3 million.", "e1").model_copy(update={"verdict": REFUSED})
    assert [each.text for each in kept(refused, said(text, "e1")).sentences] == [text]


@pytest.mark.parametrize(
    "named", ["Figure 1 shows that the tank is dear.", "如图1所示，水箱很贵。", "如圖1所示，水箱很貴。"]
)
def test_a_figure_that_the_report_does_not_have_is_not_named(named: str) -> None:
    paragraph = Paragraph(section="abstract", sentences=(said(named, "e1"), PUMPS))
    without = accepted([paragraph], SOURCES)
    assert [each.text for one in without.paragraphs for each in one.sentences] == [PUMPS.text]
    assert without.dropped[0].reason.startswith("figure: ")
    assert not accepted([paragraph], replace(SOURCES, figures=1)).dropped
