"""Markdown of paragraphs and tables: sentences parted as their language does, each cited, no cell breaking its row."""

import pytest
from markdown_it import MarkdownIt

from deep_research.reasoning.model import prose
from deep_research.report.citation import Citations
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.markdown import opening_of, render
from deep_research.report.paragraph import Backing, ListMark, Paragraph, Sentence, Verdict, note, row
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from deep_research.verify.shipped import read_report

COLUMNS = ("Part", "Note", "Cost")
PARTS = [("Tank", "wide|long", "11.7"), ("Pumps", "two\nlines\r\nof it", "61.4"), ("Pipes", "", "73")]


def shown(paragraph: Paragraph, language: Language = "en") -> str:
    """Return a paragraph as a report shows it; evidence e7 is of source 7."""
    report = ReportLayout(title="T", chapters=(Chapter(title="C", paragraphs=(paragraph,)),), run_line="x")
    text = render(report, Citations(), number_of=lambda id_: int(id_[1:]), words=words_in(language))
    return text.split("## C\n\n")[1].split("\n\n## ")[0]


def told(*texts: str) -> Paragraph:
    return Paragraph(section="C", sentences=tuple(Sentence(text=text, evidence=("e1",)) for text in texts))


def rows(*cells: tuple[tuple[str, str], ...]) -> Paragraph:
    quoted = {"verdict": Verdict(kind="supported", reason="verbatim")}
    made = tuple(row(own, (f"e{at + 1}", "e9")).model_copy(update=quoted) for at, own in enumerate(cells))
    return Paragraph(section="C", kind="table", sentences=made)


def parts(count: int) -> Paragraph:
    return rows(*(tuple(zip(COLUMNS, values, strict=True)) for values in PARTS[:count]))


def test_english_sentences_are_parted_by_a_blank():
    assert shown(told("Bills rose.", "Losses fell!", "“So it goes.”")).startswith(
        "Bills rose. [1] Losses fell! [1] “So"
    )


def test_chinese_sentences_stand_without_blanks():
    assert shown(told("工程完工。", "居民满意！", "“很好。”"), "zh-Hans") == "工程完工。[1]居民满意！[1]“很好。”[1]"


def test_an_english_sentence_in_a_chinese_report_keeps_its_blanks():
    assert (
        shown(told("Bills rose.", "居民滿意。", "Losses fell."), "zh-Hant")
        == "Bills rose. [1] 居民滿意。[1]Losses fell. [1]"
    )


@pytest.mark.parametrize(
    ("language", "texts", "expected"),
    [
        ("en", ["Bills rose", "Losses fell by 5 %", "Done."], "Bills rose [1]; Losses fell by 5 % [1]; Done. [1]"),
        ("zh-Hans", ["居民满意", "工程完工。"], "居民满意[1]；工程完工。[1]"),
        ("zh-Hant", ["居民滿意", "工程完工"], "居民滿意[1]；工程完工[1]"),
    ],
)
def test_what_has_no_stop_of_its_own_is_given_a_semicolon(language, texts, expected):
    assert shown(told(*texts), language) == expected


@pytest.mark.parametrize("text", ["He said “we are done.”", "He said ‘we are done.’", "And so on…"])
def test_an_english_sentence_that_ends_in_a_curly_quote_keeps_its_blanks(text):
    assert shown(told(text, "Bills rose.")) == f"{text} [1] Bills rose. [1]"


@pytest.mark.parametrize("text", ["Bills\nrose\r\n\r\nagain.", "Bills rose.\n\n# Heading", "Bills\n| a | b |\nrose."])
def test_a_line_break_in_a_sentence_begins_no_block(text):
    shown_text = shown(told(text))
    assert "\n" not in shown_text
    assert shown_text.endswith("[1]")


@pytest.mark.parametrize(
    "text", ["> 50 % of the customers agreed.", "+ 5 % more bills.", "# of stores: 12.", "1. Bills rose."]
)
def test_a_sentence_is_a_paragraph_whatever_it_begins_with(text):
    first, inline, *_ = MarkdownIt().parse(shown(told(text)))
    assert first.type == "paragraph_open"
    assert "".join(child.content for child in inline.children or []).startswith(text)


def test_a_sentence_cites_each_source_once_in_order():
    sentence = Sentence(text="Bills rose.", evidence=("e3", "e1", "e3"))
    assert shown(Paragraph(section="C", sentences=(sentence,))) == "Bills rose. [1][3]"


def test_rows_of_one_kind_keep_their_columns():
    assert shown(parts(3)).splitlines() == [
        "| Part | Note | Cost | Source |",
        "| --- | --- | --- | --- |",
        "| Tank | wide\\|long | 11.7 | [1][9] |",
        "| Pumps | two lines of it | 61.4 | [2][9] |",
        "| Pipes |  | 73 | [3][9] |",
    ]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "Part: Tank; Note: wide|long; Cost: 11.7 [1][9]"),
        ("zh-Hans", "Part：Tank；Note：wide|long；Cost：11.7 [1][9]"),
        ("zh-Hant", "Part：Tank；Note：wide|long；Cost：11.7 [1][9]"),
    ],
)
def test_a_single_row_reads_as_a_line_with_the_names_of_its_columns(language, expected):
    assert shown(parts(1), language) == expected


def test_a_row_that_lacks_a_cell_stays_in_the_table_of_its_kind():
    short = (("Part", "Pump"), ("Cost", "6"))
    table = rows((("Part", "Tank"), ("Note", "wide"), ("Cost", "5")), short, short)
    assert shown(table).splitlines()[2:4] == ["| Tank | wide | 5 | [1][9] |", "| Pump |  | 6 | [2][9] |"]


def test_what_a_record_is_about_are_its_leading_names():
    cells = (("Region", "North"), ("Store", "Plant 3"), ("Cost", "€5"), ("Year", "2024"))
    other = (("Region", "North"), ("Heat", "7"))
    assert shown(rows(cells, other)).splitlines()[2] == "| North · Plant 3 | Cost: €5; Year: 2024 | [1][9] |"


def test_rows_of_different_kinds_are_records():
    mixed = rows(
        (("Part", "Tank"), ("Cost", "5")), (("Part", "Pump"), ("Cost", "6")), (("Year", "2024"), ("Heat", "7"))
    )
    assert shown(mixed).splitlines()[0] == "| Record | Values | Source |"


def test_rows_that_somebody_wrote_keep_their_columns_however_few():
    made = [row((("Port", name), ("Cost", cost)), ("e1",)) for name, cost in (("Halden", "€5"), ("Lund", "€6 | net"))]
    assert shown(Paragraph(section="C", kind="table", sentences=tuple(made))).splitlines() == [
        "| Port | Cost | Source |",
        "| --- | --- | --- |",
        "| Halden | €5 | [1] |",
        "| Lund | €6 \\| net | [1] |",
    ]


@pytest.mark.parametrize("count", [1, 2])
def test_a_table_that_a_model_wrote_stays_one_however_few_rows_are_left(count):
    text = "| Country | Price |\n| --- | --- |\n| Norway | €5 [E1] |\n| Sweden | €6 [E1] |\n| Wrong | €9 [E1] |\n"
    [written] = prose.read_report(text, {"E1": "e1"}, language="en").paragraphs
    quoted = {"verdict": Verdict(kind="supported", reason="verbatim")}
    left = tuple(one.model_copy(update=quoted) for one in written.sentences[:count])
    head, _, first, *_ = shown(written.model_copy(update={"sentences": left})).splitlines()
    assert (head, first) == ("| Country | Price | Source |", "| Norway | €5 | [1] |")


def test_a_row_without_a_label_or_with_a_single_cell_is_shown():
    assert shown(rows((("", "Tank"), ("2024", "5")))) == "Tank; 2024: 5 [1][9]"
    assert shown(rows((("Part", "Tank"),))) == "Part: Tank [1][9]"


@pytest.mark.parametrize(
    ("language", "head"), [("en", "| Figure | Statement | Source |"), ("zh-Hans", "| 数字 | 原文 | 来源 |")]
)
def test_statements_that_disagree_stand_behind_their_figures(language, head):
    statements = (
        Sentence(text="It cost €5 million | net.", lead="€5 million", evidence=("e1",)),
        Sentence(text="它花了\n€8 million。", lead="€8 million", evidence=("e2",)),
    )
    assert shown(Paragraph(section="C", kind="table", sentences=statements), language).splitlines() == [
        head,
        "| --- | --- | --- |",
        "| €5 million | It cost €5 million \\| net. | [1] |",
        "| €8 million | 它花了 €8 million。 | [2] |",
    ]


@pytest.mark.parametrize("count", [2, 3])
def test_a_reader_of_markdown_sees_the_table_that_was_meant(count):
    tokens = MarkdownIt().enable("table").parse(shown(parts(count)))
    assert tokens[0].type == "table_open"
    assert sum(token.type == "tr_open" for token in tokens) == count + 1
    assert sum(token.type == "td_open" for token in tokens) == count * (4 if count == 3 else 3)


@pytest.mark.parametrize(
    ("language", "head"),
    [("en", "| Statement | Source |"), ("zh-Hans", "| 原文 | 来源 |"), ("zh-Hant", "| 原文 | 來源 |")],
)
def test_quotations_alone_are_a_table_of_statements(language, head):
    quotes = Paragraph(section="C", kind="table", sentences=told("It cost 5 | 6.", "它花了5元。").sentences)
    assert shown(quotes, language).splitlines() == [
        head,
        "| --- | --- |",
        "| It cost 5 \\| 6. | [1] |",
        "| 它花了5元。 | [1] |",
    ]


def test_a_caption_is_a_label_on_a_line_of_its_own():
    assert (
        shown(Paragraph(section="C", kind="caption", sentences=(Sentence(text="Further\nfigures"),)))
        == "**Further figures**"
    )


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Bills rose.", "Bills rose. (only partly supported) [1] Done. [1]"),
        ("zh-Hans", "费用上升。", "费用上升。（仅部分得到支持）[1]Done. [1]"),
        ("zh-Hant", "費用上升。", "費用上升。（僅部分得到支持）[1]Done. [1]"),
    ],
)
def test_what_is_partly_supported_says_so_before_its_markers(language, text, expected):
    doubtful = Sentence(text=text, evidence=("e1",), verdict=Verdict(kind="partly"))
    done = Sentence(text="Done.", evidence=("e1",), verdict=Verdict(kind="not_checked"))
    assert shown(Paragraph(section="C", sentences=(doubtful, done)), language) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "One waits.", "One waits. ∴[1][2]"),
        ("en", "So one waits.", "So one waits. [1][2]"),
        ("en", "We recommend to wait.", "We recommend to wait. [1][2]"),
        ("zh-Hans", "等待为好。", "等待为好。∴[1][2]"),
        ("zh-Hans", "因此应当等待。", "因此应当等待。[1][2]"),
        ("zh-Hant", "等待為好。", "等待為好。∴[1][2]"),
        ("zh-Hant", "我們建議等待。", "我們建議等待。[1][2]"),
    ],
)
def test_a_conclusion_has_a_sign_where_its_words_do_not_tell_it(language, text, expected):
    made = Sentence(text=text, kind="conclusion", evidence=("e2", "e1"))
    assert shown(Paragraph(section="C", sentences=(made,)), language) == expected
    finding = made.model_copy(update={"kind": "finding"})
    assert shown(Paragraph(section="C", sentences=(finding,)), language) == expected.replace("∴", "")
    bare = made.model_copy(update={"evidence": ()})
    assert shown(Paragraph(section="C", sentences=(bare,)), language) == text


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "It cost 5. [1] So it is dear. We would wait. [2] It is cheap, we think. It is old. [3]"),
        ("zh-Hans", "共5元。[1]因此很贵。我们建议等待。[2]我们认为便宜。已很旧。[3]"),
        ("zh-Hant", "共5元。[1]因此很貴。我們建議等待。[2]我們認為便宜。已很舊。[3]"),
    ],
)
def test_a_paragraph_names_the_sources_of_its_own_conclusions_once(language, expected):
    stop = "." if language == "en" else "。"
    bare = expected.translate(str.maketrans("", "", "[]123"))
    first, second, third, fourth, fifth = (f"{part.strip()}{stop}" for part in bare.split(stop) if part.strip())
    sentences = (
        Sentence(text=first, evidence=("e1",)),
        Sentence(text=second, kind="conclusion", evidence=("e2",)),
        Sentence(text=third, kind="conclusion", evidence=("e2",)),
        Sentence(text=fourth, kind="conclusion", evidence=("e1",)),
        Sentence(text=fifth, evidence=("e3",)),
    )
    assert shown(Paragraph(section="C", sentences=sentences), language) == expected


def test_a_paragraph_has_one_sign_at_most():
    sentences = tuple(
        Sentence(text=text, kind="conclusion", evidence=(evidence,))
        for text, evidence in (("It is dear.", "e1"), ("It is old.", "e2"), ("It is loud.", "e3"))
    )
    assert shown(Paragraph(section="C", sentences=sentences)) == "It is dear. ∴[1] It is old. [2] It is loud. [3]"
    told = sentences[-1].model_copy(update={"text": "We would wait."})
    assert "∴" not in shown(Paragraph(section="C", sentences=(*sentences[:2], told)))


def test_a_sentence_prints_three_numbers_of_the_documents_that_it_rests_on_most():
    made = Sentence(text="It grew.", evidence=("e1", "e2", "e3", "e4", "e5", "e05"))
    assert shown(Paragraph(section="C", sentences=(made,))) == "It grew. [3][4][5]"


def test_a_row_that_is_concluded_or_computed_says_so_where_its_sources_stand():
    cells = (
        (("Port", "Halden"), ("Cost", "€5")),
        (("Port", "Lund"), ("Cost", "€6")),
        (("Port", "Both"), ("Cost", "€11")),
    )
    found, concluded, computed = (row(own, ("e1",)) for own in cells)
    concluded = concluded.model_copy(update={"kind": "conclusion"})
    computed = computed.model_copy(update={"kind": "calculation", "basis": "5 + 6 = 11"})
    table = Paragraph(section="C", kind="table", sentences=(found, concluded, computed))
    assert shown(table).splitlines()[2:] == [
        "| Halden | €5 | [1] |",
        "| Lund | €6 | ∴[1] |",
        "| Both | €11 | ∴[1] |",
    ]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "No source names the builder.", "It cost 5. [1] No source names the builder. [1][2]"),
        ("zh-Hans", "没有资料提到承建方。", "It cost 5. [1] 没有资料提到承建方。[1][2]"),
        ("zh-Hant", "沒有資料提到承建方。", "It cost 5. [1] 沒有資料提到承建方。[1][2]"),
    ],
)
def test_what_is_absent_cites_what_comes_closest(language, text, expected):
    absent = Sentence(text=text, kind="absence", basis="builder", evidence=("e2", "e1"))
    found = Sentence(text="It cost 5.", evidence=("e1",))
    assert shown(Paragraph(section="C", sentences=(found, absent)), language) == expected
    alone = Paragraph(section="C", kind="note", sentences=(absent.model_copy(update={"evidence": ()}),))
    assert shown(alone, language) == text


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "It is 12. ({}) [1]"),
        ("zh-Hans", "It is 12. （{}）[1]"),
        ("zh-Hant", "It is 12. （{}）[1]"),
    ],
)
@pytest.mark.parametrize(
    ("basis", "printed"),
    [
        ("3 * 4 = 12", "3 × 4 = 12"),
        ("20132*82/100 = 16508.24", "20,132 × 82 ÷ 100 = 16,508.24"),
        ("(2024 - 2021) / 3 = 1", "(2024 - 2021) ÷ 3 = 1"),
        ("1,200,000 + 0.1 + 0.2 = 1200000.3", "1,200,000 + 0.1 + 0.2 = 1,200,000.3"),
    ],
)
def test_a_calculation_shows_what_was_computed(language, expected, basis, printed):
    made = Sentence(text="It is 12.", kind="calculation", basis=basis, evidence=("e1",))
    assert shown(Paragraph(section="C", sentences=(made,)), language) == expected.format(printed)


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize("basis", ["1 + " * 10 + "1 = 11", "67 - 35 = 32", "5 + 6 = 11"])
def test_a_long_calculation_and_one_done_in_the_head_are_marked_like_a_conclusion(language, basis):
    made = Sentence(text="It is 12.", kind="calculation", basis="3 * 4 = 12", evidence=("e1",))
    long = made.model_copy(update={"basis": basis})
    assert shown(Paragraph(section="C", sentences=(long,)), language) == shown(
        Paragraph(section="C", sentences=(made.model_copy(update={"kind": "conclusion"}),)), language
    )


@pytest.mark.parametrize(("language", "stop"), [("en", "."), ("zh-Hans", "。"), ("zh-Hant", "。")])
def test_items_of_a_list_stand_below_each_other_with_their_points_in_bold(language, stop):
    def item(mark: ListMark, lead: str, text: str) -> Paragraph:
        return Paragraph(section="C", mark=mark, lead=lead, sentences=told(text).sentences)

    lead = Paragraph(section="C", kind="note", sentences=(Sentence(text="Three steps:"),))
    paragraphs = (lead, item("number", "Wait", "One."), item("number", "", "Two."), item("bullet", "*x*", "Three."))
    report = ReportLayout(title="T", chapters=(Chapter(title="C", paragraphs=paragraphs),), run_line="x")
    text = render(report, Citations(), number_of=lambda id_: int(id_[1:]), words=words_in(language))
    body = f"Three steps:\n\n1. **Wait{stop}** One. [1]\n2. Two. [1]\n\n- **\\*x\\*{stop}** Three. [1]"
    assert text.split("## C\n\n")[1].split("\n\n## ")[0] == body
    tokens = [token.type for token in MarkdownIt().parse(body)]
    assert (tokens.count("ordered_list_open"), tokens.count("bullet_list_open")) == (1, 1)
    assert tokens.count("list_item_open") == 3
    assert [block.kind for block in read_report(text).blocks if "[1]" in block.text] == ["item"] * 3


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_what_the_run_did_is_one_part_at_the_end_that_needs_no_citation(language):
    say = words_in(language)
    report = ReportLayout(title="T", about=("Two pages.", "By a pen."), run_line="x")
    text = render(report, Citations(), number_of=int, words=say)
    assert f"\n\n## {say('report.about')}\n\n- Two pages.\n- By a pen.\n\n---" in text
    assert [block.is_exempt for block in read_report(text).blocks if "pen" in block.text] == [True]


def backed(*backings: Backing) -> Paragraph:
    sentences = tuple(
        Sentence(text="It cost much.", evidence=(f"e{at}",), lead=f"€{at}", backing=backing)
        for at, backing in enumerate(backings, start=1)
    )
    return Paragraph(section="C", kind="table", sentences=sentences)


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize("mark", ["bullet", ""])
def test_what_the_writer_leaves_open_and_what_could_not_be_read_stand_under_one_heading(language, mark):
    words = words_in(language)
    left_open = Paragraph(section="G", mark=mark, sentences=(Sentence(text="No source states the interest."),))
    report = ReportLayout(
        title="T",
        chapters=(
            Chapter(title="C", paragraphs=(told("Bills rose."),)),
            Chapter(title=words("report.gaps"), paragraphs=(left_open,)),
        ),
        gaps=("Not read: audit.pdf.",),
        run_line="x",
    )
    text = render(report, Citations(), number_of=lambda id_: int(id_[1:]), words=words)
    assert text.count(f"## {words('report.gaps')}\n") == 1
    own = text.split(f"## {words('report.gaps')}\n\n")[1].split("\n\n##")[0]
    parting = "\n" if mark else "\n\n"
    assert own == f"{'- ' if mark else ''}No source states the interest.{parting}- Not read: audit.pdf."


def test_a_backed_figure_shows_origins_dates_and_where_else_it_stands():
    alone = Backing(origins=1)
    table = backed(Backing(origins=2, published="2026", oldest="2025-05", newest="2026", also=("e4", "e3")), alone)
    assert shown(table).splitlines()[2:] == [
        "| €1 | It cost much. | 2; also [3][4] | 2026 (all: 2025-05 – 2026) | [1] |",
        "| €2 | It cost much. | 1 | – | [2] |",
    ]


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", "€9 [4]; €8 [5]"), ("zh-Hans", "€9 [4]；€8 [5]"), ("zh-Hant", "€9 [4]；€8 [5]")],
)
def test_other_figures_have_a_column_where_there_are_any(language, expected):
    day, others = "2026-01-02", (("€9", "e4"), ("€8", "e5"))
    table = backed(Backing(against=others, published=day, oldest=day, newest=day), Backing())
    head, _, first, second = shown(table, language).splitlines()
    assert head.split(" | ")[3] == words_in(language)("report.others")
    assert first == f"| €1 | It cost much. | 1 | {expected} | 2026-01-02 | [1] |"
    assert second == "| €2 | It cost much. | 1 | – | – | [2] |"


def test_all_that_backs_a_statement_is_cited():
    paragraph = backed(Backing(also=("e4",), against=(("€9", "e5"),)), Backing(also=("e1",)))
    assert paragraph.cite_ids == ("e1", "e2", "e4", "e5")


def test_a_small_heading_stands_once_above_its_paragraphs_and_is_no_claim():
    end = note("C", "More is to be found out.").model_copy(update={"lead": "Next"})
    paragraphs = (*(told("Bills rose.").model_copy(update={"lead": lead}) for lead in ("Costs", "Costs", "")), end)
    report = ReportLayout(title="T", chapters=(Chapter(title="C", paragraphs=paragraphs),), run_line="x")
    text = render(report, Citations(), number_of=lambda id_: int(id_[1:]), words=words_in("en"))
    body = "\n\n".join(["**Costs**", *["Bills rose. [1]"] * 3, "**Next**", "More is to be found out."])
    assert text.split("## C\n\n")[1].split("\n\n## ")[0] == body
    assert [block.kind for block in read_report(text).blocks if block.text.startswith("**")] == ["label", "label"]


def test_the_opening_is_the_answer_with_its_sources_and_what_was_assumed():
    report = (
        "# Cost?\n\n**Please note**\n\n- In euros\n\n## Answer\n\nIt cost 5 euros. [2]\n\n## More\n\nText. [1]\n\n"
        "## References\n\n[1] One - one.md  \n[2] Two - two.md (p. 3)  \n[3] Three - three.md\n"
    )
    shown = "## Answer\n\nIt cost 5 euros. [2]\n\n[2] Two - two.md (p. 3)\n\n**Please note**\n\n- In euros"
    assert opening_of(report) == shown
    assert opening_of("# 问题\n\n## 答案\n\n没有找到。\n") == "## 答案\n\n没有找到。"
