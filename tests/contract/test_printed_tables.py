"""Tables that a real browser prints to PDF, in English and Chinese: ruled, aligned, grouped, over pages; and prose."""

import subprocess
from pathlib import Path

import pytest

from deep_research.documents.readers import read
from deep_research.web.fetch.chromium import find_chromium
from tests.support.programs import FONTS, needs
from tests.support.waiting import HANG_S

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.long,
    needs("chromium"),
    needs(FONTS),
]
RULED = "table { border-collapse: collapse } td, th { border: 1px solid; padding: 3px 6px }"
ALIGNED = "table { width: 100% } td, th { padding: 3px 6px }"
PROSE = "The plant was rebuilt in 2019 and now serves 41,000 households in the valley; 该厂于2019年重建。" * 8


def printed(folder: Path, style: str, body: str) -> str:
    page, file = folder / "page.html", folder / "page.pdf"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style>{body}", encoding="utf-8")
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-pdf-header-footer",
        f"--user-data-dir={folder}/profile",
    )
    subprocess.run(
        [str(CHROMIUM), *options, f"--print-to-pdf={file}", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=HANG_S,
    )
    return read(file.read_bytes(), name="page.pdf").text


def row(cells: str, tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells.split("|")) + "</tr>"


@pytest.mark.parametrize("style", [RULED, ALIGNED])
def test_a_grouped_table_over_pages_is_one_table(tmp_path: Path, style: str):
    head = "<tr><th rowspan=2>Site 厂区</th><th colspan=2>2023</th><th colspan=2>2024</th></tr>" + row(
        "GWh|Share|GWh|占比", "th"
    )
    rows = [f"Plant {n}号厂|{n * 7}|{n % 90}%|{n * 11}|{n % 70}%" for n in range(1, 80)]
    body = f"<p>{PROSE}</p><table><thead>{head}</thead>{''.join(map(row, rows))}</table><p>{PROSE}</p>"
    text = printed(tmp_path, style, body)
    lines = ["Site 厂区|2023 – GWh|2023 – Share|2024 – GWh|2024 – 占比", *rows]
    assert "\n".join("| " + line.replace("|", " | ") + " |" for line in lines) in text
    assert text.count("2023 – GWh") == 1


def test_prose_in_columns_is_no_table(tmp_path: Path):
    text = printed(
        tmp_path, "div { columns: 2; text-align: justify }", f"<h1>Prose</h1><div>{f'<p>{PROSE}</p>' * 5}</div>"
    )
    assert "|" not in text
