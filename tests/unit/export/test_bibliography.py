"""References for other programs, read back by strict rules of each format."""

import json
import re

import pytest

from deep_research.export.bibliography import to_bibtex, to_csl, to_ris
from deep_research.export.contents import Contents
from deep_research.report.citation import Source
from tests.support.editions import contents

TITLE = r"50% of $x_1$ & {braces} #1 \textbf{x} ~a^b “Ümlaut” 青岚市 @misc{y,"
SOURCES = [
    Source(
        document="a1",
        title=TITLE,
        address="https://doi.org/10.1000/xyz_(1)#part",
        author="Jane Doe; Müller and Sons; 王伟",
        published="2024-05-06T07:08:09",
        language="en",
    ),
    Source(document="a2", title="On heat", address="https://arxiv.org/abs/2401.01234v2", published="2024-01"),
    Source(document="a3", title="On heat", address="https://example.org/a b{c}", published="2024"),
    Source(document="b4c5d6e7f8", title="青岚市总结报告", address="报告/总结 {1}.pdf", language="zh-Hans"),
    Source(document="c5", title="Two\nlines\r\nER  - x", address="https://example.org/10.1000/no-doi"),
]
_ENTRY = re.compile(r"@(\w+)\{([A-Za-z0-9-]+),\n((?:  \w+ = \{.*\},\n)+)\}\n")
_TEX = re.compile(r"\\(textbackslash|textasciicircum|textasciitilde)\{\}|\\([{}$&#_%])")


def _made() -> Contents:
    return contents(sources=SOURCES)


def _unescaped(value: str) -> str:
    signs = {"textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~"}
    bare = _TEX.sub("", value)
    assert not re.search(r"[\\{}$&#_%^~]", bare), bare
    return _TEX.sub(lambda match: signs[match[1]] if match[1] else match[2], value)


def _bibtex(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    found = {}
    assert _ENTRY.sub("", text).strip() == ""
    for kind, key, body in _ENTRY.findall(text):
        assert key not in found
        fields = re.findall(r"  (\w+) = \{(.*)\},\n", body)
        assert len(fields) == len(dict(fields))
        found[key] = (kind, dict(fields))
    return found


def test_bibtex_is_escaped_and_says_what_is_known() -> None:
    entries = list(_bibtex(to_bibtex(_made()).decode()).values())[4:]
    kind, fields = entries[0]
    assert kind == "article"
    assert _unescaped(fields["title"].removeprefix("{").removesuffix("}")) == TITLE
    assert fields["author"] == "{Jane Doe} and {Müller and Sons} and {王伟}"
    assert (fields["year"], fields["month"], fields["day"]) == ("2024", "5", "6")
    assert fields["doi"] == "10.1000/xyz_(1)"
    assert fields["urldate"] == "2026-03-04"
    assert (entries[1][1]["eprint"], entries[1][1]["archiveprefix"]) == ("2401.01234", "arXiv")
    assert entries[2][1]["url"] == "https://example.org/a%20b%7Bc%7D"
    assert _unescaped(entries[3][1]["howpublished"]) == "报告/总结 {1}.pdf"
    assert entries[3][1]["langid"] == "chinese"
    assert "url" not in entries[3][1]
    assert "doi" not in entries[4][1]


def test_keys_are_unique_and_stay_when_sources_are_added() -> None:
    keys = list(_bibtex(to_bibtex(_made()).decode()))
    assert len(keys) == len(set(keys)) == 9
    assert keys[5:8] == ["on-heat-2024", "on-heat-2024-2", "source-b4c5d6e7"]
    fewer = list(_bibtex(to_bibtex(contents(sources=SOURCES[:3])).decode()))
    assert fewer == keys[:7]


def test_ris_has_one_line_for_each_fact() -> None:
    text = to_ris(_made()).decode()
    lines = text.split("\r\n")
    assert "\n" not in text.replace("\r\n", "")
    assert all(line == "" or re.match(r"[A-Z][A-Z0-9]  - ", line) for line in lines)
    records = [record.split("\r\n") for record in text.strip().split("\r\n\r\n")]
    assert len(records) == 9
    for record in records:
        assert record[0].startswith("TY  - ")
        assert record[-1].rstrip() == "ER  -"
        assert sum(line.startswith("TY") for line in record) == sum(line.startswith("ER") for line in record) == 1
    article = records[4]
    assert {"TY  - JOUR", f"TI  - {TITLE}", "AU  - Jane Doe", "DA  - 2024/05/06/", "Y2  - 2026/03/04/"} <= set(article)
    assert [record[0] for record in records[5:]] == ["TY  - UNPB", "TY  - ELEC", "TY  - GEN", "TY  - ELEC"]
    assert "DA  - 2024/01//" in records[5]


def test_csl_says_the_same_as_data() -> None:
    items = json.loads(to_csl(_made()))
    assert len({item["id"] for item in items}) == 9
    article = items[4]
    assert article["type"] == "article-journal"
    assert article["title"] == TITLE
    assert article["DOI"] == "10.1000/xyz_(1)"
    assert article["issued"] == {"date-parts": [[2024, 5, 6]]}
    assert article["accessed"] == {"date-parts": [[2026, 3, 4]]}
    assert article["author"][0] == {"literal": "Jane Doe"}
    assert [item["type"] for item in items[5:]] == ["article", "webpage", "document", "webpage"]
    assert "URL" not in items[7]


@pytest.mark.parametrize("make", [to_bibtex, to_ris, to_csl])
def test_a_report_without_sources_has_no_references(make: object) -> None:
    made = contents()
    edition = made.edition.model_copy(
        update={"citations": made.edition.citations.model_copy(update={"cited": ()}), "passages": ()}
    )
    assert callable(make)
    assert make(Contents(edition, {}, "", True, "/nowhere")).strip() in (b"", b"[]")
