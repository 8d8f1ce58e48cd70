"""What has changed is shown as Markdown and as a page that loads and runs nothing, whatever a source says."""

import re
from html.parser import HTMLParser

import pytest

from deep_research.export.changes import changes_as_html, changes_as_markdown
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from deep_research.verify.changes import Changes, Claim, Edit, FigureChange, SourceChange, Version

HOSTILE = "<script>alert(1)</script> **bold** [link](http://evil.test) | <img src=x onerror=alert(1)> \u202eabc"
CHANGES = Changes(
    before=Version(run="a" * 32, title="T", created_at="2026-01-01 10:00"),
    after=Version(run="b" * 32, title=f"T {HOSTILE}", created_at="2026-02-01 10:00"),
    is_update=True,
    claims=(
        Claim(
            kind="changed",
            before=f"It cost 5. {HOSTILE}",
            sources=("a.md",),
            edits=(
                Edit(before=f"It cost 5 million {HOSTILE}", after=f"It cost 6 million {HOSTILE}"),
                Edit(after=HOSTILE),
            ),
        ),
        Claim(kind="gone", before=HOSTILE, sources=('http://evil.test/"><script>',), reason=HOSTILE),
        Claim(kind="unchecked", before="x", sources=("b.md",), reason=HOSTILE),
        Claim(kind="new", after=HOSTILE, sources=("c.md",)),
        Claim(kind="still", before="y", sources=("c.md",), lost=("d.md",)),
    ),
    sources=(SourceChange(kind="renamed", title=HOSTILE, address="n.md", was="o.md", edits=(Edit(before=HOSTILE),)),),
    figures=(FigureChange(kind="changed", title=HOSTILE, values=((HOSTILE, "1", "2"),)),),
)


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.marked: dict[str, list[str]] = {"del": [], "ins": []}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in self.marked and self.get_starttag_text() == f"<{self.tags[-1]}>":
            self.marked[self.tags[-1]].append(data)


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_a_page_holds_no_markup_but_ours(language: Language) -> None:
    page = changes_as_html(CHANGES, words_in(language))
    seen = _Page(page)
    ours = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "section",
        "h1",
        "h2",
        "p",
        "ul",
        "li",
        "del",
        "ins",
    }
    assert set(seen.tags) <= ours
    assert {name for name, _ in seen.attributes} <= {"lang", "charset", "name", "content", "http-equiv", "class"}
    assert seen.marked["del"][0] == "5"
    assert seen.marked["ins"][0] == "6"
    assert "\u202e" not in page
    assert "default-src 'none'" in page
    assert f'lang="{language}"' in page


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_markdown_holds_no_markup_but_ours(language: Language) -> None:
    text = changes_as_markdown(CHANGES, words_in(language))
    assert re.search(r"(?<!\\)<", text) is None
    assert re.search(r"(?<!\\)\]\(", text) is None
    assert "It cost **5** million" in text
    assert "It cost **6** million" in text
    assert next(line for line in text.splitlines() if line.startswith("## ")).endswith("(1)")
    assert "aaaaaaaa" in text.splitlines()[2]
