"""Runs with figures and tables, from the command to a file in each format, in English and Chinese."""

import io
import json
from pathlib import Path

import docx
import pypdfium2 as pdfium
import pytest

from deep_research.export.formats import FORMATS
from tests.e2e.harness import User, assert_explained
from tests.support.examples import EXAMPLES, copy_index
from tests.support.longer import first_of

QUESTIONS = {
    "en": "How did the availability of the heat pumps and the cost of Harbour Heat develop?",
    "zh-Hans": "青岚市的海绵城市改造花了多少钱，效果如何？",
}


def _ask(user: User, language: str, file: str) -> None:
    copy_index(user.home)
    ended = user.call(
        *("ask", QUESTIONS[language], "--docs", str(EXAMPLES), "--strategy", "local", "--output", file, "--quiet"),
        DEEP_RESEARCH_CHARTS="true",
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.long
@pytest.mark.parametrize("language", first_of(sorted(QUESTIONS)))
def test_a_run_is_written_in_every_format(tmp_path: Path, language: str) -> None:
    user = User(tmp_path)
    _ask(user, language, "report.pdf")
    report = user.report()
    assert "![" in report
    assert "| --- |" in report
    run = user.only_run().id
    for name in sorted(set(FORMATS) - {"pdf"}):
        ended = user.call("export", run[:8], "-o", f"report.{name}")
        assert ended.returncode == 0, ended.stderr
    files = {name: (tmp_path / f"report.{name}").read_bytes() for name in FORMATS}
    figure, sources = report.count("!["), json.loads(files["csl"])

    pages = pdfium.PdfDocument(files["pdf"])
    printed = "".join("".join(page.get_textpage().get_text_bounded() for page in pages).split())
    assert "".join(QUESTIONS[language].split()) in printed
    for source in sources:
        assert "".join(source["title"].split()) in printed.replace("\u200b", "")

    word = docx.Document(io.BytesIO(files["docx"]))
    assert word.paragraphs[0].text == QUESTIONS[language]
    assert len(word.inline_shapes) == figure
    assert word.tables

    data = json.loads(files["json"])
    assert data["text"].rpartition("---")[0] == report.rpartition("---")[0]
    assert data["isVerified"] is True
    assert [source["name"] for source in data["citation"]] == [source["title"] for source in sources]
    assert files["bib"].decode().count("@misc{") == files["ris"].decode().count("TY  - ") == len(sources)
    assert user.call("export", run, "-f", "pdf", "-o", "again.pdf").returncode == 0
    assert (tmp_path / "again.pdf").read_bytes() == files["pdf"]


def test_a_format_that_is_not_known_is_explained(tmp_path: Path) -> None:
    told = assert_explained(User(tmp_path).call("export", "abc", "-f", "odt"), 64)
    assert "docx" in told
