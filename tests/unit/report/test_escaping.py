"""Plain text as Markdown: every renderer shows exactly the text, and no sign of it is obeyed; and back again."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import html
from markdown_it import MarkdownIt

from deep_research.report.escaping import (
    escape,
    escape_address,
    escape_cell,
    escape_heading,
    escape_line,
    fence,
    one_line,
    unescape,
)

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
# Signs with a meaning, neighbours that change it, and the beginnings of what must not begin.
PIECES = [
    *r"\`*_~[]()<>!#+-.:;&|^$@/='\"{}0 aZ中。，",
    *("  ", "\t", "\n", "\r\n", "**", "__", "~~", "~~~", "```", "](", "![", "[^", "<!--", "-->", "<script>", "</p>"),
    *("<b", "<scr<b>ipt>", "&amp;", "&#60;", "&lt", "1. ", "9) ", "- ", "# ", "> ", "---", "===", "[1]", "[a]: /x"),
    *("https://", "www.", "javascript:", "a@b.co", "onerror=", "$x$", "\u3000", "\u00a0", "\x1b[31m", "\u202e"),
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
PLAIN = [
    "It cost $5 to $7 (about 5 * 3 per cent, < 10 %, <5 %), says a_b of AT&T, R&D and C++.",
    "Am 1. Mai, # 3 of 7; see C:\\new\\path and f(x) = x^2 - 1 [sic] | more ~5 %!",
    "《报告》称，费用为 5-7 亿元（约 3 + 4），同比增长 -2 %。",
]


def shown(markdown: str) -> list[str]:
    """Return the words of a page, and make sure that it holds nothing but text in plain blocks."""
    page = html.fromstring(f"<div>{RENDERER.render(markdown)}</div>")
    tags = {element.tag for element in page.iter()}
    assert tags <= {"div", "p", "h2", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "strong"}, markdown
    assert not any(element.attrib for element in page.iter()), markdown
    return str(page.text_content()).split()


@settings(max_examples=200, deadline=None)
@given(TEXT)
@example("<scr<b>ipt>alert(1)</scr</b>ipt>")
@example("[a](javascript:x) ![a](x \"onerror='x'\") <img src=x onerror=y> <javascript:x> <1@b.co>")
@example("\\*a\\* \\<b> &amp;lt; \\")
def test_a_renderer_shows_the_text_and_obeys_nothing_of_it(text):
    line, words = one_line(text), one_line(text).split()
    table = f"| {escape_cell(text)} | b |\n| --- | --- |\n| {escape_cell(text)} | d |"
    assert shown(table) == [*words, "b", *words, "d"]
    assert shown(f"{escape_line(text)} x") == [*words, "x"]
    assert shown(f"a {escape(text)} x") == ["a", *words, "x"]
    assert shown(f"- {escape_line(text)}\n- x") == [*words, "x"]
    assert shown(f"## {escape_heading(text)}") == words
    assert shown(f"**a{escape(text)}**") == f"a{line}".split()


@settings(max_examples=200, deadline=None)
@given(TEXT | st.text())
def test_what_was_escaped_reads_back_as_it_was(text):
    for escaped in (escape, escape_line, escape_cell, escape_heading):
        assert unescape(escaped(text)) == one_line(text)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_prose_stays_as_it_is(text):
    assert escape_line(text) == text


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("https://x.org/Mercury_(planet)?a=1&b=_c&d=%20~e", "https://x.org/Mercury_(planet)?a=1&b=%5Fc&d=%20~e"),
        ('https://x.org/a b<script>*c*`d`\\|"&lt;](y)', None),
        ("https://[2001:db8::1]/~a/~~b~~", "https://[2001:db8::1]/~a/%7E%7Eb%7E%7E"),
        ("docs/[1] my_file (2).pdf", "docs/\\[1] my_file (2).pdf"),
        ("javascript:alert(1)//x", "javascript:alert(1)\\//x"),
        ("data:text/html,<script>x</script>", "data:text/html,\\<script>x\\</script>"),
    ],
)
def test_an_address_is_a_web_address_or_plain_text(address, written):
    shown_text = escape_address(address)
    assert written in (None, shown_text)
    assert shown(f"a - {shown_text} (b)") == ["a", "-", *unescape(shown_text).split(), "(b)"]
    assert address.startswith("http") is ("://" in shown_text)


def test_a_long_text_stands_in_a_fence_that_it_cannot_end():
    text = "# a\n\n````\n<script>x</script>\n~~~\n[a]: javascript:x\n"
    page = html.fromstring(f"<div>{RENDERER.render(f'{fence(text)} ')}</div>")
    assert [element.tag for element in page.iter()] == ["div", "pre", "code"]
    assert page.text_content().strip() == text.strip()
