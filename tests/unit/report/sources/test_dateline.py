"""The day a text gives as its own: below its title, alone, and not that of something it tells."""

import pytest

from deep_research.report.sources.dating import dateline_of


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("# A note\n\nAuthor: Network Engineering. Date: 5 May 2025. Status: issued.", "2025-05-05"),
        ("# A report\n\nNorthfold Institute, report NI-26-004, 30 January 2026. Commissioned by us.", "2026-01-30"),
        ("# An opinion\n\n*By Piet Lammers, chairman. 2 March 2026.*\n\nNobody wants it.", "2026-03-02"),
        ("TARIFFS\nValid from 1 January 2026. Issued on 1 December 2025.", "2025-12-01"),
        ("Audit\n\n2026-04-09\n\nWe found nothing.", "2026-04-09"),
        ("# 笔记\n\n青岚市公用事业考察组　2026年5月22日\n\n## 一、背景", "2026-05-22"),
        ("# 解答\n\n青岚市水务局公众服务处　2026年2月25日更新", "2026-02-25"),
        ("# 說明\n\n編製日期：2025年7月10日　適用範圍：一期工程", "2025-07-10"),
    ],
)
def test_a_line_below_the_title_dates_a_text(text, day):
    assert dateline_of(text) == day


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12 February 2026",
        "# A story\n\nThe council closed the plant on 31 December 2025.",
        "# A story\n\nOn 3 May 2024, the council met.",
        "# 笔记\n\n2026年5月11日至15日，考察组一行七人赴哈尔登湾考察。",
        "# A story\n\nIt began in 2024.",
        "# A log\n\n1 May 2026.\n2 May 2026.",
        "# A story\n\n## Part\n\n12 February 2026.",
        "# A story\n\n" + "word " * 60 + ". 12 February 2026.",
    ],
)
def test_dates_of_other_things_do_not(text):
    assert dateline_of(text) == ""
