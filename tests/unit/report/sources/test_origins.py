"""Copies of one text are one origin; texts from one template with other figures are not."""

import pytest

from deep_research.report.sources.copies import ComparedText, group_copies

RELEASE = """Harbour Falls, 3 March 2026. The harbour authority of Harbour Falls has finished the retrofit of its ferry
terminal and publishes the results of the first full year. The four heat pumps delivered 412 MWh at a seasonal
performance factor of 3.1, which is more than the engineers had expected when the tender was written. Two of the units
failed in January and were replaced under warranty, so that passengers did not notice anything. "We have learned how
much depends on the controls," said the director of the authority, Jane Miller, at the opening of the new hall.
Maintenance is carried out by the crew of the terminal together with the supplier, who has moved a workshop to the
northern pier. The board recommends extending the system to the cruise terminal, because the cables have been laid
there already and the permits were granted in autumn. The extension would cost 2.4 million dollars and save 900 tonnes
of carbon dioxide in ten years, according to a study of the technical university. A decision is expected in summer, when
the council of the city meets for the last time before the election."""
RELEASE_ZH = """港务局今日宣布，渡轮码头改造工程已全部完成，并公布了第一个完整运行年度的结果。
四台热泵全年共供热412兆瓦时，季节性能系数达到3.1，高于招标文件编写时工程师们的预期。其中两台机组在一月份发生故障，
已在保修期内更换，旅客没有受到任何影响。港务局局长在新候船大厅启用仪式上表示，这一年的经验说明控制系统至关重要。
日常维护由码头班组与供应商共同完成，供应商已把一个维修车间迁到北侧栈桥。董事会建议把这一系统扩展到邮轮码头，
因为电缆早已铺设完毕，相关许可也在去年秋季获得批准。扩建工程预计耗资240万美元，根据理工大学的研究，
十年内可减少二氧化碳排放900吨。市议会将在夏季举行选举之前的最后一次会议，届时预计将作出决定，
居民可以在网上查阅全部文件并提出意见。"""
RELEASE_HANT = """港務局今日宣布，渡輪碼頭改造工程已全部完成，並公布了第一個完整運行年度的結果。
四台熱泵全年共供熱412兆瓦時，季節性能係數達到3.1，高於招標文件編寫時工程師們的預期。其中兩台機組在一月份發生故障，
已在保修期內更換，旅客沒有受到任何影響。港務局局長在新候船大廳啟用儀式上表示，這一年的經驗說明控制系統至關重要。
日常維護由碼頭班組與供應商共同完成，供應商已把一個維修車間遷到北側棧橋。董事會建議把這一系統擴展到郵輪碼頭，
因為電纜早已鋪設完畢，相關許可也在去年秋季獲得批准。擴建工程預計耗資240萬美元，根據理工大學的研究，
十年內可減少二氧化碳排放900噸。市議會將在夏季舉行選舉之前的最後一次會議，屆時預計將作出決定，
居民可以在網上查閱全部文件並提出意見。"""
BOILERPLATE = "Sign up for our newsletter and never miss a story again. All rights reserved, no part may be copied. "
OWN_STORY = """When the ferry comes in from the islands, the new hall is warm, and nobody thinks about why. Yet the
people who run it do, every day. In the control room below the pier a screen shows the temperature of the sea, the
load of the pumps and the price of power, and the operator, who used to be a ship's engineer, trusts none of them. He
told us how the first winter went: frozen sensors, a pump that would not start, a week with borrowed boilers. The
authority speaks of 412 MWh and is proud of it. Critics in the council say that the old boilers could have been kept
for a third of the money, and they point to the neighbouring town, which insulated its halls first and needs no pumps
at all. What both sides agree on is that the next step will be decided by the election and not by any figure in a
report."""


def _cut(text: str, share: float) -> str:
    return text[: int(len(text) * share)]


def _replaced(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def _origins(*texts: str) -> int:
    return len(set(group_copies({str(at): ComparedText(text=text) for at, text in enumerate(texts)}).values()))


COPIES = {
    "taken over in full": RELEASE,
    "with boilerplate and another headline": f"Terminal runs on sea heat\nBy A. Writer\n{RELEASE}\n{BOILERPLATE}",
    "cut short": _cut(RELEASE, 0.45),
    "cut short with a lead of its own": f"A ferry terminal is warm at last. {_cut(RELEASE[200:], 0.6)} {BOILERPLATE}",
    "other line breaks and quotes": " ".join(RELEASE.split()).replace('"', "“"),
    "one figure rounded": _replaced(RELEASE, ("412 MWh", "410 MWh")),
    "one figure rounded with a word": _replaced(RELEASE, ("412 MWh", "about 400 MWh")),
    "one figure corrected": _replaced(RELEASE, ("900 tonnes", "850 tonnes")),
    "edited here and there": _replaced(
        RELEASE, ("tonnes", "tons"), ("in autumn", "last fall"), ("finished", "completed"), ("has moved", "moved")
    ),
}


@pytest.mark.parametrize("text", COPIES.values(), ids=COPIES)
def test_copy_is_of_the_same_origin(text):
    assert _origins(RELEASE, text) == 1
    assert _origins(text, RELEASE) == 1


CHINESE_COPIES = {
    "traditional characters": RELEASE_HANT,
    "cut short": _cut(RELEASE_ZH, 0.5),
    "with boilerplate": f"【本报讯】{RELEASE_ZH}责任编辑：张三。版权声明：转载请注明出处。",
    "one figure rounded": _replaced(RELEASE_ZH, ("412兆瓦时", "410兆瓦时")),
    "traditional, cut short and rounded": _cut(_replaced(RELEASE_HANT, ("412", "400")), 0.6),
}


@pytest.mark.parametrize("text", CHINESE_COPIES.values(), ids=CHINESE_COPIES)
def test_chinese_copy_is_of_the_same_origin(text):
    assert _origins(RELEASE_ZH, text) == 1


OTHERS = {
    "a story of its own with a figure in common": OWN_STORY,
    "a story that quotes two sentences": f"{OWN_STORY} {' '.join(RELEASE.split('. ')[1:3])}",
    "the same template with other figures": _replaced(
        RELEASE, ("412", "388"), ("3.1", "2.7"), ("2.4", "1.9"), ("900", "640"), ("2026", "2025")
    ),
    "the same in Chinese": RELEASE_ZH,
    "nothing": "",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_other_text_is_of_another_origin(text):
    assert _origins(RELEASE, text) == 2


def test_chinese_template_with_other_figures_is_of_another_origin():
    other = _replaced(RELEASE_ZH, ("412", "388"), ("3.1", "2.7"), ("240", "190"), ("900", "640"))
    assert _origins(RELEASE_ZH, other) == 2
    spelled = _replaced(RELEASE_ZH, ("412", "四百一十二"), ("3.1", "三点一"), ("240", "二百四十"), ("900", "九百"))
    changed = _replaced(spelled, ("四百一十二", "三百八十八"), ("二百四十", "一百九十"))
    assert _origins(spelled, changed) == 2


def test_template_with_a_single_figure_is_told_by_it():
    gauge = _replaced(
        " ".join(sentence for sentence in RELEASE.split(". ") if not any(sign.isdigit() for sign in sentence)),
        ("Maintenance", "The gauge stands at 3.2 metres. Maintenance"),
    )
    assert _origins(gauge, gauge + " " + BOILERPLATE) == 1
    assert _origins(gauge, _replaced(gauge, ("3.2", "4.1"))) == 2


def test_notice_that_a_long_text_quotes_does_not_make_it_a_copy():
    notice = ". ".join(RELEASE.split(". ")[:3])
    assert _origins(notice, f"{OWN_STORY} {notice} {OWN_STORY[::-1]} {OWN_STORY[::2]} {OWN_STORY[1::2]}") == 2


def test_short_texts_stand_for_themselves():
    assert _origins("Page not found.", "Page not found.", "") == 3


def test_two_halves_are_of_one_origin_through_the_whole():
    middle = len(RELEASE) // 2
    assert _origins(RELEASE[:middle], RELEASE[middle:]) == 2
    assert _origins(RELEASE[:middle], RELEASE[middle:], RELEASE) == 1


@pytest.mark.parametrize(
    ("one", "other", "leader"),
    [
        ({"published": "2026-03-04"}, {"published": "2026-03-03"}, "b"),
        ({}, {"published": "2026-03-03"}, "b"),
        ({"published": "2026"}, {"published": "2026-03-03"}, "b"),
        ({"address": "https://news.example.com/"}, {"address": "https://port.gov/"}, "b"),
        ({"published": "2026-03-03"}, {"published": "2026-03-04", "address": "https://port.gov/"}, "a"),
        ({"text": _cut(RELEASE, 0.8)}, {}, "b"),
        ({}, {}, "a"),
    ],
)
def test_earliest_then_primary_then_longest_stands_for_all(one, other, leader):
    texts = {"a": ComparedText(**{"text": RELEASE, **one}), "b": ComparedText(**{"text": RELEASE, **other})}
    assert group_copies(texts) == {"a": leader, "b": leader}
    assert group_copies(dict(reversed(texts.items()))) == {"a": leader, "b": leader}


def test_no_documents_have_no_origins():
    assert group_copies({}) == {}
