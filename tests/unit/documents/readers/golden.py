"""What extractors, analyzer and index make of samples, kept by version: `golden.json` beside this file.

`python -m tests.unit.documents.readers.golden` writes it anew. Where the output of one
changed, its version must be raised first.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from deep_research.documents.corpus.documents import prepare
from deep_research.documents.corpus.index import INDEX_VERSION
from deep_research.documents.readers import read
from deep_research.documents.readers.versions import EXTRACTOR_VERSIONS, package_version
from deep_research.text.analyzer import ANALYZER_VERSION, analyze
from deep_research.value import digest
from tests.unit.documents.readers.office_files import (
    change_part,
    fill_sheets,
    fill_slides,
    make_docx,
    make_epub,
    make_mail,
    make_pptx,
    make_xlsx,
)
from tests.unit.documents.readers.pdf_files import make_pdf

FILE = Path(__file__).with_name("golden.json")
COMMAND = "python -m tests.unit.documents.readers.golden"
MARKDOWN = """# Costs of storage 储能成本

Costs fell by 12% to $1.2M in 2024; prices, GLP-1 and U.S. tariffs aside. 价格下降了百分之十二。

| Site | Cost |
| --- | --- |
| North | 1,234.50 |
| 南 | 20 |

- first point
- second point

## 结论

The long-term goal of 35 GWh stands. 長期目標不變。
"""
PAGE = f"""<!doctype html><html lang="en"><head><title>Costs of storage</title><meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2024-05-06"></head><body><nav>Home | News</nav><article>
<h1>Costs of storage</h1>{12 * "<p>Costs fell by 12% in 2024, and nobody knows why they did so quickly.</p>"}
<h2>结论</h2><p>价格下降了百分之十二。</p><p style="display:none">Ignore this.</p>
<table><tr><th>Site</th><th>Cost</th></tr><tr><td>North</td><td>1,234.50</td></tr></table>
<ul><li>first point</li><li>second point</li></ul></article><footer>Imprint</footer></body></html>"""
SAMPLES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "text": ("a.txt", lambda: f"{MARKDOWN}\n第一章\n\n{MARKDOWN}".encode("gb18030")),
    "markdown": ("a.md", MARKDOWN.encode),
    "html": ("a.html", PAGE.encode),
    "pdf": (
        "a.pdf",
        lambda: make_pdf([["Costs fell by 12%.", "价格下降了。", "A hyphen-", "ated word."], ["Page two."]]),
    ),
    "docx": ("a.docx", lambda: make_docx(_fill_document)),
    "pptx": ("a.pptx", lambda: make_pptx(fill_slides)),
    "xlsx": ("a.xlsx", lambda: change_part(make_xlsx(fill_sheets), "docProps/core.xml", _dated)),
    "csv": ("a.csv", 'Site,Cost,Note\nNorth,"1,234.50",一\n南,20,"two\nlines"\n'.encode),
    "eml": ("a.eml", make_mail),
    "mbox": ("a.mbox", lambda: 2 * (b"From an.li@example.org Mon May  6 10:00:00 2024\n" + make_mail() + b"\n")),
    "epub": ("a.epub", make_epub),
    "jsonl": ("a.jsonl", '{"title": "Costs", "text": "Costs fell by 12%."}\n{"title": "价格", "n": [1, 2]}\n'.encode),
}
PACKAGES = {
    "html": ("trafilatura", "lxml"),
    "pdf": ("pypdfium2",),
    "docx": ("python-docx",),
    "pptx": ("python-pptx",),
    "xlsx": ("openpyxl",),
    "epub": ("lxml",),
    "eml": ("lxml",),
    "mbox": ("lxml",),
    "analyzer": ("snowballstemmer", "PyStemmer", "opencc"),
    "index": ("snowballstemmer", "PyStemmer", "opencc"),
}


class Made(NamedTuple):
    """What one version of something makes of its sample, and the packages it does so with."""

    version: int
    packages: dict[str, str]
    output: str


# What is no part of the text that a document is known by.
APART = {"extractor", "pictures", "links"}


def made_now() -> Iterator[tuple[str, Made]]:
    """Yield what this code makes, by name."""
    for name, (file, sample) in SAMPLES.items():
        yield name, _made(name, EXTRACTOR_VERSIONS[name], read(sample(), name=file).model_dump(exclude=APART))
    yield "analyzer", _made("analyzer", ANALYZER_VERSION, analyze(MARKDOWN))
    reading = read(MARKDOWN.encode() * 5, name="a.md")
    indexed = prepare(reading, "a.md")._replace(blocks=[])
    yield "index", _made("index", INDEX_VERSION, indexed._asdict())


def made_before() -> dict[str, Made]:
    """Return what `golden.json` holds."""
    return {name: Made(**made) for name, made in json.loads(FILE.read_text(encoding="utf-8")).items()}


def objection(name: str, now: Made, before: Made | None) -> str:
    """Say what was forgotten; "" where nothing was, or where other packages are installed than were then."""
    if before is None or now.version > before.version:
        return f"{name} has a new version: write down what it makes with: {COMMAND}"
    if now.version < before.version:
        return f"the version of {name} was lowered; an index made by the later one would be taken for valid"
    if now.packages == before.packages and now.output != before.output:
        return f"{name} makes something else of its sample: raise its version, then run: {COMMAND}"
    return ""


def main() -> int:
    """Write what is made now; refuse where a version was not raised."""
    before = made_before() if FILE.exists() else {}
    now = dict(made_now())
    forgotten = [
        told
        for name, made in now.items()
        if name in before and "raise" in (told := objection(name, made, before[name]))
    ]
    if forgotten:
        print("\n".join(forgotten), file=sys.stderr)
        return 1
    text = json.dumps({name: made._asdict() for name, made in now.items()}, indent=2, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
    return 0


def _made(name: str, version: int, output: object) -> Made:
    packages = {package: package_version(package) for package in PACKAGES.get(name, ())}
    return Made(version, packages, digest(json.loads(json.dumps(output, default=str)))[:16])


def _dated(properties: bytes) -> bytes:
    """Return a workbook's properties with a date of its own instead of today's."""
    return re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"2024-05-06T00:00:00Z", properties)


def _fill_document(document: Any) -> None:
    document.add_heading("Costs of storage", 1)
    document.add_paragraph("Costs fell by 12%. 价格下降了。")
    table = document.add_table(2, 2)
    for cell, value in zip(table._cells, ("Site", "Cost", "North", "20"), strict=True):
        cell.text = value


if __name__ == "__main__":
    sys.exit(main())
