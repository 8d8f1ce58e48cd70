"""A run's report as a page, from the command: all that the shipped Markdown says stands in it."""

from pathlib import Path

import pytest
from lxml import html
from markdown_it import MarkdownIt

from tests.e2e.harness import User
from tests.support.examples import EXAMPLES, copy_index
from tests.support.longer import first_of

QUESTIONS = {
    "en": "How much did the Halden Bay heat pump retrofit cost and what did it achieve?",
    "zh-Hans": "青岚市的海绵城市改造花了多少钱，效果如何？",
}


@pytest.mark.long
@pytest.mark.parametrize("language", first_of(sorted(QUESTIONS)))
def test_a_page_says_what_the_shipped_report_says(tmp_path: Path, language: str):
    user = User(tmp_path)
    copy_index(user.home)
    ended = user.call(
        *("ask", QUESTIONS[language], "--docs", str(EXAMPLES), "--strategy", "local", "--output", "report.html"),
        DEEP_RESEARCH_CHARTS="true",
    )
    assert ended.returncode == 0, ended.stderr
    made = (tmp_path / "report.html").read_bytes()
    page = html.document_fromstring(made)
    assert page.get("lang") == language
    shown = squeezed(page.text_content())
    markdown = user.report().rpartition("---")[0]
    body = html.fromstring(f"<div>{MarkdownIt('commonmark').enable('table').render(markdown)}</div>")
    blocks = body.xpath(".//h1 | .//h2 | .//p | .//li | .//td | .//th")
    listed = ("References", "参考文献", "Citation Statistics:", "引用统计：")
    told = [text for block in blocks if (text := squeezed(block.text_content())) and not text.startswith("[")]
    missing = [text for text in told if text not in shown and text not in map(squeezed, listed)]
    assert missing == []
    assert user.call("export", user.only_run().id[:8], "-f", "html", "-o", "again.html").returncode == 0
    assert (tmp_path / "again.html").read_bytes() == made


def squeezed(text: str) -> str:
    return "".join(text.split())
