"""Which stretches of a sentence may be cut: connectives, citations, cross-references, abbreviations; nothing else."""

import pytest

from deep_research.verify.trimming import possible_cuts


def cuts(sentence: str) -> list[str]:
    return [sentence[cut.start : cut.end].strip() for cut in possible_cuts(sentence)]


@pytest.mark.parametrize(
    ("sentence", "cut"),
    [
        ("However, the plant is safe.", "However,"),
        ("In addition, the plant is safe.", "In addition,"),
        ("Therefore, the plant is safe.", "Therefore,"),
        ("然而，该厂是安全的。", "然而，"),
        ("此外，该厂是安全的。", "此外，"),
        ("與此同時，該廠是安全的。", "與此同時，"),
        ("The plant (Smith et al., 2020) is safe.", "(Smith et al., 2020)"),
        ("The plant (van der Berg et al. 2019a; Li et al., 2020, p. 4) is safe.",
         "(van der Berg et al. 2019a; Li et al., 2020, p. 4)"),
        ("The plant (see Smith and Lee, 2020) is safe.", "(see Smith and Lee, 2020)"),
        ("The plant is safe [12].", "[12]"),
        ("The plant is safe.[3]", "[3]"),
        ("The plant is safe [3, 5-7].", "[3, 5-7]"),
        ("It was closed in 2020 [3, 5].", "[3, 5]"),
        ("The plant (see Figure 3) is safe.", "(see Figure 3)"),
        ("The plant (Fig. 2a) is safe.", "(Fig. 2a)"),
        ("The plant (Tables 1 and 2) is safe.", "(Tables 1 and 2)"),
        ("The plant (see Section 4.2) is safe.", "(see Section 4.2)"),
        ("The plant (see below) is safe.", "(see below)"),
        ("The World Health Organization (WHO) said so.", "(WHO)"),
        ("The coefficient of performance (COP) fell.", "(COP)"),
        ("Many non-governmental organisations (NGOs) agree.", "(NGOs)"),
        ("该厂（见图3）是安全的。", "（见图3）"),
        ("该厂（表2）是安全的。", "（表2）"),
        ("该厂（详见附件1）是安全的。", "（详见附件1）"),
        ("該廠（如圖3所示）是安全的。", "（如圖3所示）"),
        ("青岚市海绵城市示范区（以下简称“示范区”）建成。", "（以下简称“示范区”）"),
        ("该法（王伟等人，2020）有效。", "（王伟等人，2020）"),
    ],
)  # fmt: skip
def test_what_says_nothing_may_be_cut(sentence, cut):
    assert cuts(sentence) == [cut]


@pytest.mark.parametrize(
    "sentence",
    [
        "The drug works (in mice).",
        "Unit sales (US) rose.",
        "Sales of cars (EU) rose.",
        "The rate was five per cent (Germany, 2020).",
        "The rate was five per cent (Smith, 2020).",
        "The share fell (n = 12).",
        "The mean was 4 [3, 5].",
        "The mean was four [3, 5].",
        "The effect was large, with a 95% CI as given [3, 5].",
        "Developed countries (Annex I) cut emissions.",
        "The firm filed for protection (Chapter 11).",
        "The drug (Phase 2) failed.",
        "The drug works (in mice; Smith et al., 2020).",
        "The drug works (see Figure 3, mice only).",
        "It was sold in Asia, private plants (APP) excluded.",
        "Otherwise, the plant will close.",
        "For example, the plant is safe.",
        "However hard they tried, the plant failed.",
        "In addition to gas, oil is burnt.",
        "As a result of fraud, the plant closed.",
        "But for the subsidy, the plant would have closed.",
        "So far, the plant is safe.",
        "The vendor claims that, on balance, it is safe.",
        "According to the vendor, the plant is safe.",
        "按2020年口径统计，投资为48.6亿元。",
        "例如，该厂是安全的。",
        "如果获批，该厂将建成。",
        "该药（小鼠）有效。",
        "汽车销量（EV）增长。",
        "国发[2015]75号文件要求整改。",
        "投资48.6亿元（不含利息）。",
        "The plant (built 2020) is safe (mostly).",
    ],
)
def test_what_restricts_a_claim_stays(sentence):
    assert cuts(sentence) == []


def test_each_cut_stands_on_its_own():
    assert cuts("However, the plant (see Table 1) cost 5 million [2].") == ["However,", "(see Table 1)", "[2]"]
