"""What code refuses before a judge may look, and that it never raises anything to supported."""

import pytest

from deep_research.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Verdict
from deep_research.verify.veto import veto

COST = "The Harbour Heat retrofit of Halden Bay cost €146.2 million by 31 December 2025."
COST_ZH = "截至2025年12月31日，青岚市海绵城市改造工程累计完成投资48.6亿元。"


def judge(sentence: str, *quotes: str) -> Verdict | None:
    passages = tuple(
        Evidence(id=f"e{n}", document="d", start=10, end=10 + len(quote), quote=quote, finding="", section="")
        for n, quote in enumerate(quotes, start=1)
    )
    return veto(Sentence(text=sentence), passages)


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("The Halden Bay retrofit cost 146.2 million euros.", COST),
        ("By the end of 2025, 4.86 billion yuan had been invested.", COST_ZH),
        ("工程到2025年底投资48.6亿元。", COST_ZH),
        ("The WHO approved 3 drugs.", "The World Health Organization approved three drugs."),
        ("The World Health Organization approved it.", "It was approved by the WHO."),
        ("German buyers paid more.", "Buyers in Germany paid more."),
        ("The tank cost 11.7 million euros.", "| Part | EUR million |\n| Tank | 11.7 |"),
        ("不仅投资增加，工期也延长。", "投资增加，工期也延长。"),
    ],
)
def test_faithful_paraphrase_is_left_to_the_judge(sentence, quote):
    assert judge(sentence, quote) is None


@pytest.mark.parametrize(
    ("sentence", "quote", "kind", "reason"),
    [
        (COST.replace("146.2", "163.8"), COST, "contradicted", "number: €163.8 million"),
        (COST_ZH.replace("48.6", "53.9"), COST_ZH, "contradicted", "number: 53.9亿元"),
        ("Tariffs rose to 163.8 euros.", COST, "not_found", "number: 163.8 euros"),
        (COST.replace("million", "billion"), COST, "contradicted", "number: €146.2 billion"),
        ("Losses fell by 5 percentage points.", "Losses in winter fell by 5% only.", "not_found",
         "unit: 5 percentage points"),
        (COST.replace("2025", "2024"), COST, "contradicted", "date: 31 December 2024"),
        (COST_ZH.replace("2025年12月31日", "2026年1月1日"), COST_ZH, "contradicted", "date: 2026年1月1日"),
        ("The retrofit of Kettle Point cost €146.2 million.", COST, "not_found", "name: Kettle"),
        ("The pump is not safe at sea.", "The pump is safe at sea.", "contradicted", "negation"),
        ("The pump is safe at sea.", "The pump isn't safe at sea.", "contradicted", "negation"),
        ("该水泵适合在海上使用。", "该水泵不适合在海上使用。", "contradicted", "negation"),
    ],
)  # fmt: skip
def test_what_the_passages_do_not_hold_is_refused(sentence, quote, kind, reason):
    verdict = judge(sentence, "Something else entirely.", quote)
    assert verdict is not None
    assert (verdict.kind, verdict.reason) == (kind, reason)
    if kind == "contradicted":
        assert (verdict.evidence, verdict.start, verdict.end) == ("e2", 10, 10 + len(quote))


def test_figure_in_any_of_the_passages_is_enough():
    assert judge("It cost €5 million and took 3 years.", "It cost €5 million.", "It took 3 years.") is None


def test_nothing_cited_is_nothing_found():
    verdict = judge("The pump is safe.")
    assert verdict is not None
    assert verdict.kind == "not_found"
