"""Tables of PDF files: by ruled lines or by columns, over pages, in both languages; and what must stay prose."""

from collections.abc import Sequence

import pytest

from deep_research.documents.readers import Reading, place_of, read
from deep_research.text.tables import find_tables
from tests.unit.documents.readers.pdf_files import Spot, Stroke, make_drawn_pdf

COLUMNS = (50, 250, 400, 550)
SITES = [
    ["Site", "Capacity (MW)", "Operator", "Start"],
    ["North", "14.7", "Halden Ltd", "2019-02-15"],
    ["Upper Harbour", "78.9", "City of Lee", "2017-08-15"],
    ["Bridge", "10.6", "Orvane", "2017-01-15"],
]
CHINESE_SITES = [
    ["厂区", "装机容量（兆瓦）", "运营方", "投产日期"],
    ["北厂", "14.7", "海登公司", "2019年2月"],
    ["上港厂", "78.9", "市政府", "2017年8月"],
    ["桥厂", "10.6", "奥凡", "2017年1月"],
]
PROSE = "The plant was rebuilt in 2019 and serves 41,000 households in the valley, more than before."
CHINESE_PROSE = "该厂于2019年重建，目前为山谷中的41000户家庭供电，产量增长了百分之十二，超过了以往任何一年的水平。"


def spots(rows: Sequence[Sequence[str]], top: float = 700, columns: Sequence[float] = COLUMNS) -> list[Spot]:
    return [
        (columns[column], top - 20 * row, cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
        if cell
    ]


def grid(rows: int, top: float = 716, columns: Sequence[float] = (44, 244, 394, 544, 700)) -> list[Stroke]:
    bottom = top - 20 * rows
    lying = [(columns[0], top - 20 * row, columns[-1], top - 20 * row) for row in range(rows + 1)]
    return lying + [(x, top, x, bottom) for x in columns]


def lines(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def of_page(texts: Sequence[Spot], strokes: Sequence[Stroke] = ()) -> Reading:
    return read(make_drawn_pdf([(texts, strokes)]), name="a.pdf")


@pytest.mark.parametrize("is_ruled", [True, False])
@pytest.mark.parametrize(("rows", "prose"), [(SITES, PROSE), (CHINESE_SITES, CHINESE_PROSE)])
def test_a_table_between_paragraphs_is_read_as_rows_under_its_header(rows, prose, is_ruled: bool):
    texts = [(50, 740, prose), *spots(rows), (50, 590, prose)]
    reading = of_page(texts, grid(4) if is_ruled else ())
    assert reading.text == f"{prose}\n\n{lines(rows)}\n\n{prose}"
    (table,) = find_tables(reading.text)
    assert table.header is not None
    assert table.header.cells == tuple(rows[0])


def test_lines_of_a_cell_are_joined_and_a_cell_over_two_rows_is_repeated():
    texts = [
        *((50, 700, "Region"), (250, 700, "Plant"), (400, 700, "Cost")),
        *((50, 670, "North"), (250, 680, "Upper"), (250, 668, "Harbour"), (400, 675, "12")),
        *((250, 650, "Bridge"), (400, 650, "7")),
    ]
    bounds = (44, 244, 394, 500)
    strokes = [(44, y, 500, y) for y in (716, 694, 640)] + [(244, 662, 500, 662)] + [(x, 716, x, 640) for x in bounds]
    assert of_page(texts, strokes).text == lines(
        [["Region", "Plant", "Cost"], ["North", "Upper Harbour", "12"], ["North", "Bridge", "7"]]
    )


@pytest.mark.parametrize("is_ruled", [True, False])
@pytest.mark.parametrize(
    ("site", "years", "units"),
    [("Site", ("2023", "2024"), ("GWh", "Share")), ("厂区", ("2023年", "2024年"), ("亿度", "占比"))],
)
def test_a_name_over_several_columns_is_part_of_each(site: str, years, units, is_ruled: bool):
    columns = (50, 250, 350, 450, 550)
    head = [(50, 690, site), (300, 700, years[0]), (500, 700, years[1])]
    rows = [["", *units, *units], ["North", "21", "50%", "35", "61%"], ["South", "11", "20%", "12", "18%"]]
    strokes = [
        *((44, y, 640, y) for y in (716, 676, 656, 636)),
        *((x, 716, x, 636) for x in (44, 244, 444, 640)),
        *((x, 696, x, 636) for x in (344, 544)),
        (244, 696, 640, 696),
    ]
    reading = of_page([*head, *spots(rows, 680, columns)], strokes if is_ruled else ())
    names = [f"{year} – {unit}" for year in years for unit in units]
    assert reading.text == lines([[site, *names], *rows[1:]])


@pytest.mark.parametrize("has_header_again", [True, False])
@pytest.mark.parametrize("is_ruled", [True, False])
@pytest.mark.parametrize("rows", [SITES, CHINESE_SITES])
def test_a_table_over_a_page_break_stays_one_table(rows, is_ruled: bool, has_header_again: bool):
    more = [["South", "9.1", "Moor & Sons", "2011-08-15"], ["Lee", "3.3", "Halden Ltd", "2016-04-15"]]
    second = [rows[0], *more] if has_header_again else more
    pages = [
        ([*spots(rows), (400, 20, "Page 1 of 2")], grid(4) if is_ruled else ()),
        ([*spots(second), (400, 20, "Page 2 of 2")], grid(len(second)) if is_ruled else ()),
    ]
    reading = read(make_drawn_pdf(pages), name="a.pdf")
    assert reading.text == lines([*rows, *more])
    start = reading.text.index("| South")
    place = place_of(reading.places, start, start + 5)
    assert place is not None
    assert place.label == "2"


def test_another_table_on_the_next_page_keeps_its_own_header():
    other = [
        ["Depot", "Lorries", "Clerk", "Opened"],
        ["Lee", "12", "Ann Lee", "1999-01-01"],
        ["Moor", "7", "Bo", "2001-01-01"],
    ]
    reading = read(make_drawn_pdf([(spots(SITES), grid(4)), (spots(other), grid(3))]), name="a.pdf")
    assert reading.text == f"{lines(SITES)}\n\n{lines(other)}"


def test_rows_apart_by_rules_may_hold_sentences():
    texts = [
        *((50, 700, "Risk"), (250, 700, "Cost"), (320, 700, "What is done about it")),
        *((50, 664, "Flood"), (250, 664, "100")),
        *((320, 670, "A wall of sheet piles is built along the river, and"), (320, 658, "the pumps are moved up.")),
        *((50, 624, "Fire"), (250, 624, "200")),
        *((320, 630, "The hall gets sprinklers, and nobody may smoke in it"), (320, 618, "from May on.")),
    ]
    reading = of_page(texts, [(44, y, 640, y) for y in (716, 690, 650, 610)])
    assert reading.text == lines(
        [
            ["Risk", "Cost", "What is done about it"],
            ["Flood", "100", "A wall of sheet piles is built along the river, and the pumps are moved up."],
            ["Fire", "200", "The hall gets sprinklers, and nobody may smoke in it from May on."],
        ]
    )


def test_even_columns_of_words_are_a_table():
    rows = [
        ["Name", "Role", "Office"],
        ["Ann Lee", "Head", "Water"],
        ["Bo Moor", "Clerk", "Tax"],
        ["Cy Fox", "Driver", "Fleet"],
    ]
    assert of_page(spots(rows)).text == lines(rows)


def test_an_empty_cell_keeps_its_place():
    rows = [SITES[0], ["North", "14.7", "", "2019-02-15"], *SITES[2:]]
    assert of_page(spots(rows)).text == lines(rows)


@pytest.mark.parametrize("prose", [PROSE, CHINESE_PROSE])
def test_prose_in_two_columns_is_no_table(prose: str):
    left = [(50.0, 700.0 - 12 * row, prose[: 48 + row % 3]) for row in range(20)]
    right = [(480.0, 700.0 - 12 * row, prose[-48 - row % 4 :]) for row in range(20)]
    reading = of_page([*left, *right], [(44, 716, 800, 716), (44, 400, 800, 400)])
    assert "|" not in reading.text
    assert reading.text.index(prose[:20]) < reading.text.index(prose[-20:])


@pytest.mark.parametrize(
    "rows",
    [
        [["Introduction", "1"], ["Water and its uses", "7"], ["Pumps", "15"], ["Index", "90"]],
        [
            ["Invoice No.: 2024-113", "Date: 6 May 2024"],
            ["Customer: Lee", "Due: 5 June 2024"],
            ["Order: 7", "Clerk: 3"],
        ],
        [["1.", "Open valve 4 and wait."], ["2.", "Close valve 5."], ["3.", "Wait 10 minutes."]],
    ],
)
def test_contents_forms_and_lists_are_no_tables(rows):
    assert "|" not in of_page(spots(rows)).text


def test_a_frame_a_chart_and_a_drawing_are_no_tables():
    boxed = [(44.0, 716.0, 700.0, 716.0), (44, 600, 700, 600), (44, 600, 44, 716), (700, 600, 700, 716)]
    assert "|" not in of_page([(50, 700, PROSE)], boxed).text
    chart: list[Stroke] = [(100, float(y), 500, float(y)) for y in range(300, 600, 50)]
    chart += [(float(x), 300, float(x), 600) for x in range(100, 500, 50)]
    axis = [(float(x), 280.0, str(x)) for x in range(100, 500, 50)]
    assert "|" not in of_page([(50, 700, PROSE), *axis], chart).text
    drawing = [(float(n % 700), float(n % 600), float(n % 700), float(n % 600 + 40)) for n in range(30_000)]
    assert of_page([(50, 700, PROSE)], drawing).text == PROSE


def test_rare_characters_beside_and_in_a_table_are_kept():
    rows = [*SITES[:2], ["𠮷野 😀", "78.9", "City of Lee", "2017-08-15"], SITES[3]]
    reading = of_page([(50, 740, "Hello 😀 world."), *spots(rows)])
    assert reading.text == f"Hello 😀 world.\n\n{lines(rows)}"
