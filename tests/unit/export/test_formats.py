"""Which formats there are, and what is said where one cannot be made."""

import io
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import docx
import pypdfium2 as pdfium
import pytest

from deep_research.errors import UsageError
from deep_research.export.formats import FORMATS, check_format, exported, markdown_with_figures
from deep_research.report.citation import Source
from deep_research.request import Language
from tests.support.editions import contents


def test_a_format_without_its_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(UsageError, match=r"pip install 'deep-research\[pdf\]'"):
        check_format("pdf")
    check_format("docx")


# A bundle is made of the files of a run.
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"bundle"}))
def test_every_format_takes_a_report_without_figures_and_sources(name: str) -> None:
    assert isinstance(exported(contents(figures=()), name), bytes)


def test_markdown_brings_the_figures_that_it_links_to(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "figure-1.png").write_bytes(b"PNG")
    told = replace(contents(), markdown="![图](figures/figure-1.png)\n", folder=str(tmp_path))
    with zipfile.ZipFile(io.BytesIO(markdown_with_figures(told, "海绵城市.md"))) as archive:
        assert archive.namelist() == ["海绵城市.md", "figures/figure-1.png"]
        assert archive.read("海绵城市.md").decode() == told.markdown


def test_what_most_people_want_comes_first() -> None:
    assert list(FORMATS)[:2] == ["pdf", "docx"]


@pytest.mark.parametrize(("language", "byline"), [("en", "Ann Lee et al., 2015"), ("zh-Hans", "李安 等, 2015")])
def test_every_list_of_references_names_who_wrote_a_source_and_when(language: Language, byline: str) -> None:
    source = Source(document="x1", title="The valves", address="https://valves.test/7", byline=byline)
    told = contents(language, sources=[source])
    shown = f"The valves ({byline})"
    with pdfium.PdfDocument(exported(told, "pdf")) as printed:
        pages = " ".join(page.get_textpage().get_text_bounded() for page in printed)
    written = docx.Document(io.BytesIO(exported(told, "docx")))
    assert "".join(shown.split()) in "".join(pages.split())
    assert any(shown in "".join(paragraph.text.split("\n")) for paragraph in written.paragraphs)
    html = exported(told, "html").decode()
    assert html.count(shown) == 2
