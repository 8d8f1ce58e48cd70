"""One mechanism for a writer's sentence and a stranger's report: what both refuse, and what neither does."""

import pytest

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.verify.audit import CheckedSource, audit_report
from deep_research.verify.veto import veto

BRIDGE = (
    "The Marlow bridge was closed for six months after inspectors found cracks in three of its eleven girders. The "
    "county fined the contractor, Brandt Civil, 40,000 euros. Repairs took nine weeks."
)
PLANT = (
    "Plant 2 at Quell Harbour was built in 2019 for 12 million euros. Output rose in its second year, while complaints "
    "fell. Harlow Foods acquired Beacon Dairy. Ticket sales were higher in spring than in winter."
)
BRIDGE_ZH = (
    "青石镇的老桥因为三根桥桩开裂封闭了六个月。县政府起诉了承建商宏达公司。桥上的通行量比前一年下降，维修用了九天。"
)
FOREST = "Oak accounts for 44 per cent of the forest, and beech for 29 per cent. A hauler lent the mill £40,000."
FOREST += " Output of planks fell from 90 to 60 tonnes a year. Nearby, a 6.2-kilometre track was opened."
TEAM_ZH = "县一中男子篮球队取得七连胜，东区观众四万人，西区观众六万人。王某驾车追尾了李某的车辆。基金会资助了52个项目。"
HOSPITAL_ZH = "明德醫院收購了仁和診所，並在兩年內增設五個病房。去年住院人數上升，等候時間縮短到四天。"


def objections(sentence: str, quote: str) -> tuple[str, str]:
    """Return what is held against a sentence of a writer, and against the same one in a report by somebody else."""
    passage = Evidence(id="e1", document="d", start=0, end=len(quote), quote=quote, finding="", section="")
    verdict = veto(Sentence(text=sentence), [passage])
    report = f"# T\n\n{sentence} [1]\n\n## References\n\n[1] Source text - s.md\n"
    faults = audit_report(report, [CheckedSource(address="s.md", title="Source text", text=quote)]).faults
    return verdict.reason.split(":")[0] if verdict else "", str(faults[0].fault) if faults else ""


@pytest.mark.parametrize(
    ("sentence", "quote", "reason"),
    [
        ("The Marlow bridge was closed for 7 months.", BRIDGE, "number"),
        ("The Marlow bridge was closed for nine months.", BRIDGE, "number"),
        ("The Marlow bridge was closed for twelve months.", BRIDGE, "number"),
        ("The Marlow bridge was closed for a year.", BRIDGE, "number"),
        ("Cracks were found in four of the eleven girders of the Marlow bridge.", BRIDGE, "number"),
        ("Output rose in its third year.", PLANT, "negation"),
        ("青石镇的老桥封闭了七个月。", BRIDGE_ZH, "number"),
        ("青石镇的老桥封闭了9个月。", BRIDGE_ZH, "number"),
        ("老桥因为四根桥桩开裂封闭。", BRIDGE_ZH, "number"),
        ("明德醫院在三年內增設五個病房。", HOSPITAL_ZH, "number"),
        ("等候時間縮短到五天。", HOSPITAL_ZH, "number"),
        ("Beech makes up 44 per cent of the forest, oak 29 per cent.", FOREST, "number"),
        ("Output of planks fell from 60 to 90 tonnes a year.", FOREST, "number"),
        ("县一中男子篮球队取得九连胜。", TEAM_ZH, "number"),
        ("东区观众有六万人，西区观众则有四万人。", TEAM_ZH, "number"),
    ],
)
def test_a_small_number_is_checked_like_a_large_one(sentence, quote, reason):
    assert objections(sentence, quote) == (reason, reason)


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("Output fell in its second year.", PLANT),
        ("Beacon Dairy acquired Harlow Foods.", PLANT),
        ("Harlow Foods was acquired by Beacon Dairy.", PLANT),
        ("Brandt Civil fined the county.", BRIDGE),
        ("Ticket sales were higher in winter than in spring.", PLANT),
        ("桥上的通行量比前一年上升。", BRIDGE_ZH),
        ("承建商宏达公司起诉了县政府。", BRIDGE_ZH),
        ("去年住院人數下降。", HOSPITAL_ZH),
        ("仁和診所收購了明德醫院。", HOSPITAL_ZH),
        ("The hauler borrowed £40,000 from the mill.", FOREST),
        ("李某追尾了王某的车辆。", TEAM_ZH),
    ],
)
def test_another_direction_and_exchanged_sides_are_the_contrary(sentence, quote):
    assert objections(sentence, quote) == ("negation", "negation")


@pytest.mark.parametrize(
    ("sentence", "quote", "reason"),
    [
        ("Plant 2 at Quell Harbour was built in 2019 after scores of people died.", PLANT, "number"),
        ("Plant 2 at Quell Harbour was built in 2019, leaving a handful of deaths.", PLANT, "added"),
        ("Plant 2 at Quell Harbour was built in 2019 and heats the majority of homes.", PLANT, "number"),
        ("Plant 2 was built in 2019 for 12 million euros, although most residents opposed it.", PLANT, "number"),
        ("Plant 2 was built in 2019 for 12 million euros, and nearly all workers left.", PLANT, "number"),
        ("Plant 2 at Quell Harbour was built for 12 million euros, twice the budget.", PLANT, "number"),
        ("Harlow Foods acquired Beacon Dairy, outbidding a foreign rival.", PLANT, "added"),
        ("The Marlow bridge was closed for six months, and its director resigned.", BRIDGE, "added"),
        ("县政府起诉了承建商宏达公司，大多数居民表示反对。", BRIDGE_ZH, "number"),
        ("县政府起诉了承建商宏达公司，镇长因此辞职。", BRIDGE_ZH, "added"),
        ("明德醫院收購了仁和診所，幾乎所有醫生離職。", HOSPITAL_ZH, "number"),
        ("明德醫院在兩年內增設五個病房，引起鄰居抗議。", HOSPITAL_ZH, "added"),
        ("Fearing new debts, the county fined Brandt Civil, the contractor, 40,000 euros.", BRIDGE, "added"),
        ("为了挽回声誉，县政府起诉了承建商宏达公司。", BRIDGE_ZH, "added"),
    ],
)
def test_a_clause_that_was_added_is_refused(sentence, quote, reason):
    assert objections(sentence, quote) == (reason, reason)


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("The Marlow bridge was shut for half a year because of cracks in three girders.", BRIDGE),
        ("Brandt Civil was fined 40,000 euros by the county.", BRIDGE),
        ("Beacon Dairy was acquired by Harlow Foods.", PLANT),
        ("Ticket sales were lower in winter than in spring.", PLANT),
        ("Complaints fell.", PLANT),
        ("老桥封闭了半年。", BRIDGE_ZH),
        ("宏达公司被县政府起诉。", BRIDGE_ZH),
        ("与前一年相比，桥上的通行量减少。", BRIDGE_ZH),
        ("仁和診所被明德醫院收購。", HOSPITAL_ZH),
        ("兩年之內，明德醫院增設了五個病房。", HOSPITAL_ZH),
        ("The mill borrowed 40,000 pounds from a hauler.", FOREST),
        ("A track of 6.2 kilometres was opened nearby.", FOREST),
        ("Output of planks went down to 60 tonnes a year from almost 90 tonnes.", FOREST),
        ("基金会的资助给了52项。", TEAM_ZH),
    ],
)
def test_a_true_paraphrase_gets_no_objection(sentence, quote):
    assert objections(sentence, quote) == ("", "")


@pytest.mark.parametrize("quote", ["由IGR岩手銀河鐵道經營。", "他在NBA打球。"])
def test_a_latin_name_between_chinese_characters_is_found_in_its_own_passage(quote):
    assert objections(quote.replace("。", "，") + "見下文。", quote)[0] != "name"


def test_a_raised_figure_in_a_unit_is_no_digit():
    assert objections("The hall measures 44 m².", "The hall measures 42 m².") == ("number", "number")
